//! The files of the directory: opened to be written, listed, measured, removed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::Connection;

use super::{
    super::{Error, database::connect_patiently, files, migrations::Schema, writer::Cap},
    day::Part,
};

/// How long another process may hold a file. Traffic does not wait for this, only the recorder's thread does.
const BUSY_WAIT: Duration = Duration::from_secs(2);
/// Pages that the writer keeps: ids come in no order, and their index is written all over.
const CACHE_KIBIBYTES: i64 = 24 * 1024;
/// Pages of the log before they are moved to the file. Moving them seldom writes each page of an index fewer times.
const LOG_PAGES_MAX: u64 = 12 * 1024;
const LOG_PAGES_MIN: u64 = 256;
/// The log takes such a part of what a file may take at the most.
const LOG_PART: u64 = 16 * 4096;
/// The companions of a file, which go when it goes.
const COMPANIONS: [&str; 3] = ["", "-wal", "-shm"];

/// Opens a file to write to it, and makes it if it is not there.
pub(super) fn open(dir: &Path, file: &str, schema: &Schema, cap: Option<u64>) -> Result<Connection, Error> {
    let path = files::prepare(dir, file)?;
    let connection = connect_patiently(&path, schema, BUSY_WAIT)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIBIBYTES)?;
    let log_pages = cap.map_or(LOG_PAGES_MIN, |bytes| (bytes / LOG_PART).clamp(LOG_PAGES_MIN, LOG_PAGES_MAX));
    connection.pragma_update_and_check(None, "wal_autocheckpoint", log_pages.cast_signed(), |_| Ok(()))?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    if let Some(bytes) = cap {
        Cap::new(&connection, bytes)?;
    }
    Ok(connection)
}

/// The files of days that there are, the newest first. No directory is no files.
pub(super) fn parts(dir: &Path) -> Result<Vec<Part>, Error> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(Error::from_file_system(&cause)),
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut parts: Vec<Part> = names.filter_map(|name| Part::of_file(&name)).collect();
    parts.sort_unstable_by(|a, b| b.cmp(a));
    Ok(parts)
}

/// What a file takes on the disk, with what belongs to it.
pub(super) fn bytes(dir: &Path, file: &str) -> u64 {
    let lengths = COMPANIONS.iter().map(|end| fs::metadata(companion(dir, file, end)));
    lengths.map(|found| found.map_or(0, |found| found.len())).sum()
}

/// Removes a file. Whoever else removes the same is welcome.
pub(super) fn remove(dir: &Path, file: &str) -> Result<(), Error> {
    // The file first: what is left of one that is gone is taken for nothing, and not the other way round.
    for end in COMPANIONS {
        match fs::remove_file(companion(dir, file, end)) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                return Err(Error::from_file_system(&cause));
            }
            _ => {}
        }
    }
    Ok(())
}

fn companion(dir: &Path, file: &str, end: &str) -> PathBuf {
    dir.join(format!("{file}{end}"))
}

/// What tells a file from another one of the same name.
#[cfg(unix)]
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(unix)]
pub(super) fn identity_of(file: &fs::File) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    file.metadata().ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
pub(super) fn identity_of(_file: &fs::File) -> Option<(u64, u64)> {
    Some((0, 0))
}

/// Elsewhere an open file cannot be removed.
#[cfg(not(unix))]
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|_| (0, 0))
}
