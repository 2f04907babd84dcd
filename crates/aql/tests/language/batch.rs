//! Batches: in order, each result its own, halted where a person has to confirm.

use aql::profile::Mode;
use serde_json::{Value, json};

use crate::{
    drive::{Adapter, code, items},
    fixture, schemas,
};

fn create(name: &str) -> Value {
    json!({"operation": "create_item", "params": {"category": "product", "name": name}})
}

/// REQ-BATCH-01 REQ-BATCH-02 REQ-BATCH-03 REQ-BATCH-04 REQ-BATCH-07
#[test]
fn results_come_in_order_with_exact_counts() {
    let request = json!({"operations": [create("a"), create("b"), create("c")]});
    schemas::check(&schemas::BATCH, &request);
    let answer = items().call("mcp_aql_create", request);
    assert_eq!(answer["success"], true);
    assert!(answer.as_object().unwrap().contains_key("data") && answer["data"].is_null());
    assert_eq!(answer["summary"], json!({"total": 3, "succeeded": 3, "failed": 0}));
    for (index, name) in ["a", "b", "c"].into_iter().enumerate() {
        let result = &answer["results"][index];
        assert_eq!((&result["index"], &result["operation"]), (&json!(index), &json!("create_item")));
        assert_eq!(
            (&result["result"]["success"], &result["result"]["data"]["name"]),
            (&json!(true), &json!(name))
        );
    }
    assert!(answer.get("halted_at").is_none() && answer.get("pending_operations").is_none());
}

/// REQ-BATCH-05 REQ-BATCH-06
#[test]
fn a_failure_is_its_own_and_the_batch_still_succeeds() {
    let adapter = items();
    let bad = json!({"operation": "create_item", "params": {"name": "x"}});
    let answer = adapter.call("mcp_aql_create", json!({"operations": [create("a"), bad, create("c")]}));
    assert_eq!(answer["success"], true);
    assert_eq!(answer["summary"], json!({"total": 3, "succeeded": 2, "failed": 1}));
    let successes: Vec<&Value> =
        answer["results"].as_array().unwrap().iter().map(|entry| &entry["result"]["success"]).collect();
    assert_eq!(successes, [true, false, true]);
    let answer = adapter.call(
        "mcp_aql_create",
        json!({"operations": [bad, {}, 3, {"operation": "nosuch"}, {"operation": 1}]}),
    );
    assert_eq!(answer["success"], true, "all failed, and the batch was processed");
    assert_eq!(answer["summary"], json!({"total": 5, "succeeded": 0, "failed": 5}));
    let codes: Vec<&str> =
        answer["results"].as_array().unwrap().iter().map(|entry| code(&entry["result"]["error"])).collect();
    assert_eq!(
        codes,
        [
            "VALIDATION_MISSING_PARAM",
            "VALIDATION_MISSING_PARAM",
            "VALIDATION_INVALID_TYPE",
            "NOT_FOUND_OPERATION",
            "VALIDATION_INVALID_TYPE"
        ]
    );
}

/// REQ-BATCH-02 REQ-BATCH-06 REQ-BATCH-14 REQ-RESP-05
#[test]
fn a_malformed_batch_fails_as_a_whole_with_code_and_message_alone() {
    let adapter = items();
    for (request, expected) in [
        (json!({"operations": "x"}), "VALIDATION_INVALID_TYPE"),
        (json!({"operations": null}), "VALIDATION_INVALID_TYPE"),
        (json!({"operations": {"operation": "create_item"}}), "VALIDATION_INVALID_TYPE"),
        (json!({"operations": []}), "VALIDATION_OUT_OF_RANGE"),
        (json!({"operations": [create("a")], "operation": "create_item"}), "VALIDATION_UNKNOWN_PARAM"),
        (json!({"operations": [create("a")], "params": {}}), "VALIDATION_UNKNOWN_PARAM"),
        (json!({"operations": [create("a")], "mode": "skip"}), "VALIDATION_UNKNOWN_PARAM"),
    ] {
        let answer = adapter.call("mcp_aql_create", request.clone());
        assert_eq!(answer["success"], false, "{request}");
        assert_eq!(code(&answer["error"]), expected, "{request}");
        assert!(answer.get("results").is_none() && answer["error"].get("details").is_none(), "{answer}");
    }
    let answer = adapter.call("mcp_aql_create", json!({"operations": [create("a")], "_meta": {"a": 1}}));
    assert_eq!(answer["summary"]["succeeded"], 1, "metadata may stand beside a batch");
}

/// REQ-BATCH-08 REQ-ROUTE-03
#[test]
fn what_belongs_to_another_family_is_refused_alone() {
    let delete = json!({"operation": "delete_item", "params": {"item_id": "1"}});
    let request = json!({"operations": [create("a"), delete, create("b")]});
    let answer = items().call("mcp_aql_create", request.clone());
    assert_eq!(answer["summary"], json!({"total": 3, "succeeded": 2, "failed": 1}));
    assert_eq!(code(&answer["results"][1]["result"]["error"]), "VALIDATION_ENDPOINT_MISMATCH");
    let single = Adapter::of(fixture::built(fixture::builder().mode(Mode::Single)));
    assert_eq!(single.call("mcp_aql", request)["summary"], json!({"total": 3, "succeeded": 3, "failed": 0}));
}

/// REQ-BATCH-09 REQ-BATCH-10 REQ-BATCH-11 REQ-BATCH-12 REQ-BATCH-15
#[test]
fn a_call_to_confirm_halts_and_the_rest_can_be_sent_again() {
    let mut adapter = Adapter::of(fixture::built(fixture::builder().mode(Mode::Single)));
    adapter.gated = Some("delete_item");
    let delete = json!({"operation": "delete_item", "params": {"item_id": "1"}});
    let later = json!({"operation": "execute_job", "job_name": "tell", "params": {"arguments": {"a": 1}}});
    let answer = adapter
        .call("mcp_aql", json!({"operations": [create("a"), delete, later, {"operation": "list_items"}]}));
    assert_eq!(answer["success"], true);
    assert_eq!(answer["results"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&answer["halted_at"]["index"], &answer["halted_at"]["operation"]),
        (&json!(1), &json!("delete_item"))
    );
    assert_eq!(code(&answer["halted_at"]["result"]["error"]), "CONFIRMATION_REQUIRED");
    assert_eq!(
        answer["pending_operations"],
        json!([
            {"index": 2, "operation": "execute_job", "params": {"job_name": "tell", "arguments": {"a": 1}}},
            {"index": 3, "operation": "list_items"}
        ])
    );
    assert_eq!(
        answer["summary"],
        json!({"total": 4, "succeeded": 1, "failed": 0, "halted": 1, "pending": 2})
    );
    let confirmed =
        json!({"operation": "delete_item", "params": {"item_id": "1", "confirmation_token": "t"}});
    let mut rest = vec![confirmed];
    for pending in answer["pending_operations"].as_array().unwrap() {
        let mut pending = pending.clone();
        pending.as_object_mut().unwrap().remove("index");
        rest.push(pending);
    }
    let answer = adapter.call("mcp_aql", json!({"operations": rest}));
    assert_eq!(answer["summary"], json!({"total": 3, "succeeded": 3, "failed": 0}));
}

/// REQ-BATCH-03 REQ-LIMIT-02
#[test]
fn introspection_and_warnings_keep_to_the_batch_schema_too() {
    let adapter = items();
    let answer = adapter.call(
        "mcp_aql_read",
        json!({"operations": [
            {"operation": "introspect", "params": {"query": "operations", "first": 1}},
            {"operation": "introspect", "params": {"query": "banana"}},
            {"operation": "find_items", "params": {"limit": 3}}
        ]}),
    );
    assert_eq!(answer["summary"], json!({"total": 3, "succeeded": 2, "failed": 1}));
    assert!(answer["results"][2]["result"].get("warnings").is_none());
    let limits = aql::limits::Limits::default()
        .with_max_response_size(1_048_576)
        .and_then(|limits| limits.with_max_request_size(10 * 1_048_576))
        .unwrap();
    let small = Adapter::of(fixture::built(fixture::builder().limits(limits)));
    let job = json!({"operation": "execute_job", "params": {"job_name": "x".repeat(600_000)}});
    let answer = small.call("mcp_aql_execute", json!({"operations": [job, job]}));
    assert_eq!(
        answer["summary"],
        json!({"total": 2, "succeeded": 1, "failed": 1}),
        "both do not fit together"
    );
    let error = &answer["results"][1]["result"]["error"];
    assert_eq!(code(error), "VALIDATION_PAYLOAD_TOO_LARGE");
    assert!(error["message"].as_str().unwrap().contains("response_size limit of 1048576"), "{answer}");
}
