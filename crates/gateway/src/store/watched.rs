//! A file that has to stay where it is while it is in use.
//!
//! SQLite goes on writing to a file that was removed, and nobody ever finds what it wrote.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Error;

/// The file as it was when it was opened.
pub(super) struct Watched {
    path: PathBuf,
    identity: Identity,
    /// The log is told once of each loss, not with every write.
    told: AtomicBool,
}

/// Device and inode.
#[cfg(unix)]
type Identity = (u64, u64);
/// Elsewhere an open file cannot be removed.
#[cfg(not(unix))]
type Identity = ();

impl Watched {
    pub(super) fn new(path: PathBuf) -> Result<Self, Error> {
        let identity = identity(&path).map_err(|cause| Error::from_file_system(&cause))?;
        Ok(Self { path, identity, told: AtomicBool::new(false) })
    }

    /// Fails while another file, or none, has the name.
    pub(super) fn check(&self) -> Result<(), Error> {
        let found = identity(&self.path);
        if found.as_ref().is_ok_and(|found| *found == self.identity) {
            self.told.store(false, Ordering::Relaxed);
            return Ok(());
        }
        if !self.told.swap(true, Ordering::Relaxed) {
            let path = self.path.display();
            match found {
                Ok(_) => {
                    tracing::error!(%path, "the store's file was replaced while it was in use; nothing is written any more. Put the old file back, or restart the server to use the new one")
                }
                Err(cause) => {
                    tracing::error!(%path, %cause, "the store's file was removed while it was in use; nothing is written any more. Put it back, or restart the server to begin a new one")
                }
            }
        }
        Err(Error::Gone)
    }
}

#[cfg(unix)]
fn identity(path: &std::path::Path) -> std::io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &std::path::Path) -> std::io::Result<Identity> {
    std::fs::metadata(path).map(drop)
}
