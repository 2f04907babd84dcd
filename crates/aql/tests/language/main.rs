//! The language as a caller meets it: raw arguments in, JSON answers out, over one fixture adapter.
//!
//! Every answer that any of these tests gets is checked against the published schemas (where they are at hand) and
//! for words that a published conformance runner would take for a leak; see [`drive`].

#![cfg(test)]

mod batch;
mod danger;
mod definitions;
mod drive;
mod encoding;
mod errors;
mod face;
mod fixture;
mod fuzz;
mod generated;
mod introspection;
mod limits;
mod modes;
mod params;
mod requests;
mod schemas;
mod selection;
mod snapshots;
mod tools;
mod types;
mod updates;
mod validation;
mod warnings;
