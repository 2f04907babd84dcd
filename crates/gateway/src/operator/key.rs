//! The credentials of the operator's listener: `operator.key` in the data directory, for its owner's eyes alone, and
//! `viewer.key` for who may look and not act.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use crate::{config::Secret, random, store};

/// The file in the data directory.
pub const FILE: &str = "operator.key";
/// The file with the key of who may only look.
pub const VIEWER_FILE: &str = "viewer.key";

const KEY_BYTES: usize = 32;

/// More than a key and a line's end is no key of ours.
const FILE_BYTES_MAX: u64 = 128;

/// The credential. Its text leaves this process only as the file.
#[derive(Debug, Clone)]
pub struct Key {
    text: Secret,
    path: PathBuf,
}

/// Why there is no credential. The words name the file and no directory, since a client may log them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error(
        "'{0}' in the data directory can be used by others than its owner; run 'chmod 600' on it, and since it may \
         have been read, delete it so that a new one is made"
    )]
    OthersMayRead(&'static str),
    #[error(
        "the data directory can be written by others than its owner, who could exchange '{0}'; run 'chmod 700' on it"
    )]
    OthersMayReplace(&'static str),
    #[error(
        "'{0}' in the data directory belongs to another user; serve as that user, or choose another directory"
    )]
    Foreign(&'static str),
    #[error("'{0}' in the data directory is no file of its own; remove it so that one is made")]
    NoFile(&'static str),
    #[error("'{0}' in the data directory is damaged; delete it so that a new one is made")]
    Damaged(&'static str),
    #[error("'{0}' in the data directory cannot be read or made: {1}")]
    Unusable(&'static str, String),
}

impl Key {
    /// The key of a data directory, made now if there is none. Every process on the directory gets the same one.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        Self::of_file(dir, FILE)
    }

    /// The key of who may only look, made and kept the same way.
    pub fn viewer(dir: &Path) -> Result<Self, Error> {
        Self::of_file(dir, VIEWER_FILE)
    }

    fn of_file(dir: &Path, file: &'static str) -> Result<Self, Error> {
        let unusable = |cause: io::Error| Error::Unusable(file, cause.kind().to_string());
        let path = dir.join(file);
        if fs::symlink_metadata(&path).is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound) {
            let text = BASE64_URL_SAFE_NO_PAD.encode(random::bytes::<KEY_BYTES>());
            store::keep_first(dir, file, format!("{text}\n").as_bytes()).map_err(unusable)?;
        }
        check_rights(dir, &path, file)?;
        let content = fs::read_to_string(&path).map_err(|cause| match cause.kind() {
            io::ErrorKind::InvalidData => Error::Damaged(file),
            _ => unusable(cause),
        })?;
        let text = content.trim_end();
        let whole = BASE64_URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == KEY_BYTES);
        if !whole {
            return Err(Error::Damaged(file));
        }
        Ok(Self { text: Secret::new(text), path })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The key itself, for who opens the page on a terminal of their own.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.text.expose()
    }

    /// What a given credential's hash is compared with.
    #[must_use]
    pub fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.text.expose()).into()
    }

    /// Shows another process on the same data directory that we know the key, and tells it nothing else.
    pub(super) fn proof(&self, nonce: &str) -> String {
        super::signature::hex(&super::signature::mac(
            self.text.expose().as_bytes(),
            &[b"aqueduct operator", nonce.as_bytes()],
        ))
    }
}

#[cfg(unix)]
fn check_rights(dir: &Path, path: &Path, name: &'static str) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    const OTHERS: u32 = 0o077;
    const OTHERS_WRITE: u32 = 0o022;
    /// In such a directory nobody replaces the files of others.
    const STICKY: u32 = 0o1000;
    let unusable = |cause: io::Error| Error::Unusable(name, cause.kind().to_string());
    let file = fs::symlink_metadata(path).map_err(unusable)?;
    let directory = fs::metadata(dir).map_err(unusable)?;
    if !file.is_file() {
        return Err(Error::NoFile(name));
    }
    if file.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::Foreign(name));
    }
    if file.mode() & OTHERS != 0 {
        return Err(Error::OthersMayRead(name));
    }
    if directory.mode() & OTHERS_WRITE != 0 && directory.mode() & STICKY == 0 {
        return Err(Error::OthersMayReplace(name));
    }
    is_small(&file, name)
}

/// Elsewhere the rights of the user's own directory are what there is.
#[cfg(not(unix))]
fn check_rights(_dir: &Path, path: &Path, name: &'static str) -> Result<(), Error> {
    let file = fs::symlink_metadata(path).map_err(|cause| Error::Unusable(name, cause.kind().to_string()))?;
    if !file.is_file() {
        return Err(Error::NoFile(name));
    }
    is_small(&file, name)
}

fn is_small(file: &fs::Metadata, name: &'static str) -> Result<(), Error> {
    if file.len() > FILE_BYTES_MAX { Err(Error::Damaged(name)) } else { Ok(()) }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// REQ-OOB-05
    #[test]
    fn the_key_is_made_once_for_its_owner_alone_and_never_shown() {
        let outer = tempfile::tempdir().unwrap();
        let dir = outer.path().join("data");
        let keys: Vec<Key> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| Key::open(&dir).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| key.sha256() == keys[0].sha256()));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&dir), mode(&dir.join(FILE))), (0o700, 0o600));
        let text = fs::read_to_string(dir.join(FILE)).unwrap();
        assert_eq!(text.trim().len(), 43, "256 bits as URL-safe text");
        assert!(!format!("{:?}", keys[0]).contains(text.trim()));
        let other = tempfile::tempdir().unwrap();
        assert_ne!(Key::open(other.path()).unwrap().sha256(), keys[0].sha256());
        assert_ne!(keys[0].proof("a"), keys[0].proof("b"));
    }

    #[test]
    fn a_key_that_others_may_have_seen_or_changed_is_refused_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        Key::open(dir.path()).unwrap();
        let path = dir.path().join(FILE);
        for (mode, expected) in [
            (0o640, Error::OthersMayRead(FILE)),
            (0o604, Error::OthersMayRead(FILE)),
            (0o620, Error::OthersMayRead(FILE)),
        ] {
            chmod(&path, mode);
            let error = Key::open(dir.path()).unwrap_err();
            assert_eq!(error, expected);
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
        chmod(&path, 0o600);
        chmod(dir.path(), 0o770);
        assert_eq!(Key::open(dir.path()).unwrap_err(), Error::OthersMayReplace(FILE));
        chmod(dir.path(), 0o755);
        assert!(
            Key::open(dir.path()).is_ok(),
            "others may look into the directory, the file is closed to them"
        );
        for damaged in ["", "short", &"A".repeat(44), &"A".repeat(500), "ÿ", "AAAA AAAA"] {
            fs::write(&path, damaged).unwrap();
            let error = Key::open(dir.path()).unwrap_err();
            assert_eq!(error, Error::Damaged(FILE), "{damaged}");
            assert!(error.to_string().contains("delete it"));
        }
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
        assert_eq!(Key::open(dir.path()).unwrap_err(), Error::NoFile(FILE));
    }
}
