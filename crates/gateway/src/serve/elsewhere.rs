//! Requests that are other servers' to answer: resources, prompts, completions, logging. They pass as they came, so that
//! nothing in them is lost.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    frame::{Elsewhere, Era},
    reply, traced,
};
use crate::{
    adapters::upstream::Refused,
    guard::OwnPlace,
    pipeline::Gateway,
    session::{CancelledBy, Session},
    trace::{OpenSpan, ids::Given, open::End, parked::Wanted},
};

/// Clients may keep a list that long without asking again.
const LIST_TTL_MS: u64 = 60_000;

const STOPPED: &str = "The operator stopped this request";

/// Answers such a request, if there are servers to ask.
pub(super) async fn answer(
    gateway: &Gateway,
    session: &Arc<Session>,
    id: &str,
    request: OwnedElsewhere,
) -> Option<Vec<u8>> {
    let upstreams = gateway.upstreams()?;
    let OwnedElsewhere { method, params, self_contained, wanted, span } = request;
    let refused = |code: i32, message: &str| {
        if let Some(span) = &span {
            traced::refused(span, code, message);
        }
        Some(reply::error(id, code, message))
    };
    if let Err(error) = gateway.admit_request(session) {
        return refused(reply::INVALID_REQUEST, &error.message);
    }
    if span.as_ref().is_some_and(|span| span.is_stopped_by_operator()) {
        return refused(reply::INVALID_REQUEST, STOPPED);
    }
    if let Err(place) = gateway.guard().check_request(&params) {
        tracing::info!(
            target: "audit",
            event = OwnPlace::EVENT,
            session_id = session.id(),
            principal = session.principal(),
            operation = method,
            reason = %place,
        );
        if let Some(safety) = gateway.safety() {
            safety.kept_away(&method, &params, place, session).await;
        }
        return refused(reply::INVALID_PARAMS, &place.error(&method).message);
    }
    if method.ends_with("/list") {
        gateway.settled().await;
    }
    let running = session.running(id);
    if let Some(span) = &span {
        span.runs(running.stop());
    }
    let answered = tokio::select! {
        biased;
        answered = upstreams.answer(session, &method, params, span.as_ref()) => answered,
        by = running.cancelled() => match by {
            CancelledBy::Client => return None,
            CancelledBy::Operator => {
                if let Some(span) = &span {
                    span.end(End::stopped(None));
                }
                Err(Refused {
                    code: reply::INVALID_REQUEST.into(),
                    message: STOPPED.to_owned(),
                })
            }
        },
    };
    if let Some(span) = span {
        match &answered {
            Ok(result) => traced::passed(gateway, span, wanted, result),
            Err(refused) => traced::refused(&span, refused.code, &refused.message),
        }
    }
    Some(match answered {
        Ok(result) => {
            let result = if self_contained { complete(&method, &result) } else { result };
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
    /// What it asks for, whatever its client brings back with it, where clients do.
    wanted: Option<Wanted>,
    /// What is recorded of it.
    span: Option<Arc<OpenSpan>>,
}

impl OwnedElsewhere {
    /// What the request says, with what is recorded of it; nothing where its parameters are no object.
    pub(super) fn new(
        gateway: &Gateway,
        session: &Arc<Session>,
        id: &str,
        request: &Elsewhere<'_>,
        around: Given<'_>,
    ) -> Option<Self> {
        let params: Map<String, Value> = match request.params {
            Some(params) => serde_json::from_str(params.get()).ok()?,
            None => Map::new(),
        };
        let self_contained = request.era == Era::SelfContained;
        let recorder = gateway.recorder().filter(|_| self_contained);
        let wanted = recorder.map(|_| Wanted::of_request(request.method, &params));
        let (state, responses) = (params.get("requestState"), params.get("inputResponses"));
        let goes_on = recorder.filter(|_| state.is_some() || responses.is_some()).zip(wanted);
        let parked = goes_on.and_then(|(recorder, wanted)| {
            let state = state.and_then(Value::as_str).unwrap_or_default();
            let responses = responses.and_then(Value::as_object);
            recorder.resume(session, state, wanted, responses.unwrap_or(&Map::new()))
        });
        let span = parked.or_else(|| traced::elsewhere(gateway, session, id, request, &params, around));
        Some(Self { method: request.method.to_owned(), params, self_contained, wanted, span })
    }
}

/// What today's revision wants to stand in every result, where an older server has not said it.
fn complete(method: &str, result: &str) -> String {
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
