//! Several operations in one call.

use serde_json::{Value, json};

use crate::harness::{Client, Setup, WIRES, data};

fn item(name: &str) -> Value {
    json!({"operation": "create_entity", "params": {"entity_name": name, "entity_type": "item", "description": "d"}})
}

fn count(client: &mut Client) -> usize {
    client.read("list_entities", json!({}))["data"]["items"].as_array().unwrap().len()
}

/// REQ-BATCH-02 REQ-BATCH-03 REQ-BATCH-05 REQ-BATCH-07
#[test]
fn every_operation_has_its_own_result() {
    for wire in WIRES {
        let directory = data();
        let mut client = Setup::new(directory.path()).connect(wire);
        let answer = client.call("mcp_aql_create", json!({"operations": [item("A"), item("A"), item("B")]}));
        assert_eq!((&answer["success"], &answer["data"]), (&json!(true), &Value::Null), "{wire:?}");
        let results = answer["results"].as_array().unwrap();
        for (index, result) in results.iter().enumerate() {
            assert_eq!((&result["index"], &result["operation"]), (&json!(index), &json!("create_entity")));
        }
        let outcomes: Vec<&Value> = results.iter().map(|result| &result["result"]["success"]).collect();
        assert_eq!(outcomes, [true, false, true]);
        assert_eq!(results[1]["result"]["error"]["code"], "CONFLICT_ALREADY_EXISTS");
        assert_eq!(answer["summary"], json!({"total": 3, "succeeded": 2, "failed": 1}));
        assert_eq!(count(&mut client), 2, "{wire:?}");
    }
}

/// REQ-BATCH-04 REQ-BATCH-08 REQ-BATCH-01
#[test]
fn a_batch_runs_in_order_and_never_past_its_tool() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let id = client.new_item("Ordered");
    let set =
        |n: i64| json!({"operation": "update_entity", "params": {"entity_id": id, "input": {"priority": n}}});
    let operations: Vec<Value> = (1..=10).map(set).collect();
    client.call("mcp_aql_update", json!({"operations": operations}));
    assert_eq!(client.read("get_entity", json!({"entity_id": id}))["data"]["priority"], 10);
    let smuggled =
        json!({"operations": [item("B"), {"operation": "delete_entity", "params": {"entity_id": id}}]});
    let answer = client.call("mcp_aql_create", smuggled);
    assert_eq!(answer["results"][1]["result"]["error"]["code"], "VALIDATION_ENDPOINT_MISMATCH");
    assert_eq!(count(&mut client), 2);
    let protocol = client.introspect(json!({"query": "operations"}))["data"]["_protocol"].clone();
    assert_eq!(protocol["capabilities"]["batch"], true);
}

/// REQ-BATCH-06 REQ-BATCH-14 REQ-RESP-05
#[test]
fn only_a_malformed_batch_fails_whole() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    for arguments in [
        json!({"operations": "x"}),
        json!({"operations": []}),
        json!({"operations": [item("A")], "operation": "create_entity"}),
        json!({"operations": [item("A")], "mode": "skip"}),
    ] {
        let answer = client.call("mcp_aql_create", arguments.clone());
        assert_eq!(answer["success"], false, "{arguments}");
        assert!(answer.get("results").is_none() && answer.get("data").is_none());
        assert_eq!(answer["error"].as_object().unwrap().len(), 2, "only code and message");
    }
    assert_eq!(count(&mut client), 0);
    let answer =
        client.call("mcp_aql_create", json!({"operations": [{}, 3, item("A"), {"operation": "nonsense"}]}));
    assert_eq!(
        (&answer["success"], &answer["summary"]),
        (&json!(true), &json!({"total": 4, "succeeded": 1, "failed": 3}))
    );
    let all_failed = client.call("mcp_aql_create", json!({"operations": [item("A")]}));
    assert_eq!((&all_failed["success"], &all_failed["summary"]["failed"]), (&json!(true), &json!(1)));
}

/// REQ-CONFORM-06 REQ-RESP-08
#[test]
fn introspection_works_inside_a_batch() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let query = json!({"operation": "introspect", "params": {"query": "operations"}});
    let alone = client.introspect(json!({"query": "operations"}));
    let answer = client.call("mcp_aql_read", json!({"operations": [query, {"operation": "list_entities"}]}));
    assert_eq!(answer["results"][0]["result"], alone);
    assert_eq!(answer["summary"]["succeeded"], 2);
}
