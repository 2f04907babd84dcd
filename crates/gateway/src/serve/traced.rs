//! What is recorded of requests as they come in and are answered.

use std::{borrow::Cow, sync::Arc};

use aql::response::Answer;
use serde_json::{Map, Value};

use super::frame::{Elsewhere, ToolCall};
use crate::{
    adapters::upstream,
    client::Client,
    pipeline::Gateway,
    session::Session,
    trace::{
        OpenSpan,
        ids::Given,
        open::{About, End, Failed, Inbound},
        parked::{Asked, Wanted},
    },
};

pub(super) const TOOLS_CALL: &str = "tools/call";

/// Says what a call asks for, where its client may have to call again with answers.
pub(super) fn may_go_on(
    span: Option<&OpenSpan>,
    client: &Client,
    tool: &str,
    arguments: &Map<String, Value>,
) {
    if let (Some(span), Client::Recalls(_)) = (span, client) {
        span.wants(Wanted::of(TOOLS_CALL, tool, arguments));
    }
}

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
            rpc_id: &call.id,
            about: About::Tool(call.tool.clone().into_owned()),
            input: call.arguments.map(|arguments| arguments.get()),
            given,
            surface: Some(gateway.surface()),
            ..Inbound::new(TOOLS_CALL, session)
        },
    )))
}

/// Records a tool call whose arguments could not be read.
pub(super) fn unreadable(
    gateway: &Gateway,
    session: &Arc<Session>,
    (rpc_id, tool): (&str, &str),
    given: Given<'_>,
    answer: &Answer,
) {
    let Some(recorder) = gateway.recorder().filter(|recorder| recorder.admits()) else { return };
    let (about, surface) = (About::Tool(tool.to_owned()), Some(gateway.surface()));
    let request = Inbound { rpc_id, about, given, surface, ..Inbound::new(TOOLS_CALL, session) };
    OpenSpan::inbound(recorder, request).end(End::of(answer));
}

/// Begins what is recorded of a request that another server may answer, or the same for one that is not recorded.
pub(super) fn elsewhere(
    gateway: &Gateway,
    session: &Arc<Session>,
    id: &str,
    request: &Elsewhere<'_>,
    params: &Map<String, Value>,
    around: Given<'_>,
) -> Option<Arc<OpenSpan>> {
    let given = request.within.given().or(around);
    let Some(recorder) = gateway.recorder() else {
        return OpenSpan::passed_on(given, session).map(Arc::new);
    };
    let token = params.get("_meta").and_then(|meta| meta.get("progressToken")).map(ToString::to_string);
    let name = || request.name.clone().map(Cow::into_owned).unwrap_or_default();
    let about = match request.method {
        "resources/read" => About::Resource(name()),
        "prompts/get" => About::Prompt(name()),
        _ => About::Nothing,
    };
    let request = Inbound {
        rpc_id: id,
        about,
        input: request.params.map(|params| params.get()),
        given,
        progress_token: token.as_deref(),
        server: gateway.upstreams().and_then(|upstreams| upstreams.whose(request.method, params)),
        ..Inbound::new(request.method, session)
    };
    Some(Arc::new(OpenSpan::inbound(recorder, request)))
}

/// Ends it with the answer, or leaves it open where the client has to call again.
pub(super) fn answered(gateway: &Gateway, span: Arc<OpenSpan>, answer: &Answer) {
    if !span.is_recorded() {
        return;
    }
    if let Some(questions) = answer.questions()
        && let (Some(state), Some(recorder), Some(wanted)) =
            (&questions.state, gateway.recorder(), span.wanted())
    {
        let when_stopped = gateway.safety().and_then(|safety| safety.withdrawal(state, span.connection()));
        let asked = Asked {
            state,
            questions: &questions.requests,
            // Questions of older servers are recorded where they are relayed, approvals by themselves.
            are_new: upstream::is_servers_own(state),
            when_stopped,
        };
        return recorder.park(span, wanted, asked);
    }
    span.end(End::of(answer));
}

/// Ends what is recorded of a request that another server answered, or leaves it open where its client has to ask again.
pub(super) fn passed(gateway: &Gateway, span: Arc<OpenSpan>, wanted: Option<Wanted>, result: &str) {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Asking {
        result_type: String,
        #[serde(default)]
        input_requests: Map<String, Value>,
        #[serde(default)]
        request_state: Option<String>,
    }
    const INPUT_REQUIRED: &str = "input_required";
    let asking = result.contains(INPUT_REQUIRED).then(|| serde_json::from_str::<Asking>(result).ok());
    let asking = asking.flatten().filter(|asking| asking.result_type == INPUT_REQUIRED);
    match (asking, wanted, gateway.recorder().filter(|_| span.is_recorded())) {
        (Some(asking), Some(wanted), Some(recorder)) => {
            let state = asking.request_state.as_deref().unwrap_or_default();
            let questions = &asking.input_requests;
            recorder.park(span, wanted, Asked { state, questions, are_new: true, when_stopped: None });
        }
        _ => span.end(End::ok(Some(result.to_owned()))),
    }
}

/// Ends what is recorded of a request with the protocol's error.
pub(super) fn refused(span: &OpenSpan, code: impl ToString, message: &str) {
    let code = code.to_string();
    let failed = Failed { code: code.clone().into(), message: message.to_owned(), kind: code.into() };
    span.end(End::failed(failed, None));
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
