//! Cancelling what runs.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::Response,
};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Inspect, trees::span_id};
use crate::{
    operator::listener::reply::{Problem, ok},
    trace::SpanId,
};

/// What came of cancelling one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    Done,
    NotFound,
    /// It has ended.
    TooLate,
}

/// Who runs operations and can end them.
pub trait Cancel: Send + Sync {
    /// Ends one operation, by the span of its request.
    fn operation(&self, span: SpanId) -> Cancelled;
    /// Ends everything of a session that runs; how many operations that were.
    fn session(&self, session: &str) -> usize;
}

/// Nothing runs in this process.
pub struct NothingToCancel;

impl Cancel for NothingToCancel {
    fn operation(&self, _span: SpanId) -> Cancelled {
        Cancelled::NotFound
    }

    fn session(&self, _session: &str) -> usize {
        0
    }
}

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
    match inspect.cancel.operation(span_id(&span)?) {
        Cancelled::Done => Ok(ok(&OperationCancelled { cancelled: true })),
        Cancelled::NotFound => Err(Problem::missing(
            "no such operation runs in this process; GET /api/v1/operations?status=running lists them",
        )),
        Cancelled::TooLate => {
            let message = "it has ended already; nothing was cancelled";
            Err(Problem::new(StatusCode::CONFLICT, "TOO_LATE", message))
        }
    }
}

pub(super) async fn cancel_session(
    State(inspect): State<Arc<Inspect>>,
    Path(session): Path<String>,
) -> Result<Response, Problem> {
    let cancelled = inspect.cancel.session(&session);
    if cancelled == 0 && inspect.store.session(&session).await?.is_none() {
        return Err(Problem::missing("there is no such session; GET /api/v1/sessions lists them"));
    }
    Ok(ok(&SessionCancelled { cancelled }))
}
