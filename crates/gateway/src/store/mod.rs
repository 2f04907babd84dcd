//! Durable state, one SQLite file for each kind of it.
//!
//! The store promises that
//! - an acknowledged write is on disk: it survives a crash of the process and of the machine;
//! - a write happens whole or not at all, and a dry run leaves nothing behind;
//! - several processes may share one data directory and lose nothing of each other's writes;
//! - a full disk or a reached cap is an answer, not an end: once there is room, writes work again.
//!
//! It never
//! - reads a clock or makes up an id: both are handed in;
//! - touches a file that it does not understand, be it newer, damaged or someone else's;
//! - waits without bound: queues, groups, pages and waits for other processes all have a limit;
//! - tells an agent a path, a statement or what SQLite said. The operator finds those in the log.

mod check;
mod columns;
mod database;
pub mod entities;
mod error;
pub mod executions;
mod files;
mod functions;
mod migrations;
pub mod quotas;
mod readers;
pub mod safety;
mod secret;
pub mod traces;
mod watched;
mod writer;

pub use check::check;
pub use database::Options;
pub use entities::EntityStore;
pub use error::Error;
pub use executions::ExecutionStore;
pub use quotas::QuotaStore;
pub use safety::SafetyStore;
pub(crate) use secret::keep_first;
pub use secret::secret;
pub use traces::TraceStore;
