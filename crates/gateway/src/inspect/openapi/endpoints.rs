//! Every route, with what it takes and answers.

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::super::{act, health, lists, live, servers, trees};
use crate::{
    operator::{
        desk::Verified,
        listener::{api, inputs, resources, told, wait},
    },
    store::traces::Graph,
};

/// How an answer looks.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    Json(fn(&mut SchemaGenerator) -> Schema),
    /// The first, or lines of the second with `as=columns`.
    JsonOrLines(fn(&mut SchemaGenerator) -> Schema, fn(&mut SchemaGenerator) -> Schema),
    Events,
    /// This very document.
    Document,
    Metrics,
}

/// What is sent.
#[derive(Clone, Copy)]
pub(super) struct Body {
    pub(super) schema: fn(&mut SchemaGenerator) -> Schema,
    pub(super) required: bool,
}

pub(super) struct Endpoint {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: &'static [&'static str],
    /// Names of the query that have to be given.
    pub(super) needs: &'static [&'static str],
    /// Headers that are looked at besides those of every request, with their types.
    pub(super) headers: &'static [(&'static str, &'static str)],
    pub(super) answer: Answer,
    pub(super) body: Option<Body>,
}

impl Endpoint {
    const fn takes(self, schema: fn(&mut SchemaGenerator) -> Schema) -> Self {
        Self { body: Some(Body { schema, required: true }), ..self }
    }

    const fn may_take(self, schema: fn(&mut SchemaGenerator) -> Schema) -> Self {
        Self { body: Some(Body { schema, required: false }), ..self }
    }

    const fn needs(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }

    const fn looks_at(self, headers: &'static [(&'static str, &'static str)]) -> Self {
        Self { headers, ..self }
    }
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const fn get(
    path: &'static str,
    summary: &'static str,
    query: &'static [&'static str],
    answer: Answer,
) -> Endpoint {
    Endpoint { method: "get", path, summary, query, needs: &[], headers: &[], answer, body: None }
}

const fn post(path: &'static str, summary: &'static str, answer: Answer) -> Endpoint {
    Endpoint { method: "post", ..get(path, summary, &[], answer) }
}

pub(super) const ENDPOINTS: &[Endpoint] = &[
    get("/api/v1/health", "How the server and its store are", &[], Answer::Json(of::<health::Health>)),
    get(
        "/api/v1/sessions",
        "Sessions, the newest first",
        lists::SESSIONS,
        Answer::Json(of::<lists::Sessions>),
    ),
    get("/api/v1/sessions/{id}", "One session with its spans", &[], Answer::Json(of::<trees::Session>)),
    post(
        "/api/v1/sessions/{id}/cancel",
        "Cancel everything of a session that runs",
        Answer::Json(of::<act::SessionCancelled>),
    ),
    get(
        "/api/v1/operations",
        "Requests that were served and where reports begin, the newest first",
        lists::OPERATIONS,
        Answer::Json(of::<lists::Operations>),
    ),
    post(
        "/api/v1/operations/{span_id}/cancel",
        "Cancel one operation",
        Answer::Json(of::<act::OperationCancelled>),
    ),
    get(
        "/api/v1/traces/{trace_id}",
        "All spans of a trace, as rows or as columns; columns are quicker where there are many",
        trees::TRACE,
        Answer::JsonOrLines(of::<trees::Trace>, of::<trees::Line>),
    ),
    get(
        "/api/v1/traces/{trace_id}/spans/{span_id}",
        "One span with everything that is known of it",
        &[],
        Answer::Json(of::<trees::Span>),
    ),
    get("/api/v1/search", "Spans in which all words occur", lists::SEARCH, Answer::Json(of::<lists::Found>))
        .needs(&["q"]),
    get(
        "/api/v1/servers",
        "Servers and how they did, of the last day unless said otherwise",
        servers::SINCE,
        Answer::Json(of::<servers::AllServers>),
    ),
    get(
        "/api/v1/servers/{name}",
        "One server with its operations, latency and changed tools",
        servers::SINCE,
        Answer::Json(of::<servers::ServerAnswer>),
    ),
    get("/api/v1/graph", "Who called whom", servers::SINCE, Answer::Json(of::<Graph>)),
    get(
        "/api/v1/tokens",
        "What tools and answers cost a model",
        servers::SINCE,
        Answer::Json(of::<servers::Tokens>),
    ),
    get("/api/v1/events", "Live events; resumes by Last-Event-ID", live::EVENTS, Answer::Events)
        .looks_at(&[("Last-Event-ID", "integer")]),
    get("/api/v1/openapi.json", "This document", &[], Answer::Document),
    get(
        "/api/v1/approvals",
        "Calls that wait for a person, or waited",
        api::APPROVALS,
        Answer::Json(of::<told::Approvals>),
    ),
    get(
        "/api/v1/approvals/wait",
        "What waits, as soon as it is not what was seen",
        wait::WAIT,
        Answer::Json(of::<told::News>),
    ),
    get("/api/v1/approvals/{id}", "One approval", &[], Answer::Json(of::<told::OneApproval>)),
    post("/api/v1/approvals/{id}/approve", "Let the call run, once", Answer::Json(of::<told::OneApproval>))
        .may_take(of::<api::Note>),
    post("/api/v1/approvals/{id}/deny", "Refuse the call", Answer::Json(of::<told::OneApproval>))
        .may_take(of::<api::Note>),
    post(
        "/api/v1/approvals/{id}/revoke",
        "Take back what was approved and not used yet",
        Answer::Json(of::<told::Revoked>),
    ),
    post(
        "/api/v1/approvals/{id}/token",
        "A token for another principal, in this one answer",
        Answer::Json(of::<told::NewToken>),
    ),
    get(
        "/api/v1/inputs",
        "What servers ask a person for; without question and form for the viewer",
        &[],
        Answer::Json(of::<inputs::Inputs>),
    ),
    post(
        "/api/v1/inputs/{id}",
        "Answer a server's question; what is accepted has to fit the form",
        Answer::Json(of::<inputs::InputDone>),
    )
    .takes(of::<inputs::InputAnswer>),
    post(
        "/api/v1/resources/read",
        "Read a resource again, through the server that has it; nothing of it is recorded",
        Answer::Json(of::<resources::ResourceRead>),
    )
    .takes(of::<resources::ReadResource>),
    get("/api/v1/blocks", "Agents that are blocked", &[], Answer::Json(of::<told::Blocks>)),
    post("/api/v1/blocks/{agent}/unblock", "End a block", Answer::Json(of::<told::Unblocked>))
        .takes(of::<api::Reason>),
    get("/api/v1/challenges", "Challenges that wait for a code", &[], Answer::Json(of::<told::Challenges>)),
    post(
        "/api/v1/challenges/{id}/reveal",
        "The code of a challenge, in this one answer",
        Answer::Json(of::<told::Code>),
    ),
    get("/api/v1/audit", "The audit log", api::AUDIT, Answer::Json(of::<told::Audit>)),
    get("/api/v1/audit/verify", "Whether the audit log is whole", &[], Answer::Json(of::<Verified>)),
    get(
        "/api/v1/policy/test",
        "What the rules make of a call",
        api::POLICY,
        Answer::Json(of::<told::Decided>),
    )
    .needs(&["operation"]),
    get("/metrics", "What this process served and called, for Prometheus", &[], Answer::Metrics),
];
