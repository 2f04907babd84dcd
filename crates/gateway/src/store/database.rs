//! One SQLite file: a writer thread, a few readers, and the way in for both.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::migrations::Schema;
use super::readers::Readers;
use super::watched::Watched;
use super::writer::{Cap, Effect, Writer};
use super::{Error, files, functions};

/// How long another process may hold the file before we give up with [`Error::Busy`].
const BUSY_WAIT: Duration = Duration::from_secs(5);
/// Pause before another try to open a file that someone else is just setting up.
const OPEN_RETRY: Duration = Duration::from_millis(5);
/// How long another process may be busy preparing the same file, which takes seconds where an index is built.
const PREPARE_WAIT: Duration = Duration::from_secs(300);
/// The write-ahead log is cut back to this size once its content has moved to the file.
const LOG_KEPT_BYTES: u32 = 16 * 1024 * 1024;
/// More than the statements of any one file, so that each is compiled once.
const STATEMENTS_CACHED: usize = 48;

/// What the operator may set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// The size the file may grow to, without its write-ahead log. Writes beyond it are [`Error::Full`];
    /// deleting goes on working. A file that is already larger stays as it is and only stops growing.
    pub max_database_bytes: Option<u64>,
}

/// What an acknowledged write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durability {
    /// A power cut.
    Machine,
    /// A crash of the process. A power cut may take the last second along.
    Process,
}

impl Durability {
    fn synchronous(self) -> &'static str {
        match self {
            Self::Machine => "FULL",
            Self::Process => "NORMAL",
        }
    }
}

/// Whether it matters that the file stays where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watch {
    Yes,
    No,
}

/// A cheap handle on an open file. The writer thread ends once the last handle is gone and the queue is empty.
#[derive(Clone)]
pub(super) struct Database {
    // Dropped in this order: the connection that closes last moves the log into the file, and only the
    // writer's may do that.
    readers: Arc<Readers>,
    writer: Writer,
}

impl Database {
    pub(super) fn open(dir: &Path, file: &str, schema: &Schema, options: Options) -> Result<Self, Error> {
        Self::open_waiting(dir, file, schema, options, BUSY_WAIT)
    }

    pub(super) fn open_waiting(
        dir: &Path,
        file: &str,
        schema: &Schema,
        options: Options,
        busy_wait: Duration,
    ) -> Result<Self, Error> {
        Self::open_for(dir, file, schema, options, Durability::Machine, Watch::No, busy_wait)
    }

    /// For what must not be written where nobody finds it: writes fail once the file is removed or replaced.
    pub(super) fn open_watched(
        dir: &Path,
        file: &str,
        schema: &Schema,
        options: Options,
    ) -> Result<Self, Error> {
        Self::open_for(dir, file, schema, options, Durability::Machine, Watch::Yes, BUSY_WAIT)
    }

    /// For what is written with every call and may lose the last second to a power cut, but nothing to a crash.
    pub(super) fn open_lighter(
        dir: &Path,
        file: &str,
        schema: &Schema,
        options: Options,
    ) -> Result<Self, Error> {
        Self::open_for(dir, file, schema, options, Durability::Process, Watch::No, BUSY_WAIT)
    }

    fn open_for(
        dir: &Path,
        file: &str,
        schema: &Schema,
        options: Options,
        durability: Durability,
        watch: Watch,
        busy_wait: Duration,
    ) -> Result<Self, Error> {
        let path = files::prepare(dir, file)?;
        let watched = (watch == Watch::Yes).then(|| Watched::new(path.clone())).transpose()?;
        let connection = connect_patiently(&path, schema, busy_wait)?;
        // Whoever replaced it in between is noticed here.
        watched.as_ref().map_or(Ok(()), Watched::check)?;
        connection.pragma_update(None, "synchronous", durability.synchronous())?;
        let cap = options.max_database_bytes.map(|bytes| Cap::new(&connection, bytes)).transpose()?;
        let writer = Writer::start(file, connection, cap, watched)?;
        Ok(Self { readers: Arc::new(Readers::new(path, busy_wait)), writer })
    }

    /// Runs `work` on a connection of its own, as often as another process is in its way. Blocks.
    pub(super) fn prepare(&self, work: impl Fn(&mut Connection) -> Result<(), Error>) -> Result<(), Error> {
        let mut connection = self.readers.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let deadline = Instant::now() + PREPARE_WAIT;
        loop {
            match work(&mut connection) {
                Err(Error::Busy) if Instant::now() < deadline => thread::park_timeout(OPEN_RETRY),
                outcome => return outcome,
            }
        }
    }

    /// A connection of one's own.
    pub(super) fn connection(&self, access: OpenFlags) -> Result<Connection, Error> {
        self.readers.connect(access)
    }

    /// Runs `work` in a transaction on the writer thread and returns once its effect is on disk.
    ///
    /// `work` may run a second time, on the state without its first run, when another write of the same
    /// group brought the transaction down. It does not run at all if the caller is gone by then.
    pub(super) async fn write<T, W>(&self, effect: Effect, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnMut(&Connection) -> Result<T, Error> + Send + 'static,
    {
        self.writer.run(effect, work).await
    }

    /// Runs `query` on a read-only connection. It sees every write acknowledged before.
    pub(super) async fn read<T, Q>(&self, query: Q) -> Result<T, Error>
    where
        T: Send + 'static,
        Q: FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    {
        self.readers.run(query).await
    }

    /// Refuses whatever comes from now on, through any handle, and waits until the rest is done.
    pub(super) async fn close(self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// SQLite's own waiting does not cover every step of turning a fresh file into one with a write-ahead log.
pub(super) fn connect_patiently(
    path: &Path,
    schema: &Schema,
    busy_wait: Duration,
) -> Result<Connection, Error> {
    let deadline = Instant::now() + busy_wait;
    loop {
        match connect(path, schema, busy_wait) {
            Err(Error::Busy) if Instant::now() < deadline => thread::park_timeout(OPEN_RETRY),
            outcome => return outcome,
        }
    }
}

fn connect(path: &Path, schema: &Schema, busy_wait: Duration) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    tune(&connection, busy_wait)?;

    // Until the file is known to be ours, closing it must not move a log into it either.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    schema.recognise(&connection)?;
    if connection.is_readonly("main")? {
        return Err(Error::Unwritable { reason: "its files are read-only".to_owned() });
    }
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;

    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        return Err(Error::Unwritable { reason: "its file system lacks shared memory".to_owned() });
    }
    connection.pragma_update(None, "synchronous", Durability::Machine.synchronous())?;
    // Where a plain sync stops at the drive's cache, as on macOS.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "journal_size_limit", LOG_KEPT_BYTES)?;
    schema.migrate(&mut connection)?;
    Ok(connection)
}

/// What the writer's and the readers' connections have in common.
pub(super) fn tune(connection: &Connection, busy_wait: Duration) -> Result<(), Error> {
    connection.busy_timeout(busy_wait)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_CACHED);
    functions::register(connection)?;
    Ok(())
}
