//! Introspection as a model meets it, and that it tells the truth.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::harness::{Client, Setup, WIRES, data, fixture_setup};

fn operations(client: &mut Client) -> Vec<Value> {
    client.introspect(json!({"query": "operations"}))["data"]["operations"].as_array().unwrap().clone()
}

fn details(client: &mut Client, name: &Value) -> Value {
    client.introspect(json!({"query": "operations", "name": name}))["data"]["operation"].clone()
}

/// REQ-INTRO-01 REQ-INTRO-02 REQ-INTRO-03 REQ-INTRO-04 REQ-INTRO-18
#[test]
fn introspect_is_there_on_every_wire() {
    for wire in WIRES {
        let directory = data();
        for setup in [
            Setup::new(directory.path()),
            Setup::new(directory.path()).config("[entities]\nenabled = false\n"),
        ] {
            let mut client = setup.connect(wire);
            let list = client.introspect(json!({"query": "operations"}));
            assert_eq!(list["data"]["_protocol"]["version"], "1.0.0-draft", "{wire:?}");
            let own = list["data"]["operations"]
                .as_array()
                .unwrap()
                .iter()
                .find(|op| op["name"] == "introspect")
                .unwrap();
            assert_eq!((&own["semantic_category"], &own["endpoint"]), (&json!("READ"), &json!("read")));
            assert_eq!(client.introspect(json!({"query": "types"}))["success"], true);
            let missing = client.introspect(json!({}))["error"].clone();
            assert_eq!(missing["code"], "VALIDATION_MISSING_PARAM");
            assert!(missing["message"].as_str().unwrap().contains("'query'"));
            let banana = client.introspect(json!({"query": "banana"}))["error"].clone();
            assert!(banana["message"].as_str().unwrap().contains("\"operations\", \"types\""), "{banana}");
            let misrouted = client.delete("introspect", json!({"query": "operations"}));
            assert_eq!(misrouted["error"]["code"], "VALIDATION_ENDPOINT_MISMATCH");
        }
    }
}

/// REQ-INTRO-05 REQ-INTRO-06 REQ-INTRO-08 REQ-INTRO-26 REQ-CONFORM-07
#[test]
fn every_operation_is_listed_described_and_served_by_the_tool_it_names() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let tools: HashSet<String> = client.tool_names().into_iter().collect();
    for info in operations(&mut client) {
        let keys: Vec<&String> = info.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["description", "endpoint", "name", "semantic_category"]);
        let detail = details(&mut client, &info["name"]);
        for key in ["semantic_category", "endpoint", "description"] {
            assert_eq!(detail[key], info[key]);
        }
        assert!(tools.contains(detail["mcpTool"].as_str().unwrap()));
        let answer =
            client.call(detail["mcpTool"].as_str().unwrap(), detail["examples"][0]["request"].clone());
        let code = answer["error"]["code"].as_str().unwrap_or_default();
        assert!(!code.starts_with("VALIDATION_") && code != "NOT_FOUND_OPERATION", "{answer}");
    }
    assert_eq!(
        client.introspect(json!({"query": "operations", "name": "nonexistent_operation"})),
        json!({"success": true, "data": {"operation": null}})
    );
    assert_eq!(
        client.introspect(json!({"query": "types", "name": "NoSuchType"})),
        json!({"success": true, "data": {"type": null}})
    );
}

/// REQ-INTRO-10 REQ-INTRO-11 REQ-INTRO-17 REQ-INTRO-24 REQ-TYPE-01
#[test]
fn names_of_types_resolve_and_parameters_are_described() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let types = client.introspect(json!({"query": "types"}))["data"]["types"].as_array().unwrap().clone();
    let known: HashSet<String> = types.iter().map(|t| t["name"].as_str().unwrap().to_owned()).collect();
    let plain = ["string", "number", "integer", "boolean", "object", "array"];
    let resolves = |text: &str| {
        text.split(" | ")
            .map(|part| part.trim_end_matches("[]"))
            .all(|name| plain.contains(&name) || known.contains(name))
    };
    for name in &known {
        let detail = client.introspect(json!({"query": "types", "name": name}))["data"]["type"].clone();
        for field in detail["fields"].as_array().into_iter().flatten() {
            assert!(resolves(field["type"].as_str().unwrap()), "{name}: {field}");
        }
        for member in detail["members"].as_array().into_iter().flatten() {
            assert!(known.contains(member.as_str().unwrap()), "{name}: {member}");
        }
    }
    for info in operations(&mut client) {
        let detail = details(&mut client, &info["name"]);
        assert!(known.contains(detail["returns"]["name"].as_str().unwrap()), "{detail}");
        for param in detail["parameters"].as_array().unwrap() {
            assert!(resolves(param["type"].as_str().unwrap()), "{param}");
            assert!(param["required"].is_boolean());
            let description = param["description"].as_str().unwrap();
            assert!(!description.is_empty() && description != param["name"].as_str().unwrap());
        }
    }
}

/// REQ-INTRO-14 REQ-INTRO-15 REQ-PARAM-12 LREQ-CONFORM-02
#[test]
fn what_is_accepted_is_exactly_what_is_listed() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let probes = json!({
        "fields": "full", "limit": 5, "offset": 0, "first": 5, "after": "x", "filter": {}, "sort": {}, "aggregate": {},
        "dry_run": true, "if_match": "v1", "confirmation_token": "t", "input": {}, "page": 1, "preset": "minimal"
    });
    for info in operations(&mut client) {
        let detail = details(&mut client, &info["name"]);
        let listed: HashSet<&str> =
            detail["parameters"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
        let tool = detail["mcpTool"].as_str().unwrap();
        let example = detail["examples"][0]["request"]["params"].clone();
        let mut call =
            |params: Value| client.call(tool, json!({"operation": info["name"], "params": params}));
        for (name, value) in probes.as_object().unwrap() {
            let mut params = example.clone();
            params[name] = value.clone();
            let refused = call(params)["error"]["code"] == "VALIDATION_UNKNOWN_PARAM";
            assert_eq!(refused, !listed.contains(name.as_str()), "{} {name}", info["name"]);
        }
        for param in detail["parameters"].as_array().unwrap() {
            let name = param["name"].as_str().unwrap();
            let wrong = if param["type"] == "boolean" { json!("x") } else { json!(true) };
            let mut params = example.clone();
            params[name] = wrong;
            let error = call(params)["error"].clone();
            assert_eq!(error["code"], "VALIDATION_INVALID_TYPE", "{} {name}", info["name"]);
            let mut params = example.clone();
            if params.as_object_mut().unwrap().remove(name).is_some() {
                let missing = call(params)["error"]["code"] == "VALIDATION_MISSING_PARAM";
                assert_eq!(missing, param["required"] == true, "{} {name}", info["name"]);
            }
        }
    }
}

/// REQ-INTRO-29 REQ-INTRO-32 REQ-INTRO-19 REQ-INTRO-20
#[test]
fn the_list_can_be_searched_filtered_paged_and_narrowed() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let mut list = |params: Value| {
        let mut query = json!({"query": "operations"});
        query.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        client.introspect(query)
    };
    assert_eq!(list(json!({})), list(json!({})));
    let all = list(json!({}))["data"].clone();
    assert_eq!(all["_protocol"]["conformance"], "level-2");
    assert!(all["_protocol"].get("pageInfo").is_none());
    let names = |answer: &Value| -> Vec<String> {
        answer["data"]["operations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|op| op["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&list(json!({"search": "remove relation"})))[0], "delete_relation");
    assert_eq!(names(&list(json!({"filter": {"category": "delete"}}))), ["delete_entity", "delete_relation"]);
    assert_eq!(names(&list(json!({"filter": {"endpoint": "update"}}))), ["update_entity"]);
    assert_eq!(names(&list(json!({"filter": {"server": "nowhere"}}))), [""; 0]);
    assert_eq!(list(json!({"filter": {"category": "QUERY"}}))["error"]["code"], "VALIDATION_INVALID_ENUM");
    assert_eq!(list(json!({"filter": {"colour": "red"}}))["error"]["code"], "VALIDATION_UNKNOWN_FIELD");
    let mut joined = Vec::new();
    let mut params = json!({"first": 4});
    loop {
        let page = list(params.clone());
        joined.extend(names(&page));
        let info = page["data"]["_protocol"]["pageInfo"].clone();
        if info["hasNextPage"] == false {
            break;
        }
        params["after"] = info["endCursor"].clone();
    }
    assert_eq!(joined, names(&json!({"data": all})));
    assert_eq!(list(json!({"after": "nonsense"}))["error"]["code"], "VALIDATION_INVALID_CURSOR");
    let narrow = list(json!({"fields": "minimal"}));
    assert_eq!(narrow["data"]["operations"][1]["description"], "");
    assert_eq!(list(json!({"fields": "banana"}))["error"]["code"], "VALIDATION_INVALID_ENUM");
}

/// LREQ-DANGER-16 REQ-INTRO-09
#[test]
fn danger_and_permissions_are_told() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let list = client.introspect(json!({"query": "operations"}));
    assert_eq!(
        list["data"]["_protocol"]["danger_levels"]["destructive"],
        json!(["delete_entity", "delete_relation"])
    );
    let danger =
        client.introspect(json!({"query": "danger", "name": "delete_entity"}))["data"]["danger"].clone();
    assert_eq!((&danger["level"], &danger["number"]), (&json!("destructive"), &json!(2)));
    assert!(!danger["reasons"].as_array().unwrap().is_empty());
    for info in operations(&mut client) {
        let permissions = details(&mut client, &info["name"])["permissions"].clone();
        let expected = match info["semantic_category"].as_str().unwrap() {
            "READ" => json!({"readOnly": true, "destructive": false}),
            "CREATE" => json!({"readOnly": false, "destructive": false}),
            _ => json!({"readOnly": false, "destructive": true}),
        };
        assert_eq!(permissions, expected, "{info}");
    }
}

/// REQ-CLASS-05 REQ-MCP-04 REQ-CONC-03
#[test]
fn another_adapter_on_the_same_library_tells_its_own_operations() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(WIRES[0]);
    let detail = details(&mut client, &json!("execute_wait"));
    assert_eq!(detail["permissions"], json!({"readOnly": false, "destructive": true}));
    let one = client.execute("execute_wait", json!({"milliseconds": 1}));
    let other = client.execute("execute_wait", json!({"milliseconds": 1}));
    assert_ne!(one["data"]["execution_id"], other["data"]["execution_id"]);
    assert!(!operations(&mut client).iter().any(|op| op["name"] == "create_entity"));
    let ids: Vec<u64> = (100..120).collect();
    for id in &ids {
        let arguments = json!({"operation": "get_echo", "params": {"message": id.to_string()}});
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "mcp_aql_read", "arguments": arguments}});
        client.stdio().send(frame.to_string().as_bytes());
    }
    for id in ids {
        let answer = client.stdio().answer(&json!(id));
        assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains(&format!("\"{id}\"")));
    }
}
