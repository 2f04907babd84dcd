//! Captures that nobody would send on purpose, and some that somebody would.

use serde_json::{Value, json};

use super::{bundled, capture, faults, made_of, schema, written};
use crate::discover::{Bundle, Error, bundle::NotABundle, diff::diff};

/// REQ-DISC-02
#[test]
fn entries_that_are_no_tools_cost_only_themselves() {
    let bundle = written(&bundled(json!([
        1, null, "x", [], {}, {"name": 3}, {"name": "get_x", "title": 4, "annotations": [], "inputSchema": [1]},
    ])));
    assert_eq!(bundle["raw_capture"]["tools"].as_array().unwrap().len(), 3);
    assert_eq!(bundle["raw_capture"]["pages"][0]["tool_count"], 7);
    let others = json!({"0": 1, "1": null, "2": "x", "3": []});
    assert_eq!(bundle["raw_capture"]["pages"][0]["entries_that_are_no_objects"], others);
    assert_eq!(bundle["normalized_bundle"]["operations"].as_array().unwrap().len(), 1);
    let warnings = bundle["normalized_bundle"]["warnings"].as_array().unwrap();
    let count = |code: &str| warnings.iter().filter(|warning| warning["code"] == code).count();
    assert_eq!((count("NOT_A_TOOL"), count("MALFORMED_TOOL"), count("UNSUPPORTED_SHAPE")), (6, 2, 1));
    if let Some(schema) = schema("discovery-bundle") {
        assert_eq!(faults(&schema, &bundle), Vec::<String>::new());
    }
}

#[test]
fn captures_without_name_time_or_list_are_refused() {
    let good = capture(json!([]));
    assert!(made_of(&good).is_ok());
    let mut bad = good.clone();
    bad.name = " ".into();
    assert_eq!(made_of(&bad), Err(Error::NoName));
    for time in ["", "yesterday", "2026-04-15", "2026-04-15T12:00:00", "2026-13-01T00:00:00Z"] {
        let mut bad = good.clone();
        bad.captured_at = time.into();
        assert_eq!(made_of(&bad), Err(Error::NoTime(time.into())));
    }
    let mut bad = good.clone();
    bad.pages = Vec::new();
    assert_eq!(made_of(&bad), Err(Error::NoPages));
    for page in [json!({}), json!([]), json!({"tools": {}}), json!(null)] {
        let mut bad = good.clone();
        bad.pages.push(page);
        assert_eq!(made_of(&bad), Err(Error::NoPage { number: 2 }));
    }
}

#[test]
fn names_that_clash_or_cannot_be_names_are_told_apart() {
    let split = json!({"name": "manage", "inputSchema": {"required": ["action"],
        "properties": {"action": {"enum": ["list", "delete"]}}}});
    let bundle = bundled(json!([
        {"name": "get_x"}, {"name": "get_x", "description": "another"}, {"name": "getX"}, split, split,
        {"name": ""}, {"name": "🦀"}, {"name": "a b?c=d&e={f}"}, {"name": "x".repeat(300)}, {"name": "introspect"},
    ]));
    let operations = &bundle.normalized_bundle.operations;
    let names: Vec<&str> = operations.iter().map(|operation| operation.operation_name.as_str()).collect();
    assert_eq!(names.len(), 12);
    assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 12, "{names:?}");
    assert_eq!(operations[1].description, "another");
    for operation in operations {
        let target: crate::discover::target::Target = operation.maps_to.parse().unwrap();
        assert_eq!(target.tool, operation.source_tool_name);
    }
    let found = diff(&bundle, &bundle);
    assert!(found.is_empty());
}

#[test]
fn large_captures_are_bundled() {
    let tools: Vec<Value> = (0..3_000)
        .map(|n| {
            json!({"name": format!("get_thing_{n}"), "description": "Get a thing. ".repeat(50),
            "inputSchema": {"properties": {"a": {"type": "string"}, "b": {"enum": ["x", "y"]}}}})
        })
        .collect();
    let bundle = bundled(json!(tools));
    assert_eq!(bundle.normalized_bundle.operations.len(), 3_000);
    let mut deep = json!({"type": "string"});
    for _ in 0..40 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    let bundle = bundled(json!([{"name": "get_x", "inputSchema": deep}]));
    assert_eq!(Bundle::read(&bundle.to_json()), Ok(bundle));
}

#[test]
fn what_is_no_bundle_is_told() {
    let good = bundled(json!([{"name": "get_x"}]));
    let mut other = written(&good);
    other["schema_version"] = json!("2.0.0");
    assert_eq!(Bundle::read(&other.to_string()), Err(NotABundle::Version("2.0.0".into())));
    let mut missing = written(&good);
    missing["normalized_bundle"]["operations"][0].as_object_mut().unwrap().remove("endpoint");
    for text in ["", "{oops", "[]", "{}", &missing.to_string()] {
        let error = Bundle::read(text).unwrap_err();
        assert!(matches!(error, NotABundle::Unreadable { .. }), "{text}");
        assert!(!looks_like_a_frame(&error.to_string()), "{error}");
    }
}

/// What a published runner takes for a leak.
pub(in super::super) fn looks_like_a_frame(text: &str) -> bool {
    regex::Regex::new(r"(?i)at\s+\S+").unwrap().is_match(text)
}
