//! Read-only connections, lent to one query at a time.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use super::Error;
use super::database::tune;

/// How many queries run at once. Further ones wait for their turn.
const READERS_MAX: u32 = 4;
/// How much of the file is read without system calls. Only what is touched takes memory, and it is the page cache's.
const MAPPED_BYTES_MAX: i64 = 4 * 1024 * 1024 * 1024;

/// A bounded pool. In WAL mode readers neither wait for the writer nor hold it up.
pub(super) struct Readers {
    path: PathBuf,
    busy_wait: Duration,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, busy_wait: Duration) -> Self {
        let permits = Arc::new(Semaphore::new(READERS_MAX as usize));
        Self { path, busy_wait, idle: Mutex::default(), permits }
    }

    pub(super) async fn run<T, Q>(self: &Arc<Self>, query: Q) -> Result<T, Error>
    where
        T: Send + 'static,
        Q: FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| Error::Closed)?;
        let readers = Arc::clone(self);
        let answer = tokio::task::spawn_blocking(move || {
            // The thread holds the permit, not the caller, who may have gone away while the query still runs.
            let _permit = permit;
            let connection = readers.take()?;
            let answer = query(&connection);
            readers.put_back(connection);
            answer
        });
        answer.await.unwrap_or(Err(Error::Io))
    }

    /// Waits until the queries that were asked for are answered; later ones are refused.
    pub(super) async fn close(&self) {
        let all = self.permits.acquire_many(READERS_MAX).await;
        self.permits.close();
        drop(all);
        self.idle().clear();
    }

    /// Connections are opened when first needed, which also replaces one lost to a panic.
    fn take(&self) -> Result<Connection, Error> {
        if let Some(connection) = self.idle().pop() {
            return Ok(connection);
        }
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        // Reading a page by a system call costs more than what is looked for on it.
        connection.pragma_update(None, "mmap_size", MAPPED_BYTES_MAX)?;
        Ok(connection)
    }

    pub(super) fn connect(&self, access: OpenFlags) -> Result<Connection, Error> {
        let connection = Connection::open_with_flags(&self.path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        tune(&connection, self.busy_wait)?;
        Ok(connection)
    }

    fn put_back(&self, connection: Connection) {
        self.idle().push(connection);
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
