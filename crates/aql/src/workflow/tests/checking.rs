//! Checking against a registry.

use super::*;

fn step(name: &str, operation: &str, params: Value) -> Value {
    json!({"name": name, "operation": operation, "params": params})
}

#[test]
fn operations_are_known_visible_and_allowed_in_a_step() {
    let problems = check(json!({"steps": [
        step("a", "find_thing", json!({})),
        step("b", "get_secret", json!({})),
        step("c", "execute_workflow", json!({"workflow_id": "x"})),
        step("d", "execute_workflo", json!({})),
        step("e", "get_thing", json!({"thing_id": "x"})),
    ]}));
    assert_eq!(
        places(&problems),
        [
            ("steps[0].operation", Some("find_things")),
            ("steps[1].operation", None),
            ("steps[2].operation", None),
            // What may not be called is not suggested either.
            ("steps[3].operation", None),
        ]
    );
    assert!(problems[1].message.starts_with("unknown operation"), "{:?}", problems[1]);
}

#[test]
fn parameters_are_known_present_and_constants_fit() {
    let problems = check(json!({"steps": [
        step("a", "find_things", json!({"querry": "x", "first": 500, "order": "ascendin"})),
        step("b", "find_things", json!({"query": 5, "first": {"$from": "/input/n"}})),
        step("c", "get_thing", json!({"called": "x", "_meta": 1})),
        step("d", "get_thing", json!({"called": "x", "thing_name": "y"})),
        step("e", "change_thing", json!({"thing_id": "x", "input": {"priority": 11}})),
        step("f", "change_thing", json!({"thing_id": "x", "input": {"priorty": 1}})),
        step("g", "change_thing", json!({"thing_id": "x", "input": {"priority": {"$from": "/input/p"}}})),
        step("h", "change_thing", json!({"input": {"$from": "/input"}})),
    ]}));
    assert_eq!(
        places(&problems),
        [
            ("steps[0].params.first", None),
            ("steps[0].params.order", Some("ascending")),
            ("steps[0].params.querry", Some("query")),
            ("steps[0].params.query", None),
            ("steps[1].params.query", None),
            ("steps[3].params.called", None),
            ("steps[4].params.input", None),
            ("steps[5].params.input", None),
            ("steps[7].params.thing_id", None),
        ]
    );
}

#[test]
fn references_lead_back_to_what_there_is() {
    let from = |pointer: &str| json!({"$from": pointer});
    let query = |pointer: &str| step("x", "find_things", json!({"query": from(pointer)}));
    let mut each = query("/item/name");
    each["name"] = "each".into();
    each["for_each"] = from("/steps/first/data/items");
    let fault = |pointer: &str| {
        let metadata = json!({
            "steps": [step("first", "find_things", json!({"query": "x"})), each, query(pointer),
                step("later", "find_things", json!({"query": "x"}))],
            "input": {"topic": {}},
        });
        let problems = check(metadata);
        assert!(problems.len() < 2, "{problems:?}");
        problems.into_iter().next().map(|problem| {
            assert_eq!(problem.place, "steps[2].params.query");
            assert!(!leaks(&problem.message), "{problem:?}");
            (problem.message, problem.suggestion)
        })
    };
    for pointer in [
        "/input",
        "/input/topic/x/0",
        "/steps/first",
        "/steps/first/data/items/0",
        "/steps/first/success",
        "/steps/first/error/code",
        "/steps/each/items",
        "/steps/each/items/3/data/x",
        "/steps/each/success",
    ] {
        assert_eq!(fault(pointer), None, "{pointer}");
    }
    for (pointer, words, suggestion) in [
        ("/input/topi", "not declared", Some("topic")),
        ("/steps/frist/data", "unknown step", Some("first")),
        ("/steps/x/data", "the step it stands in", None),
        ("/steps/later/data", "further down", None),
        ("/steps/first/date", "has success, data, error", Some("data")),
        ("/steps/first/items/0", "has success, data, error", None),
        ("/steps/each/data", "has success, items", None),
        ("/steps/each/items/first/data", "no index", None),
        ("/steps/each/items/0/item", "the result of an item", None),
        ("/steps/first/success/x", "true or false", None),
        ("/steps", "none of the places", Some("steps")),
        ("/step/first", "none of the places", Some("steps")),
        ("/item/x", "for_each", None),
        ("/index", "for_each", None),
        ("/", "none of the places", None),
    ] {
        let (message, near) = fault(pointer).unwrap_or_else(|| panic!("{pointer} passes"));
        assert!(message.contains(words), "{pointer}: {message}");
        assert_eq!(near.as_deref(), suggestion, "{pointer}");
    }
}

#[test]
fn for_each_and_output_are_looked_through_too() {
    let problems = check(json!({
        "steps": [{"name": "a", "operation": "get_thing", "for_each": {"$from": "/item"},
            "params": {"thing_id": {"$from": "/input/x", "default": {"$from": "/steps/a/success"}}}}],
        "output": {"x": {"$from": "/steps/b"}, "y": {"$from": "/index"}, "z": {"$from": "/steps/a/items"}},
    }));
    assert_eq!(
        places(&problems),
        [
            ("steps[0].for_each", None),
            ("steps[0].params.thing_id.default", None),
            ("output.x", None),
            ("output.y", None)
        ]
    );
}
