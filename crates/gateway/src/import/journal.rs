//! What was changed in clients' files, noted in the data directory so that it can be put back.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    error::Error,
    files::{self, Rights},
};

const FILE_NAME: &str = "init.json";
const VERSION: u32 = 1;

/// All changes that can be put back, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    version: u32,
    pub(super) changes: Vec<Change>,
}

/// One change of one file. Texts are noted by their hashes, since they hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Change {
    pub(super) path: PathBuf,
    pub(super) backup: PathBuf,
    pub(super) before: String,
    pub(super) after: String,
    /// The configuration that its servers went to, and what they are called there. Older notes lack both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) config: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) upstreams: Vec<String>,
}

pub(super) fn path(data: &Path) -> PathBuf {
    data.join(FILE_NAME)
}

pub(super) fn read(data: &Path) -> Result<Journal, Error> {
    let path = path(data);
    let Some(text) = files::read(&path)? else {
        return Ok(Journal { version: VERSION, changes: Vec::new() });
    };
    let journal: Option<Journal> = serde_json::from_str(&text).ok();
    journal.filter(|journal| journal.version == VERSION).ok_or_else(|| {
        Error::new(
            format!("the notes in '{}' cannot be read", path.display()),
            "put the clients' files back from their backups by hand, then remove the notes",
        )
    })
}

pub(super) fn write(data: &Path, journal: &Journal) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(journal).unwrap_or_default();
    files::stage(&path(data), &format!("{text}\n"), Rights::OwnerOnly)?.put()
}
