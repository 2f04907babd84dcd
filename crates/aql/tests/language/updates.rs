//! UPDATE: the changes stand in `input`, the identifiers beside it.

use aql::{category::Category, define, registry::Registry};
use serde_json::{Value, json};

use crate::drive::{code, items, names};

/// REQ-UPDATE-01 REQ-UPDATE-02
#[test]
fn every_update_takes_its_changes_in_input_and_its_identifiers_beside_it() {
    let adapter = items();
    let mut updates = 0;
    for details in adapter.all_details().iter().filter(|d| d["semantic_category"] == "UPDATE") {
        let input = adapter.param(details["name"].as_str().unwrap(), "input");
        assert_eq!((&input["type"], &input["required"]), (&json!("object"), &json!(true)));
        updates += 1;
    }
    assert_eq!(updates, 2);
    assert!(names(&adapter.details("update_item")["parameters"], "name").contains(&"item_id"));
    let seen = adapter.accepted("update_item", json!({"item_id": "1", "input": {"title": "N"}}));
    assert_eq!((&seen["item_id"], &seen["input"]), (&json!("1"), &json!({"title": "N"})));
    let error = adapter.refused("update_item", json!({"item_id": "1", "title": "x"}));
    assert_eq!(
        (code(&error), &error["details"]["param_name"]),
        ("VALIDATION_MISSING_PARAM", &json!("input"))
    );
    let error = adapter.refused("update_item", json!({"item_id": "1", "title": "x", "input": {}}));
    assert_eq!(
        (code(&error), &error["details"]["unknown_params"]),
        ("VALIDATION_UNKNOWN_PARAM", &json!(["title"]))
    );
}

/// REQ-UPDATE-01 REQ-UPDATE-12
#[test]
fn an_update_without_a_proper_input_does_not_load() {
    let update = || {
        define::Operation::new(Category::Update, "update_thing", "Change a thing")
            .param(define::Param::new("thing_id", "string", "Which").required())
    };
    let input = |kind: &str| define::Param::new("input", kind, "The changes");
    let holding = |field: &str| {
        define::Type::object("ThingChanges", "Changes", vec![define::Param::new(field, "string", "A field")])
    };
    let build = |operation: define::Operation, field: &str| {
        Registry::builder("x").types([holding(field)]).operation(operation).build().map_err(|p| p.to_string())
    };
    for (operation, field) in [
        (update(), "title"),
        (update().param(input("string")), "title"),
        (update().param(input("object[]")), "title"),
        (update().param(input("object").fields_of("ThingChanges")), "thing_id"),
    ] {
        let problems = build(operation, field).unwrap_err();
        assert!(problems.contains("update_thing") && problems.contains("params.input"), "{problems}");
    }
    // A declared type as the type of `input` means its fields.
    let registry = build(update().param(input("ThingChanges")), "title").unwrap();
    let adapter = crate::drive::Adapter::of(registry.into());
    assert_eq!(adapter.param("update_thing", "input")["type"], "object");
    let error = adapter.refused("update_thing", json!({"thing_id": "1", "input": {"colour": "red"}}));
    assert_eq!(code(&error), "VALIDATION_UNKNOWN_FIELD");
}

/// REQ-UPDATE-08 REQ-UPDATE-09
#[test]
fn input_is_there_and_an_object() {
    let adapter = items();
    for (operation, id) in [("update_item", "item_id"), ("update_settings", "scope_id")] {
        let error = adapter.refused(operation, json!({id: "1"}));
        assert_eq!(
            (code(&error), &error["details"]["param_name"]),
            ("VALIDATION_MISSING_PARAM", &json!("input"))
        );
        for bad in [json!("x"), json!([{"title": "x"}]), Value::Null, json!(3)] {
            let error = adapter.refused(operation, json!({id: "1", "input": bad}));
            assert_eq!(code(&error), "VALIDATION_INVALID_TYPE", "{bad}");
            assert_eq!(
                (&error["details"]["param_name"], &error["details"]["expected_type"]),
                (&json!("input"), &json!("object"))
            );
        }
        adapter.accepted(operation, json!({id: "1", "input": {}}));
    }
}

/// REQ-UPDATE-10 REQ-UPDATE-11 LREQ-ERR-07
#[test]
fn every_field_of_input_is_checked_against_its_type() {
    let adapter = items();
    for (input, expected, name) in [
        (json!({"price": "cheap"}), "VALIDATION_INVALID_TYPE", "input.price"),
        (json!({"price": -1}), "VALIDATION_OUT_OF_RANGE", "input.price"),
        (json!({"category": "gadget"}), "VALIDATION_INVALID_ENUM", "input.category"),
        (json!({"title": ""}), "VALIDATION_OUT_OF_RANGE", "input.title"),
        (json!({"title": null}), "VALIDATION_INVALID_TYPE", "input.title"),
        (json!({"tags": [1]}), "VALIDATION_INVALID_TYPE", "input.tags[0]"),
        (json!({"parts": [{"size": 1}]}), "VALIDATION_MISSING_PARAM", "input.parts[0].label"),
        (json!({"colour": "red"}), "VALIDATION_UNKNOWN_FIELD", "input.colour"),
    ] {
        let error = adapter.refused("update_item", json!({"item_id": "1", "input": input}));
        assert_eq!(
            (code(&error), error["details"]["param_name"].as_str()),
            (expected, Some(name)),
            "{input}"
        );
    }
    let error = adapter.refused("update_item", json!({"item_id": "1", "input": {"colour": "red"}}));
    assert!(error["message"].as_str().unwrap().contains("colour"), "{error}");
    let error = adapter.refused("update_item", json!({"item_id": "1", "input": {}, "colour": "red"}));
    assert_eq!(code(&error), "VALIDATION_UNKNOWN_PARAM", "the same key one level up");
    adapter.accepted("update_item", json!({"item_id": "1", "input": {"metadata": null, "title": "x"}}));
}

/// REQ-UPDATE-12 REQ-INTRO-30 LREQ-CONFORM-08
#[test]
fn identifiers_and_what_the_server_keeps_stay_out_of_input() {
    let adapter = items();
    for field in ["item_id", "id", "created_at"] {
        let error =
            adapter.refused("update_item", json!({"item_id": "1", "input": {field: "2", "title": "x"}}));
        assert_eq!(code(&error), "VALIDATION_READ_ONLY_FIELD", "{field}");
        assert!(error["message"].as_str().unwrap().contains(&format!("'{field}'")), "{error}");
    }
    let error = adapter.refused("update_settings", json!({"scope_id": "1", "input": {"scope_id": "2"}}));
    assert_eq!(
        (code(&error), &error["details"]["param_name"]),
        ("VALIDATION_READ_ONLY_FIELD", &json!("input.scope_id"))
    );
    adapter.accepted("update_settings", json!({"scope_id": "1", "input": {"deep": {"scope_id": "2"}}}));
    let input = adapter.param("update_item", "input");
    let description = input["description"].as_str().unwrap();
    let (fields, kept) = description.split_once("Read-only: ").unwrap();
    assert!(fields.contains("title") && !fields.contains("created_at"), "{description}");
    assert!(kept.contains("created_at") && kept.contains("id"), "{description}");
}
