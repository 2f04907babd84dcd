//! Cancelling what runs.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::Response,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Inspect, trees::span_id};
use crate::{
    operator::listener::reply::{Problem, ok},
    trace::Wish,
};

#[derive(Serialize, JsonSchema)]
pub(super) struct OperationCancelled {
    cancelled: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct SessionCancelled {
    /// How many operations were.
    cancelled: usize,
}

pub(super) async fn cancel_operation(
    State(inspect): State<Arc<Inspect>>,
    Path(span): Path<String>,
) -> Result<Response, Problem> {
    if stop(&inspect, Wish::Operation(span_id(&span)?)).await? > 0 {
        return Ok(ok(&OperationCancelled { cancelled: true }));
    }
    Err(Problem::missing("no such operation runs; GET /api/v1/operations?status=running lists them"))
}

pub(super) async fn cancel_session(
    State(inspect): State<Arc<Inspect>>,
    Path(session): Path<String>,
) -> Result<Response, Problem> {
    let cancelled = stop(&inspect, Wish::Session(session.clone())).await?;
    if cancelled == 0 && inspect.store.session(&session).await?.is_none() {
        return Err(Problem::missing("there is no such session; GET /api/v1/sessions lists them"));
    }
    Ok(ok(&SessionCancelled { cancelled }))
}

/// Stops it here, or else has whoever runs it do so: other processes may use the same data directory.
async fn stop(inspect: &Inspect, wish: Wish) -> Result<usize, Problem> {
    let here = inspect.recorder.as_ref().map_or(0, |recorder| recorder.stop(&wish));
    if here > 0 {
        return Ok(here);
    }
    Ok(inspect.store.wish(wish, super::now()).await?)
}
