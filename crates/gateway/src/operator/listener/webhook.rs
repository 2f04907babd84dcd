//! Answers that a webhook's receiver gives later. The signature stands in place of the key.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    body::Bytes,
    extract::{ConnectInfo, State, rejection::BytesRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::{
    Shared, api,
    entrance::{lock, locked, remaining},
    reply::{Problem, ok},
};
use crate::{
    operator::{desk::Hand, shown::line, signature},
    safety::channels::{secret, webhook::decision},
    store::safety::Answered,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    approval_id: String,
    decision: String,
}

/// Whoever is not let in gets one answer, whatever was wrong.
fn refused() -> Problem {
    let message = "the answer is not signed by a known webhook, or too old; nothing was changed";
    Problem::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message)
}

pub(super) async fn answer(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let now = Timestamp::now();
    if let Some(wait) = remaining(&shared.webhook_lockout, from.ip(), now) {
        return locked(wait);
    }
    match take(&shared, &headers, body, now).await {
        Ok(response) => response,
        Err(problem) => {
            if problem.status == StatusCode::UNAUTHORIZED {
                lock(&shared.webhook_lockout).failed(from.ip(), now);
            }
            problem.into_response()
        }
    }
}

async fn take(
    shared: &Shared,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
    now: Timestamp,
) -> Result<Response, Problem> {
    let said: Said = api::read(body)?;
    let approve =
        decision(&said.decision).ok_or_else(|| Problem::wrong("'decision' must be 'approve' or 'deny'"))?;
    let mut signer = None;
    for webhook in &shared.webhooks {
        let secret = match secret::read(&webhook.secret).await {
            Ok(secret) => secret,
            Err(why) => {
                tracing::warn!(webhook = webhook.name, why, "a webhook's answer cannot be checked");
                continue;
            }
        };
        let key = secret.expose().as_bytes();
        match signature::verify(key, headers, &said.approval_id, &said.decision, now) {
            Ok(()) => signer = Some(webhook),
            Err(why) => tracing::debug!(webhook = webhook.name, %why, "a signature does not fit"),
        }
    }
    let Some(webhook) = signer else {
        let approval = line(&said.approval_id, 64);
        tracing::warn!(target: "audit", approval, "an answer that no webhook signed was ignored");
        return Err(refused());
    };
    let hand = Hand { by: format!("webhook {}", webhook.name), channel: "webhook" };
    match shared.desk.answer(&said.approval_id, approve, &hand, None, now).await? {
        Answered::Done(approval) => Ok(ok(&json!({"approval_id": approval.id, "state": approval.state}))),
        Answered::AlreadyAnswered(_) => {
            let message = "it is answered already or expired; nothing was changed";
            Err(Problem::new(StatusCode::CONFLICT, "ALREADY_ANSWERED", message))
        }
        Answered::Missing => Err(Problem::missing("there is no such approval")),
    }
}
