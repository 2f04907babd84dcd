//! One command a file.

pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod classify;
pub(crate) mod completions;
pub(crate) mod describe;
pub(crate) mod doctor;
pub(crate) mod ops;
mod saved;
pub(crate) mod serve;
pub(crate) mod wrap;

use std::sync::Arc;

use gateway::aql::registry::Registry;

use crate::{
    Configuration,
    report::{self, Failure},
};

/// A runtime for a command that does one thing.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::trouble("no runtime could be started", &error.to_string()))
}

/// The operations as configured, without opening any data. Servers that were never asked are asked now.
fn registry(configuration: &Configuration) -> Result<Arc<Registry>, Failure> {
    let config = configuration.load()?;
    if !config.upstreams.is_empty() {
        for trouble in runtime()?.block_on(gateway::app::learn(&config)) {
            report::note(&trouble);
        }
    }
    gateway::app::registry(&config).map_err(|problems| Failure::problems(&problems))
}
