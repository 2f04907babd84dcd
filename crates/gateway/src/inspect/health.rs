//! How we are.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    Extension,
    extract::State,
    response::{IntoResponse, Response},
};
use http::header;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Inspect, Role, query::NoQuery};
use crate::{
    operator::listener::reply::{Problem, ok},
    store::{self, traces::Stats},
    trace::{
        Counts,
        metrics::{self, Totals},
        otlp::Collector,
    },
};

#[derive(Serialize, JsonSchema)]
pub(super) struct Health {
    /// ok, or degraded where something was lost or cannot be read
    status: &'static str,
    version: &'static str,
    server_id: String,
    started_us: i64,
    /// viewer or operator
    role: &'static str,
    /// Null where this process records nothing.
    recorder: Option<Counts>,
    store: Stats,
    /// Where spans are sent on to, and how that goes.
    collectors: Vec<Collector>,
    listeners: BTreeMap<&'static str, String>,
}

/// So long after the last loss that anybody saw we are well again.
const RECENT: Duration = Duration::from_mins(5);

/// What was lost, as far as anybody asked. Counts only ever grow, and say nothing of when.
#[derive(Default)]
pub(super) struct Losses {
    known: u64,
    /// When there were more for the last time.
    seen: Option<Instant>,
}

impl Losses {
    fn are_recent(&mut self, lost: u64, now: Instant) -> bool {
        if std::mem::replace(&mut self.known, lost) < lost {
            self.seen = Some(now);
        }
        self.seen.is_some_and(|seen| now.saturating_duration_since(seen) < RECENT)
    }
}

pub(super) async fn health(
    State(inspect): State<Arc<Inspect>>,
    role: Option<Extension<Role>>,
    _: NoQuery,
) -> Result<Response, Problem> {
    let store = inspect.store.stats().await?;
    let recorder = inspect.recorder.as_ref().map(|recorder| recorder.counts());
    let collectors = inspect.exporter.upgrade().map(|exporter| exporter.collectors()).unwrap_or_default();
    let lost = recorder.map_or(0, |counts| counts.dropped + counts.failed)
        + collectors.iter().map(|collector| collector.dropped + collector.failed).sum::<u64>();
    let has_lost =
        inspect.losses.lock().unwrap_or_else(PoisonError::into_inner).are_recent(lost, Instant::now());
    let listeners = inspect.listeners.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(ok(&Health {
        status: if has_lost || store.unreadable > 0 { "degraded" } else { "ok" },
        version: env!("CARGO_PKG_VERSION"),
        server_id: inspect.server_id.clone(),
        started_us: inspect.started / 1000,
        role: role.map_or(Role::Viewer, |Extension(role)| role).as_str(),
        recorder,
        store,
        collectors,
        listeners,
    }))
}

/// What Prometheus reads.
pub(super) async fn metrics(State(inspect): State<Arc<Inspect>>, _: NoQuery) -> Result<Response, Problem> {
    let (Some(metrics), Some(recorder)) = (&inspect.metrics, &inspect.recorder) else {
        return Err(Problem::missing("this process records nothing"));
    };
    let (counted, recorder) = (Arc::clone(metrics), Arc::clone(recorder));
    // Not on a thread that calls are worked on: the recorder's threads hold what this looks at.
    let page = tokio::task::spawn_blocking(move || {
        let Counts { recorded, dropped, failed, queued, .. } = recorder.counts();
        let totals = Totals { recorded, dropped, failed, running: recorder.running(), queued };
        counted.render(&totals)
    });
    let page = page.await.map_err(|_| store::Error::Io)?;
    Ok(([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], page).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_told_for_a_while_and_then_we_are_well_again() {
        let mut losses = Losses::default();
        let begin = Instant::now();
        let after = |minutes| begin + Duration::from_mins(minutes);
        assert!(!losses.are_recent(0, begin));
        assert!(losses.are_recent(3, after(1)) && losses.are_recent(3, after(5)));
        assert!(!losses.are_recent(3, after(6)));
        assert!(losses.are_recent(4, after(60)) && !losses.are_recent(4, after(70)));
    }
}
