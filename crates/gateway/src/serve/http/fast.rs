//! The fast path over HTTP: which calls may take it, and taking it.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value};

use super::{Front, json};
use crate::{
    serve::{
        call::{self, Admitted},
        frame::{Era, STATELESS_VERSION, ToolCall},
        reply,
    },
    session::Session,
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
        let session = match (tool_call.era, known) {
            (Era::Initialized, Some(session)) if is_legacy(headers) => Arc::clone(session),
            (Era::SelfContained, None) if is_self_contained(headers, tool_call) => {
                self.sessions.stateless(principal)
            }
            _ => return None,
        };
        if !accepts_both(headers) {
            return None;
        }
        session.start();
        let self_contained = tool_call.era == Era::SelfContained;
        let (endpoint, arguments) = match call::admit(&self.gateway, &session, tool_call) {
            Admitted::Call(endpoint, arguments) => (endpoint, arguments),
            Admitted::Answer(answer) => {
                return Some(json(StatusCode::OK, reply::tool_result(tool_call.id, &answer, self_contained)));
            }
            Admitted::UnknownTool => return None,
        };
        if self_contained && !names_operation(headers, &arguments) {
            return None;
        }
        if !tool_call.plain || !self.fast_path {
            return None;
        }
        let _running = self.tasks.token();
        let reply =
            call::run(&self.gateway, &session, endpoint, arguments, tool_call.id, self_contained).await;
        Some(match reply {
            Some(reply) => json(StatusCode::OK, reply),
            // A cancelled call gets no answer, only the end of its request.
            None => {
                Response::builder().status(StatusCode::ACCEPTED).body(Default::default()).unwrap_or_default()
            }
        })
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
fn is_self_contained(headers: &HeaderMap, tool_call: &ToolCall<'_>) -> bool {
    text(headers, "mcp-protocol-version") == Some(STATELESS_VERSION)
        && text(headers, "mcp-method") == Some("tools/call")
        && text(headers, "mcp-name") == Some(&tool_call.tool)
}

/// Whether the header that repeats the operation does so. Where it cannot, the library has the words for it.
fn names_operation(headers: &HeaderMap, arguments: &Map<String, Value>) -> bool {
    let header = text(headers, "mcp-param-operation");
    match arguments.get("operation") {
        Some(Value::String(operation)) => header == Some(operation),
        None | Some(Value::Null) => header.is_none(),
        Some(_) => false,
    }
}
