//! Sessions, operations and what was looked for.

use std::sync::Arc;

use axum::{
    extract::{RawQuery, State},
    response::Response,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Inspect, query::Query};
use crate::{
    operator::listener::reply::{Problem, ok},
    store::traces::{OperationFilter, SearchFilter, SessionFilter, SessionRow, SpanRow},
};

pub(super) const SESSIONS: &[&str] =
    &["engine", "status", "agent", "server", "q", "since_us", "until_us", "limit", "cursor"];
pub(super) const OPERATIONS: &[&str] = &[
    "status",
    "method",
    "tool",
    "operation",
    "server",
    "agent",
    "engine",
    "min_duration_us",
    "since_us",
    "until_us",
    "limit",
    "cursor",
];
pub(super) const SEARCH: &[&str] = &["q", "since_us", "until_us", "limit", "cursor"];

#[derive(Serialize, JsonSchema)]
pub(super) struct Sessions {
    sessions: Vec<SessionRow>,
    /// Asks for the next page; null on the last one.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Operations {
    operations: Vec<SpanRow>,
    /// Asks for the next page; null on the last one.
    cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Found {
    spans: Vec<SpanRow>,
    /// Asks for the next page; null on the last one.
    cursor: Option<String>,
    /// Spans that cannot be found yet.
    index_lag: u64,
}

pub(super) async fn sessions(
    State(inspect): State<Arc<Inspect>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let query = Query::read(query.as_deref(), SESSIONS)?;
    let filter = SessionFilter {
        engine: query.engine()?,
        status: query.status()?,
        agent: query.text("agent"),
        server: query.text("server"),
        text: query.text("q"),
        since: query.micros("since_us")?,
        until: query.micros("until_us")?,
    };
    let (sessions, cursor) = inspect.store.sessions(filter, query.page()?).await?;
    Ok(ok(&Sessions { sessions, cursor: cursor.map(|cursor| cursor.to_string()) }))
}

pub(super) async fn operations(
    State(inspect): State<Arc<Inspect>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let query = Query::read(query.as_deref(), OPERATIONS)?;
    let filter = OperationFilter {
        status: query.status()?,
        method: query.text("method"),
        tool: query.text("tool"),
        operation: query.text("operation"),
        server: query.text("server"),
        agent: query.text("agent"),
        engine: query.engine()?,
        min_duration: query.micros("min_duration_us")?,
        since: query.micros("since_us")?,
        until: query.micros("until_us")?,
    };
    let (operations, cursor) = inspect.store.operations(filter, query.page()?).await?;
    Ok(ok(&Operations { operations, cursor: cursor.map(|cursor| cursor.to_string()) }))
}

pub(super) async fn search(
    State(inspect): State<Arc<Inspect>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let query = Query::read(query.as_deref(), SEARCH)?;
    let text = query.text("q").ok_or_else(|| Problem::wrong("'q' is missing; say what to look for"))?;
    let filter = SearchFilter { since: query.micros("since_us")?, until: query.micros("until_us")? };
    let (spans, cursor) = inspect.store.search(&text, filter, query.page()?).await?;
    let index_lag = inspect.store.stats().await?.index_lag;
    Ok(ok(&Found { spans, cursor: cursor.map(|cursor| cursor.to_string()), index_lag }))
}
