//! Every operation as a tool of its own.

use serde_json::{Value, json};

use crate::harness::{Client, SCHEMAS, Setup, WIRES, answer_in, data};

/// Calls a tool that is an operation, and checks the answer as that of the operation.
fn call(client: &mut Client, operation: &str, params: Value) -> Value {
    let result = client.result(operation, params.clone());
    answer_in(&result, &json!({"operation": operation, "params": params}), &SCHEMAS)
}

fn tools(client: &mut Client) -> Vec<Value> {
    client.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
}

fn named<'a>(tools: &'a [Value], name: &str) -> &'a Value {
    tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no tool {name}"))
}

#[test]
fn every_operation_is_a_tool_with_its_own_schema_and_hints() {
    for wire in WIRES {
        let directory = data();
        let mut client = Setup::new(directory.path()).arguments(&["--mode", "discrete"]).connect(wire);
        let tools = tools(&mut client);
        assert!(!tools.iter().any(|tool| tool["name"].as_str().unwrap().contains("mcp_aql")), "{wire:?}");
        let listed = call(&mut client, "introspect", json!({"query": "operations"}))["data"].clone();
        let names: Vec<&Value> =
            listed["operations"].as_array().unwrap().iter().map(|op| &op["name"]).collect();
        assert_eq!(tools.iter().map(|tool| &tool["name"]).collect::<Vec<_>>(), names, "{wire:?}");
        assert!(listed["_protocol"].get("mode").is_none(), "the specification's modes are three");
        assert_eq!(listed["_protocol"]["capabilities"]["discrete_tools"], true);
        for (name, read_only, destructive) in
            [("get_entity", true, false), ("create_entity", false, false), ("delete_entity", false, true)]
        {
            let hints = json!({"readOnlyHint": read_only, "destructiveHint": destructive});
            assert_eq!(named(&tools, name)["annotations"], hints, "{name}");
        }
        let schema = &named(&tools, "create_entity")["inputSchema"];
        assert!(schema["required"].as_array().unwrap().contains(&json!("entity_name")), "{schema}");
        assert!(schema["properties"].get("operation").is_none() && schema["additionalProperties"] == false);
        assert!(schema.to_string().len() < 4000, "only the types that it needs: {schema}");
    }
}

/// REQ-INTRO-08 REQ-INTRO-14
#[test]
fn a_schema_takes_what_the_operation_takes() {
    let directory = data();
    let mut client = Setup::new(directory.path()).arguments(&["--mode", "discrete"]).connect(WIRES[0]);
    for tool in tools(&mut client) {
        let name = tool["name"].as_str().unwrap();
        let validator = jsonschema::validator_for(&tool["inputSchema"]).unwrap();
        let details = json!({"query": "operations", "name": name});
        let details = call(&mut client, "introspect", details)["data"]["operation"].clone();
        assert_eq!(details["mcpTool"], name);
        for example in details["examples"].as_array().unwrap() {
            let params = example["request"].get("params").cloned().unwrap_or_else(|| json!({}));
            assert!(validator.is_valid(&params), "{name}: {params} {}", tool["inputSchema"]);
            let code =
                call(&mut client, name, params)["error"]["code"].as_str().unwrap_or_default().to_owned();
            assert!(!code.starts_with("VALIDATION_"), "{name}: {code}");
        }
        assert!(!validator.is_valid(&json!({"no_such_parameter": 1})), "{name}");
    }
    let update = json!({"entity_id": "x", "input": {"priority": null, "description": "d"}});
    let tools = tools(&mut client);
    let validator = jsonschema::validator_for(&named(&tools, "update_entity")["inputSchema"]).unwrap();
    assert!(validator.is_valid(&update), "null removes a field");
    assert!(!validator.is_valid(&json!({"entity_id": "x", "input": {"priority": "high"}})));
}

#[test]
fn a_call_goes_the_same_way_on_every_wire() {
    for wire in WIRES {
        let directory = data();
        let mut client = Setup::new(directory.path()).arguments(&["--mode", "discrete"]).connect(wire);
        let new = json!({"entity_name": "A", "entity_type": "item", "description": "d"});
        let created = call(&mut client, "create_entity", new);
        let id = created["data"]["entity_id"].clone();
        assert!(id.is_string(), "{wire:?}: {created}");
        let changed = call(&mut client, "update_entity", json!({"entity_id": id, "input": {"priority": 2}}));
        assert_eq!(changed["data"]["priority"], 2);
        let missing = call(&mut client, "update_entity", json!({"entity_id": id}))["error"].clone();
        assert_eq!(
            (&missing["code"], &missing["details"]["param_name"]),
            (&json!("VALIDATION_MISSING_PARAM"), &json!("input"))
        );
        let listed = call(&mut client, "list_entities", json!({"fields": ["entity_name"], "first": 1}));
        assert_eq!(listed["data"]["items"], json!([{"entity_name": "A"}]));
        let bare = client.request("tools/call", json!({"name": "list_entities"}));
        assert!(
            bare["result"]["content"][0]["text"].as_str().unwrap().contains("\"success\":true"),
            "{bare}"
        );
        assert_eq!(call(&mut client, "delete_entity", json!({"entity_id": id}))["data"]["deleted"], true);
    }
}

/// What the envelope of the other modes calls `operation` is a parameter like any other here, and cannot lead elsewhere.
#[test]
fn arguments_cannot_name_another_operation() {
    for wire in WIRES {
        let directory = data();
        let mut client = Setup::new(directory.path()).arguments(&["--mode", "discrete"]).connect(wire);
        for stray in [
            json!({"operations": [{"operation": "list_entities"}]}),
            json!({"params": {"entity_type": "item"}}),
            json!({"operation": 7}),
        ] {
            let result = client.request("tools/call", json!({"name": "list_entities", "arguments": stray}));
            let text = result["result"]["content"][0]["text"].as_str().unwrap_or_default();
            assert!(text.contains("VALIDATION_UNKNOWN_PARAM"), "{wire:?} {stray}: {result}");
        }
    }
    let directory = data();
    let mut client = Setup::new(directory.path()).arguments(&["--mode", "discrete"]).connect(WIRES[0]);
    let other = call(&mut client, "list_entities", json!({"operation": "delete_entity"}))["error"].clone();
    assert_eq!(other["code"], "VALIDATION_UNKNOWN_PARAM", "{other}");
}

#[test]
fn what_is_denied_prefixed_or_unknown_is_told() {
    for wire in WIRES {
        let directory = data();
        let config = "[server]\nmode = \"discrete\"\nprefix = \"desk_\"\n[safety]\ndeny = [\"delete_*\"]\n";
        let mut client = Setup::new(directory.path()).config(config).connect(wire);
        let names = client.tool_names();
        assert!(
            names.contains(&"desk_get_entity".to_owned())
                && !names.contains(&"desk_delete_entity".to_owned())
        );
        let denied = client.call("desk_delete_entity", json!({"entity_id": "x"}))["error"].clone();
        assert_eq!(denied["code"], "PERMISSION_DENIED", "{wire:?}");
        for (name, told) in [
            ("desk_entity_get", "'desk_get_entity'"),
            ("get_entity", "'desk_get_entity'"),
            ("mcp_aql_read", "Unknown tool: 'mcp_aql_read'"),
            ("", "Unknown tool: ''"),
        ] {
            let error = client.request("tools/call", json!({"name": name, "arguments": {}}))["error"].clone();
            assert_eq!(error["code"], -32602, "{wire:?} {name}: {error}");
            assert!(error["message"].as_str().unwrap().contains(told), "{wire:?} {name}: {error}");
        }
    }
}
