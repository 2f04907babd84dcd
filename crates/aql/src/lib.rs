//! The MCP-AQL language, pure: it never opens a file or socket, reads a clock, draws a random number or awaits.
//!
//! Operations and parameters are types; a [`registry`] of them is built, checked and frozen; a [`request`] is read,
//! routed and [validated](validate) against it; [introspection](introspect) and the [tool list](tools) are views
//! over it; a [`response`] is written once.

pub mod batch;
pub mod category;
pub mod danger;
pub mod define;
pub mod error;
pub mod fields;
pub mod introspect;
pub mod limits;
pub mod lint;
pub mod merge;
pub mod name;
pub mod operation;
pub mod param;
pub mod policy;
pub mod profile;
pub mod registry;
pub mod request;
pub mod response;
pub mod scan;
pub mod schema;
pub mod shared;
pub mod suggest;
pub mod tools;
pub mod types;
pub mod validate;
pub mod warning;
