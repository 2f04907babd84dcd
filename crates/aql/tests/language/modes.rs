//! Endpoint modes, profiles, and which tool serves which operation.

use aql::{
    category::Category,
    define,
    profile::{Family, Mode, Profile},
    registry::{Builder, Registry},
};
use serde_json::{Value, json};

use crate::{
    drive::{Adapter, code, items},
    fixture,
};

fn with(configure: impl FnOnce(Builder) -> Builder) -> Adapter {
    Adapter::of(fixture::built(configure(fixture::builder())))
}

fn tools(adapter: &Adapter) -> Vec<&str> {
    adapter.registry.tools().iter().map(|tool| tool.name.as_str()).collect()
}

const CRUDE: [&str; 5] =
    ["mcp_aql_create", "mcp_aql_read", "mcp_aql_update", "mcp_aql_delete", "mcp_aql_execute"];

fn family(name: &str, categories: &[Category], operations: &[&str]) -> Family {
    Family {
        name: name.parse().unwrap(),
        purpose: format!("What {name} is for."),
        categories: categories.to_vec(),
        operations: operations.iter().map(|&text| text.to_owned()).collect(),
    }
}

/// REQ-MODE-01 REQ-MODE-03 REQ-MODE-07 LREQ-MODE-03
#[test]
fn unconfigured_it_is_the_five_crude_tools() {
    let adapter = items();
    assert_eq!(tools(&adapter), CRUDE);
    for info in adapter.list() {
        assert_eq!(info["endpoint"], info["semantic_category"].as_str().unwrap().to_lowercase());
    }
}

/// REQ-MODE-02 REQ-MODE-04 REQ-MODE-08 REQ-MODE-09 REQ-CONFORM-03
#[test]
fn each_mode_lists_its_tools_and_names_itself() {
    for (mode, named, expected) in [
        (Mode::Semantic, "semantic", CRUDE.to_vec()),
        (Mode::Single, "single", vec!["mcp_aql"]),
        (Mode::All, "all", CRUDE.iter().copied().chain(["mcp_aql"]).collect()),
    ] {
        let adapter = with(|builder| builder.mode(mode));
        assert_eq!(tools(&adapter), expected);
        let protocol = adapter.introspect(json!({"query": "operations"}))["_protocol"].clone();
        assert_eq!((&protocol["mode"], &protocol["profile"]), (&json!(named), &json!("crude")));
        for (operation, params) in [
            ("create_item", json!({"name": "x", "category": "product"})),
            ("get_item", json!({"item_id": "1"})),
        ] {
            adapter.accepted(operation, params);
        }
    }
    let all = with(|builder| builder.mode(Mode::All));
    let create = json!({"operation": "create_item", "params": {"name": "x", "category": "product"}});
    assert_eq!(all.call("mcp_aql", create.clone())["success"], true);
    assert_eq!(all.call("mcp_aql_create", create.clone())["success"], true);
    assert_eq!(code(&all.call("mcp_aql_read", create)["error"]), "VALIDATION_ENDPOINT_MISMATCH");
}

/// LREQ-MODE-01
#[test]
fn modes_are_read_by_name() {
    for (text, mode) in [
        ("semantic", Mode::Semantic),
        ("crude", Mode::Semantic),
        ("single", Mode::Single),
        ("all", Mode::All),
    ] {
        assert_eq!(text.parse(), Ok(mode));
        assert_ne!(mode.as_str(), "crude");
    }
    let message = "banana".parse::<Mode>().unwrap_err().to_string();
    for part in ["'banana'", "semantic", "single", "all"] {
        assert!(message.contains(part), "{message}");
    }
}

/// REQ-MODE-05 LREQ-MODE-02 REQ-INTRO-08
#[test]
fn the_discover_profile_has_its_four_families() {
    let adapter = with(|builder| builder.profile(Profile::discover()));
    assert_eq!(tools(&adapter), ["mcp_aql_discover", "mcp_aql_query", "mcp_aql_manage", "mcp_aql_operate"]);
    for (operation, family) in [
        ("introspect", "discover"),
        ("get_item", "query"),
        ("create_item", "manage"),
        ("update_item", "manage"),
        ("delete_item", "manage"),
        ("execute_job", "operate"),
    ] {
        let details = adapter.details(operation);
        assert_eq!(
            (&details["endpoint"], &details["mcpTool"]),
            (&json!(family), &json!(format!("mcp_aql_{family}")))
        );
    }
    assert_eq!(adapter.introspect(json!({"query": "operations"}))["_protocol"]["profile"], "discover");
    let error = adapter.call("mcp_aql_query", json!({"operation": "delete_item"}))["error"].clone();
    assert_eq!(error["details"]["expected_endpoint"], "manage");
    assert!(error["message"].as_str().unwrap().contains("must use manage endpoint, not query"), "{error}");
}

/// REQ-MODE-06
#[test]
fn families_are_the_adapters_to_choose() {
    use Category::{Create, Delete, Execute, Read, Update};
    let mut families = Profile::crude().families().to_vec();
    families.push(family("authorize", &[], &["grant_*"]));
    let grant = define::Operation::new(Execute, "grant_access", "Let somebody in");
    let adapter =
        with(|builder| builder.profile(Profile::new("guarded", families).unwrap()).operation(grant));
    assert_eq!(tools(&adapter).len(), 6);
    assert_eq!(adapter.details("grant_access")["mcpTool"], "mcp_aql_authorize");
    let families = vec![
        family("inspect", &[], &["introspect"]),
        family("query", &[Read], &[]),
        family("mutate", &[Create, Update, Delete], &[]),
        family("administer", &[Execute], &[]),
    ];
    let adapter = with(|builder| builder.profile(Profile::new("four", families).unwrap()));
    assert_eq!(tools(&adapter), ["mcp_aql_inspect", "mcp_aql_query", "mcp_aql_mutate", "mcp_aql_administer"]);
    adapter.accepted("create_item", json!({"name": "x", "category": "product"}));
    // A family for everything, or the operation has none to go to.
    let reading = Profile::new("reading", vec![family("query", &[Read], &[])]).unwrap();
    let problems = fixture::builder().profile(reading).build().unwrap_err().to_string();
    assert!(problems.contains("operation 'create_item': 'endpoint'"), "{problems}");
}

/// REQ-ROUTE-01 REQ-ROUTE-02 REQ-ROUTE-03 REQ-ROUTE-04 LREQ-MODE-04
#[test]
fn every_operation_is_served_by_one_tool_and_refused_by_all_others() {
    for profile in [Profile::crude(), Profile::discover()] {
        let adapter = with(|builder| builder.profile(profile.clone()));
        let mut refusals = 0;
        for details in adapter.all_details() {
            let category = details["semantic_category"].as_str().unwrap();
            assert!(category.parse::<Category>().is_ok());
            for tool in tools(&adapter) {
                let answer = adapter.call(tool, details["examples"][0]["request"].clone());
                if details["mcpTool"] == tool {
                    assert_eq!(answer["success"], true, "{answer}");
                    continue;
                }
                let error = &answer["error"];
                assert_eq!(code(error), "VALIDATION_ENDPOINT_MISMATCH");
                let message = error["message"].as_str().unwrap().to_lowercase();
                let (expected, actual) =
                    (details["endpoint"].as_str().unwrap(), tool.strip_prefix("mcp_aql_").unwrap());
                let name = details["name"].as_str().unwrap();
                assert_eq!(message, format!("operation '{name}' must use {expected} endpoint, not {actual}"));
                refusals += 1;
            }
        }
        let mut names: Vec<Value> = adapter.list().iter().map(|info| info["name"].clone()).collect();
        names.dedup();
        assert_eq!(names.len(), adapter.list().len());
        assert_eq!(refusals, names.len() * (tools(&adapter).len() - 1));
    }
    let error = items().call("mcp_aql_delete", json!({"operation": "create_item"}))["error"].clone();
    assert_eq!(error["message"], "Operation 'create_item' must use CREATE endpoint, not DELETE");
    assert_eq!(error["details"]["expected_endpoint"], "CREATE");
    assert_eq!(error["details"]["actual_endpoint"], "DELETE");
    assert_eq!(error["details"]["operation"], "create_item");
}

/// REQ-ROUTE-05
#[test]
fn the_declared_category_routes_and_not_the_name() {
    let adapter = items();
    assert_eq!(adapter.details("delete_view")["mcpTool"], "mcp_aql_read");
    assert_eq!(adapter.call("mcp_aql_read", json!({"operation": "delete_view"}))["success"], true);
    let error = adapter.call("mcp_aql_delete", json!({"operation": "delete_view"}))["error"].clone();
    assert_eq!(code(&error), "VALIDATION_ENDPOINT_MISMATCH");
}

/// REQ-ROUTE-06 REQ-INTRO-02
#[test]
fn the_single_tool_serves_everything() {
    let adapter = with(|builder| builder.mode(Mode::Single));
    for details in adapter.all_details() {
        assert_eq!(details["mcpTool"], "mcp_aql");
        let answer = adapter.call("mcp_aql", details["examples"][0]["request"].clone());
        assert_eq!(answer["success"], true, "{answer}");
    }
}

/// LREQ-MODE-06
#[test]
fn validation_is_the_same_in_every_mode() {
    let modes = [Mode::Semantic, Mode::Single, Mode::All].map(|mode| with(|builder| builder.mode(mode)));
    for (operation, params) in [
        ("create_item", json!({})),
        ("create_item", json!({"name": 1, "category": "product"})),
        ("create_item", json!({"name": "x", "category": "gadget"})),
        ("create_item", json!({"name": "x", "category": "product", "bogus": 1})),
        ("create_item", json!({"name": "x", "category": "product"})),
        ("update_item", json!({"item_id": "1", "input": {"item_id": "2"}})),
        ("get_item", json!({"itemId": "1"})),
        ("find_items", json!({"limit": 3})),
        ("introspect", json!({"query": "types", "name": "Item"})),
    ] {
        let answers = modes.each_ref().map(|adapter| adapter.run(operation, params.clone()));
        assert_eq!(answers[0], answers[1], "{operation}");
        assert_eq!(answers[0], answers[2], "{operation}");
    }
    for mode in &modes {
        assert_eq!(
            mode.details("delete_item")["permissions"],
            json!({"readOnly": false, "destructive": true})
        );
        let danger = mode.introspect(json!({"query": "danger", "name": "delete_item"}));
        assert_eq!(danger["danger"]["level"], "destructive");
    }
}

/// REQ-NAME-09 REQ-INTRO-02
#[test]
fn introspect_is_a_read_on_a_documented_family() {
    let adapter = items();
    let details = adapter.details("introspect");
    assert_eq!((&details["semantic_category"], &details["endpoint"]), (&json!("READ"), &json!("read")));
    let request = json!({"operation": "introspect", "params": {"query": "operations"}});
    assert_eq!(code(&adapter.call("mcp_aql_delete", request)["error"]), "VALIDATION_ENDPOINT_MISMATCH");
}

/// REQ-MCP-03 REQ-INTRO-08 LREQ-MCP-17
#[test]
fn the_tool_that_introspection_names_is_a_listed_one() {
    for mode in [Mode::Semantic, Mode::Single, Mode::All] {
        for profile in [Profile::crude(), Profile::discover()] {
            for prefix in ["", "github_"] {
                let adapter = with(|b| b.mode(mode).profile(profile.clone()).prefix(prefix.parse().unwrap()));
                for tool in tools(&adapter) {
                    assert!(tool.starts_with(&format!("{prefix}mcp_aql")), "{tool}");
                }
                for details in adapter.all_details() {
                    let tool = details["mcpTool"].as_str().unwrap();
                    assert!(tools(&adapter).contains(&tool), "{tool}");
                    let answer = adapter.call(tool, details["examples"][0]["request"].clone());
                    assert_eq!(answer["success"], true, "{answer}");
                }
            }
        }
    }
}

/// REQ-INTRO-01 REQ-INTRO-27
#[test]
fn an_adapter_without_operations_still_introspects() {
    let adapter = Adapter::of(Registry::builder("empty").build().unwrap().into());
    assert_eq!(adapter.list().len(), 1);
    assert_eq!(adapter.list()[0]["name"], "introspect");
    assert_eq!(adapter.details("introspect")["name"], "introspect");
    assert_eq!(tools(&adapter), CRUDE);
}
