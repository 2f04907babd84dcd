//! What ran when its process ended without a word.
//!
//! A process holds a lock on a file of its own while anything of it may run, and the rows that run name that file. The system
//! lets go of a lock however a process ends, so whoever gets it knows that nothing of those rows goes on.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use rusqlite::Connection;
use serde_json::json;

use super::{
    super::{Error, files::create_directory},
    appender::Appender,
    day::Part,
    files,
    packed::Packed,
    rows::{SPAN_COLUMNS, whole_span},
};
use crate::trace::{Nanos, Span, Status, names};

/// Where the locks are.
const DIRECTORY: &str = "running";
/// What is said of what was lost.
const LOST: &str = "lost";
const MESSAGE: &str = "the process that ran it ended before it did";

/// This process, as far as others have to know that it is there.
pub(super) struct Owner {
    directory: PathBuf,
    held: Option<Held>,
}

struct Held {
    name: String,
    path: PathBuf,
    identity: Option<(u64, u64)>,
    lock: File,
}

impl Owner {
    pub(super) fn new(dir: &Path) -> Self {
        Self { directory: dir.join(DIRECTORY), held: None }
    }

    /// The name by which rows say whose they are. The lock is taken with the first of them, and anew where its file is gone.
    pub(super) fn name(&mut self) -> Result<String, Error> {
        let is_there = |held: &Held| held.identity.is_some() && files::identity(&held.path) == held.identity;
        match &self.held {
            Some(held) if is_there(held) => return Ok(held.name.clone()),
            _ => {}
        }
        let held = self.hold().map_err(|cause| Error::from_file_system(&cause))?;
        Ok(self.held.insert(held).name.clone())
    }

    fn hold(&self) -> io::Result<Held> {
        create_directory(&self.directory)?;
        // What runs keeps its name, also where somebody removed the file.
        let name =
            self.held.as_ref().map_or_else(|| uuid::Uuid::now_v7().to_string(), |held| held.name.clone());
        let path = self.directory.join(&name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        loop {
            let lock = options.open(&path)?;
            // Whoever looks whether we are there has it for a moment only, and may remove it then.
            lock.lock()?;
            let identity = files::identity(&path);
            if identity.is_some() && identity == files::identity_of(&lock) {
                return Ok(Held { name, path, identity, lock });
            }
        }
    }

    /// Says that we are still there, for who finds out later until when we were.
    pub(super) fn beat(&self) {
        if let Some(held) = &self.held {
            let _ = held.lock.set_modified(SystemTime::now());
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            let _ = fs::remove_file(held.path);
        }
    }
}

/// Until when an owner was there, if it is there no more.
fn gone_since(directory: &Path, owner: &str) -> Option<Nanos> {
    // Rows of before there were owners have none, and names are no paths.
    if owner.is_empty() || owner.contains(['/', '\\', '.']) {
        return Some(Nanos::MIN);
    }
    let path = directory.join(owner);
    let file = match OpenOptions::new().write(true).open(&path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Some(Nanos::MIN),
        Err(_) => return None,
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return None,
    }
    let beat = file.metadata().and_then(|found| found.modified()).ok();
    let beat = beat.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    Some(beat.and_then(|time| Nanos::try_from(time.as_nanos()).ok()).unwrap_or(Nanos::MIN))
}

impl Appender {
    /// Ends what runs in no process any more; how many spans it were. Called when a process begins, and now and then.
    pub fn end_lost(&mut self, now: Nanos) -> Result<u64, Error> {
        self.owner.beat();
        let directory = self.owner.directory.clone();
        let mut ended = 0;
        let mut failed = None;
        for part in files::parts(&self.shared().dir)?.into_iter().filter(|part| !part.is_reported()) {
            match self.end_lost_of(part, &directory, now) {
                Ok(count) => ended += count,
                Err(error) => {
                    self.forget(part);
                    failed.get_or_insert(error);
                }
            }
        }
        if failed.is_none() {
            self.tidy_locks(&directory);
        }
        failed.map_or(Ok(ended), Err)
    }

    fn end_lost_of(&mut self, part: Part, directory: &Path, now: Nanos) -> Result<u64, Error> {
        let own = self.owner.held.as_ref().map(|held| held.name.clone());
        let connection = self.file(part)?;
        let owners: Vec<String> = {
            let mut owners = connection.prepare_cached("SELECT DISTINCT owner FROM running")?;
            owners.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?
        };
        let mut lost = Vec::new();
        for owner in owners.iter().filter(|owner| Some(*owner) != own.as_ref()) {
            if let Some(since) = gone_since(directory, owner) {
                lost.extend(spans_of(connection, owner, since.min(now))?.iter().map(Packed::of));
            }
        }
        let lost: Vec<&Packed> = lost.iter().collect();
        if lost.is_empty() {
            return Ok(0);
        }
        Ok(self.append_to(part, &lost, now)?.updated)
    }

    /// Removes locks that nobody holds. Nothing names them any more.
    fn tidy_locks(&self, directory: &Path) {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        for name in entries.filter_map(|entry| entry.file_name().into_string().ok()) {
            let is_own = self.owner.held.as_ref().is_some_and(|held| held.name == name);
            if !is_own && gone_since(directory, &name).is_some() {
                let _ = fs::remove_file(directory.join(name));
            }
        }
    }
}

/// The spans that an owner left, as they end now.
fn spans_of(connection: &Connection, owner: &str, since: Nanos) -> Result<Vec<Span>, Error> {
    let statement = format!(
        "SELECT {SPAN_COLUMNS}, d.attributes, d.events, d.links FROM running u CROSS JOIN spans s ON s.id = u.id
         JOIN sessions t ON t.id = s.session JOIN details d ON d.id = s.id WHERE u.owner = ?1"
    );
    let mut statement = connection.prepare_cached(&statement)?;
    let mut spans: Vec<Span> = statement.query_map([owner], whole_span)?.collect::<Result<_, _>>()?;
    for span in &mut spans {
        span.status = Status::Cancelled;
        span.ended = Some(since.max(span.started));
        for (name, value) in [(names::ERROR_TYPE, LOST), (names::ERROR_MESSAGE, MESSAGE)] {
            span.attributes.insert(name.to_owned(), json!(value));
        }
    }
    Ok(spans)
}
