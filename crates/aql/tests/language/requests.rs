//! The envelope: `operation`, `params`, and what may stand beside them.

use serde_json::json;

use crate::{
    drive::{code, items},
    schemas,
};

/// REQ-REQ-01 LREQ-CONFORM-14
#[test]
fn one_envelope_serves_every_listed_operation() {
    let adapter = items();
    for details in adapter.all_details() {
        let tool = details["mcpTool"].as_str().unwrap();
        for example in details["examples"].as_array().unwrap() {
            schemas::check(&schemas::INPUT, &example["request"]);
            let answer = adapter.call(tool, example["request"].clone());
            assert_eq!(answer["success"], true, "{answer:#}");
        }
    }
    let answer = adapter.call("mcp_aql_read", json!({"operation": "list_items", "params": {}}));
    assert_eq!(answer["success"], true);
}

/// REQ-REQ-02 REQ-REQ-06
#[test]
fn operation_is_a_non_empty_string_and_params_an_object() {
    let adapter = items();
    for (arguments, expected, name, expected_type) in [
        (json!({"params": {}}), "VALIDATION_MISSING_PARAM", "operation", None),
        (json!({"operation": ""}), "VALIDATION_OUT_OF_RANGE", "operation", None),
        (json!({"operation": 7}), "VALIDATION_INVALID_TYPE", "operation", Some("string")),
        (json!({"operation": null}), "VALIDATION_INVALID_TYPE", "operation", Some("string")),
        (
            json!({"operation": "list_items", "params": [1]}),
            "VALIDATION_INVALID_TYPE",
            "params",
            Some("object"),
        ),
        (
            json!({"operation": "list_items", "params": "x"}),
            "VALIDATION_INVALID_TYPE",
            "params",
            Some("object"),
        ),
        (
            json!({"operation": "list_items", "params": null}),
            "VALIDATION_INVALID_TYPE",
            "params",
            Some("object"),
        ),
    ] {
        let error = adapter.call("mcp_aql_read", arguments.clone())["error"].clone();
        assert_eq!(code(&error), expected, "{arguments}");
        assert_eq!(error["details"]["param_name"], name, "{arguments}");
        assert!(error["message"].as_str().unwrap().contains(&format!("'{name}'")), "{error}");
        assert_eq!(error["details"]["expected_type"].as_str(), expected_type, "{arguments}");
    }
    let error = adapter.call("mcp_aql_read", json!({"operation": 7}))["error"].clone();
    assert_eq!(error["details"]["actual_type"], "number");
}

/// REQ-REQ-03 REQ-REQ-04 LREQ-MODE-05 LREQ-ERR-10
#[test]
fn an_operation_nobody_defined_is_not_found_whatever_it_resembles() {
    let adapter = items();
    let listed: Vec<String> =
        adapter.list().iter().map(|info| info["name"].as_str().unwrap().to_owned()).collect();
    for name in ["create_widget", "List_Items", "list_item", "archive_table", " list_items"] {
        let error = adapter.call("mcp_aql_read", json!({"operation": name}))["error"].clone();
        assert_eq!(code(&error), "NOT_FOUND_OPERATION", "{name}");
        assert_eq!(error["message"], format!("Unknown operation: '{name}'"));
        assert_eq!(error["details"]["operation"], name);
        assert!(error["details"]["hint"].as_str().unwrap().contains("introspect"), "{error}");
        for available in error["details"]["available"].as_array().into_iter().flatten() {
            assert!(listed.iter().any(|known| available == known), "{available} is suggested and not there");
        }
    }
    let error = adapter.call("mcp_aql_read", json!({"operation": "List_Items"}))["error"].clone();
    assert_eq!(error["details"]["available"], json!(["list_items"]));
}

/// REQ-REQ-05
#[test]
fn params_may_be_left_out_where_nothing_is_required() {
    let adapter = items();
    let without = adapter.call("mcp_aql_read", json!({"operation": "list_items"}));
    assert_eq!(without["success"], true);
    assert_eq!(without, adapter.call("mcp_aql_read", json!({"operation": "list_items", "params": {}})));
}

/// REQ-REQ-07
#[test]
fn protocol_names_and_underscored_metadata_are_no_parameters() {
    let adapter = items();
    let plain = adapter.call("mcp_aql_read", json!({"operation": "list_items"}));
    let request =
        json!({"operation": "list_items", "params": {"_trace": 1}, "_meta": {"a": 1}, "_request_id": "r1"});
    assert_eq!(adapter.call("mcp_aql_read", request), plain, "metadata reaches no handler");
}

/// REQ-REQ-08 LREQ-MODE-04
#[test]
fn routing_comes_before_parameters_and_existence_before_routing() {
    let adapter = items();
    let error = adapter.call("mcp_aql_create", json!({"operation": "get_item", "params": {"bogus": 1}}));
    assert_eq!(code(&error["error"]), "VALIDATION_ENDPOINT_MISMATCH");
    let error = adapter.call("mcp_aql_create", json!({"operation": "nosuch", "params": {"bogus": 1}}));
    assert_eq!(code(&error["error"]), "NOT_FOUND_OPERATION");
    let error = adapter.call("mcp_aql_create", json!({"operation": "get_item", "params": 3}));
    assert_eq!(error["error"]["details"]["param_name"], "params", "the envelope comes before both");
}
