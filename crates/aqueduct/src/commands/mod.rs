//! One command a file.

pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod classify;
pub(crate) mod completions;
pub(crate) mod describe;
pub(crate) mod init;
pub(crate) mod ops;
mod saved;
pub(crate) mod serve;

use gateway::aql::registry::Registry;

use crate::{Configuration, report::Failure};

/// The operations as configured, without opening any data.
fn registry(configuration: &Configuration) -> Result<Registry, Failure> {
    let config = configuration.load()?;
    gateway::app::registry(&config).map_err(|problems| Failure::problems(&problems))
}
