//! Endpoint modes, profiles, prefixes and routing.

use serde_json::{Value, json};

use crate::harness::{Client, Process, Setup, WIRES, data, wait_for};

fn tools(client: &mut Client) -> Vec<Value> {
    client.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
}

const CRUDE: [&str; 5] =
    ["mcp_aql_create", "mcp_aql_read", "mcp_aql_update", "mcp_aql_delete", "mcp_aql_execute"];

/// REQ-MODE-01 REQ-MODE-03 REQ-MODE-07 LREQ-MODE-03 LREQ-MCP-05
#[test]
fn five_crude_tools_by_default_on_every_wire() {
    for wire in WIRES {
        let directory = data();
        let mut client = Setup::new(directory.path()).connect(wire);
        assert_eq!(client.tool_names(), CRUDE, "{wire:?}");
        let protocol = client.introspect(json!({"query": "operations"}))["data"]["_protocol"].clone();
        assert_eq!((&protocol["mode"], &protocol["profile"]), (&json!("semantic"), &json!("crude")));
    }
}

/// LREQ-MCP-01 LREQ-MCP-02 LREQ-MCP-06 LREQ-MCP-07 LREQ-MODE-07
#[test]
fn tools_describe_themselves_and_teach_introspect() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let hints = [(false, false), (true, false), (false, true), (false, true), (false, true)];
    for (tool, (read_only, destructive)) in tools(&mut client).iter().zip(hints) {
        let description = tool["description"].as_str().unwrap();
        for part in ["Supported operations:", "operation: \"introspect\""] {
            assert!(description.contains(part), "{description}");
        }
        assert_eq!(
            tool["annotations"],
            json!({"readOnlyHint": read_only, "destructiveHint": destructive}),
            "{tool}"
        );
        let schema = &tool["inputSchema"];
        assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["operation"])));
        assert_eq!(schema["properties"]["operation"]["type"], "string");
        assert_eq!(schema["properties"]["operation"]["x-mcp-header"], "Operation");
        assert_eq!(schema["properties"]["params"], json!({"type": "object", "additionalProperties": true}));
    }
}

/// REQ-MODE-02 REQ-MODE-04 REQ-MODE-08 REQ-ROUTE-06 LREQ-MODE-06
#[test]
fn single_mode_serves_everything_through_one_tool_with_the_same_rules() {
    let directory = data();
    let mut client = Setup::new(directory.path()).arguments(&["--mode", "single"]).connect(WIRES[0]);
    assert_eq!(client.tool_names(), ["mcp_aql"]);
    let mut call = |operation: &str, params: Value| {
        client.call("mcp_aql", json!({"operation": operation, "params": params}))
    };
    let created =
        call("create_entity", json!({"entity_name": "S", "entity_type": "item", "description": "d"}));
    let id = created["data"]["entity_id"].clone();
    assert_eq!(
        call("update_entity", json!({"entity_id": id, "input": {"priority": 2}}))["data"]["priority"],
        2
    );
    assert_eq!(call("update_entity", json!({"entity_id": id}))["error"]["code"], "VALIDATION_MISSING_PARAM");
    assert_eq!(call("delete_entity", json!({"entity_id": id}))["data"]["deleted"], true);
    let detail = call("introspect", json!({"query": "operations", "name": "create_entity"}));
    assert_eq!(detail["data"]["operation"]["mcpTool"], "mcp_aql");
    assert_eq!(call("introspect", json!({"query": "operations"}))["data"]["_protocol"]["mode"], "single");
    let description = tools(&mut client)[0]["description"].as_str().unwrap().to_owned();
    for part in ["- Create:", "- Read:", "- Update:", "- Delete:", "- Execute:", "operation: \"introspect\""]
    {
        assert!(description.contains(part), "{description}");
    }
}

/// REQ-MODE-09 REQ-MODE-05 REQ-MODE-06 LREQ-MODE-02 LREQ-MCP-03
#[test]
fn all_mode_and_other_profiles_route_to_their_own_tools() {
    let directory = data();
    let mut client = Setup::new(directory.path()).env("MCP_AQL_ENDPOINT_MODE", "all").connect(WIRES[0]);
    let mut all = CRUDE.to_vec();
    all.push("mcp_aql");
    assert_eq!(client.tool_names(), all);
    let item = json!({"operation": "create_entity", "params": {"entity_name": "A", "entity_type": "item", "description": "d"}});
    assert_eq!(client.call("mcp_aql", item.clone())["success"], true);
    assert_eq!(client.call("mcp_aql_read", item)["error"]["code"], "VALIDATION_ENDPOINT_MISMATCH");
    drop(client);

    let mut client =
        Setup::new(directory.path()).env("MCP_AQL_ENDPOINT_PROFILE", "discover").connect(WIRES[0]);
    assert_eq!(
        client.tool_names(),
        ["mcp_aql_discover", "mcp_aql_query", "mcp_aql_manage", "mcp_aql_operate"]
    );
    let list = client
        .call("mcp_aql_discover", json!({"operation": "introspect", "params": {"query": "operations"}}));
    let endpoints: Vec<&str> = list["data"]["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|op| op["endpoint"].as_str().unwrap())
        .collect();
    assert!(endpoints.iter().all(|endpoint| ["discover", "query", "manage", "operate"].contains(endpoint)));
    assert_eq!(list["data"]["_protocol"]["profile"], "discover");
    assert_eq!(client.call("mcp_aql_query", json!({"operation": "list_entities"}))["success"], true);
    for tool in tools(&mut client) {
        assert!(tool["description"].as_str().unwrap().contains("Primary semantic categories:"), "{tool}");
    }
    let manage = tools(&mut client)[2].clone();
    assert_eq!(
        manage["annotations"]["destructiveHint"], true,
        "a family is as dangerous as its riskiest operation"
    );
    drop(client);

    let own = r#"
        [server]
        profile = "library"
        [profile.library]
        families = [
            { name = "look", purpose = "Looking.", categories = ["READ"] },
            { name = "change", purpose = "Changing.", categories = ["CREATE", "UPDATE", "EXECUTE"] },
            { name = "authorize", purpose = "Removing.", operations = ["delete_*"], categories = ["DELETE"] },
        ]
    "#;
    let mut client = Setup::new(directory.path()).config(own).connect(WIRES[0]);
    assert_eq!(client.tool_names(), ["mcp_aql_look", "mcp_aql_change", "mcp_aql_authorize"]);
    assert_eq!(client.call("mcp_aql_look", json!({"operation": "list_entities"}))["success"], true);
}

/// REQ-ROUTE-01 REQ-ROUTE-02 REQ-ROUTE-03 REQ-ROUTE-04 LREQ-MODE-04
#[test]
fn an_operation_runs_through_its_own_tool_only() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let id = client.new_item("Kept");
    let list = client.introspect(json!({"query": "operations"}))["data"]["operations"].clone();
    for info in list.as_array().unwrap() {
        for tool in CRUDE {
            let params = json!({"entity_id": id, "input": {"priority": 1}});
            if tool.ends_with(info["endpoint"].as_str().unwrap()) {
                continue;
            }
            let error =
                client.call(tool, json!({"operation": info["name"], "params": params}))["error"].clone();
            assert_eq!(error["code"], "VALIDATION_ENDPOINT_MISMATCH", "{tool} {info}");
            let right = format!("must use {} endpoint", info["endpoint"].as_str().unwrap().to_uppercase());
            assert!(error["message"].as_str().unwrap().contains(&right), "{error}");
        }
    }
    let error = client.delete("create_entity", json!({}))["error"].clone();
    assert_eq!(error["message"], "Operation 'create_entity' must use CREATE endpoint, not DELETE");
    assert_eq!(error["details"]["tool"], "mcp_aql_create");
    let kept = client.read("list_entities", json!({"fields": "full"}))["data"]["items"].clone();
    assert_eq!((kept.as_array().unwrap().len(), &kept[0]["priority"]), (1, &json!(5)));
}

/// LREQ-MCP-17 LREQ-MCP-18 LREQ-MODE-01 REQ-MCP-03
#[test]
fn the_environment_sets_mode_and_prefix_and_wrong_values_stop_the_start() {
    let directory = data();
    let setup = Setup::new(directory.path()).config("[server]\nprefix = \"config_\"\n");
    assert_eq!(setup.connect(WIRES[0]).tool_names()[0], "config_mcp_aql_create");
    let mut client = setup.env("MCP_AQL_TOOL_PREFIX", "github_").connect(WIRES[0]);
    assert_eq!(client.tool_names()[1], "github_mcp_aql_read");
    let query =
        json!({"operation": "introspect", "params": {"query": "operations", "name": "create_entity"}});
    let detail = client.call("github_mcp_aql_read", query);
    assert_eq!(detail["data"]["operation"]["mcpTool"], "github_mcp_aql_create");
    for (name, value, told) in [
        ("MCP_AQL_ENDPOINT_MODE", "banana", "semantic, single, all"),
        ("MCP_AQL_TOOL_PREFIX", "GitHub_", "lowercase"),
        ("MCP_AQL_TOOL_PREFIX", "git-hub_", "lowercase"),
        ("MCP_AQL_TOOL_PREFIX", "github", "underscore"),
        ("MCP_AQL_ENDPOINT_PROFILE", "banana", "crude"),
    ] {
        let mut process = Process::start(Setup::new(directory.path()).env(name, value).command(&["--stdio"]));
        assert_eq!(process.wait().code(), Some(3), "{name}={value}");
        let text = process.stderr_with(value);
        assert!(text.contains(told), "{name}={value}: {text}");
    }
    let mut process = Process::start(
        Setup::new(directory.path())
            .env("MCP_AQL_TOOL_PREFIX", "a_prefix_over_twenty_chars_")
            .command(&["--stdio"]),
    );
    process.stderr_with("note:");
    wait_for(std::time::Duration::from_millis(50));
    assert!(process.child.try_wait().unwrap().is_none(), "a long prefix only warns");
}

/// REQ-ERR-04 LREQ-ERR-17
#[test]
fn a_caller_makes_no_more_calls_than_it_may() {
    let directory = data();
    let config = "[safety]\nmax_calls_per_minute = 5\n";
    let mut client = Setup::new(directory.path()).config(config).connect(WIRES[0]);
    for _ in 0..5 {
        assert_eq!(client.read("list_entities", json!({}))["success"], true);
    }
    let error = client.read("list_entities", json!({}))["error"].clone();
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!("RATE_LIMIT_EXCEEDED"), &json!("API rate limit exceeded"))
    );
    let details = &error["details"];
    assert_eq!(
        (&details["limit"], &details["remaining"], &details["window"]),
        (&json!(5), &json!(0), &json!("minute"))
    );
    assert!((1..=60).contains(&details["retry_after_seconds"].as_u64().unwrap()), "{details}");
}

/// REQ-ERR-03 LREQ-MODE-09
#[test]
fn what_the_rules_deny_is_neither_seen_nor_run() {
    let directory = data();
    let config = "[safety]\ndeny = [\"delete_*\"]\n";
    let mut client = Setup::new(directory.path()).config(config).connect(WIRES[0]);
    let id = client.new_item("Safe");
    let list = client.introspect(json!({"query": "operations"})).to_string();
    assert!(!list.contains("delete_entity"), "{list}");
    assert_eq!(
        client.introspect(json!({"query": "operations", "name": "delete_entity"}))["data"]["operation"],
        Value::Null
    );
    let found = client.introspect(json!({"query": "operations", "search": "remove entity"})).to_string();
    assert!(!found.contains("delete_entity"));
    for params in [json!({"entity_id": id}), json!({"nonsense": 1})] {
        let error = client.delete("delete_entity", params)["error"].clone();
        assert_eq!(error["code"], "PERMISSION_DENIED");
        assert!(error["message"].as_str().unwrap().starts_with("Permission denied"));
        assert!(error["details"].get("signature").is_none(), "a denied operation's parameters are not told");
    }
    assert_eq!(client.read("get_entity", json!({"entity_id": id}))["success"], true);
    let log = client.stdio().process.stderr_with("event=\"OPERATION_DENIED\"");
    assert!(log.contains("operation=\"delete_entity\"") && log.contains("session_id="), "{log}");
    drop(client);
    let config = "[safety]\nmax_danger = \"reversible\"\n";
    let mut client = Setup::new(directory.path()).config(config).connect(WIRES[0]);
    assert_eq!(
        client.delete("delete_entity", json!({"entity_id": id}))["error"]["code"],
        "PERMISSION_DENIED"
    );
    assert_eq!(client.update("update_entity", json!({"entity_id": id, "input": {}}))["success"], true);
}
