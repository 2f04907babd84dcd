//! The runtime of Aqueduct.

pub mod store;
