//! Field selection over what an operation returned.

use aql::fields::{Chosen, Selection};
use serde_json::{Value, json};

use crate::drive::{Adapter, code, items};

fn item() -> Value {
    json!({
        "id": "1", "name": "Lamp", "title": "A lamp",
        "settings": {"theme": "dark", "secret": 1}, "metadata": {"a": {"b": 2}}
    })
}

fn selection<'a>(adapter: &'a Adapter, operation: &str) -> &'a Selection {
    adapter.registry.get(adapter.registry.id(operation).unwrap()).unwrap().selection().unwrap()
}

fn shown(adapter: &Adapter, operation: &str, fields: Value, data: Value) -> Value {
    let selection = selection(adapter, operation);
    let (chosen, warning) = selection.choose(&fields).unwrap();
    assert_eq!(warning, None, "{fields}");
    selection.apply(&chosen, data)
}

/// LREQ-FSEL-01 LREQ-FSEL-02 REQ-CONFORM-05
#[test]
fn presets_nest_on_every_operation_that_returns_items() {
    let adapter = items();
    for operation in ["get_item", "list_items", "search_items"] {
        let one = operation == "get_item";
        let data = || if one { item() } else { json!({"items": [item()]}) };
        let of = |fields: Value| {
            let data = shown(&adapter, operation, fields, data());
            if one { data } else { data["items"][0].clone() }
        };
        assert_eq!(of(json!("minimal")), json!({"id": "1"}));
        assert_eq!(of(json!("standard")), json!({"id": "1", "name": "Lamp"}));
        assert_eq!(of(json!("full")), item());
        assert_eq!(of(json!(["id"])), json!({"id": "1"}));
        assert_eq!(selection(&adapter, operation).choose(&json!("minimum")).unwrap_err().given, "minimum");
    }
}

/// LREQ-FSEL-03 LREQ-FSEL-07
#[test]
fn dots_reach_into_objects_and_what_is_absent_is_left_out() {
    let adapter = items();
    assert_eq!(
        shown(
            &adapter,
            "get_item",
            json!(["id", "settings.theme", "due_date", "metadata.a.b", "metadata.x"]),
            item()
        ),
        json!({"id": "1", "settings": {"theme": "dark"}, "metadata": {"a": {"b": 2}}})
    );
}

/// LREQ-FSEL-05 LREQ-FSEL-06
#[test]
fn unasked_one_is_full_a_list_standard_a_search_minimal_and_pages_stay_whole() {
    let adapter = items();
    let unasked = |operation: &str, data: Value| {
        let selection = selection(&adapter, operation);
        selection.apply(&selection.unasked(), data)
    };
    let page = json!({"hasNextPage": true, "endCursor": "x"});
    let list = || json!({"items": [item(), {"id": "2"}], "pageInfo": page});
    assert_eq!(unasked("get_item", item()), item());
    assert_eq!(unasked("list_items", list())["items"], json!([{"id": "1", "name": "Lamp"}, {"id": "2"}]));
    assert_eq!(unasked("search_items", list())["items"], json!([{"id": "1"}, {"id": "2"}]));
    assert_eq!(shown(&adapter, "list_items", json!(["name"]), list())["pageInfo"], page);
}

/// LREQ-FSEL-08 LREQ-WARN-03
#[test]
fn a_field_that_does_not_exist_is_told_and_never_answered_with_everything() {
    let adapter = items();
    let selection = selection(&adapter, "get_item");
    let (chosen, warning) = selection.choose(&json!(["nosuch"])).unwrap();
    assert_ne!(chosen, Chosen::Everything);
    assert_eq!(selection.apply(&chosen, item()), json!({}));
    let warning = warning.unwrap();
    assert!(warning.code.starts_with("VALIDATION_"));
    assert_eq!(warning.details["unknown_fields"], json!(["nosuch"]));
    crate::drive::no_leak_in(&warning.message);
}

/// LREQ-FSEL-04 LREQ-FSEL-09
#[test]
fn own_presets_work_and_what_can_be_selected_is_described() {
    let adapter = items();
    assert_eq!(
        shown(&adapter, "get_item", json!("contact"), item()),
        json!({"name": "Lamp", "settings": {"theme": "dark"}})
    );
    let error = adapter.refused("get_item", json!({"item_id": "1", "preset": "minimal"}));
    assert_eq!(code(&error), "VALIDATION_UNKNOWN_PARAM", "the compatibility alias is not supported");
    let described = adapter.introspect(json!({"query": "types", "name": "FieldSelection"}))["type"].clone();
    assert_eq!(described["kind"], "object");
    assert_eq!(crate::drive::names(&described["fields"], "name"), ["presets", "fields", "computed_fields"]);
}
