//! What the requirements say of bundles.

use serde_json::{Value, json};

use super::{NOW, bundled, capture, faults, made_of, schema, written};
use crate::discover::{Auth, Bundle, Error, Identity, Reached, source_path};

fn operation<'a>(bundle: &'a Value, name: &str) -> &'a Value {
    let operations = bundle["normalized_bundle"]["operations"].as_array().unwrap();
    operations
        .iter()
        .find(|operation| operation["operation_name"] == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

fn tools() -> Value {
    json!([
        {"name": "get_user", "description": "Get a user\n", "inputSchema": {"type": "object",
            "properties": {"userName": {"type": "string", "description": "Who"},
                "since": {"type": "string", "format": "date-time"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 30},
                "kind": {"enum": ["a", "b"], "type": "string", "pattern": "^[ab]$"}}, "required": ["userName"]},
            "annotations": {"readOnlyHint": true, "title": "Get user"}, "x-Vendor": {"Keep": [1, null]}},
        {"name": "deleteUser", "description": "Delete a user", "inputSchema": {"type": "object"},
            "annotations": {"destructiveHint": true}, "outputSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}}},
        {"name": "manage_issue", "description": "Work on issues", "inputSchema": {"type": "object", "required": ["method"],
            "properties": {"method": {"type": "string", "enum": ["get", "create", "delete"]}, "title": {"type": "string"}}}},
        {"name": "process"},
    ])
}

/// REQ-DISC-01 REQ-DISC-06
#[test]
fn a_bundle_has_both_layers_and_every_key_that_is_required() {
    let bundle = written(&bundled(tools()));
    assert_eq!(bundle["schema_version"], "1.0.0-draft");
    let mut keys: Vec<&String> = bundle.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["normalized_bundle", "raw_capture", "schema_version", "source"]);
    let Some(schema) = schema("discovery-bundle") else { return };
    assert_eq!(faults(&schema, &bundle), Vec::<String>::new());
    let required = [
        "source_tool_name",
        "operation_name",
        "description",
        "endpoint",
        "endpoint_confidence",
        "danger_level",
        "needs_review",
        "review_reasons",
        "params",
        "maps_to",
        "returns",
        "provenance",
    ];
    for key in required {
        let mut less = bundle.clone();
        less["normalized_bundle"]["operations"][0].as_object_mut().unwrap().remove(key).unwrap();
        assert!(!schema.is_valid(&less), "{key}");
    }
}

/// REQ-DISC-02 REQ-DISC-03 REQ-DISC-04
#[test]
fn what_the_server_said_is_kept_as_it_was() {
    let Value::Array(tools) = tools() else { panic!() };
    let mut capture = capture(json!([]));
    let (one, two) = tools.split_at(1);
    capture.pages = vec![
        json!({"tools": one, "nextCursor": "more", "_meta": {"x": 1}}),
        json!({"jsonrpc": "2.0", "id": 2, "result": {"tools": two, "ttlMs": 5}}),
    ];
    let bundle = written(&made_of(&capture).unwrap());
    assert_eq!(bundle["raw_capture"]["tools"], json!(tools));
    assert_eq!(
        bundle["raw_capture"]["pages"],
        json!([{"nextCursor": "more", "_meta": {"x": 1}, "tool_count": 1}, {"ttlMs": 5, "tool_count": 3}])
    );
    assert!(bundle.to_string().contains("x-Vendor") && bundle.to_string().contains("readOnlyHint"));
}

/// REQ-DISC-05 REQ-DISC-16
#[test]
fn who_was_asked_and_when_stands_in_the_source() {
    let mut capture = capture(tools());
    let bundle = written(&made_of(&capture).unwrap());
    assert!(bundle["source"].get("server").is_none());
    capture.server = Some(Identity { name: Some("s".into()), version: Some("2".into()), title: None });
    let bundle = written(&made_of(&capture).unwrap());
    assert_eq!(bundle["source"]["server"], json!({"name": "s", "version": "2"}));
    assert_eq!(bundle["source"]["captured_at"], NOW);
    assert_eq!(bundle["source"]["server_url"], "https://api.example.com/mcp");
    let keys: Vec<&String> = bundle["raw_capture"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["pages", "tools"]);
}

/// REQ-DISC-07 REQ-DISC-11
#[test]
fn endpoints_are_suggested_with_confidence_and_danger() {
    let bundle = written(&bundled(json!([
        {"name": "get_user", "annotations": {"readOnlyHint": true}},
        {"name": "create_user", "description": "Create a user"},
        {"name": "update_user", "description": "Update a user"},
        {"name": "delete_user", "description": "Delete a user"},
        {"name": "purge_users", "description": "Delete all users"},
    ])));
    for (name, endpoint, danger) in [
        ("get_user", "READ", "safe"),
        ("create_user", "CREATE", "reversible"),
        ("update_user", "UPDATE", "reversible"),
        ("delete_user", "DELETE", "destructive"),
        ("purge_users", "DELETE", "dangerous"),
    ] {
        let operation = operation(&bundle, name);
        assert_eq!(
            (&operation["endpoint"], &operation["danger_level"]),
            (&json!(endpoint), &json!(danger)),
            "{name}"
        );
        assert_eq!(operation["endpoint_confidence"], "high", "{name}");
    }
}

/// REQ-DISC-08 REQ-DISC-09
#[test]
fn what_is_unclear_is_never_sure_and_always_asked_about() {
    let bundle = written(&bundled(json!([
        {"name": "process"},
        {"name": "get_all", "description": "Fetches", "annotations": {"destructiveHint": true}},
        {"name": "create_all", "description": "Creates", "annotations": {"destructiveHint": true, "readOnlyHint": false}},
    ])));
    let process = operation(&bundle, "process");
    assert_eq!((&process["needs_review"], &process["endpoint_confidence"]), (&json!(true), &json!("low")));
    assert_ne!(process["endpoint"], "READ");
    assert!(!process["review_reasons"].as_array().unwrap().is_empty());
    let warnings = bundle["normalized_bundle"]["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning["tool"] == "process" && warning["code"] == "NEEDS_REVIEW"));
    for name in ["get_all", "create_all"] {
        let endpoint = operation(&bundle, name)["endpoint"].as_str().unwrap();
        assert!(!["READ", "CREATE"].contains(&endpoint), "{name} {endpoint}");
    }
}

/// REQ-DISC-10 REQ-DISC-18
#[test]
fn parameters_lead_back_to_where_they_come_from() {
    let bundle = bundled(tools());
    let user = operation(&written(&bundle), "get_user").clone();
    assert_eq!(user["description"], "Get a user\n");
    assert_eq!(
        user["params"][0],
        json!({"name": "user_name", "original_name": "userName", "type": "string", "required": true, "description": "Who",
            "source_path": "inputSchema.properties.userName"})
    );
    let limit = user["params"].as_array().unwrap().iter().find(|param| param["name"] == "limit").unwrap();
    assert_eq!(
        (&limit["minimum"], &limit["maximum"], &limit["default"]),
        (&json!(1), &json!(100), &json!(30))
    );
    for operation in &bundle.normalized_bundle.operations {
        let named =
            |tool: &&serde_json::Map<String, Value>| tool["name"] == operation.source_tool_name.as_str();
        let tool = bundle.raw_capture.tools.iter().find(named).unwrap();
        for param in &operation.params {
            assert!(source_path::resolve(tool, &param.source_path).is_some(), "{}", param.source_path);
        }
    }
}

/// REQ-DISC-12
#[test]
fn shapes_that_cannot_be_told_are_warned_of() {
    let with = |schema: Value| json!([{"name": "get_x", "description": "Get x", "inputSchema": schema}]);
    for (schema, code) in [
        (
            json!({"type": "object", "properties": {"a": {"oneOf": [{"type": "string", "minLength": 3}, {"type": "object", "properties": {"b": {}}}]}}}),
            "UNSUPPORTED_SHAPE",
        ),
        (json!({"type": "array"}), "UNSUPPORTED_SHAPE"),
        (json!("text"), "UNSUPPORTED_SHAPE"),
        (json!({"type": "object", "properties": {"a": {"enum": [1, 2]}}}), "NON_STRING_ENUM"),
    ] {
        let bundle = written(&bundled(with(schema.clone())));
        let warnings = bundle["normalized_bundle"]["warnings"].as_array().unwrap();
        let told = warnings.iter().find(|warning| warning["code"] == code);
        let told = told.unwrap_or_else(|| panic!("{schema}: {warnings:?}"));
        assert!(["info", "warning", "error"].contains(&told["severity"].as_str().unwrap()));
        assert!(!told["message"].as_str().unwrap().is_empty());
        assert_eq!(told["tool"], "get_x");
    }
}

/// REQ-DISC-13
#[test]
fn every_derived_field_says_where_it_comes_from() {
    let bundle = written(&bundled(tools()));
    let sources = |name: &str| operation(&bundle, name)["provenance"]["inference_sources"].clone();
    assert_eq!(
        sources("get_user"),
        json!({"operation_name": "direct_source_metadata", "description": "direct_source_metadata",
            "endpoint": "heuristic_classification", "danger_level": "heuristic_classification",
            "maps_to": "deterministic_normalization"})
    );
    assert_eq!(sources("delete_user")["operation_name"], "deterministic_normalization");
    assert_eq!(sources("process")["description"], "deterministic_normalization");
    assert_eq!(sources("manage_issue_create")["description"], "deterministic_normalization");
    for operation in bundle["normalized_bundle"]["operations"].as_array().unwrap() {
        assert_eq!(operation["provenance"]["inference_sources"].as_object().unwrap().len(), 5);
    }
    let provenance = &operation(&bundle, "get_user")["provenance"];
    assert_eq!(provenance["annotations"], json!(["readOnlyHint", "title"]));
    assert_eq!((&provenance["name"], &provenance["input_schema_present"]), (&json!("name"), &json!(true)));
    assert_eq!(operation(&bundle, "process")["provenance"]["input_schema_present"], false);
}

/// REQ-DISC-14
#[test]
fn no_secret_is_anywhere_in_a_bundle() {
    let token = "top-secret-value-9";
    let mut capture = capture(json!([
        {"name": "get_x", "description": format!("Uses {token}"), "inputSchema": {"properties": {token: {"default": token}}}},
    ]));
    capture.reached =
        Reached::Http { url: format!("https://me:{token}@api.example.com/{token}?key={token}") };
    capture.auth = Auth::Bearer {
        header: Some("X-Key".into()),
        prefix: None,
        token_env: Some("SAMPLE_TOKEN".into()),
        token_command: Some(format!("get-token --password {token}")),
    };
    capture.config =
        json!({"headers": {"X-More": token}, "note": format!("with {token}")}).as_object().unwrap().clone();
    capture.server = Some(Identity { name: Some(format!("n {token}")), ..Identity::default() });
    capture.secrets = vec![token.to_owned()];
    let bundle = made_of(&capture).unwrap();
    let text = bundle.to_json();
    assert!(!text.contains(token), "{text}");
    let bundle = written(&bundle);
    assert_eq!(
        bundle["source"]["auth"],
        json!({"type": "bearer", "header": "X-Key", "token_env": "SAMPLE_TOKEN", "token_command": "get-token --password [redacted]"})
    );
    assert_eq!(bundle["source"]["capture_config_redacted"]["headers"], json!({"X-More": "[redacted]"}));
    let codes = bundle["normalized_bundle"]["warnings"].as_array().unwrap().iter();
    assert!(codes.map(|warning| &warning["code"]).any(|code| code == "SECRET_REDACTED"));
    if let Some(schema) = schema("discovery-bundle") {
        assert_eq!(faults(&schema, &bundle), Vec::<String>::new());
    }
}

/// REQ-DISC-15
#[test]
fn processes_are_an_extension_that_strict_refuses() {
    let mut capture = capture(tools());
    capture.reached =
        Reached::Stdio { command: "/opt/my tools/npx".into(), args: vec!["--token=abc".into()] };
    let bundle = written(&made_of(&capture).unwrap());
    assert_eq!(bundle["source"]["transport"], "stdio");
    assert_eq!(bundle["source"]["server_url"], "stdio:npx");
    assert_eq!(bundle["source"]["capture_config_redacted"]["args"], json!(["--token=[redacted]"]));
    if let Some(schema) = schema("discovery-bundle") {
        let paths: Vec<String> = schema.iter_errors(&bundle).map(|e| e.instance_path().to_string()).collect();
        assert_eq!(paths, ["/source/transport"]);
    }
    let overrides = crate::classify::Overrides::default();
    let strict = super::Options {
        prefix: "",
        strict: true,
        trust: crate::classify::Trust::Claimed,
        overrides: &overrides,
    };
    assert_eq!(crate::discover::bundle(&capture, &strict), Err(Error::Strict));
    capture.reached = Reached::Http { url: "ws://x".into() };
    assert!(matches!(made_of(&capture), Err(Error::Transport(_))));
}

/// REQ-DISC-21
#[test]
fn results_are_always_an_object_with_a_name() {
    let bundle = written(&bundled(tools()));
    for operation in bundle["normalized_bundle"]["operations"].as_array().unwrap() {
        assert_eq!(operation["returns"]["type"], "object");
        assert!(!operation["returns"]["name"].as_str().unwrap().is_empty());
        assert!(!operation["returns"]["description"].as_str().unwrap().is_empty());
    }
}

/// REQ-DISC-26
#[test]
fn the_same_capture_gives_the_same_bytes_and_reads_as_it_was() {
    let bundle = bundled(tools());
    assert_eq!(bundle.to_json(), bundled(tools()).to_json());
    assert_eq!(Bundle::read(&bundle.to_json()), Ok(bundle));
}

/// A tool that mixes reading and writing has several records, of which a warning tells.
#[test]
fn split_tools_share_their_source() {
    let bundle = written(&bundled(tools()));
    for (name, maps_to) in [
        ("manage_issue_get", "tools/call manage_issue?method=get"),
        ("manage_issue_delete", "tools/call manage_issue?method=delete"),
        ("get_user", "tools/call get_user"),
    ] {
        assert_eq!(operation(&bundle, name)["maps_to"], maps_to);
    }
    assert_eq!(operation(&bundle, "manage_issue_get")["source_tool_name"], "manage_issue");
    let warnings = bundle["normalized_bundle"]["warnings"].as_array().unwrap();
    assert!(
        warnings.iter().any(|warning| warning["code"] == "SPLIT_TOOL" && warning["tool"] == "manage_issue")
    );
}
