//! How we are.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError},
};

use axum::{
    Extension,
    extract::{RawQuery, State},
    response::{IntoResponse, Response},
};
use http::header;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Inspect, Role, query::Query};
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

pub(super) async fn health(
    State(inspect): State<Arc<Inspect>>,
    role: Option<Extension<Role>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Query::read(query.as_deref(), &[])?;
    let store = inspect.store.stats().await?;
    let recorder = inspect.recorder.as_ref().map(|recorder| recorder.counts());
    let collectors = inspect.exporter.upgrade().map(|exporter| exporter.collectors()).unwrap_or_default();
    let has_lost = recorder.is_some_and(|counts| counts.dropped + counts.failed > 0)
        || collectors.iter().any(|collector| collector.dropped + collector.failed > 0);
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
pub(super) async fn metrics(State(inspect): State<Arc<Inspect>>) -> Result<Response, Problem> {
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
