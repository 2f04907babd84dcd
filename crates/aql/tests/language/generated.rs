//! Requests made from introspection alone: what it says is what is enforced.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::drive::{Adapter, code, items, names};

static ITEMS: LazyLock<Adapter> = LazyLock::new(items);
static DETAILS: LazyLock<Vec<Value>> = LazyLock::new(|| ITEMS.all_details());

/// A value that introspection promises to be accepted. Only the JSON of the answers is looked at.
fn sample(param: &Value) -> Value {
    if let Some(values) = param["enum"].as_array() {
        return values.last().unwrap().clone();
    }
    if param["name"] == "after" {
        // The one value introspection cannot teach: it comes with a page.
        let page = ITEMS.introspect(json!({"query": "operations", "first": 1}));
        return page["_protocol"]["pageInfo"]["endCursor"].clone();
    }
    let kind = param["type"].as_str().unwrap().split(" | ").next().unwrap();
    match kind {
        "integer" | "number" => param.get("maximum").or(param.get("minimum")).cloned().unwrap_or(json!(3)),
        "boolean" => json!(true),
        "string" => text(param).into(),
        "object" => match param["description"].as_str().unwrap().split_once("an object of type ") {
            Some((_, rest)) => sample(&json!({"type": rest.split(')').next().unwrap()})),
            None => json!({}),
        },
        _ if kind.ends_with("[]") || kind == "array" => match param.get("items") {
            Some(items) => json!([sample(items)]),
            None if kind == "string[]" => json!(["id"]),
            None => json!([1, "a", {}]),
        },
        named => {
            let details = ITEMS.introspect(json!({"query": "types", "name": named}))["type"].clone();
            match details["fields"].as_array() {
                Some(fields) => object_of(fields, |_| true),
                None => details["values"][0].clone(),
            }
        }
    }
}

fn text(param: &Value) -> String {
    let text = match (param["format"].as_str(), param["pattern"].as_str()) {
        (Some("date"), _) => "2026-02-04",
        (Some("date-time"), _) => "2026-02-04T10:30:00Z",
        (Some("uuid"), _) => "123e4567-e89b-12d3-a456-426614174000",
        (Some("uri"), _) => "https://example.com/",
        (Some("email"), _) => "someone@example.com",
        (Some("base64"), _) => "SGVsbG8=",
        (_, Some("^-?[0-9]+(\\.[0-9]+)?$")) => "12",
        (_, Some(_)) => "abc",
        _ if param["name"] == "fields" => "minimal",
        _ => return "x".repeat(param["minLength"].as_u64().unwrap_or(1) as usize),
    };
    text.to_owned()
}

fn object_of(params: &[Value], chosen: impl Fn(usize) -> bool) -> Value {
    let with = params.iter().enumerate().filter(|(index, param)| param["required"] == true || chosen(*index));
    with.map(|(_, param)| (param["name"].as_str().unwrap().to_owned(), sample(param))).collect()
}

fn parameters(details: &Value) -> &[Value] {
    details["parameters"].as_array().unwrap()
}

fn run(details: &Value, params: Value) -> Value {
    let tool = details["mcpTool"].as_str().unwrap();
    ITEMS.call(tool, json!({"operation": details["name"], "params": params}))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// REQ-INTRO-14 REQ-PARAM-06 LREQ-CONFORM-02 REQ-COST-05
    #[test]
    fn requests_from_introspection_alone_are_accepted(operation in 0..DETAILS.len(), optional in any::<u64>()) {
        let details = &DETAILS[operation];
        let params = object_of(parameters(details), |index| optional >> (index % 64) & 1 == 1);
        let answer = run(details, params.clone());
        prop_assert!(answer["success"] == true, "{params}: {answer}");
    }
}

/// REQ-INTRO-14 REQ-VALID-08
#[test]
fn every_other_json_type_is_refused_as_a_type() {
    let values = [
        ("string", json!("x")),
        ("number", json!(1.5)),
        ("integer", json!(1)),
        ("boolean", json!(true)),
        ("object", json!({})),
        ("array", json!([[]])),
        ("null", Value::Null),
    ];
    let mut refusals = 0;
    for details in DETAILS.iter() {
        let params = parameters(details);
        for param in params {
            let name = param["name"].as_str().unwrap();
            for (json_type, value) in &values {
                if takes(param, json_type) {
                    continue;
                }
                let mut given = object_of(params, |_| true);
                given[name] = value.clone();
                let answer = run(details, given);
                prop_assert_type(&answer, details, name, json_type);
                refusals += 1;
            }
        }
    }
    assert!(refusals > 250, "only {refusals} were tried");
}

#[track_caller]
fn prop_assert_type(answer: &Value, details: &Value, name: &str, json_type: &str) {
    let error = &answer["error"];
    assert_eq!(code(error), "VALIDATION_INVALID_TYPE", "{} {name} = {json_type}: {answer}", details["name"]);
    assert!(
        error["message"].as_str().unwrap().starts_with(&format!("Parameter '{name}' expected")),
        "{error}"
    );
}

/// Whether introspection says that a parameter takes a JSON type.
fn takes(param: &Value, json_type: &str) -> bool {
    let description = param["description"].as_str().unwrap();
    if json_type == "null" {
        return description.contains("null means");
    }
    param["type"].as_str().unwrap().split(" | ").any(|kind| match kind {
        "number" => json_type == "number" || json_type == "integer",
        "integer" | "string" | "boolean" | "object" => kind == json_type,
        "array" => json_type == "array",
        _ if kind.ends_with("[]") => false,
        named => {
            let details = ITEMS.introspect(json!({"query": "types", "name": named}))["type"].clone();
            json_type == if details["kind"] == "enum" { "string" } else { "object" }
        }
    })
}

/// REQ-INTRO-14 REQ-VALID-07 LREQ-CONFORM-03
#[test]
fn a_dropped_parameter_fails_if_and_only_if_it_is_required() {
    let mut required = 0;
    for details in DETAILS.iter() {
        let params = parameters(details);
        for param in params {
            let name = param["name"].as_str().unwrap();
            let mut given = object_of(params, |_| true);
            given.as_object_mut().unwrap().remove(name);
            let answer = run(details, given);
            if param["required"] == true {
                assert_eq!(code(&answer["error"]), "VALIDATION_MISSING_PARAM", "{answer}");
                assert!(
                    answer["error"]["message"].as_str().unwrap().contains(&format!("'{name}'")),
                    "{answer}"
                );
                required += 1;
            } else {
                assert_eq!(answer["success"], true, "{} without {name}: {answer}", details["name"]);
            }
        }
    }
    assert!(required >= 10);
}

/// REQ-PARAM-06 REQ-VALID-09 LREQ-CONFORM-03
#[test]
fn any_other_key_is_unknown_on_every_operation() {
    for details in DETAILS.iter() {
        let params = parameters(details);
        for stray in ["zz_unknown", "Name", "name_", "query2", "operation"] {
            let mut given = object_of(params, |_| false);
            given[stray] = json!(1);
            let answer = run(details, given);
            assert_eq!(code(&answer["error"]), "VALIDATION_UNKNOWN_PARAM", "{} {stray}", details["name"]);
            assert!(answer["error"]["message"].as_str().unwrap().contains(stray), "{answer}");
            assert!(!names(&details["parameters"], "name").contains(&stray));
        }
    }
}

/// REQ-COST-05 LREQ-CONFORM-02
#[test]
fn a_client_that_knows_nothing_succeeds_in_three_calls() {
    let list =
        ITEMS.call("mcp_aql_read", json!({"operation": "introspect", "params": {"query": "operations"}}));
    let create =
        list["data"]["operations"].as_array().unwrap().iter().find(|o| o["semantic_category"] == "CREATE");
    let name = create.unwrap()["name"].clone();
    let detail = ITEMS.introspect(json!({"query": "operations", "name": name}))["operation"].clone();
    let params: Map<String, Value> = parameters(&detail)
        .iter()
        .filter(|param| param["required"] == true)
        .map(|param| (param["name"].as_str().unwrap().to_owned(), sample(param)))
        .collect();
    assert_eq!(run(&detail, Value::Object(params))["success"], true);
}
