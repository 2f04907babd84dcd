//! Cancelling what runs.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::Response,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Inspect, trees::span_id};
use crate::operator::listener::reply::{Problem, ok};

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
    let span = span_id(&span)?;
    if inspect.recorder.as_ref().is_some_and(|recorder| recorder.cancel(span)) {
        return Ok(ok(&OperationCancelled { cancelled: true }));
    }
    Err(Problem::missing(
        "no such operation runs in this process; GET /api/v1/operations?status=running lists them",
    ))
}

pub(super) async fn cancel_session(
    State(inspect): State<Arc<Inspect>>,
    Path(session): Path<String>,
) -> Result<Response, Problem> {
    let cancelled = inspect.recorder.as_ref().map_or(0, |recorder| recorder.cancel_session(&session));
    if cancelled == 0 && inspect.store.session(&session).await?.is_none() {
        return Err(Problem::missing("there is no such session; GET /api/v1/sessions lists them"));
    }
    Ok(ok(&SessionCancelled { cancelled }))
}
