//! The fast path over HTTP: which calls may take it, and taking it.

use std::{borrow::Cow, sync::Arc};

use aql::profile::Mode;
use axum::response::{IntoResponse, Response};
use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value};

use super::{Front, json, sessions::wire_id};
use crate::{
    serve::{
        call::{self, Admitted, Ready},
        elsewhere::{self, OwnedElsewhere},
        frame::{Elsewhere, Era, STATELESS_VERSION, ToolCall},
        reply, traced,
    },
    session::Session,
    trace::{OpenSpan, ids::Given},
};

/// The versions that a legacy session may name in its header.
const LEGACY_VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

impl Front {
    /// Answers a tool call if it is fully understood; otherwise the library gets it.
    pub(super) async fn call(
        &self,
        headers: &HeaderMap,
        principal: &str,
        known: Option<&Arc<Session>>,
        tool_call: &ToolCall<'_>,
    ) -> Option<Response> {
        let about = ("tools/call", Some(&*tool_call.tool));
        let session = self.session_of_request(headers, principal, known, tool_call.era, about)?;
        session.start();
        let self_contained = tool_call.era == Era::SelfContained;
        let (endpoint, arguments) = match call::admit(&self.gateway, &session, tool_call) {
            Admitted::Call(endpoint, arguments) => (endpoint, arguments),
            Admitted::Answer(answer) => {
                if let Some(span) = self.traced(&session, tool_call, headers) {
                    traced::answered(&self.gateway, span, &answer);
                }
                return Some(json(
                    StatusCode::OK,
                    reply::tool_result(&tool_call.id, &answer, self_contained),
                ));
            }
            Admitted::Starts => return None,
            Admitted::UnknownTool => {
                if let Some(span) = self.traced(&session, tool_call, headers) {
                    traced::unknown_tool(&span, &tool_call.tool);
                }
                return Some(json(StatusCode::OK, call::unknown_tool(&self.gateway, tool_call)));
            }
        };
        // A tool that is an operation has it in its name, which is no header of its own.
        let discrete = self.gateway.surface().registry().mode() == Mode::Discrete;
        let agrees = match (self_contained, discrete) {
            (false, _) => true,
            (true, false) => names_operation(headers, &arguments),
            (true, true) => !headers.contains_key("mcp-param-operation"),
        };
        let client = call::client(&session, tool_call);
        // Its questions have to come on the stream of its own call, which the library keeps.
        let may_be_asked = client.answers_live() && call::goes_elsewhere(&self.gateway, &arguments);
        if !agrees || may_be_asked || !tool_call.plain || !self.fast_path {
            return None;
        }
        let span = self.traced(&session, tool_call, headers);
        traced::may_go_on(span.as_deref(), &client, &tool_call.tool, &arguments);
        let request_id = tool_call.id.clone().into_owned();
        let ready = Ready { endpoint, arguments, client, request_id, self_contained, span };
        let gateway = Arc::clone(&self.gateway);
        let work = async move { ready.run(&gateway, &session).await };
        let reply = if self_contained { work.await } else { self.outlive(work).await };
        Some(match reply {
            Some(reply) => json(StatusCode::OK, reply),
            // A cancelled call gets no answer, only the end of its request.
            None => {
                Response::builder().status(StatusCode::ACCEPTED).body(Default::default()).unwrap_or_default()
            }
        })
    }

    fn traced(
        &self,
        session: &Arc<Session>,
        tool_call: &ToolCall<'_>,
        headers: &HeaderMap,
    ) -> Option<Arc<OpenSpan>> {
        traced::call(&self.gateway, session, tool_call, Given::of_headers(headers))
    }

    /// Without sessions a client that hangs up has cancelled its call; with one it has not, so its call goes on.
    async fn outlive(&self, work: impl Future<Output = Option<Vec<u8>>> + Send + 'static) -> Option<Vec<u8>> {
        let mut work = Box::pin(work);
        match futures_util::poll!(work.as_mut()) {
            std::task::Poll::Ready(reply) => reply,
            std::task::Poll::Pending => self.tasks.spawn(work).await.ok().flatten(),
        }
    }

    /// Has another server answer a request, if there are any and its headers say the same as its body.
    pub(super) async fn elsewhere(
        &self,
        headers: &HeaderMap,
        principal: &str,
        known: Option<&Arc<Session>>,
        id: &str,
        request: &Elsewhere<'_>,
    ) -> Option<Response> {
        self.gateway.upstreams()?;
        let about = (request.method, request.name.as_deref());
        let session = self.session_of_request(headers, principal, known, request.era, about)?;
        session.start();
        let around = Given::of_headers(headers);
        let request = OwnedElsewhere::new(&self.gateway, &session, id, request, around)?;
        let reply = elsewhere::answer(&self.gateway, &session, id, request).await;
        Some(match reply {
            Some(reply) => json(StatusCode::OK, reply),
            None => StatusCode::ACCEPTED.into_response(),
        })
    }

    /// The session of a request whose headers say the same as its body: its method, and what it is about.
    pub(super) fn session_of_request(
        &self,
        headers: &HeaderMap,
        principal: &str,
        known: Option<&Arc<Session>>,
        era: Era,
        about: (&str, Option<&str>),
    ) -> Option<Arc<Session>> {
        if !accepts_both(headers) {
            return None;
        }
        match (era, known) {
            (Era::Initialized, Some(session)) if is_legacy(headers) => Some(Arc::clone(session)),
            (Era::SelfContained, None) if is_self_contained(headers, about) && wire_id(headers).is_none() => {
                Some(self.sessions.stateless(principal))
            }
            _ => None,
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The protocol wants both named, though we choose.
fn accepts_both(headers: &HeaderMap) -> bool {
    let accepts = text(headers, header::ACCEPT.as_str()).unwrap_or_default();
    let is_json =
        text(headers, header::CONTENT_TYPE.as_str()).is_some_and(|kind| kind.starts_with("application/json"));
    is_json && accepts.contains("application/json") && accepts.contains("text/event-stream")
}

fn is_legacy(headers: &HeaderMap) -> bool {
    let version = text(headers, "mcp-protocol-version");
    let standard = ["mcp-method", "mcp-name"].iter().any(|name| headers.contains_key(*name));
    !standard && version.is_none_or(|version| LEGACY_VERSIONS.contains(&version))
}

/// The headers say the same as the body; where they do not, the library has the words for it.
fn is_self_contained(headers: &HeaderMap, (method, name): (&str, Option<&str>)) -> bool {
    text(headers, "mcp-protocol-version") == Some(STATELESS_VERSION)
        && text(headers, "mcp-method") == Some(method)
        && text(headers, "mcp-name").map(plain).as_deref() == name
}

/// A header's value as it was before it was made fit for a header.
fn plain(value: &str) -> Cow<'_, str> {
    let encoded = value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?="));
    let decoded = encoded.and_then(|encoded| String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok());
    decoded.map_or(Cow::Borrowed(value), Cow::Owned)
}

/// Whether the header that repeats the operation does so. Where it cannot, the library has the words for it.
fn names_operation(headers: &HeaderMap, arguments: &Map<String, Value>) -> bool {
    match arguments.get("operation") {
        Some(Value::String(operation)) => text(headers, "mcp-param-operation") == Some(operation),
        None | Some(Value::Null) => !headers.contains_key("mcp-param-operation"),
        Some(_) => false,
    }
}
