//! Where parameters may stand, what they are called, and those that mean the same everywhere.

use std::collections::BTreeMap;

use aql::{category::Category, define, registry::Registry};
use serde_json::{Value, json};

use crate::drive::{code, items, names, object, sorted};

/// REQ-PARAM-01 REQ-PARAM-02
#[test]
fn parameters_may_stand_beside_operation_and_params_wins() {
    let adapter = items();
    let inside = adapter.call("mcp_aql_read", json!({"operation": "get_item", "params": {"item_id": "1"}}));
    assert_eq!(inside["data"]["item_id"], "1");
    for request in [
        json!({"operation": "get_item", "item_id": "1"}),
        json!({"operation": "get_item", "item_id": "2", "params": {"item_id": "1"}}),
        json!({"params": {"item_id": "1"}, "item_id": "2", "operation": "get_item"}),
    ] {
        assert_eq!(adapter.call("mcp_aql_read", request.clone()), inside, "{request}");
    }
}

/// REQ-PARAM-03 REQ-PARAM-05
#[test]
fn every_published_name_is_snake_case() {
    let adapter = items();
    let is_snake = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let mut seen = 0;
    for details in adapter.all_details() {
        for name in names(&details["parameters"], "name") {
            assert!(is_snake(name), "{name}");
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} parameters were looked at");
    let error = adapter.refused("get_item", json!({"itemID": "1", "item_id": "1"}));
    assert_eq!(sorted(&error["details"]["valid_params"]), ["fields", "item_id"]);
    for bad in ["itemId", "Item", "item-id", "1st", "_item", ""] {
        let operation = define::Operation::new(Category::Read, "get_thing", "Get a thing")
            .param(define::Param::new(bad, "string", "Which"));
        let problems = Registry::builder("x").operation(operation).build().unwrap_err().to_string();
        assert!(problems.contains(&format!("'{bad}'")) && problems.contains("get_thing"), "{problems}");
    }
}

/// REQ-PARAM-04 REQ-PARAM-05
#[test]
fn only_a_declared_alias_is_accepted_and_it_is_never_published_as_a_name() {
    let adapter = items();
    for operation in ["get_item", "delete_item"] {
        assert_eq!(adapter.accepted(operation, json!({"itemId": "1"}))["item_id"], "1");
        assert!(!names(&adapter.details(operation)["parameters"], "name").contains(&"itemId"));
    }
    let error = adapter.refused("execute_job", json!({"job_name": "x", "jobName": "x"}));
    assert_eq!(code(&error), "VALIDATION_UNKNOWN_PARAM");
    let error = adapter.refused("execute_job", json!({"jobName": "x"}));
    assert_eq!(
        (code(&error), &error["details"]["param_name"]),
        ("VALIDATION_MISSING_PARAM", &json!("job_name"))
    );
    let error = adapter.refused("get_item", json!({"itemId": "1", "item_id": "1"}));
    assert_eq!(error["details"]["unknown_params"], json!(["itemId"]), "one parameter under two names");
}

/// REQ-PARAM-04
#[test]
fn an_alias_has_one_meaning() {
    let param = |name: &str| define::Param::new(name, "string", "Something");
    for params in [
        vec![param("first_name").alias("name"), param("name")],
        vec![param("first_name").alias("label"), param("last_name").alias("label")],
        vec![param("first_name").alias("first_name")],
    ] {
        let mut operation = define::Operation::new(Category::Read, "get_thing", "Get a thing");
        operation.params = params;
        let problems = Registry::builder("x").operation(operation).build().unwrap_err().to_string();
        assert!(problems.contains("aliases"), "{problems}");
    }
}

/// REQ-PARAM-06 REQ-INTRO-15 REQ-PARAM-12 REQ-VALID-15
#[test]
fn what_is_accepted_is_listed_and_nothing_else_is() {
    let adapter = items();
    let probes = json!({
        "fields": "minimal", "limit": 5, "offset": 0, "first": 1, "after": "x", "filter": {}, "sort": {"field": "id"},
        "aggregate": {}, "dry_run": true, "if_match": "e", "confirmation_token": "t", "zz_unknown": 1
    });
    for details in adapter.all_details() {
        let name = details["name"].as_str().unwrap();
        let listed = names(&details["parameters"], "name");
        let base = object(details["examples"][0]["request"].clone());
        for (probe, value) in object(probes.clone()) {
            let mut params = base.get("params").map(|p| object(p.clone())).unwrap_or_default();
            params.insert(probe.clone(), value);
            let answer = adapter.run(name, Value::Object(params));
            let unknown = code(&answer["error"]) == "VALIDATION_UNKNOWN_PARAM";
            assert_eq!(unknown, !listed.contains(&probe.as_str()), "{name} {probe}: {answer}");
            if unknown {
                assert!(answer["error"]["message"].as_str().unwrap().contains(&probe), "{answer}");
            }
        }
    }
}

/// REQ-PARAM-07 REQ-PARAM-08
#[test]
fn search_takes_query_and_lists_take_filter_and_sort() {
    let adapter = items();
    let query = adapter.param("search_items", "query");
    assert_eq!((&query["type"], &query["required"]), (&json!("string"), &json!(true)));
    let params = json!({"query": "api reviewer", "filter": {"status": "active"}, "sort": {"field": "created_at", "order": "desc"}});
    let accepted = adapter.accepted("search_items", params.clone());
    assert_eq!((&accepted["filter"], &accepted["sort"]), (&params["filter"], &params["sort"]));
    for (sort, expected, name) in [
        (json!({"field": "x", "order": "up"}), "VALIDATION_INVALID_ENUM", "sort.order"),
        (json!({"order": "asc"}), "VALIDATION_MISSING_PARAM", "sort.field"),
        (json!({"field": 1}), "VALIDATION_INVALID_TYPE", "sort.field"),
        (json!("created_at"), "VALIDATION_INVALID_TYPE", "sort"),
    ] {
        let error = adapter.refused("list_items", json!({"sort": sort}));
        assert_eq!((code(&error), &error["details"]["param_name"]), (expected, &json!(name)));
    }
}

/// REQ-PARAM-09 LREQ-FSEL-01 REQ-INTRO-16
#[test]
fn fields_is_a_preset_or_paths_wherever_results_can_be_narrowed() {
    let adapter = items();
    for operation in ["get_item", "list_items", "search_items"] {
        let fields = adapter.param(operation, "fields");
        assert_eq!((&fields["type"], &fields["required"]), (&json!("string | string[]"), &json!(false)));
        assert!(fields["description"].as_str().unwrap().contains("minimal"), "{fields}");
        let mut params = object(adapter.details(operation)["examples"][0]["request"].clone());
        let mut params = params.remove("params").map(object).unwrap_or_default();
        for good in [json!("minimal"), json!(["id", "settings.theme"]), json!([])] {
            params.insert("fields".to_owned(), good);
            adapter.accepted(operation, Value::Object(params.clone()));
        }
        for bad in [json!(1), json!(["id", 2]), json!({"id": true})] {
            params.insert("fields".to_owned(), bad);
            assert_eq!(
                code(&adapter.refused(operation, Value::Object(params.clone()))),
                "VALIDATION_INVALID_TYPE"
            );
        }
    }
}

/// REQ-PARAM-13
#[test]
fn a_dry_run_is_asked_for_with_a_boolean_and_told_from_the_real_call() {
    let adapter = items();
    for operation in ["create_item", "update_item", "delete_item"] {
        let dry_run = adapter.param(operation, "dry_run");
        assert_eq!((&dry_run["type"], &dry_run["default"]), (&json!("boolean"), &json!(false)));
    }
    let operation = adapter.registry.get(adapter.registry.id("delete_item").unwrap()).unwrap();
    for (value, expected) in [(json!(true), true), (json!(false), false)] {
        let params = object(adapter.accepted("delete_item", json!({"item_id": "1", "dry_run": value})));
        assert_eq!(operation.is_dry_run(&params), expected);
    }
    let params = object(adapter.accepted("delete_item", json!({"item_id": "1"})));
    assert!(!operation.is_dry_run(&params));
    assert_eq!(
        code(&adapter.refused("delete_item", json!({"item_id": "1", "dry_run": "yes"}))),
        "VALIDATION_INVALID_TYPE"
    );
}

/// REQ-PARAM-15 REQ-PARAM-16
#[test]
fn a_shared_parameter_is_the_same_on_every_operation() {
    let adapter = items();
    let mut seen: BTreeMap<String, Value> = BTreeMap::new();
    let mut repeated = 0;
    for details in adapter.all_details().iter().filter(|details| details["name"] != "introspect") {
        for param in details["parameters"].as_array().unwrap() {
            let name = param["name"].as_str().unwrap();
            let shared =
                ["fields", "filter", "sort", "first", "after", "dry_run", "if_match", "confirmation_token"];
            if shared.contains(&name) {
                repeated += usize::from(seen.contains_key(name));
                let known = seen.entry(name.to_owned()).or_insert_with(|| param.clone());
                assert_eq!(known, param, "{}", details["name"]);
            }
        }
    }
    assert!(repeated >= 6, "only {repeated} were compared");
}

/// REQ-PARAM-17
#[test]
fn shared_parameters_are_written_out_and_never_referred_to() {
    let adapter = items();
    let details = adapter.details("search_items");
    assert!(!details.to_string().contains("$ref"));
    for name in ["fields", "filter", "sort", "first", "after"] {
        let param = adapter.param("search_items", name);
        for key in ["name", "type", "required", "description"] {
            assert!(param.get(key).is_some(), "{name} has no {key}");
        }
    }
    assert_eq!(adapter.param("list_items", "first")["default"], 25);
}
