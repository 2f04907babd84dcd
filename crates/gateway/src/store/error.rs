//! Why the store could not do what it was asked to.

use std::io::ErrorKind;

use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

/// A failure of the store. None of them leaves half a write behind.
///
/// The sentences may reach an agent, so they hold no path, no statement and nothing SQLite said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error(
        "the data directory cannot be written ({reason}); give this user the right to write there or choose another one"
    )]
    Unwritable { reason: String },
    #[error("the data directory is a file or lies below one; choose a directory")]
    NotADirectory,
    #[error(
        "the data has version {found}, written by a newer program, and this one knows versions up to {supported}; upgrade it, or choose another data directory"
    )]
    Newer { found: u32, supported: u32 },
    #[error(
        "the data file is damaged or belongs to another program; restore a backup of it or choose another data directory"
    )]
    Damaged,
    #[error(
        "the store is full and kept nothing of this; delete things no longer needed or give it more space, then try again"
    )]
    Full,
    #[error("the store is busy with other writes and kept nothing of this; try again in a moment")]
    Busy,
    #[error(
        "the store's file was removed or replaced while it was in use; the operator puts it back or restarts the server"
    )]
    Gone,
    #[error("the store is closed; try again once the server has started anew")]
    Closed,
    #[error("the store failed to read or write its data; the server's log says why")]
    Io,
}

impl Error {
    /// Whether the same call may succeed soon without anyone doing anything about it.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Busy)
    }

    /// A failure of the file system outside SQLite.
    pub(super) fn from_file_system(cause: &std::io::Error) -> Self {
        match cause.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full,
            ErrorKind::NotADirectory => Self::NotADirectory,
            kind => Self::Unwritable { reason: kind.to_string() },
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(cause: rusqlite::Error) -> Self {
        let error = classify(&cause);
        if matches!(error, Self::Damaged | Self::Io | Self::Unwritable { .. }) {
            // The sentence for agents hides the cause, so this is the only place that still knows it.
            tracing::error!(%cause, "the store failed");
        }
        error
    }
}

fn classify(cause: &rusqlite::Error) -> Error {
    use rusqlite::Error as Cause;
    match cause {
        Cause::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
                Error::Busy
            }
            ErrorCode::DiskFull => Error::Full,
            // The shared-memory file could not grow, which is how a full disk shows itself there.
            ErrorCode::SystemIoFailure if failure.extended_code == SQLITE_IOERR_SHMSIZE => Error::Full,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Error::Damaged,
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied => {
                Error::Unwritable { reason: ErrorKind::PermissionDenied.to_string() }
            }
            ErrorCode::CannotOpen => Error::Unwritable { reason: "its files cannot be opened".to_owned() },
            _ => Error::Io,
        },
        // What was stored is not what we would have stored.
        Cause::FromSqlConversionFailure(..)
        | Cause::IntegralValueOutOfRange(..)
        | Cause::InvalidColumnType(..)
        | Cause::Utf8Error(..) => Error::Damaged,
        _ => Error::Io,
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn from_code(code: i32) -> Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some("near \"SELECT\" /var/lib/x".into()))
            .into()
    }

    #[test]
    fn sqlite_codes_become_the_errors_people_can_act_on() {
        for (code, expected) in [
            (ffi::SQLITE_BUSY, Error::Busy),
            (ffi::SQLITE_BUSY_RECOVERY, Error::Busy),
            (ffi::SQLITE_LOCKED, Error::Busy),
            (ffi::SQLITE_FULL, Error::Full),
            (ffi::SQLITE_IOERR_SHMSIZE, Error::Full),
            (ffi::SQLITE_IOERR_FSYNC, Error::Io),
            (ffi::SQLITE_CORRUPT, Error::Damaged),
            (ffi::SQLITE_NOTADB, Error::Damaged),
            (ffi::SQLITE_READONLY, Error::Unwritable { reason: "permission denied".into() }),
            (ffi::SQLITE_CONSTRAINT, Error::Io),
        ] {
            assert_eq!(from_code(code), expected, "code {code}");
        }
    }

    #[test]
    fn a_full_disk_is_told_from_a_missing_right() {
        let error = |kind: ErrorKind| Error::from_file_system(&kind.into());
        assert_eq!(error(ErrorKind::StorageFull), Error::Full);
        assert_eq!(error(ErrorKind::NotADirectory), Error::NotADirectory);
        assert_eq!(
            error(ErrorKind::ReadOnlyFilesystem),
            Error::Unwritable { reason: "read-only filesystem or storage medium".into() }
        );
    }

    #[test]
    fn sentences_are_for_people_and_give_nothing_away() {
        let all = [
            from_code(ffi::SQLITE_READONLY),
            from_code(ffi::SQLITE_CANTOPEN),
            Error::NotADirectory,
            Error::Newer { found: 9, supported: 1 },
            Error::Damaged,
            Error::Full,
            Error::Busy,
            Error::Gone,
            Error::Closed,
            Error::Io,
        ];
        for error in all {
            let text = error.to_string();
            assert!(text.starts_with(|c: char| c.is_lowercase()) && text.contains(';'), "{text}");
            for leak in ["SELECT", "/var", "SQLITE", "rusqlite", "::"] {
                assert!(!text.contains(leak), "{text}");
            }
            assert_eq!(error.is_retryable(), error == Error::Busy);
        }
    }
}
