//! Executions that outlive a call, a crash and, once they are over, the process that ran them.
//!
//! What may happen to one is decided by [`aql::execution`]; this store reads, asks and writes in one transaction, so
//! that however many processes try, an execution never takes an edge that is not there. Each has an owner, the process
//! that runs it, and a lease that its owner renews. Whoever finds a lease run out ends the execution. The owner, should
//! it only have slept, is refused from then on: a [`Run`] names the attempt it belongs to.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aql::execution::{Execution, Illegal, Lifecycle};
use serde_json::Value;

mod change;
mod lease;
mod points;
mod read;
mod records;
mod retention;
mod schema;

use super::Error;
use super::database::{Database, Options};

pub use read::{LIST_EXECUTIONS_MAX, Narrow};

/// An execution before it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewExecution {
    pub id: String,
    pub operation: String,
    /// Kept beside the execution, so that every process goes by what was declared when it began.
    pub lifecycle: Arc<Lifecycle>,
    /// Who may see and change it.
    pub principal: String,
    /// What a retry needs to run the same again.
    pub params: Value,
}

/// Which process takes an execution upon itself, for whom, and for how long unless it renews.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The process, by a name no other living process has.
    pub owner: String,
    pub session_id: String,
    pub lease: Duration,
}

/// One attempt in one process. What it asks for is refused once the execution has gone on without it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Run {
    pub id: String,
    pub owner: String,
    pub attempt: u32,
}

/// An owner's execution that is not over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alive {
    pub id: String,
    pub attempt: u32,
    /// The name of its state, which another process may have changed, as by pausing it.
    pub status: String,
}

/// The outcome of changing an execution.
#[derive(Debug, Clone, PartialEq)]
pub enum Changed {
    Changed(Execution),
    /// There is none of this id, or it is someone else's.
    Missing,
    /// Its state forbids it, and nothing changed.
    Illegal(Illegal),
}

/// The outcome of retrying an execution.
#[derive(Debug, Clone, PartialEq)]
pub enum Taken {
    /// It runs again, under a new owner.
    Over {
        execution: Execution,
        params: Value,
        /// What the last attempt kept to go on from.
        checkpoint: Option<Value>,
    },
    Missing,
    Illegal(Illegal),
}

/// A cheap handle on `executions.db`.
///
/// Writes return once they are on disk. Dropping the last handle stops the writer thread after it finished
/// what was queued; [`ExecutionStore::close`] also waits for that. Methods need a Tokio runtime, opening does not.
///
/// A write whose caller goes away before its turn is not done. What has to happen in any case, as the end of a
/// session, is to be awaited in a task of its own.
#[derive(Clone)]
pub struct ExecutionStore {
    database: Database,
}

impl ExecutionStore {
    /// Opens the store in `dir` and creates both if missing. Blocks: meant for the start of the process.
    pub fn open(dir: &Path, options: Options) -> Result<Self, Error> {
        let database = Database::open(dir, schema::FILE, &schema::SCHEMA, options)?;
        Ok(Self { database })
    }

    /// Refuses new calls on every handle and returns once all queued writes are done and the file is closed.
    pub async fn close(self) {
        self.database.close().await;
    }
}

#[cfg(test)]
mod tests;
