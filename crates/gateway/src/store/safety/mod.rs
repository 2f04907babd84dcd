//! `safety.db`: what was decided, what waits for a person, and who is blocked.
//!
//! Everything here is on disk before it is acted upon. Several processes share the file, so each change reads what it
//! depends on in the transaction that makes it.

use std::path::Path;

use super::Error;
use super::database::{Database, Options};

pub mod agents;
mod approvals;
mod audit;
pub mod inputs;
mod schema;
mod tokens;

pub use approvals::{Answered, Approval, ApprovalKind, ApprovalState, Claim, NewApproval};
pub use inputs::{Input, InputAnswered, NewInput};
pub(crate) use schema::FILE;
pub use tokens::NewToken;

/// A cheap handle on `safety.db`.
#[derive(Clone)]
pub struct SafetyStore {
    database: Database,
}

impl SafetyStore {
    /// Opens the store in `dir` and creates both if missing. Blocks: meant for the start of the process.
    ///
    /// Once its file is removed or replaced, every write fails: what nobody could find again must not be acted upon.
    pub fn open(dir: &Path, options: Options) -> Result<Self, Error> {
        let database = Database::open_watched(dir, schema::FILE, &schema::SCHEMA, options)?;
        Ok(Self { database })
    }

    /// Refuses new calls on every handle and returns once all queued writes are done and the file is closed.
    pub async fn close(self) {
        self.database.close().await;
    }
}

#[cfg(test)]
mod tests;
