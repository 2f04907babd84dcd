//! What may be defined at all.

use aql::{
    category::Category::{self, Create, Delete, Execute, Read},
    define::{Operation, Param},
    registry::{RESERVED, Registry},
};

use crate::drive::items;

fn problems(operations: Vec<Operation>) -> String {
    Registry::builder("x").operations(operations).build().err().map(|p| p.to_string()).unwrap_or_default()
}

/// REQ-NAME-01
#[test]
fn operation_names_are_snake_case() {
    for bad in ["CreateItem", "create-item", "1create", "_create", "create item", "creer_é", ""] {
        let told = problems(vec![Operation::new(Create, bad, "Does it")]);
        assert!(told.contains(&format!("'{bad}'")), "{told}");
    }
    for info in items().list() {
        let name = info["name"].as_str().unwrap();
        assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{name}");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{name}");
    }
}

/// REQ-NAME-06 REQ-NAME-04
#[test]
fn unusual_verbs_load() {
    let operations = [
        (Create, "upload_file"),
        (Read, "search_things"),
        (Read, "export_data"),
        (Delete, "purge_cache"),
        (Execute, "trigger_build"),
        (Execute, "stop_job"),
        (Execute, "cancel_job"),
    ];
    let operations = operations.map(|(category, name)| Operation::new(category, name, "Does it")).to_vec();
    assert_eq!(problems(operations), "");
}

/// REQ-NAME-08
#[test]
fn the_protocols_names_are_reserved() {
    assert_eq!(
        RESERVED,
        [
            "introspect",
            "execute_agent",
            "record_execution_step",
            "complete_execution",
            "abort_execution",
            "confirm_operation",
            "verify_challenge"
        ]
    );
    for name in RESERVED {
        for category in Category::ALL {
            let told = problems(vec![Operation::new(category, name, "Ours now")]);
            assert!(told.contains(&format!("'{name}'")) && told.contains("reserved"), "{told}");
        }
    }
}

/// REQ-ROUTE-01 REQ-VALID-01
#[test]
fn names_are_defined_once() {
    let operation = || Operation::new(Read, "get_thing", "Get a thing");
    assert!(
        problems(vec![operation(), operation()]).contains("operation 'get_thing': 'name' is defined twice")
    );
    let param = || Param::new("thing_id", "string", "Which");
    let told = problems(vec![operation().param(param()).param(param())]);
    assert!(told.contains("'params.thing_id' is defined twice"), "{told}");
}

/// REQ-VALID-17 REQ-INTRO-12
#[test]
fn what_cannot_be_enforced_cannot_be_published() {
    let with = |param: Param| problems(vec![Operation::new(Read, "get_thing", "Get a thing").param(param)]);
    let told = with(Param::new("phone", "string", "Whom to call").format("phone"));
    assert!(told.contains("phone.format"), "{told}");
    let told = with(Param::new("code", "string", "Which").pattern("[a-z"));
    assert!(told.contains("code.pattern"), "{told}");
    let told = with(Param::new("thing", "object", "Which").fields_of("Nosuch"));
    assert!(told.contains("thing.fields_of"), "{told}");
}
