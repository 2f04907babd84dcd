//! The workspace: create, read, update and delete real, durable things.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Client, Era, Setup, WIRES, data};

fn client(directory: &tempfile::TempDir) -> Client {
    Setup::new(directory.path()).connect(WIRES[0])
}

/// REQ-UPDATE-02 REQ-UPDATE-03 REQ-UPDATE-04 REQ-UPDATE-05 REQ-UPDATE-07
#[test]
fn an_update_merges_deeply() {
    let directory = data();
    let mut client = client(&directory);
    let created = client.create(
        "create_entity",
        json!({"entity_name": "Doc", "entity_type": "resource", "description": "Old Title",
               "metadata": {"priority": "low", "tags": ["draft"], "author": "alice", "a": {"b": {"c": 1, "d": 2}}}}),
    );
    let id = &created["data"]["entity_id"];
    let input = json!({"description": "New Title",
        "metadata": {"priority": "high", "tags": ["published", "reviewed"], "a": {"b": {"c": 3}}}});
    let updated = client.update("update_entity", json!({"entity_id": id, "input": input}));
    assert_eq!(updated["data"]["description"], "New Title");
    assert_eq!(
        updated["data"]["metadata"],
        json!({"priority": "high", "tags": ["published", "reviewed"], "author": "alice", "a": {"b": {"c": 3, "d": 2}}})
    );
    let emptied =
        client.update("update_entity", json!({"entity_id": id, "input": {"metadata": {"tags": []}}}));
    assert_eq!(emptied["data"]["metadata"]["tags"], json!([]));
    assert_eq!(client.read("get_entity", json!({"entity_id": id}))["data"], emptied["data"]);
}

/// REQ-UPDATE-06 REQ-ENC-15 LREQ-CONFORM-07
#[test]
fn null_removes_and_absence_keeps() {
    let directory = data();
    let mut client = client(&directory);
    let params = json!({"entity_name": "N", "entity_type": "item", "description": "d", "priority": 9, "tags": ["t"],
        "metadata": {"gone": 1, "kept": 2, "deep": {"x": 1, "y": 2}}});
    let before = client.create("create_entity", params)["data"].clone();
    let update = |client: &mut Client, input: Value| {
        client.update("update_entity", json!({"entity_id": before["entity_id"], "input": input}))["data"]
            .clone()
    };
    let same = update(&mut client, json!({}));
    for key in ["entity_name", "description", "priority", "tags", "metadata", "created_at"] {
        assert_eq!(same[key], before[key], "{key}");
    }
    let fewer = update(&mut client, json!({"metadata": {"gone": null, "deep": {"x": null}}}));
    assert_eq!(fewer["metadata"], json!({"kept": 2, "deep": {"y": 2}}));
    let cleared = update(&mut client, json!({"metadata": null, "tags": null, "priority": null}));
    assert_eq!((cleared.get("metadata"), cleared.get("tags"), &cleared["priority"]), (None, None, &json!(5)));
    assert_eq!(cleared["description"], before["description"]);
}

/// REQ-UPDATE-01 REQ-UPDATE-08 REQ-UPDATE-09 REQ-UPDATE-10 REQ-UPDATE-11
#[test]
fn a_wrong_update_changes_nothing() {
    let directory = data();
    let mut client = client(&directory);
    let id = client.new_item("Same");
    let before = client.read("get_entity", json!({"entity_id": id}));
    for (params, code, named) in [
        (json!({"entity_id": id}), "VALIDATION_MISSING_PARAM", "input"),
        (json!({"entity_id": id, "description": "x"}), "VALIDATION_MISSING_PARAM", "input"),
        (json!({"entity_id": id, "input": "x"}), "VALIDATION_INVALID_TYPE", "input"),
        (json!({"entity_id": id, "input": []}), "VALIDATION_INVALID_TYPE", "input"),
        (json!({"entity_id": id, "input": null}), "VALIDATION_INVALID_TYPE", "input"),
        (json!({"entity_id": id, "input": {"priority": "high"}}), "VALIDATION_INVALID_TYPE", "priority"),
        (json!({"entity_id": id, "input": {"priority": 11}}), "VALIDATION_OUT_OF_RANGE", "priority"),
        (json!({"entity_id": id, "input": {"description": null}}), "VALIDATION_INVALID_TYPE", "description"),
        (
            json!({"entity_id": id, "input": {"colour": "red", "priority": 2}}),
            "VALIDATION_UNKNOWN_FIELD",
            "colour",
        ),
        (json!({"entity_id": id, "colour": "red", "input": {}}), "VALIDATION_UNKNOWN_PARAM", "colour"),
    ] {
        let error = client.update("update_entity", params.clone())["error"].clone();
        assert_eq!(error["code"], code, "{params}");
        assert!(error["message"].as_str().unwrap().contains(named), "{error}");
    }
    assert_eq!(client.read("get_entity", json!({"entity_id": id})), before);
}

/// REQ-UPDATE-12 LREQ-CONFORM-08 REQ-INTRO-30
#[test]
fn identifiers_and_server_kept_fields_stay_out_of_input() {
    let directory = data();
    let mut client = client(&directory);
    let (one, two) = (client.new_item("One"), client.new_item("Two"));
    let before = client.read("list_entities", json!({"fields": "full"}));
    let described = client.introspect(json!({"query": "operations", "name": "update_entity"}));
    let input = described["data"]["operation"]["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .find(|p| p["name"] == "input")
        .unwrap()
        .clone();
    for field in ["entity_id", "created_at", "updated_at", "_etag", "entity_type"] {
        let params = json!({"entity_id": one, "input": {field: two, "description": "x"}});
        let error = client.update("update_entity", params)["error"].clone();
        assert_eq!(error["code"], "VALIDATION_READ_ONLY_FIELD", "{field}");
        assert!(error["message"].as_str().unwrap().contains(field));
        assert!(input["description"].as_str().unwrap().contains(field), "{input}");
    }
    assert_eq!(client.read("list_entities", json!({"fields": "full"})), before);
}

/// REQ-CONC-04 REQ-CONC-05 REQ-CONC-06 REQ-CONC-01
#[test]
fn one_version_can_be_changed_once() {
    let directory = data();
    let server = Setup::new(directory.path()).http();
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    let id = client.new_item("Contended");
    let etag = client.read("get_entity", json!({"entity_id": id}))["data"]["_etag"].clone();
    assert!(!etag.as_str().unwrap().is_empty());
    assert_eq!(client.read("get_entity", json!({"entity_id": id}))["data"]["_etag"], etag);
    let outcomes: Vec<Value> = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8)
            .map(|n| {
                let (server, id, etag) = (Arc::clone(&server), id.clone(), etag.clone());
                scope.spawn(move || {
                    let mut client = Client::http(server, Era::Stateless);
                    let params =
                        json!({"entity_id": id, "if_match": etag, "input": {"metadata": {"winner": n}}});
                    client.update("update_entity", params)
                })
            })
            .collect();
        tries.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    let won: Vec<&Value> = outcomes.iter().filter(|answer| answer["success"] == true).collect();
    assert_eq!(won.len(), 1, "{outcomes:?}");
    assert!(
        outcomes
            .iter()
            .filter(|a| a["success"] == false)
            .all(|a| a["error"]["code"] == "CONFLICT_VERSION_MISMATCH")
    );
    let now = client.read("get_entity", json!({"entity_id": id}));
    assert_eq!(now["data"], won[0]["data"]);
    assert_ne!(now["data"]["_etag"], etag);
    for stale in [etag.clone(), json!("nonsense"), json!("")] {
        let refused = client.delete("delete_entity", json!({"entity_id": id, "if_match": stale}));
        assert_eq!(refused["error"]["code"], "CONFLICT_VERSION_MISMATCH");
    }
    let protocol = client.introspect(json!({"query": "operations"}))["data"]["_protocol"].clone();
    assert_eq!(
        (&protocol["concurrency"], &protocol["supports_etag"]),
        (&json!("read-concurrent"), &json!(true))
    );
}

/// REQ-ERR-02 REQ-ERR-06 REQ-CLASS-03 REQ-CLASS-04
#[test]
fn missing_and_duplicate_things_are_told_apart() {
    let directory = data();
    let mut client = client(&directory);
    let id = client.new_item("Unique");
    let again = json!({"entity_name": "Unique", "entity_type": "item", "description": "d"});
    let error = client.create("create_entity", again.clone())["error"].clone();
    assert_eq!(
        (&error["code"], &error["details"]["resource_id"]),
        (&json!("CONFLICT_ALREADY_EXISTS"), &json!(id))
    );
    let mut elsewhere = again;
    elsewhere["entity_type"] = json!("config");
    assert_eq!(client.create("create_entity", elsewhere)["success"], true, "unique within its type only");
    let ambiguous = client.read("get_entity", json!({"entity_name": "Unique"}))["error"].clone();
    assert_eq!(
        (&ambiguous["code"], &ambiguous["details"]["param_name"]),
        (&json!("VALIDATION_MISSING_PARAM"), &json!("entity_type"))
    );
    let found = client.read("get_entity", json!({"entity_name": "Unique", "entity_type": "item"}));
    assert_eq!(found["data"]["entity_id"], id.as_str());
    let missing =
        client.update("update_entity", json!({"entity_id": "item_999", "input": {}}))["error"].clone();
    assert_eq!(missing["code"], "NOT_FOUND_RESOURCE");
    assert!(missing["message"].as_str().unwrap().contains("'item_999'"));
    assert_eq!(
        (&missing["details"]["resource_type"], &missing["details"]["resource_id"]),
        (&json!("entity"), &json!("item_999"))
    );
    assert_eq!(
        client.read("list_entities", json!({}))["data"]["items"].as_array().unwrap().len(),
        2,
        "an UPDATE creates nothing"
    );
    assert_eq!(client.delete("delete_entity", json!({"entity_id": id}))["data"]["deleted"], true);
    assert_eq!(client.read("get_entity", json!({"entity_id": id}))["error"]["code"], "NOT_FOUND_RESOURCE");
}

/// REQ-CLASS-01 REQ-CLASS-02 REQ-PARAM-13
#[test]
fn creating_and_reading_and_dry_runs_leave_everything_else_alone() {
    let directory = data();
    let mut client = client(&directory);
    let (one, two) = (client.new_item("One"), client.new_item("Two"));
    let relation = json!({"from_entity_id": one, "to_entity_id": two, "relationship": "needs"});
    let related = client.create("create_relation", relation)["data"]["relation_id"].clone();
    let state = |client: &mut Client| {
        client.read("list_entities", json!({"fields": "full"}))["data"]["items"].clone()
    };
    let before = state(&mut client);
    for (tool, operation, params) in [
        (
            "mcp_aql_create",
            "create_entity",
            json!({"entity_name": "Dry", "entity_type": "item", "description": "d"}),
        ),
        (
            "mcp_aql_create",
            "create_relation",
            json!({"from_entity_id": two, "to_entity_id": one, "relationship": "needs"}),
        ),
        ("mcp_aql_update", "update_entity", json!({"entity_id": one, "input": {"priority": 9}})),
        ("mcp_aql_delete", "delete_entity", json!({"entity_id": one})),
        ("mcp_aql_delete", "delete_relation", json!({"relation_id": related})),
    ] {
        let mut dry = params.clone();
        dry["dry_run"] = json!(true);
        let preview = client.call(tool, json!({"operation": operation, "params": dry}));
        assert_eq!(
            (&preview["success"], &preview["data"]["_dry_run"]),
            (&json!(true), &json!(true)),
            "{operation}"
        );
        assert_eq!(state(&mut client), before, "{operation} changed something");
    }
    for (operation, params) in [
        ("get_entity", json!({"entity_id": one})),
        ("list_entities", json!({})),
        ("search_entities", json!({"query": "made by"})),
    ] {
        assert_eq!(client.read(operation, params.clone()), client.read(operation, params), "{operation}");
    }
    assert_eq!(state(&mut client), before);
    client.new_item("Three");
    let after = state(&mut client);
    assert_eq!(
        after.as_array().unwrap()[..2],
        before.as_array().unwrap()[..],
        "earlier records are unchanged"
    );
    let gone = client.delete("delete_entity", json!({"entity_id": one}));
    assert_eq!(gone["data"]["relations_removed"], 1);
    assert_eq!(
        client.delete("delete_relation", json!({"relation_id": related}))["error"]["code"],
        "NOT_FOUND_RESOURCE"
    );
}

/// REQ-PARAM-07 REQ-PARAM-09 REQ-PARAM-11 REQ-PARAM-14 REQ-PARAM-19
#[test]
fn lists_come_in_pages_and_searches_by_rank() {
    let directory = data();
    let mut client = client(&directory);
    for n in 0..60 {
        client.new_item(&format!("Item{n}"));
    }
    assert_eq!(client.read("list_entities", json!({}))["data"]["items"].as_array().unwrap().len(), 25);
    let mut names = Vec::new();
    let mut params = json!({"first": 25, "fields": ["entity_name"]});
    let mut sizes = Vec::new();
    loop {
        let page = client.read("list_entities", params.clone())["data"].clone();
        let items = page["items"].as_array().unwrap();
        sizes.push(items.len());
        names.extend(items.iter().map(|item| item["entity_name"].as_str().unwrap().to_owned()));
        assert!(items.iter().all(|item| item.as_object().unwrap().len() == 1));
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
        params["after"] = page["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(sizes, [25, 25, 10]);
    assert_eq!(names, (0..60).map(|n| format!("Item{n}")).collect::<Vec<_>>());
    let found = client.read("search_entities", json!({"query": "Item7", "fields": "minimal"}));
    assert_eq!(found["data"]["items"][0]["entity_name"], "Item7");
    assert_eq!(found["data"]["items"].as_array().unwrap().len(), 1);
    for hostile in ["\"", "AND OR NOT", "*", "NEAR(", "😀", "a\" OR \"b", "-", "()"] {
        assert_eq!(client.read("search_entities", json!({"query": hostile}))["success"], true, "{hostile}");
    }
    for cursor in ["nonsense", "", "AAAA", "////"] {
        let page = client.read("search_entities", json!({"query": "item", "first": 5, "after": cursor}));
        assert_eq!(page["error"]["code"], "VALIDATION_INVALID_CURSOR", "{cursor}");
    }
}

/// LREQ-FSEL-01 LREQ-FSEL-02 LREQ-FSEL-08 REQ-CONFORM-05
#[test]
fn fields_trim_what_is_sent() {
    let directory = data();
    let mut client = client(&directory);
    let id = client.new_item("Trimmed");
    let keys = |answer: &Value| answer["data"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let mut get = |fields: Value| client.read("get_entity", json!({"entity_id": id, "fields": fields}));
    assert_eq!(keys(&get(json!(["entity_id", "entity_name"]))), ["entity_id", "entity_name"]);
    let (minimal, standard, full) =
        (keys(&get(json!("minimal"))), keys(&get(json!("standard"))), keys(&get(json!("full"))));
    assert!(
        minimal.iter().all(|key| standard.contains(key)) && standard.iter().all(|key| full.contains(key))
    );
    assert!(minimal.len() < standard.len() && standard.len() < full.len());
    let unknown = get(json!(["entity_id", "nosuch"]));
    assert_eq!(keys(&unknown), ["entity_id"]);
    assert_eq!(unknown["warnings"][0]["code"], "VALIDATION_UNKNOWN_FIELD_WARNING");
    assert_eq!(get(json!("banana"))["error"]["code"], "VALIDATION_INVALID_ENUM");
}
