//! Servers and how they did, who called whom, and what it all asks of a model.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Inspect, now,
    query::{Place, Query},
    upstreams::{Drift, ServerInfo, TokenCosts},
};
use crate::{
    operator::listener::reply::{Problem, ok},
    store::traces::{LatencyRow, OperationStats, ServerDetails, ServerStats, TokenRow},
    trace::Nanos,
};

pub(super) const SINCE: &[&str] = &["since_us"];

/// What is summed unless something else is asked for.
const SINCE_DEFAULT: Nanos = 24 * 3600 * 1_000_000_000;

#[derive(Serialize, JsonSchema)]
pub(super) struct AllServers {
    servers: Vec<OneServer>,
}

/// A server that is configured, or was called from here, or that others say they called.
#[derive(Default, Serialize, JsonSchema)]
pub(super) struct OneServer {
    #[serde(flatten)]
    stats: ServerStats,
    /// How it is in this process: running, starting, idle, failed. Where only the data is looked at, whether it was ever asked what
    /// it offers: known or unknown. Null if it is not configured here.
    state: Option<String>,
    /// Why it failed last.
    error: Option<String>,
    tools: Option<u32>,
    /// Tools that have changed and wait to be accepted.
    held: u32,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ServerAnswer {
    server: OneServer,
    operations: Vec<OperationStats>,
    /// From the first call on, or from `since_us` if that is later, also where nothing was called.
    latency: Vec<LatencyRow>,
    /// How long a point of it lasts.
    latency_width_us: i64,
    drift: Vec<Drift>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Tokens {
    #[serde(flatten)]
    costs: TokenCosts,
    calls: Vec<TokenRow>,
}

impl OneServer {
    fn new(stats: ServerStats, info: Option<&ServerInfo>) -> Self {
        Self {
            stats,
            state: info.map(|info| info.state.clone()),
            error: info.and_then(|info| info.error.clone()),
            tools: info.and_then(|info| info.tools),
            held: info.map_or(0, |info| info.held),
        }
    }
}

fn since(query: Option<&str>) -> Result<Nanos, Problem> {
    let query = Query::read(query, SINCE)?;
    Ok(query.micros("since_us")?.unwrap_or_else(|| now().saturating_sub(SINCE_DEFAULT)))
}

/// What is configured, read on a thread that may wait.
async fn known(inspect: &Arc<Inspect>) -> Result<Vec<ServerInfo>, Problem> {
    let servers = Arc::clone(&inspect.servers);
    let listed = tokio::task::spawn_blocking(move || servers.list()).await;
    listed.map_err(|_| Problem::from(crate::store::Error::Io))
}

pub(super) async fn servers(
    State(inspect): State<Arc<Inspect>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let stats = inspect.store.servers(since(query.as_deref())?).await?;
    let known = known(&inspect).await?;
    let mut all: BTreeMap<String, ServerStats> =
        stats.into_iter().map(|stats| (stats.server.clone(), stats)).collect();
    // Of a server of ours nobody else's word counts.
    for info in &known {
        if all.get(&info.name).is_none_or(|stats| stats.reported) {
            let server = info.name.clone();
            all.insert(info.name.clone(), ServerStats { server, ..ServerStats::default() });
        }
    }
    let servers = all.into_values().map(|stats| {
        let info = known.iter().find(|info| info.name == stats.server);
        OneServer::new(stats, info)
    });
    Ok(ok(&AllServers { servers: servers.collect() }))
}

pub(super) async fn server(
    State(inspect): State<Arc<Inspect>>,
    Place(name): Place<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let since = since(query.as_deref())?;
    let known = known(&inspect).await?;
    let info = known.iter().find(|info| info.name == name);
    let details = inspect.store.server(&name, info.is_some(), since, now()).await?;
    if details.server.calls == 0 && info.is_none() {
        let message =
            "no such server is configured, and none was called in that time; GET /api/v1/servers lists them";
        return Err(Problem::missing(message));
    }
    let servers = Arc::clone(&inspect.servers);
    let drift = tokio::task::spawn_blocking(move || servers.drift(&name)).await.unwrap_or_default();
    let ServerDetails { server, operations, latency, latency_width_us } = details;
    let server = OneServer::new(server, info);
    Ok(ok(&ServerAnswer { server, operations, latency, latency_width_us, drift }))
}

pub(super) async fn graph(
    State(inspect): State<Arc<Inspect>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Ok(ok(&inspect.store.graph(since(query.as_deref())?).await?))
}

pub(super) async fn tokens(
    State(inspect): State<Arc<Inspect>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let calls = inspect.store.result_tokens(since(query.as_deref())?).await?;
    let servers = Arc::clone(&inspect.servers);
    let costs = tokio::task::spawn_blocking(move || servers.tokens()).await.unwrap_or_default();
    Ok(ok(&Tokens { costs, calls }))
}
