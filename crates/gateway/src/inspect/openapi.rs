//! The API as OpenAPI 3.1 describes it, made from the types that are sent.

use std::sync::LazyLock;

use axum::response::Response;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{act, health, lists, live, query::NoQuery, servers, trees};
use crate::{
    operator::listener::{inputs, reply::ok, resources},
    store::traces::Graph,
};

const JSON: &str = "application/json";

/// How an answer looks.
#[derive(Clone, Copy)]
enum Answer {
    Json(fn(&mut SchemaGenerator) -> Schema),
    /// The first, or lines of the second with `as=columns`.
    JsonOrLines(fn(&mut SchemaGenerator) -> Schema, fn(&mut SchemaGenerator) -> Schema),
    /// An object that is described in words.
    Object(&'static str),
    Events,
}

struct Endpoint {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    query: &'static [&'static str],
    answer: Answer,
    /// What its body holds, where that is more than a note.
    body: Option<fn(&mut SchemaGenerator) -> Schema>,
}

impl Endpoint {
    const fn takes(self, body: fn(&mut SchemaGenerator) -> Schema) -> Self {
        Self { body: Some(body), ..self }
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
    Endpoint { method: "get", path, summary, query, answer, body: None }
}

const fn post(path: &'static str, summary: &'static str, answer: Answer) -> Endpoint {
    Endpoint { method: "post", path, summary, query: &[], answer, body: None }
}

const ENDPOINTS: &[Endpoint] = &[
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
    get("/api/v1/search", "Spans in which all words occur", lists::SEARCH, Answer::Json(of::<lists::Found>)),
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
    get("/api/v1/events", "Live events; resumes by Last-Event-ID", live::EVENTS, Answer::Events),
    get("/api/v1/openapi.json", "This document", &[], Answer::Object("an OpenAPI 3.1 document")),
    get(
        "/api/v1/approvals",
        "Calls that wait for a person, or waited",
        &["state"],
        Answer::Object("{approvals: [...]}"),
    ),
    get(
        "/api/v1/approvals/wait",
        "What waits, as soon as it is not what was seen",
        &["seen"],
        Answer::Object("{seen, approvals: [...], challenges: [...], inputs: [...]}"),
    ),
    get("/api/v1/approvals/{id}", "One approval", &[], Answer::Object("{approval: {...}}")),
    post("/api/v1/approvals/{id}/approve", "Let the call run, once", Answer::Object("{approval: {...}}")),
    post("/api/v1/approvals/{id}/deny", "Refuse the call", Answer::Object("{approval: {...}}")),
    post(
        "/api/v1/approvals/{id}/revoke",
        "Take back what was approved and not used yet",
        Answer::Object("{revoked: id}"),
    ),
    post(
        "/api/v1/approvals/{id}/token",
        "A token for another principal, in this one answer",
        Answer::Object("{approval: {...}, confirmation_token}"),
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
    get("/api/v1/blocks", "Agents that are blocked", &[], Answer::Object("{blocks: [...]}")),
    post(
        "/api/v1/blocks/{agent}/unblock",
        "End a block; the body has a reason",
        Answer::Object("{unblocked: {...}}"),
    ),
    get("/api/v1/challenges", "Challenges that wait for a code", &[], Answer::Object("{challenges: [...]}")),
    post(
        "/api/v1/challenges/{id}/reveal",
        "The code of a challenge, in this one answer",
        Answer::Object("{challenge: {...}, code}"),
    ),
    get("/api/v1/audit", "The audit log", &["after", "limit"], Answer::Object("{entries: [...], last}")),
    get("/api/v1/audit/verify", "Whether the audit log is whole", &[], Answer::Object("what was found")),
    get(
        "/api/v1/policy/test",
        "What the rules make of a call",
        &["operation", "principal"],
        Answer::Object("the decision with every voice"),
    ),
];

/// The document. It is the same for every server of this version.
#[must_use]
pub fn openapi() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(document);
    &DOCUMENT
}

pub(super) async fn serve(_: NoQuery) -> Response {
    ok(openapi())
}

fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in ENDPOINTS {
        let described = describe(endpoint, &mut generator);
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(endpoint.method.to_owned(), described);
        }
    }
    let schemas: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    let mut schemas = Value::Object(schemas);
    if let Some(schemas) = schemas.as_object_mut() {
        schemas.insert(
            "Error".to_owned(),
            json!({
                "type": "object",
                "required": ["error"],
                "properties": {"error": {
                    "type": "object",
                    "required": ["code", "message"],
                    "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
                }},
            }),
        );
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Aqueduct: the operator's API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Times are whole microseconds since 1970, ids are lower hexadecimal digits. 'operator.key' in the data \
                            directory may do everything; 'viewer.key' may GET.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
    })
}

fn describe(endpoint: &Endpoint, generator: &mut SchemaGenerator) -> Value {
    let in_path = endpoint.path.split(['{', '}']).skip(1).step_by(2);
    let in_path = in_path
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
    let in_query = endpoint.query.iter().map(|name| {
        let is_number = name.ends_with("_us") || matches!(*name, "limit" | "after" | "full");
        let kind = if is_number { "integer" } else { "string" };
        json!({"name": name, "in": "query", "required": false, "schema": {"type": kind}})
    });
    let parameters: Vec<Value> = in_path.chain(in_query).collect();
    let (description, content) = match endpoint.answer {
        Answer::Json(schema) => ("the answer", json!({JSON: {"schema": schema(generator)}})),
        Answer::JsonOrLines(schema, line) => (
            "the answer; with as=columns a line for every block of spans and one for the end",
            json!({JSON: {"schema": schema(generator)}, trees::LINES: {"schema": line(generator)}}),
        ),
        Answer::Object(words) => (words, json!({JSON: {"schema": {"type": "object"}}})),
        Answer::Events => (
            "events with 'id', 'event' and 'data', which is JSON with at_us, session_id, trace_id and span_id",
            json!({"text/event-stream": {"schema": {"type": "string"}}}),
        ),
    };
    let refused = json!({
        "description": "why not, and what to do",
        "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
    });
    let mut described = json!({
        "summary": endpoint.summary,
        "parameters": parameters,
        "responses": {
            "200": {"description": description, "content": content},
            "default": refused,
        },
    });
    if let (Some(body), Some(described)) = (endpoint.body, described.as_object_mut()) {
        let content = json!({JSON: {"schema": body(generator)}});
        described.insert("requestBody".to_owned(), json!({"required": true, "content": content}));
    }
    described
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths that a file hands to `.route(`, with the method.
    fn routes(text: &str) -> Vec<(String, &'static str)> {
        let parts = text.split(".route(").skip(1);
        let routes = parts.filter_map(|part| {
            let path = part.trim_start().strip_prefix('"')?.split('"').next()?;
            let line = part.split(".route(").next()?;
            Some((path.to_owned(), if line.contains("post(") { "post" } else { "get" }))
        });
        routes.filter(|(path, _)| path.starts_with("/api/v1/")).collect()
    }

    #[test]
    fn every_route_is_described_and_everything_described_is_a_route() {
        let mut served = routes(include_str!("mod.rs"));
        served.extend(routes(include_str!("../operator/listener/mod.rs")));
        let mut described: Vec<_> =
            ENDPOINTS.iter().map(|endpoint| (endpoint.path.to_owned(), endpoint.method)).collect();
        served.sort();
        described.sort();
        assert_eq!(served, described);
    }

    #[test]
    fn every_reference_of_the_document_leads_somewhere() {
        fn check(value: &Value, document: &Value) {
            match value {
                Value::Object(fields) => {
                    if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
                        let pointer = target.strip_prefix('#').unwrap();
                        assert!(document.pointer(pointer).is_some(), "{target}");
                    }
                    fields.values().for_each(|value| check(value, document));
                }
                Value::Array(list) => list.iter().for_each(|value| check(value, document)),
                _ => {}
            }
        }
        let document = openapi();
        assert_eq!(document["openapi"], "3.1.0");
        check(document, document);
        for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
            jsonschema::meta::validate(schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let row = &document["components"]["schemas"]["SpanRow"]["properties"];
        assert!(row["started_us"].is_object() && row["duration_us"].is_object());
    }

    /// A trace is told in two forms, and what stands in columns is explained there.
    #[test]
    fn both_forms_of_a_trace_are_described() {
        let document = openapi();
        let schemas = &document["components"]["schemas"];
        insta::assert_json_snapshot!(json!({
            "trace": document["paths"]["/api/v1/traces/{trace_id}"]["get"],
            "Line": schemas["Line"],
            "SpanBlock": schemas["SpanBlock"],
            "Trace": schemas["Trace"],
        }));
    }
}
