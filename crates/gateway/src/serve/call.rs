//! A tool call on its way in: admitted the same way whether it takes the fast path or the library's.

use std::sync::Arc;

use aql::{
    error::{Code, Error},
    registry::Endpoint,
    response::Answer,
    scan,
};
use serde_json::{Map, Value};

use super::{
    frame::{Era, ToolCall},
    reply, tasks, traced,
};
use crate::{
    client::{Caller, Client},
    pipeline::Gateway,
    session::{CancelledBy, Session},
    trace::OpenSpan,
};

/// What becomes of a call's arguments.
pub(crate) enum Admitted {
    Call(Endpoint, Map<String, Value>),
    /// A call that starts an execution, which only the library can answer with a task.
    Starts,
    /// Refused before anything was looked up.
    Answer(Answer),
    /// Not a tool of ours.
    UnknownTool,
}

/// Reads a call's arguments strictly. Everything that passes can be read by the library without loss.
pub(crate) fn admit(gateway: &Gateway, session: &Session, call: &ToolCall<'_>) -> Admitted {
    let surface = gateway.surface();
    let registry = surface.registry();
    let Some(address) = registry.address(&call.tool) else { return Admitted::UnknownTool };
    let arguments = match call.arguments {
        None => Ok(Map::new()),
        Some(arguments) => scan::arguments(arguments.get().as_bytes(), registry.limits()),
    };
    match arguments.map(|arguments| address.arguments(arguments)) {
        Ok(arguments) if tasks::may_start(registry, address.endpoint, &arguments) => Admitted::Starts,
        Ok(arguments) => Admitted::Call(address.endpoint, arguments),
        Err(error) => Admitted::Answer(Answer::failure(error, Some(session.id()))),
    }
}

/// How the client of a call can be asked something while it runs.
pub(crate) fn client(session: &Session, call: &ToolCall<'_>) -> Client {
    match (call.era, call.capabilities) {
        (Era::Initialized, _) => session.client(),
        (_, None) => Client::Nobody,
        (_, Some(declared)) => {
            serde_json::from_str(declared.get()).map_or(Client::Nobody, |declared| Client::recalls(&declared))
        }
    }
}

/// Whether another server may be called, which may have a question.
pub(crate) fn goes_elsewhere(gateway: &Gateway, arguments: &Map<String, Value>) -> bool {
    let surface = gateway.surface();
    let registry = surface.registry();
    let named =
        arguments.get("operation").and_then(Value::as_str).and_then(|name| registry.get(registry.id(name)?));
    named.is_none_or(|operation| operation.server().is_some())
}

/// The answer to a call that is not UTF-8.
pub(crate) fn not_utf8(session: &Session, offset: usize) -> Answer {
    Answer::failure(Error::invalid_encoding(Some(offset)), Some(session.id()))
}

/// The protocol's answer to a call of a tool that is not ours.
pub(crate) fn unknown_tool(gateway: &Gateway, call: &ToolCall<'_>) -> Vec<u8> {
    let message = gateway.surface().registry().unknown_tool(&call.tool);
    reply::error(&call.id, reply::INVALID_PARAMS, &message)
}

/// A call that is ready to run.
pub(crate) struct Ready {
    pub(crate) endpoint: Endpoint,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) client: Client,
    /// As JSON.
    pub(crate) request_id: String,
    pub(crate) self_contained: bool,
    pub(crate) span: Option<Arc<OpenSpan>>,
}

impl Ready {
    /// Runs the call and writes its reply, or nothing if it is cancelled: a cancelled request gets no answer.
    pub(crate) async fn run(self, gateway: &Arc<Gateway>, session: &Arc<Session>) -> Option<Vec<u8>> {
        let Self { endpoint, arguments, client, request_id, self_contained, span } = self;
        let running = session.running(&request_id);
        if let Some(span) = &span {
            span.runs(running.stop());
        }
        let caller = Caller { client, span: span.clone(), ..Caller::default() };
        let answer = tokio::select! {
            biased;
            answer = gateway.handle(session, endpoint, arguments, caller) => answer,
            by = running.cancelled() => match by {
                CancelledBy::Client => return None,
                CancelledBy::Operator => stopped(session, span.as_deref()),
            },
        };
        if let Some(span) = span {
            traced::answered(gateway, span, &answer);
        }
        Some(reply::tool_result(&request_id, &answer, self_contained))
    }
}

/// The answer to a call that the operator has stopped.
pub(crate) fn stopped(session: &Session, span: Option<&OpenSpan>) -> Answer {
    let error = Error::new(Code::PermissionDenied, "Permission denied: the operator stopped this call")
        .with("reason", "the operator stopped this call")
        .hint("Do not repeat it. Ask the person who runs this server why.");
    let answer = Answer::failure(error, Some(session.id()));
    if let Some(span) = span {
        traced::stopped(span, &answer);
    }
    answer
}
