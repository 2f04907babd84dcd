//! Reading a resource again whose address was recorded: what it contains never is.

use std::sync::Arc;

use aql::audit::{Event, Outcome};
use axum::extract::State;
use http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    Shared,
    api::{Answer, Body, hand, read},
    reply::{Problem, ok},
};
use crate::{
    adapters::upstream::offers::RESOURCE_NOT_FOUND,
    inspect::query::NoQuery,
    operator::shown::line,
    session::{End, Session, Transport},
};

/// What is longer is not shown.
const RESULT_BYTES_MAX: usize = 1024 * 1024;
const URI_CHARS_MAX: usize = 4096;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadResource {
    /// The server, by its name in the configuration. Without it the address has to be one that we list.
    #[serde(default)]
    server: Option<String>,
    uri: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct ResourceRead {
    /// As the server gave them: each with a 'uri', perhaps a 'mimeType', and 'text' or 'blob'.
    contents: Vec<Value>,
}

pub(super) async fn again(State(shared): State<Arc<Shared>>, _: NoQuery, body: Body) -> Answer {
    let ReadResource { server, uri } = read(body)?;
    if uri.is_empty() || uri.chars().count() > URI_CHARS_MAX {
        return Err(Problem::wrong(format!("'uri' must have between 1 and {URI_CHARS_MAX} characters")));
    }
    let upstreams = shared.gateway.as_ref().and_then(|gateway| Some((gateway, gateway.upstreams()?)));
    let Some((gateway, upstreams)) = upstreams else {
        let message = "no server runs in this process; ask the gateway that serves them";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", message));
    };
    if server.as_ref().is_some_and(|server| !upstreams.states().contains_key(server)) {
        return Err(Problem::missing("no such server is configured; GET /api/v1/servers lists them"));
    }
    let params = Map::from_iter([("uri".to_owned(), Value::String(uri.clone()))]);
    if let Err(place) = gateway.guard().check_request(&params) {
        return Err(Problem::new(StatusCode::FORBIDDEN, "FORBIDDEN", place.to_string()));
    }
    let hand = hand();
    // It is nobody's call, so that nothing is recorded of it; the log says who looked.
    let session = Arc::new(Session::new(Transport::Local, &hand.by));
    let result = upstreams.read_again(&session, server.as_deref(), &uri).await;
    session.end(End::Graceful);
    let event = Event {
        outcome: Some(if result.is_ok() { Outcome::Success } else { Outcome::Failure }),
        principal: Some(hand.by),
        adapter_name: server,
        channel: Some(hand.channel.to_owned()),
        detail: Some(json!({"uri": line(&uri, URI_CHARS_MAX)})),
        ..Event::new("RESOURCE_READ")
    };
    shared.desk.note(event, Timestamp::now()).await?;
    let result = result.map_err(|refused| match refused.code {
        RESOURCE_NOT_FOUND => Problem::missing(line(&refused.message, URI_CHARS_MAX)),
        _ => Problem::new(StatusCode::BAD_GATEWAY, "UPSTREAM", line(&refused.message, URI_CHARS_MAX)),
    })?;
    if result.len() > RESULT_BYTES_MAX {
        let message = format!(
            "it has {} bytes, and {RESULT_BYTES_MAX} can be shown; read it with a client",
            result.len()
        );
        return Err(Problem::new(StatusCode::BAD_GATEWAY, "TOO_LARGE", message));
    }
    let mut result: Value = serde_json::from_str(&result).unwrap_or_default();
    match result.get_mut("contents").map(Value::take) {
        Some(Value::Array(contents)) => Ok(ok(&ResourceRead { contents })),
        _ => Err(Problem::new(StatusCode::BAD_GATEWAY, "UPSTREAM", "the server's answer has no contents")),
    }
}
