//! The data directory and the files in it, readable by their owner alone.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::Error;

/// Held while a file is created, because closing *any* descriptor of a file drops every POSIX lock that this
/// process has on it, also those of SQLite. Whoever passed this lock finds the creator's descriptor closed.
static CREATING: Mutex<()> = Mutex::new(());

/// Makes sure that the directory and the file in it exist. What is already there keeps its rights.
pub(super) fn prepare(dir: &Path, file: &str) -> Result<PathBuf, Error> {
    let path = dir.join(file);
    create_directory(dir)
        .and_then(|()| create_file(dir, &path))
        .map_err(|cause| Error::from_file_system(&cause))?;
    Ok(path)
}

pub(super) fn create_directory(dir: &Path) -> io::Result<()> {
    if let Ok(found) = fs::metadata(dir) {
        return if found.is_dir() { Ok(()) } else { Err(ErrorKind::NotADirectory.into()) };
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// SQLite would create the file readable by everyone, so it is created here. Its companions (`-wal`, `-shm`)
/// get the rights of the file itself.
fn create_file(dir: &Path, path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // `create_new` opens nothing that exists, see `CREATING`.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);

    let _creating = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    match options.open(path) {
        Ok(file) => {
            drop(file);
            sync_directory(dir)
        }
        Err(cause) if cause.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(cause) => Err(cause),
    }
}

/// Without this the file's name could be lost with the power, and every acknowledged write with it.
#[cfg(unix)]
pub(super) fn sync_directory(dir: &Path) -> io::Result<()> {
    fs::File::open(dir)?.sync_all()
}

#[cfg(not(unix))]
pub(super) fn sync_directory(_dir: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    fn mode(path: &Path) -> u32 {
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777
    }

    #[cfg(unix)]
    #[test]
    fn what_is_created_belongs_to_its_owner_alone() {
        let outer = tempfile::tempdir().unwrap();
        let dir = outer.path().join("a/b");
        let path = prepare(&dir, "x.db").unwrap();
        assert_eq!((mode(&dir), mode(&path)), (0o700, 0o600));
    }

    #[cfg(unix)]
    #[test]
    fn what_exists_is_left_alone() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        fs::write(&path, "content").unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o750)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        prepare(dir.path(), "x.db").unwrap();
        assert_eq!((mode(dir.path()), mode(&path)), (0o750, 0o640));
        assert_eq!(fs::read(&path).unwrap(), b"content");
    }

    #[test]
    fn a_file_is_no_directory() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "content").unwrap();
        assert_eq!(prepare(&file, "x.db"), Err(Error::NotADirectory));
        assert_eq!(prepare(&file.join("below"), "x.db"), Err(Error::NotADirectory));
        assert_eq!(fs::read(&file).unwrap(), b"content");
    }

    /// `/proc` accepts no new files from anyone, which holds even where the tests run as root.
    #[cfg(target_os = "linux")]
    #[test]
    fn an_unwritable_place_is_named_as_such() {
        for dir in ["/proc/self", "/proc/self/aqueduct"] {
            let error = prepare(Path::new(dir), "x.db").unwrap_err();
            assert!(matches!(error, Error::Unwritable { .. }), "{dir}: {error:?}");
        }
    }
}
