//! Requests that are other servers' to answer: resources, prompts, completions, logging. They pass as they came, so that
//! nothing in them is lost.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    frame::{Elsewhere, Era},
    reply,
};
use crate::{
    adapters::upstream::Refused,
    guard::OwnPlace,
    pipeline::Gateway,
    session::{CancelledBy, Session},
    trace::{
        OpenSpan,
        open::{End, Failed},
    },
};

/// Clients may keep a list that long without asking again.
const LIST_TTL_MS: u64 = 60_000;

/// Answers such a request, if there are servers to ask.
pub(super) async fn answer(
    gateway: &Gateway,
    session: &Arc<Session>,
    id: &str,
    request: OwnedElsewhere,
) -> Option<Vec<u8>> {
    let upstreams = gateway.upstreams()?;
    if let Err(error) = gateway.admit_request(session) {
        return Some(reply::error(id, reply::INVALID_REQUEST, &error.message));
    }
    if let Err(place) = gateway.guard().check_request(&request.params) {
        tracing::info!(
            target: "audit",
            event = OwnPlace::EVENT,
            session_id = session.id(),
            principal = session.principal(),
            operation = request.method,
            reason = %place,
        );
        if let Some(safety) = gateway.safety() {
            safety.kept_away(&request.method, &request.params, place, session).await;
        }
        return Some(reply::error(id, reply::INVALID_PARAMS, &place.error(&request.method).message));
    }
    if request.method.ends_with("/list") {
        gateway.settled().await;
    }
    let running = session.running(id);
    let span = request.span;
    if let Some(span) = &span {
        span.runs(running.stop());
    }
    let answered = tokio::select! {
        biased;
        answered = upstreams.answer(session, &request.method, request.params, span.as_ref()) => answered,
        by = running.cancelled() => match by {
            CancelledBy::Client => return None,
            CancelledBy::Operator => {
                if let Some(span) = &span {
                    span.end(End::stopped(None));
                }
                Err(Refused {
                    code: reply::INVALID_REQUEST.into(),
                    message: "The operator stopped this request".to_owned(),
                })
            }
        },
    };
    if let Some(span) = span {
        span.end(match &answered {
            Ok(result) => End::ok(Some(result.clone())),
            Err(refused) => {
                let code = refused.code.to_string();
                let failed =
                    Failed { code: code.clone().into(), message: refused.message.clone(), kind: code.into() };
                End::failed(failed, None)
            }
        });
    }
    Some(match answered {
        Ok(result) => {
            let result =
                if request.self_contained { self_contained(&request.method, &result) } else { result };
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}").into_bytes()
        }
        Err(refused) => {
            let code = i32::try_from(refused.code).unwrap_or(reply::INTERNAL_ERROR);
            reply::error(id, code, &refused.message)
        }
    })
}

/// A request that outlives its frame.
pub(super) struct OwnedElsewhere {
    method: String,
    params: Map<String, Value>,
    self_contained: bool,
    /// What is recorded of it.
    span: Option<Arc<OpenSpan>>,
}

impl OwnedElsewhere {
    /// What the request says; nothing where its parameters are no object.
    pub(super) fn new(request: &Elsewhere<'_>, span: Option<Arc<OpenSpan>>) -> Option<Self> {
        let params = match request.params {
            Some(params) => serde_json::from_str(params.get()).ok()?,
            None => Map::new(),
        };
        let self_contained = request.era == Era::SelfContained;
        Some(Self { method: request.method.to_owned(), params, self_contained, span })
    }
}

/// What today's revision wants to stand in every result, where an older server has not said it.
fn self_contained(method: &str, result: &str) -> String {
    let Ok(Value::Object(mut result)) = serde_json::from_str::<Value>(result) else {
        return result.to_owned();
    };
    result.entry("resultType").or_insert("complete".into());
    let ttl = match method {
        "resources/list" | "resources/templates/list" | "prompts/list" => Some(LIST_TTL_MS),
        "resources/read" => Some(0),
        _ => None,
    };
    if let Some(ttl) = ttl {
        result.entry("ttlMs").or_insert(ttl.into());
        result.entry("cacheScope").or_insert("private".into());
    }
    Value::Object(result).to_string()
}
