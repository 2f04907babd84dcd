//! One command a file.

pub(crate) mod adapt;
pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod classify;
pub(crate) mod completions;
pub(crate) mod describe;
pub(crate) mod discover;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod inspector;
pub(crate) mod operator;
pub(crate) mod ops;
mod saved;
pub(crate) mod serve;
#[cfg(feature = "tokens")]
pub(crate) mod tokens;
pub(crate) mod trace;
pub(crate) mod trust;
pub(crate) mod wrap;

use std::sync::Arc;

use gateway::{
    aql::{policy::Reason, registry::Registry},
    config::Checked,
};

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
    let config = learned(configuration)?;
    gateway::app::registry(&config).map_err(|problems| Failure::problems(&problems))
}

/// The configuration, once every server was asked what it offers that never was.
fn learned(configuration: &Configuration) -> Result<Checked, Failure> {
    let config = configuration.load()?;
    if !config.upstreams.is_empty() {
        for trouble in runtime()?.block_on(gateway::app::learn(&config)) {
            report::note(&trouble);
        }
    }
    Ok(config)
}

/// How many operations nobody may call because their servers are not trusted enough, as the rest of the same line.
fn not_trusted(registry: &Registry) -> String {
    let denied = registry
        .operations()
        .filter(|(id, _)| registry.standing(*id).denied().is_some_and(Reason::is_want_of_trust));
    match denied.count() {
        0 => String::new(),
        count => {
            format!("; {count} of them are denied for want of trust in their servers (docs/policy.md)")
        }
    }
}

/// How many servers are still to say what they offer, as the rest of a line about operations.
fn not_asked(config: &Checked) -> String {
    match gateway::mistakes::unasked(config).len() {
        0 => String::new(),
        1 => "; 1 server not asked yet (aqueduct doctor asks it)".to_owned(),
        count => format!("; {count} servers not asked yet (aqueduct doctor asks them)"),
    }
}
