//! Read-only connections to the files of all days, lent to one question at a time.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use super::{
    super::{Error, database::tune, migrations::Schema},
    day::Part,
    events, files,
    schema::{DAY_SCHEMA, EVENTS_FILE, EVENTS_SCHEMA},
};

/// How many questions are answered at once. Further ones wait for their turn.
const READERS_MAX: usize = 4;
/// Connections that are kept for the next question; those to the oldest days are closed first.
const IDLE_MAX: usize = 48;
const BUSY_WAIT: Duration = Duration::from_secs(2);
const CACHE_KIBIBYTES: i64 = 4 * 1024;

pub(super) struct Readers {
    dir: PathBuf,
    idle: Mutex<Vec<Idle>>,
    permits: Arc<Semaphore>,
    event_permits: Arc<Semaphore>,
    /// Files that could not be read, or not whole, and which they were. The log says it once.
    unreadable: Mutex<BTreeMap<String, (u64, u64)>>,
}

struct Idle {
    file: String,
    identity: (u64, u64),
    connection: Connection,
}

/// The files that there are, for the time of one question.
pub(super) struct Days<'a> {
    readers: &'a Readers,
    list: Vec<Part>,
}

impl Readers {
    pub(super) fn new(dir: PathBuf) -> Self {
        let permits = Arc::new(Semaphore::new(READERS_MAX));
        let event_permits = Arc::new(Semaphore::new(READERS_MAX));
        Self { dir, idle: Mutex::default(), permits, event_permits, unreadable: Mutex::default() }
    }

    pub(super) async fn run<T, Q>(self: &Arc<Self>, question: Q) -> Result<T, Error>
    where
        T: Send + 'static,
        Q: FnOnce(&Days<'_>) -> Result<T, Error> + Send + 'static,
    {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| Error::Closed)?;
        let readers = Arc::clone(self);
        let answer = tokio::task::spawn_blocking(move || {
            // The thread holds the permit, not the caller, who may have gone away while it still reads.
            let _permit = permit;
            let list = files::parts(&readers.dir)?;
            question(&Days { readers: &readers, list })
        });
        answer.await.unwrap_or(Err(Error::Io))
    }

    pub(super) fn events<T>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.ask(EVENTS_FILE, &EVENTS_SCHEMA, question)
    }

    /// Reads events. They do not wait behind long questions.
    pub(super) async fn run_events<T, Q>(self: &Arc<Self>, question: Q) -> Result<T, Error>
    where
        T: Send + 'static,
        Q: FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    {
        let permit = Arc::clone(&self.event_permits).acquire_owned().await.map_err(|_| Error::Closed)?;
        let readers = Arc::clone(self);
        let answer = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            question(&readers)
        });
        answer.await.unwrap_or(Err(Error::Io))
    }

    /// Asks a file. Nothing if there is none, or if it cannot be understood: the others are answer enough.
    fn ask<T>(
        &self,
        file: &str,
        schema: &Schema,
        question: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let path = self.dir.join(file);
        let Some(identity) = files::identity(&path) else { return Ok(None) };
        // What a directory of that name says, if it is opened, is an error of the disk.
        let is_file = if path.is_dir() { Err(Error::Damaged) } else { Ok(()) };
        let answer = is_file.and_then(|()| self.take(file, identity, &path, schema)).and_then(|connection| {
            let answer = question(&connection)?;
            self.put_back(Idle { file: file.to_owned(), identity, connection });
            Ok(answer)
        });
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(Error::Gone) => Ok(None),
            Err(error @ (Error::Damaged | Error::Newer { .. } | Error::Unwritable { .. })) => {
                let known = self.known_unreadable().insert(file.to_owned(), identity);
                if known != Some(identity) && path.exists() {
                    tracing::warn!(file, %error, "a file of traces cannot be read and is left out");
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Files that some question could not be asked, or not to its end, and that are still there.
    pub(super) fn unreadable(&self) -> Vec<String> {
        let known = self.known_unreadable();
        let is_there = |(file, identity): &(&String, &(u64, u64))| {
            files::identity(&self.dir.join(file)) == Some(**identity)
        };
        known.iter().filter(is_there).map(|(file, _)| file.clone()).collect()
    }

    fn known_unreadable(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, (u64, u64)>> {
        self.unreadable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(
        &self,
        file: &str,
        identity: (u64, u64),
        path: &Path,
        schema: &Schema,
    ) -> Result<Connection, Error> {
        {
            let mut idle = self.idle();
            // One whose file was removed or replaced would go on reading what is gone.
            idle.retain(|known| known.file != file || known.identity == identity);
            if let Some(place) = idle.iter().position(|known| known.file == file) {
                return Ok(idle.swap_remove(place).connection);
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        tune(&connection, BUSY_WAIT)?;
        // One that is just being made has nothing to say yet, and one of an older form says it once somebody writes to it.
        if schema.recognise(&connection)? < schema.supported() {
            return Err(Error::Gone);
        }
        connection.pragma_update(None, "cache_size", -CACHE_KIBIBYTES)?;
        Ok(connection)
    }

    fn put_back(&self, connection: Idle) {
        let mut idle = self.idle();
        idle.push(connection);
        if idle.len() > IDLE_MAX {
            let oldest = idle.iter().enumerate().min_by(|(_, a), (_, b)| a.file.cmp(&b.file));
            if let Some((place, _)) = oldest {
                idle.swap_remove(place);
            }
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Days<'_> {
    /// The newest first, and of each day what we recorded before what was reported.
    pub(super) fn list(&self) -> &[Part] {
        &self.list
    }

    /// The oldest first, and everything that we recorded before anything that was reported: what stands first counts.
    pub(super) fn ours_first(&self) -> Vec<Part> {
        let mut list = self.list.clone();
        list.sort_unstable_by_key(|part| (part.is_reported(), part.day));
        list
    }

    pub(super) fn with<T>(
        &self,
        part: Part,
        question: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.readers.ask(&part.file(), &DAY_SCHEMA, question)
    }

    /// Whether there are live events that cannot be read.
    pub(super) fn has_unreadable_events(&self) -> Result<bool, Error> {
        let is_read = self.readers.events(events::last)?.is_some();
        Ok(!is_read && self.readers.unreadable().iter().any(|file| file == EVENTS_FILE))
    }

    /// Asks each file in turn, the newest first.
    pub(super) fn each(
        &self,
        mut question: impl FnMut(Part, &Connection) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for &part in &self.list {
            self.with(part, |connection| question(part, connection))?;
        }
        Ok(())
    }
}
