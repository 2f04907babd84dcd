//! Types: the protocol's and the adapter's own.

use aql::{define, registry::Registry};
use serde_json::{Value, json};

use crate::{
    drive::{Adapter, items, names, object},
    fixture, schemas,
};

/// REQ-TYPE-01 REQ-TYPE-07
#[test]
fn the_list_names_every_type_and_its_kind_and_no_more() {
    let adapter = items();
    let data = adapter.introspect(json!({"query": "types"}));
    let listed = names(&data["types"], "name");
    for own in ["ItemCategory", "Part", "Item", "ItemChanges", "ItemSort", "Stored"] {
        assert!(listed.contains(&own), "{own}");
    }
    let mut unique = listed.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), listed.len());
    for info in data["types"].as_array().unwrap() {
        for key in object(info.clone()).keys() {
            assert!(["name", "kind", "description"].contains(&key.as_str()), "{key}");
        }
        assert!(["enum", "object", "scalar", "union"].contains(&info["kind"].as_str().unwrap()));
    }
}

/// REQ-TYPE-02 REQ-TYPE-03
#[test]
fn details_carry_what_their_kind_has_and_nothing_of_another() {
    let adapter = items();
    for details in adapter.all_types() {
        let own = match details["kind"].as_str().unwrap() {
            "enum" => Some("values"),
            "object" => Some("fields"),
            "union" => Some("members"),
            _ => None,
        };
        for key in ["values", "fields", "members"] {
            assert_eq!(details.get(key).is_some(), own == Some(key), "{details}");
        }
    }
    let of = |name: &str| adapter.introspect(json!({"query": "types", "name": name}))["type"].clone();
    assert_eq!(of("ItemCategory")["values"], json!(["product", "service"]));
    assert_eq!(of("Stored")["members"], json!(["Item", "Part"]));
    assert_eq!(of("OperationResult")["members"], json!(["OperationSuccess", "OperationFailure"]));
    let fields = of("OperationInput")["fields"].clone();
    assert_eq!(names(&fields, "name"), ["operation", "params"]);
    assert_eq!(names(&fields, "type"), ["string", "object"]);
    assert_eq!((&fields[0]["required"], &fields[1]["required"]), (&json!(true), &json!(false)));
}

/// REQ-TYPE-05 REQ-TYPE-06
#[test]
fn the_protocols_own_types_are_there() {
    let adapter = items();
    for (name, kind) in [
        ("SemanticCategory", "enum"),
        ("OperationInput", "object"),
        ("OperationResult", "union"),
        ("OperationSuccess", "object"),
        ("OperationFailure", "object"),
        ("EndpointPermissions", "object"),
    ] {
        let details = adapter.introspect(json!({"query": "types", "name": name}))["type"].clone();
        assert_eq!((&details["name"], &details["kind"]), (&json!(name), &json!(kind)));
    }
    let category = adapter.introspect(json!({"query": "types", "name": "SemanticCategory"}));
    assert_eq!(category["type"]["values"], json!(["CREATE", "READ", "UPDATE", "DELETE", "EXECUTE"]));
}

/// REQ-TYPE-07 REQ-INTRO-17
#[test]
fn a_type_is_declared_once_and_refers_to_declared_ones() {
    let text = || vec![define::Param::new("x", "string", "Anything")];
    let clash =
        |types: Vec<define::Type>| Registry::builder("x").types(types).build().map_err(|p| p.to_string());
    let twice =
        vec![define::Type::object("Thing", "One", text()), define::Type::object("Thing", "Two", text())];
    assert!(clash(twice).unwrap_err().contains("type 'Thing'"));
    let same =
        vec![define::Type::object("Thing", "One", text()), define::Type::object("Thing", "One", text())];
    assert!(clash(same).is_ok(), "two operations may bring the same type");
    assert!(clash(vec![define::Type::union("Any", "", &["Nosuch"])]).unwrap_err().contains("'Nosuch'"));
    let field = define::Param::new("x", "Nosuch", "Anything");
    assert!(clash(vec![define::Type::object("Thing", "", vec![field])]).unwrap_err().contains("'Nosuch'"));
}

/// REQ-TYPE-03 LREQ-INTRO-02
#[test]
fn the_published_fixtures_hold_of_the_schema_that_ours_are_held_against() {
    let (Some(fixtures), Some(validator)) =
        (schemas::published("schema-fixtures/typedetails-fixtures.json"), schemas::definition("TypeDetails"))
    else {
        return;
    };
    for case in fixtures["tests"].as_array().unwrap() {
        assert_eq!(validator.is_valid(&case["data"]), case["valid"] == true, "{}", case["description"]);
    }
    for case in fixtures["tests"].as_array().unwrap() {
        let declared = serde_json::from_value::<define::Type>(case["data"].clone());
        assert_eq!(declared.is_ok(), case["valid"] == true, "{}", case["description"]);
    }
    // What the fixtures declare, declared to us, is shown in the same words.
    let valid = fixtures["tests"].as_array().unwrap().iter().filter(|case| case["valid"] == true);
    let declared: Vec<&Value> =
        valid.map(|case| &case["data"]).filter(|data| data["kind"] != "union").collect();
    assert!(declared.len() >= 5);
    let types = declared.iter().map(|data| serde_json::from_value::<define::Type>((*data).clone()).unwrap());
    let adapter = Adapter::of(fixture::built(Registry::builder("x").types(types)));
    for data in declared {
        assert_eq!(adapter.introspect(json!({"query": "types", "name": data["name"]}))["type"], *data);
    }
}
