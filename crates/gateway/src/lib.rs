//! The runtime of Aqueduct.

pub mod config;
pub mod store;
