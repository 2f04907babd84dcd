//! Taking over the servers that MCP clients have configured: they become upstreams in `aqueduct.toml`, and the client
//! gets Aqueduct in their place.
//!
//! ```text
//! clients' files ─▶ found ─▶ plan (nothing is written yet) ─▶ apply ─▶ journal ─▶ undo
//! ```
//!
//! A [`Plan`] says everything that will happen, with secrets covered, and [`apply`] does just that. Client files are
//! edited, not rewritten: what is not a server that was taken over stays byte for byte. Each gets a backup beside it and
//! a note in the data directory, from which [`undo`] puts it back.

mod apply;
mod error;
mod files;
mod found;
mod journal;
mod merge;
mod places;
mod plan;
mod render;
mod rewrite;
#[cfg(test)]
mod tests;
mod undo;

pub use self::{
    apply::{Done, Written, apply},
    error::Error,
    plan::{ClientChange, Plan, Planned, Request, plan},
    rewrite::Start,
    undo::{Restored, Stays, Undone, undo},
};

/// The time that stands in the names of backups.
#[must_use]
pub fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
