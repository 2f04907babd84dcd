//! Secrets that are made once and kept in the data directory, readable by their owner alone.

use std::{
    fs::{self, OpenOptions},
    io::{self, ErrorKind, Write},
    path::Path,
};

use super::{Error, files};
use crate::random;

const SECRET_BYTES: usize = 32;

/// The secret of this name, made now if there is none. Every process on the directory gets the same one.
pub fn secret(dir: &Path, name: &str) -> Result<[u8; SECRET_BYTES], Error> {
    read_or_make(dir, name).map_err(|cause| {
        tracing::error!(file = name, %cause, "a secret could not be read or made");
        Error::from_file_system(&cause)
    })
}

fn read_or_make(dir: &Path, name: &str) -> io::Result<[u8; SECRET_BYTES]> {
    let path = dir.join(name);
    if let Some(secret) = read(&path)? {
        return Ok(secret);
    }
    let secret = random::bytes();
    if keep_first(dir, name, &secret)? {
        return Ok(secret);
    }
    read(&path)?.ok_or_else(|| ErrorKind::NotFound.into())
}

/// Writes a file for its owner alone, unless there is one of that name; whether it was written.
///
/// Written aside and linked into place, so that whoever finds the file finds it whole, and the first one wins.
pub(crate) fn keep_first(dir: &Path, name: &str, content: &[u8]) -> io::Result<bool> {
    files::create_directory(dir)?;
    let aside = dir.join(format!(".{name}.{}", uuid::Uuid::new_v4()));
    let made = write(&aside, content).and_then(|()| fs::hard_link(&aside, dir.join(name)));
    let removed = fs::remove_file(&aside);
    match made {
        Ok(()) => removed.and_then(|()| files::sync_directory(dir)).map(|()| true),
        Err(cause) if cause.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(cause) => Err(cause),
    }
}

fn read(path: &Path) -> io::Result<Option<[u8; SECRET_BYTES]>> {
    match fs::read(path) {
        Ok(bytes) => bytes.try_into().map(Some).map_err(|_| ErrorKind::InvalidData.into()),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(cause),
    }
}

fn write(path: &Path, secret: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(secret)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_gets_the_secret_that_was_made_first() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("new");
        let made: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| secret(&dir, "x.key").unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(made.iter().all(|secret| *secret == made[0] && *secret != [0; SECRET_BYTES]));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "nothing is left beside it");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(dir.join("x.key")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_damaged_secret_is_told_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("x.key"), "short").unwrap();
        assert!(secret(dir.path(), "x.key").is_err());
        assert_eq!(fs::read(dir.path().join("x.key")).unwrap(), b"short");
    }
}
