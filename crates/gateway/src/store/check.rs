//! Whether a data directory can be used, without making or changing anything in it that stays.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags};

use super::Error;

/// Whether the directory can be written, or made, and whether the databases in it can be read.
pub fn check(dir: &Path) -> Result<(), Error> {
    let Some(existing) = existing(dir) else {
        return Err(Error::from_file_system(&io::ErrorKind::NotFound.into()));
    };
    writable(&existing).map_err(|cause| Error::from_file_system(&cause))?;
    if existing != dir {
        return Ok(());
    }
    let entries = fs::read_dir(dir).map_err(|cause| Error::from_file_system(&cause))?;
    let databases = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "db"));
    for path in databases {
        let opened = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        opened.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    }
    Ok(())
}

/// The directory itself, or the nearest one above it that is there.
fn existing(dir: &Path) -> Option<PathBuf> {
    let dir = std::path::absolute(dir).ok()?;
    dir.ancestors().find(|path| path.symlink_metadata().is_ok()).map(Path::to_owned)
}

fn writable(dir: &Path) -> io::Result<()> {
    if !fs::metadata(dir)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let trial = dir.join(format!(".aqueduct-{}", uuid::Uuid::new_v4()));
    let made = fs::OpenOptions::new().write(true).create_new(true).open(&trial);
    made.and_then(|_| fs::remove_file(&trial))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_there_or_can_be_made_will_do() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(check(dir.path()), Ok(()));
        assert_eq!(check(&dir.path().join("a/b")), Ok(()));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing stays behind");
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "text").unwrap();
        assert_eq!(check(&file), Err(Error::NotADirectory));
        assert_eq!(check(&file.join("below")), Err(Error::NotADirectory));
        fs::write(dir.path().join("entities.db"), "this is no database, whatever its name says").unwrap();
        assert_eq!(check(dir.path()), Err(Error::Damaged));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_unwritable_place_is_told() {
        assert!(matches!(check(Path::new("/proc/self/aqueduct")), Err(Error::Unwritable { .. })));
    }
}
