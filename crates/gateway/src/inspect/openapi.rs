//! The API as OpenAPI 3.1 describes it, made from the types that are sent.

mod endpoints;

use std::sync::LazyLock;

use axum::response::Response;
use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use self::endpoints::{Answer, Body, ENDPOINTS, Endpoint};
use super::{query::NoQuery, trees};
use crate::{
    operator::listener::{reply::ok, words::one_of},
    store::safety::ApprovalState,
    trace::{Engine, Status, metrics},
};

const JSON: &str = "application/json";

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
        let required = endpoint.needs.contains(name);
        json!({"name": name, "in": "query", "required": required, "schema": of_query(name)})
    });
    let in_header = endpoint.headers.iter().map(
        |(name, kind)| json!({"name": name, "in": "header", "required": false, "schema": {"type": kind}}),
    );
    let parameters: Vec<Value> = in_path.chain(in_query).chain(in_header).collect();
    let (description, content) = match endpoint.answer {
        Answer::Json(schema) => ("the answer", json!({JSON: {"schema": schema(generator)}})),
        Answer::JsonOrLines(schema, line) => (
            "the answer; with as=columns a line for every block of spans and one for the end",
            json!({JSON: {"schema": schema(generator)}, trees::LINES: {"schema": line(generator)}}),
        ),
        Answer::Document => (
            "an OpenAPI 3.1 document",
            json!({JSON: {"schema": {"type": "object", "required": ["openapi", "info", "paths", "components"]}}}),
        ),
        Answer::Metrics => {
            ("what Prometheus reads", json!({metrics::CONTENT_TYPE: {"schema": {"type": "string"}}}))
        }
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
    if let (Some(Body { schema, required }), Some(described)) = (endpoint.body, described.as_object_mut()) {
        let content = json!({JSON: {"schema": schema(generator)}});
        described.insert("requestBody".to_owned(), json!({"required": required, "content": content}));
    }
    described
}

/// What may stand behind a name of a query. The same name means the same everywhere.
fn of_query(name: &str) -> Value {
    match name {
        "status" => one_of(Status::ALL.iter().map(|status| status.as_str())).to_value(),
        "engine" => one_of(Engine::ALL.iter().map(|engine| engine.as_str())).to_value(),
        "state" => one_of(ApprovalState::ALL.iter().map(|state| state.as_str()).chain(["all"])).to_value(),
        "as" => one_of(["rows", "columns"]).to_value(),
        "full" => json!({"type": "integer", "enum": [0, 1]}),
        "limit" => json!({"type": "integer", "minimum": 1}),
        "after" => json!({"type": "integer", "minimum": 0}),
        _ if name.ends_with("_us") => json!({"type": "integer"}),
        _ => json!({"type": "string"}),
    }
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
        routes.filter(|(path, _)| path.starts_with("/api/v1/") || path == "/metrics").collect()
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
