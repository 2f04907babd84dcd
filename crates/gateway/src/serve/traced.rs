//! What is recorded of requests as they come in and are answered.

use std::{borrow::Cow, sync::Arc};

use aql::response::Answer;
use serde_json::json;

use super::frame::{Elsewhere, ToolCall};
use crate::{
    pipeline::Gateway,
    session::Session,
    trace::{
        OpenSpan,
        ids::Given,
        open::{About, End, Failed, Inbound},
    },
};

/// Begins what is recorded of a tool call, or what is passed on of one that is not, if anything is.
pub(super) fn call(
    gateway: &Gateway,
    session: &Arc<Session>,
    call: &ToolCall<'_>,
    around: Given<'_>,
) -> Option<Arc<OpenSpan>> {
    let given = call.within.given().or(around);
    let Some(recorder) = gateway.recorder().filter(|recorder| recorder.admits()) else {
        return OpenSpan::passed_on(given, session).map(Arc::new);
    };
    Some(Arc::new(OpenSpan::inbound(
        recorder,
        Inbound {
            method: "tools/call",
            rpc_id: &call.id,
            about: About::Tool(call.tool.clone().into_owned()),
            input: call.arguments.map(|arguments| arguments.get()),
            given,
            progress_token: None,
            session,
            surface: Some(gateway.surface()),
        },
    )))
}

/// The same for a request that another server may answer.
pub(super) fn elsewhere(
    gateway: &Gateway,
    session: &Arc<Session>,
    id: &str,
    request: &Elsewhere<'_>,
    around: Given<'_>,
) -> Option<Arc<OpenSpan>> {
    let given = request.within.given().or(around);
    let Some(recorder) = gateway.recorder() else {
        return OpenSpan::passed_on(given, session).map(Arc::new);
    };
    let name = || request.name.clone().map(Cow::into_owned).unwrap_or_default();
    let about = match request.method {
        "resources/read" => About::Resource(name()),
        "prompts/get" => About::Prompt(name()),
        _ => About::Nothing,
    };
    let request = Inbound {
        method: request.method,
        rpc_id: id,
        about,
        input: request.params.map(|params| params.get()),
        given,
        progress_token: None,
        session,
        surface: None,
    };
    Some(Arc::new(OpenSpan::inbound(recorder, request)))
}

/// Ends it with the answer, or leaves it open where the client has to call again.
pub(super) fn answered(gateway: &Gateway, span: Arc<OpenSpan>, answer: &Answer) {
    if !span.is_recorded() {
        return;
    }
    if let Some(questions) = answer.questions()
        && let (Some(state), Some(recorder)) = (&questions.state, gateway.recorder())
    {
        let asked: Vec<&String> = questions.requests.keys().collect();
        return recorder.park(state, span, json!({"asked": asked}));
    }
    span.end(End::of(answer));
}

/// Ends what is recorded of a call that the operator stopped, with what its client is told.
pub(super) fn stopped(span: &OpenSpan, answer: &Answer) {
    span.end(End::stopped(Some(answer.to_text())));
}

/// The name that the Inspector has for a tool that is not there.
const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";

/// Ends what is recorded of a call of a tool that is not there.
pub(super) fn unknown_tool(span: &OpenSpan, tool: &str) {
    let message = format!("There is no tool '{tool}'");
    let failed = Failed { code: UNKNOWN_TOOL.into(), message, kind: "-32602".into() };
    span.end(End::failed(failed, None));
}
