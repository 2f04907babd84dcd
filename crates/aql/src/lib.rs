//! The MCP-AQL language, pure: it never opens a file or socket, reads a clock, draws a random number or awaits.
//!
//! Operations and parameters are types; a [`registry`] of them is built, checked and frozen; a request is read,
//! routed and validated against it; introspection and the tool list are views over it.

pub mod category;
pub mod danger;
pub mod limits;
pub mod name;
