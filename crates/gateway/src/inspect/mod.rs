//! The Inspector's API: what was recorded, live and later, as JSON under `/api/v1`.
//!
//! It is part of the operator's listener and comes after its entrance: Host, Origin and key are checked by then. It reads
//! the store and steers nothing, but that it cancels what the operator wants cancelled.

mod act;
mod health;
mod lists;
mod live;
mod openapi;
pub mod page;
pub(crate) mod query;
mod servers;
mod trees;
mod upstreams;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use axum::{
    Router,
    routing::{get, post},
};
use tokio::sync::Semaphore;

pub use self::{
    live::data as event_data,
    openapi::openapi,
    upstreams::{Configured, Drift, ServerInfo, Servers, States, TokenCosts},
};
use crate::{
    store::TraceStore,
    trace::{Nanos, Recorder, metrics::Metrics, otlp::Exporter},
};

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// May look, and neither act nor see secrets.
    Viewer,
    Operator,
}

impl Role {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
        }
    }
}

/// What requests are answered with.
pub struct Inspect {
    pub store: TraceStore,
    pub servers: Arc<dyn Servers>,
    /// Nothing where this process records nothing.
    pub recorder: Option<Arc<Recorder>>,
    pub metrics: Option<Arc<Metrics>>,
    /// Who spans are sent on to.
    pub exporter: Weak<Exporter>,
    /// What we call ourselves in what is recorded.
    pub server_id: String,
    started: Nanos,
    streams: Arc<Semaphore>,
    listeners: Mutex<BTreeMap<&'static str, String>>,
    losses: Mutex<health::Losses>,
}

/// How many streams of live events there are at once; more are told to come back.
const STREAMS_MAX: usize = 64;

impl Inspect {
    /// Reads what is in the store, knows no servers and has nothing that could be cancelled.
    #[must_use]
    pub fn new(store: TraceStore, server_id: impl Into<String>) -> Self {
        Self {
            store,
            servers: Arc::new(Configured::default()),
            recorder: None,
            metrics: None,
            exporter: Weak::new(),
            server_id: server_id.into(),
            started: now(),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            listeners: Mutex::default(),
            losses: Mutex::default(),
        }
    }

    /// Says where something is served, for who asks how we are.
    pub fn listens(&self, what: &'static str, address: impl Into<String>) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).insert(what, address.into());
    }
}

/// The routes. Each is in [`openapi`], which a test holds.
pub fn router<S: Clone + Send + Sync + 'static>(inspect: Arc<Inspect>) -> Router<S> {
    Router::new()
        .route("/api/v1/health", get(health::health))
        .route("/api/v1/sessions", get(lists::sessions))
        .route("/api/v1/sessions/{id}", get(trees::session))
        .route("/api/v1/sessions/{id}/cancel", post(act::cancel_session))
        .route("/api/v1/operations", get(lists::operations))
        .route("/api/v1/operations/{span_id}/cancel", post(act::cancel_operation))
        .route("/api/v1/traces/{trace_id}", get(trees::trace))
        .route("/api/v1/traces/{trace_id}/spans/{span_id}", get(trees::span))
        .route("/api/v1/search", get(lists::search))
        .route("/api/v1/servers", get(servers::servers))
        .route("/api/v1/servers/{name}", get(servers::server))
        .route("/api/v1/graph", get(servers::graph))
        .route("/api/v1/tokens", get(servers::tokens))
        .route("/api/v1/events", get(live::events))
        .route("/api/v1/openapi.json", get(openapi::serve))
        .route("/metrics", get(health::metrics))
        .with_state(inspect)
}

/// The time, for what is compared with it and for who writes.
#[must_use]
pub fn now() -> Nanos {
    Nanos::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(Nanos::MAX)
}
