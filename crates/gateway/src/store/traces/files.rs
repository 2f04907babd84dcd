//! The files of the directory: opened to be written, listed, measured, removed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use super::{
    super::{Error, database::connect_patiently, files, migrations::Schema, writer::Cap},
    day::Part,
};

/// How long another process may hold a file. Traffic does not wait for this, only the recorder's thread does.
const BUSY_WAIT: Duration = Duration::from_secs(2);
/// Pages that the writer keeps: ids come in no order, and their index is written all over.
const CACHE_KIBIBYTES: i64 = 24 * 1024;
const PAGE_BYTES: u64 = 4096;
/// Pages of the log before they are moved to the file. Moving them seldom writes each page of an index fewer times.
const LOG_PAGES_MAX: u64 = 12 * 1024;
const LOG_PAGES_MIN: u64 = 64;
/// Those of a file that may grow as it wants to.
const LOG_PAGES: u64 = 128;
/// The log takes such a part of what a file may take at the most.
const LOG_PART: u64 = 16;
/// How long whoever reads may keep a log from being moved. It is tried again.
const SETTLE_WAIT: Duration = Duration::from_millis(100);
/// Pages at the end of a file that are given back together. Others wait for as long.
const PAGES_TOGETHER: u64 = 256;
/// What a file was begun with that can be made smaller (`auto_vacuum = INCREMENTAL`).
const INCREMENTAL: u64 = 2;
/// The companions of a file, which go when it goes.
const COMPANIONS: [&str; 3] = ["", LOG, "-shm"];
const LOG: &str = "-wal";
/// What the name of a file ends with that was put aside.
const DAMAGED: &str = ".damaged";

/// Opens a file to write to it, and makes it if it is not there.
pub(super) fn open(dir: &Path, file: &str, schema: &Schema, cap: Option<u64>) -> Result<Connection, Error> {
    let path = files::prepare(dir, file)?;
    if length(dir, file) == 0 {
        // One that somebody else is just beginning may do without.
        let _ = begin(&path);
    }
    let connection = connect_patiently(&path, schema, BUSY_WAIT)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIBIBYTES)?;
    let log_bytes = log_bytes_max(cap);
    let log_pages = (log_bytes / PAGE_BYTES).cast_signed();
    connection.pragma_update_and_check(None, "wal_autocheckpoint", log_pages, |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", log_bytes.cast_signed(), |_| Ok(()))?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    if let Some(bytes) = cap {
        Cap::new(&connection, bytes)?;
    }
    Ok(connection)
}

/// Pages can be given back only of a file that was begun for it, before anything else is in it.
fn begin(path: &Path) -> Result<(), Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_WAIT)?;
    connection.pragma_update(None, "auto_vacuum", INCREMENTAL.cast_signed())?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    Ok(())
}

/// What the log of a file may take before it is moved into the file.
pub(super) fn log_bytes_max(cap: Option<u64>) -> u64 {
    let pages = |bytes: u64| (bytes / LOG_PART / PAGE_BYTES).clamp(LOG_PAGES_MIN, LOG_PAGES_MAX);
    cap.map_or(LOG_PAGES, pages) * PAGE_BYTES
}

/// A number that SQLite tells of a file.
pub(super) fn number(connection: &Connection, name: &str) -> Result<u64, Error> {
    let number: i64 = connection.pragma_query_value(None, name, |row| row.get(0))?;
    Ok(u64::try_from(number).unwrap_or_default())
}

/// Whether pages can be given back.
pub(super) fn gives_back(connection: &Connection) -> Result<bool, Error> {
    Ok(number(connection, "auto_vacuum")? == INCREMENTAL)
}

/// Writes a file anew, so that its pages can be given back. Takes as much room again for the time.
pub(super) fn rewrite(connection: &Connection) -> Result<(), Error> {
    connection.pragma_update(None, "auto_vacuum", INCREMENTAL.cast_signed())?;
    Ok(connection.execute_batch("VACUUM")?)
}

/// Gives pages back that nothing is in, until a file is no larger than this. It is so once its log was moved.
pub(super) fn give_back(connection: &Connection, bytes_max: u64) -> Result<(), Error> {
    if !gives_back(connection)? {
        return Ok(());
    }
    let pages_max = bytes_max / number(connection, "page_size")?.max(1);
    loop {
        let excess = number(connection, "page_count")?.saturating_sub(pages_max);
        let pages = excess.min(number(connection, "freelist_count")?).min(PAGES_TOGETHER);
        if pages == 0 {
            return Ok(());
        }
        let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
        // One is given back with each row that is asked for.
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
    }
}

/// Moves the log into its file and cuts it off, if nobody reads who needs it.
pub(super) fn settle(connection: &Connection) -> Result<(), Error> {
    connection.busy_timeout(SETTLE_WAIT)?;
    let settled = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_timeout(BUSY_WAIT)?;
    match settled.map_err(Error::from) {
        Err(Error::Busy) => Ok(()),
        outcome => outcome,
    }
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

/// What a file takes itself.
pub(super) fn length(dir: &Path, file: &str) -> u64 {
    fs::metadata(dir.join(file)).ok().filter(fs::Metadata::is_file).map_or(0, |found| found.len())
}

/// What the log of a file takes.
pub(super) fn log_bytes(dir: &Path, file: &str) -> u64 {
    fs::metadata(companion(dir, file, LOG)).map_or(0, |found| found.len())
}

/// Removes a file; whether there was one. Whoever else removes the same is welcome, and what is no file is left alone.
pub(super) fn remove(dir: &Path, file: &str) -> Result<bool, Error> {
    if dir.join(file).is_dir() {
        return Ok(false);
    }
    let mut removed = false;
    // The file first: what is left of one that is gone is taken for nothing, and not the other way round.
    for end in COMPANIONS {
        match fs::remove_file(companion(dir, file, end)) {
            Ok(()) => removed = true,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(Error::from_file_system(&cause)),
        }
    }
    Ok(removed)
}

/// Puts a damaged file aside, as the only one of its kind, so that another can be begun in its place.
///
/// It has to be the one that was found damaged: somebody else may have put that aside already.
pub(super) fn put_aside(dir: &Path, file: &str, identity: Option<(u64, u64)>) -> Result<(), Error> {
    if self::identity(&dir.join(file)) != identity {
        return Ok(());
    }
    // The file last: what belongs to it must not be taken for that of the next one.
    for end in COMPANIONS.iter().rev() {
        match fs::rename(companion(dir, file, end), companion(dir, &format!("{file}{DAMAGED}"), end)) {
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
