//! What went wrong, and what to do next.

use std::{fmt, io, path::Path};

/// Why nothing was taken over or put back: one sentence, and the next step apart from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    message: String,
    help: String,
}

impl Error {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }

    /// Trouble of the file system with one file.
    pub(super) fn file(doing: &str, path: &Path, error: &io::Error) -> Self {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "it does not exist",
            io::ErrorKind::PermissionDenied => "permission is denied",
            io::ErrorKind::IsADirectory => "it is a directory",
            io::ErrorKind::NotADirectory => "a part of its path is no directory",
            io::ErrorKind::ReadOnlyFilesystem => "its file system is read-only",
            io::ErrorKind::StorageFull => "the disk is full",
            _ => "the system refused",
        };
        Self::new(
            format!("'{}' cannot be {doing}: {why}", path.display()),
            "see to the file and its directory, and run the command again",
        )
    }

    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do next.
    #[must_use]
    pub fn help(&self) -> &str {
        &self.help
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
