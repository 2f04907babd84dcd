//! Starting an upstream once to see whether it works. Nothing is kept, and no tool is called.

use std::{
    io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use aql::{
    adopt::{Code, Severity, Taken},
    drift::Change,
};
use serde_json::value::RawValue;

use super::{
    catalogue::{self, Capture, Catalogues, Kept},
    environment::Inherits,
    http::{HttpLink, NO_CONNECTION, NO_TOKEN},
    open::{self, Era, Identity},
    peer::{Failure, Inbox, Link, Peer},
    process::{self, Program},
    slot::explain,
    wire::{self, METHOD_NOT_FOUND},
};
use crate::config;

/// What was found of a server that works.
#[derive(Debug, Clone)]
pub struct Met {
    /// From the start until it had said who it is.
    pub start: Duration,
    pub server: Option<Identity>,
    pub era: Era,
    pub version: String,
    pub tools: usize,
    pub operations: usize,
    /// Tools whose definitions have changed since they were accepted.
    pub held: Vec<Held>,
    /// Names of tools that are none, or that cannot be read.
    pub unreadable: Vec<String>,
    /// How many tools the operator's rules leave out.
    pub left_out: usize,
    /// Tools of which something had to be loosened or left away.
    pub loosened: Vec<String>,
    /// Operations of which nobody knows for sure what they do.
    pub to_review: Vec<String>,
}

/// A tool that is held back.
#[derive(Debug, Clone)]
pub struct Held {
    pub tool: String,
    pub changes: Vec<Change>,
}

/// Why a server does not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ailment {
    /// There is no such program.
    NoProgram,
    NoDirectory,
    /// The system does not let it be run.
    NotRunnable(String),
    /// Its process ended by itself, with what it said last.
    Ended(String),
    /// It did not answer in time, with what it said last.
    Silent {
        within: Duration,
        words: Option<String>,
    },
    NoToken(String),
    NoConnection(String),
    WantsCredential,
    Forbidden,
    WrongPath,
    Redirects,
    /// It speaks the older HTTP+SSE.
    OlderTransport,
    /// It answered, but not as a server of the protocol does.
    Strange(String),
}

/// Starts the upstream, asks what it offers, and ends it. What was kept of it before is compared with it.
pub async fn examine(settings: &config::Upstream, data: &Path) -> Result<Met, Ailment> {
    let before = Catalogues::new(data).load(settings);
    let visit = Visit { settings, last: before.as_ref().map(|kept| kept.era), started: Instant::now() };
    let (capture, start) = match &settings.link {
        config::Link::Command { program, args, env, cwd } => {
            let inherits = Inherits::of(settings);
            let program = Program { path: program, args, env, cwd: cwd.as_deref(), inherits };
            match visit.command(program).await {
                // There are older servers that end when anything is asked before `initialize`.
                Err(Ailment::Ended(_)) if visit.last.is_none() => {
                    let again = Visit { last: Some(Era::Initialized), started: Instant::now(), ..visit };
                    again.command(program).await?
                }
                other => other?,
            }
        }
        config::Link::Http { url, headers, bearer } => visit.http(url, headers, bearer.as_ref()).await?,
    };
    let kept = Kept::settle(before, &capture, settings, jiff::Timestamp::now());
    met(settings, &capture, &kept, start)
}

struct Visit<'a> {
    settings: &'a config::Upstream,
    last: Option<Era>,
    started: Instant,
}

impl Visit<'_> {
    async fn command(&self, program: Program<'_>) -> Result<(Capture, Duration), Ailment> {
        if program.cwd.is_some_and(|directory| !directory.is_dir()) {
            return Err(Ailment::NoDirectory);
        }
        let started = process::start(&self.settings.name, program, Arc::new(Deaf), None);
        let (peer, mut process) = started.map_err(|error| match error.cause {
            Some(io::ErrorKind::NotFound) => Ailment::NoProgram,
            _ => Ailment::NotRunnable(error.message),
        })?;
        let seen = tokio::select! {
            seen = self.see(&peer) => seen,
            why = process.wait() => Err(Ailment::Ended(why)),
        };
        let seen = match seen {
            Err(Ailment::Silent { within, .. }) => {
                Err(Ailment::Silent { within, words: process.last_words() })
            }
            seen => seen,
        };
        peer.end("it was only looked for");
        process.stop().await;
        seen
    }

    async fn http(
        &self,
        url: &str,
        headers: &[(String, config::Secret)],
        bearer: Option<&config::Bearer>,
    ) -> Result<(Capture, Duration), Ailment> {
        let link = HttpLink::new(url, headers, bearer).map_err(|failure| ailment(&failure))?;
        let link = Arc::new(link);
        let peer = Arc::new(Peer::new(Link::Http(Arc::clone(&link)), Arc::new(Deaf)));
        let seen = self.see(&peer).await;
        peer.end("it was only looked for");
        link.close().await;
        match seen {
            Err(Ailment::WrongPath | Ailment::Strange(_) | Ailment::Silent { .. })
                if link.is_older().await =>
            {
                Err(Ailment::OlderTransport)
            }
            seen => seen,
        }
    }

    async fn see(&self, peer: &Arc<Peer>) -> Result<(Capture, Duration), Ailment> {
        let within = self.settings.start_timeout;
        let seeing = async {
            open::open(peer, within, self.last).await?;
            let start = self.started.elapsed();
            Ok((catalogue::capture(peer, within).await?, start))
        };
        match tokio::time::timeout(within, seeing).await {
            Ok(seen) => seen.map_err(|failure| ailment(&failure)),
            Err(_) => Err(Ailment::Silent { within, words: None }),
        }
    }
}

fn ailment(failure: &Failure) -> Ailment {
    match failure {
        Failure::Refused(status, why) => match status.as_u16() {
            401 => Ailment::WantsCredential,
            403 => Ailment::Forbidden,
            404 => Ailment::WrongPath,
            300..=399 => Ailment::Redirects,
            _ => Ailment::Strange(why.clone()),
        },
        Failure::Unreachable(why) if why.starts_with(NO_TOKEN) => Ailment::NoToken(why.clone()),
        Failure::Unreachable(why) if why.starts_with(NO_CONNECTION) => Ailment::NoConnection(why.clone()),
        Failure::TimedOut(within) => Ailment::Silent { within: *within, words: None },
        other => Ailment::Strange(explain(other)),
    }
}

fn met(settings: &config::Upstream, capture: &Capture, kept: &Kept, start: Duration) -> Result<Met, Ailment> {
    let mut taken = Taken::default();
    let super::Became { pinned, adopted, .. } = super::adopted(settings, kept, &mut taken)
        .map_err(|problems| Ailment::Strange(problems.to_string()))?;
    let offered = || kept.tools.iter().filter(|tool| !tool.gone);
    let allowed = || offered().filter(|tool| settings.tools.allows(tool.name()));
    let is_read = |name: &str| pinned.iter().any(|tool| tool.name() == name);
    let mut loosened: Vec<String> = adopted
        .warnings
        .iter()
        .filter(|warning| warning.severity >= Severity::Warning && warning.code != Code::NeedsReview)
        .filter_map(|warning| warning.tool.clone())
        .collect();
    loosened.sort_unstable();
    loosened.dedup();
    let unsure = adopted.operations.iter().filter(|operation| operation.judged.judgement.needs_review());
    Ok(Met {
        start,
        server: capture.server.clone(),
        era: capture.era,
        version: capture.version.clone(),
        tools: offered().count(),
        operations: adopted.operations.len(),
        held: kept
            .held()
            .map(|tool| Held { tool: tool.name().to_owned(), changes: tool.changes() })
            .collect(),
        unreadable: allowed().map(|tool| tool.name().to_owned()).filter(|name| !is_read(name)).collect(),
        left_out: offered().count() - allowed().count(),
        loosened,
        to_review: unsure.map(|operation| operation.definition.name.clone()).collect(),
    })
}

/// Nobody who could answer is there.
struct Deaf;

impl Inbox for Deaf {
    fn notified(&self, _peer: &Arc<Peer>, _method: &str, _params: Option<&RawValue>) {}

    fn asked(&self, peer: &Arc<Peer>, id: Box<RawValue>, method: &str, _params: Option<Box<RawValue>>) {
        peer.send(wire::refusal(&id, METHOD_NOT_FOUND, &format!("'{method}' is not offered here")));
    }

    fn opened(&self, _peer: &Arc<Peer>) {}
}
