//! The real binary over the real wire: every test starts its own server on its own data.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets the unexpected has failed"
)]

mod batch;
mod classify;
mod commands;
mod confirmation;
mod conformance;
mod crash;
mod differential;
mod discovery;
mod discrete;
mod doctor;
mod documents;
mod encoding;
mod entities;
mod executions;
mod finding;
mod harness;
mod hostile;
mod http;
mod init;
mod inspector;
mod introspection;
mod modes;
mod operator;
mod queries;
mod red_team;
mod relationships;
mod requests;
mod returned;
mod safety_loop;
mod scripts;
mod sessions;
mod slow;
mod stubborn;
#[cfg(feature = "tokens")]
mod tokens;
mod upstreams;
mod workflows;
mod wrap;
