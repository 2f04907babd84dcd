//! Reading others' files within bounds, and replacing them whole or not at all.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::error::Error;

/// Clients keep their history beside the servers, so their files grow.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The text of a file, `None` where there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, Error> {
    let trouble = |error: &io::Error| Error::file("read", path, error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(trouble(&error)),
    };
    if file.metadata().map_err(|error| trouble(&error))?.is_dir() {
        return Err(trouble(&io::ErrorKind::IsADirectory.into()));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| trouble(&error))?;
    let wrong = |why: &str| {
        Error::new(format!("'{}' {why}", path.display()), "name the file of an MCP client with '--from'")
    };
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(wrong(&format!("is larger than {} MiB", FILE_BYTES_MAX >> 20)));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| wrong("is not UTF-8 text"))
}

pub(super) fn hash(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A new text that waits beside the file it is for. Nothing has changed yet, but everything that can fail has not.
pub(super) struct Staged {
    waiting: NamedTempFile,
    target: PathBuf,
}

/// Who may read a file that is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rights {
    /// As the file of that name has them now.
    Kept,
    /// The owner alone, whatever they were.
    OwnerOnly,
}

/// Writes the text beside its target. A link is followed, so that it stays a link.
pub(super) fn stage(path: &Path, text: &str, rights: Rights) -> Result<Staged, Error> {
    let trouble = |error: &io::Error| Error::file("written", path, error);
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(trouble(&error)),
    };
    let before = match fs::metadata(&target) {
        Ok(found) if found.is_dir() => return Err(trouble(&io::ErrorKind::IsADirectory.into())),
        Ok(found) if found.permissions().readonly() => {
            let message = format!("'{}' cannot be written: it is read-only", path.display());
            return Err(Error::new(message, "make it writable, or leave it as it is with '--keep-client'"));
        }
        Ok(found) => Some(found.permissions()),
        Err(_) => None,
    };
    let directory = target.parent().unwrap_or(Path::new("."));
    create_directory(directory).map_err(|error| trouble(&error))?;
    // Made for the owner alone, so that nobody reads it before its rights are set.
    let mut waiting = tempfile::Builder::new()
        .prefix(".aqueduct-")
        .tempfile_in(directory)
        .map_err(|error| trouble(&error))?;
    waiting
        .write_all(text.as_bytes())
        .and_then(|()| match before {
            Some(before) if rights == Rights::Kept => waiting.as_file().set_permissions(before),
            _ => Ok(()),
        })
        .and_then(|()| waiting.as_file().sync_all())
        .map_err(|error| trouble(&error))?;
    Ok(Staged { waiting, target })
}

impl Staged {
    /// Puts the text in its place, in one step.
    pub(super) fn put(self) -> Result<(), Error> {
        let Self { waiting, target } = self;
        waiting.persist(&target).map(drop).map_err(|error| Error::file("written", &target, &error.error))
    }
}

/// A copy beside the file, with its rights, under a name that nothing has yet.
pub(super) fn backup(path: &Path, text: &str, stamp: &str) -> Result<PathBuf, Error> {
    for attempt in 1..=100 {
        let copy = backup_path(path, stamp, attempt);
        if copy.symlink_metadata().is_ok() {
            continue;
        }
        let staged = stage(&copy, text, Rights::Kept)?;
        if let Ok(found) = fs::metadata(path) {
            let _ = staged.waiting.as_file().set_permissions(found.permissions());
        }
        match staged.waiting.persist_noclobber(&copy) {
            Ok(_) => return Ok(copy),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::file("written", &copy, &error.error)),
        }
    }
    Err(Error::new(
        format!("'{}' has too many backups of this second", path.display()),
        "move the old backups away, and run the command again",
    ))
}

/// What a backup is called. A second one in the same second gets a number.
pub(super) fn backup_path(path: &Path, stamp: &str, attempt: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".aqueduct-backup-{stamp}"));
    if attempt > 1 {
        name.push(format!("-{attempt}"));
    }
    PathBuf::from(name)
}

fn create_directory(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
