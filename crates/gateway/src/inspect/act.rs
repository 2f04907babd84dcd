//! Cancelling what runs.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Inspect,
    query::{NoQuery, Place},
    trees::span_id,
};
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
    Place(span): Place<String>,
    _: NoQuery,
) -> Result<Response, Problem> {
    if stop(&inspect, Wish::Operation(span_id(&span)?)).await? > 0 {
        return Ok(ok(&OperationCancelled { cancelled: true }));
    }
    Err(Problem::missing("no such operation runs; GET /api/v1/operations?status=running lists them"))
}

pub(super) async fn cancel_session(
    State(inspect): State<Arc<Inspect>>,
    Place(session): Place<String>,
    _: NoQuery,
) -> Result<Response, Problem> {
    let cancelled = stop(&inspect, Wish::Session(session.clone())).await?;
    if cancelled == 0 && inspect.store.session(&session).await?.is_none() {
        return Err(Problem::missing("there is no such session; GET /api/v1/sessions lists them"));
    }
    Ok(ok(&SessionCancelled { cancelled }))
}

/// Stops it here, or else has whoever runs it do so: other processes may use the same data directory.
async fn stop(inspect: &Inspect, wish: Wish) -> Result<usize, Problem> {
    let (recorder, wanted) = (inspect.recorder.clone(), wish.clone());
    // Not on a thread that calls are worked on: what this looks at, the recorder's threads look at, too.
    let here = tokio::task::spawn_blocking(move || recorder.map_or(0, |recorder| recorder.stop(&wanted)));
    let here = here.await.unwrap_or_default();
    if here > 0 && matches!(wish, Wish::Operation(_)) {
        return Ok(here);
    }
    // Others may run more of a session. Who has ended something here does not wait for them.
    Ok(here + inspect.store.wish(wish, super::now(), here == 0).await?)
}
