//! Looking whether everything works that the configuration names: the data directory, the address, every upstream.
//!
//! Every upstream is started once, all of them side by side. Nothing is changed, and whatever is wrong is told with how
//! to mend it.

mod adapter;
mod advice;
mod place;
mod upstream;

use std::time::Duration;

use futures_util::{StreamExt, stream::FuturesUnordered};
use serde::Serialize;

pub use self::upstream::Upstream;
use crate::{
    app,
    config::{self, Checked},
};

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub severity: Severity,
    /// For machines, in snake_case.
    pub code: &'static str,
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Something should be done.
    Problem,
    /// Something cannot be reached or used at all.
    Unreachable,
}

impl Finding {
    fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        Self { severity, code, message: message.into(), mend: None }
    }

    fn mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }
}

/// Everything that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub configuration: Looked,
    pub data: Looked,
    pub address: Looked,
    /// In the order of the configuration, those that wait for variables after the others.
    pub upstreams: Vec<Upstream>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Looked {
    /// What it is: a file, a directory, an address.
    pub what: String,
    pub findings: Vec<Finding>,
}

impl Report {
    /// The worst of all findings.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        let surroundings = [&self.configuration, &self.data, &self.address];
        let of_surroundings = surroundings.into_iter().flat_map(|looked| &looked.findings);
        let of_upstreams = self.upstreams.iter().flat_map(|upstream| &upstream.findings);
        of_surroundings.chain(of_upstreams).map(|finding| finding.severity).max()
    }
}

/// Which upstreams there are that are not ready yet, each time another one is.
pub type Watcher<'a> = &'a dyn Fn(&[&str]);

/// Looks at everything, or at the upstreams of these names. `waiting` is told for whom we wait.
pub async fn examine(config: &Checked, names: &[String], waiting: Watcher<'_>) -> Report {
    let is_meant = |upstream: &&config::Upstream| names.is_empty() || names.contains(&upstream.name);
    let meant: Vec<&config::Upstream> = config.upstreams.iter().filter(is_meant).collect();
    let mut pending: Vec<&str> = meant.iter().map(|upstream| upstream.name.as_str()).collect();
    let mut visits: FuturesUnordered<_> = meant
        .iter()
        .enumerate()
        .map(
            |(place, settings)| async move { (place, upstream::examine(settings, &config.store.data).await) },
        )
        .collect();
    waiting(&pending);
    let mut upstreams: Vec<(usize, Upstream)> = Vec::new();
    while let Some(seen) = visits.next().await {
        pending.retain(|name| *name != seen.1.name);
        waiting(&pending);
        upstreams.push(seen);
    }
    upstreams.sort_by_key(|(place, _)| *place);
    let is_meant = |left_out: &&config::LeftOut| names.is_empty() || names.contains(&left_out.name);
    let left_out = config.left_out.iter().filter(is_meant).map(upstream::left_out);
    Report {
        configuration: configuration(config),
        data: place::data(&config.store.data),
        address: place::address(config).await,
        upstreams: upstreams.into_iter().map(|(_, upstream)| upstream).chain(left_out).collect(),
    }
}

/// What is to be said of a server that could not be asked, and what helps. It is looked at once more, since only that
/// tells what is wrong; one that kept silent is not waited for again.
pub async fn remedy(settings: &config::Upstream, why: &str) -> Finding {
    upstream::remedy(settings, why).await
}

fn configuration(config: &Checked) -> Looked {
    let what = match &config.file {
        Some(file) => file.display().to_string(),
        None => "defaults; no file".to_owned(),
    };
    let warning = |warning: &String| Finding::new(Severity::Problem, "configuration", warning);
    let mut findings: Vec<Finding> = config.warnings.iter().map(warning).collect();
    if let Err(problems) = app::registry(config) {
        let told = problems.0.iter().map(|problem| {
            Finding::new(Severity::Problem, "operations", problem.to_string())
                .mend("leave the tool out with 'deny', or give the server another 'prefix'")
        });
        findings.extend(told);
    }
    Looked { what, findings }
}

/// A time for people.
fn seconds(time: Duration) -> String {
    match time.as_secs() {
        1 => "1 s".to_owned(),
        whole => format!("{whole} s"),
    }
}
