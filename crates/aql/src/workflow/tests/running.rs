//! Running, failing and going on.

use super::*;
use crate::error::Code;

fn failed(next: Next) -> (Option<String>, Error) {
    match next {
        Next::Failed { step, error } => (step, error),
        other => panic!("{other:?}"),
    }
}

fn done(next: Next) -> Value {
    match next {
        Next::Done { output } => output,
        other => panic!("{other:?}"),
    }
}

fn refusal() -> Error {
    Error::not_found_resource("thing", "x")
}

#[test]
fn results_flow_from_step_to_step_and_into_the_output() {
    let workflow = read(json!({
        "steps": [
            {"name": "find", "operation": "find_things", "params": {"query": {"$from": "/input/topic"}, "first": 3}},
            {"name": "change", "operation": "change_thing", "for_each": {"$from": "/steps/find/data/items"},
             "params": {"thing_id": {"$from": "/item/id"}, "input": {"n": {"$from": "/index"}, "a/b": [1, {"$from": "/input/none", "default": "d"}]}}},
            {"name": "tell", "operation": "tell", "params": {"x": {"$literal": {"$from": "/input/topic"}}}},
        ],
        "output": {"second": {"$from": "/steps/change/items/1/data"}, "told": {"$from": "/steps/tell/data/x"}},
    }));
    let mut calls = Vec::new();
    let mut state = State::default();
    let answer = |call: &Call| {
        calls.push(call.clone());
        Ok(match call.operation.as_str() {
            "find_things" => json!({"items": [{"id": "p"}, {"id": "q"}]}),
            _ => Value::Object(call.params.clone()),
        })
    };
    let end = run(&workflow, &mut state, &json!({"topic": "reports"}), answer);
    let operations: Vec<_> = calls.iter().map(|call| (call.operation.as_str(), call.item)).collect();
    assert_eq!(
        operations,
        [("find_things", None), ("change_thing", Some(0)), ("change_thing", Some(1)), ("tell", None)]
    );
    let output = done(end);
    assert_eq!(output["second"], json!({"thing_id": "q", "input": {"n": 1, "a/b": [1, "d"]}}));
    assert_eq!(output["told"], json!({"$from": "/input/topic"}));
    assert_eq!(workflow.progress(&state), (3, 3, "all 3 steps done".to_owned()));
}

#[test]
fn without_an_output_all_results_are_told() {
    let workflow = read(json!({"steps": [
        {"name": "a", "operation": "x", "on_error": "continue"},
        {"name": "b", "operation": "y", "params": {"p": {"$from": "/steps/a/data", "default": null},
            "why": {"$from": "/steps/a/error/code"}}},
    ]}));
    let output =
        done(run(&workflow, &mut State::default(), &json!({}), |call| match call.operation.as_str() {
            "x" => Err(refusal()),
            _ => Ok(Value::Object(call.params.clone())),
        }));
    assert_eq!(output["steps"]["a"]["success"], false);
    assert_eq!(
        output["steps"]["b"],
        json!({"success": true, "data": {"p": null, "why": "NOT_FOUND_RESOURCE"}})
    );
}

#[test]
fn a_failed_step_ends_it_and_a_retry_goes_on_there() {
    let workflow = read(json!({"steps": [
        {"name": "a", "operation": "x"},
        {"name": "b", "operation": "y", "for_each": [10, 20, 30], "params": {"p": {"$from": "/item"}}},
    ]}));
    let mut state = State::default();
    let end = run(&workflow, &mut state, &json!({}), |call| {
        if call.params.get("p") == Some(&json!(20)) { Err(refusal()) } else { Ok(json!(1)) }
    });
    let (step, error) = failed(end);
    assert_eq!(step.as_deref(), Some("b"));
    assert_eq!(
        (error.code, &error.details["step"], &error.details["item"]),
        (Code::NotFoundResource, &json!("b"), &json!(1))
    );
    assert!(state.is_failed());
    assert_eq!(workflow.progress(&state), (1, 2, "step 2 of 2, 'b', failed".to_owned()));

    let mut state = State::from_value(&state.to_value(), &workflow).unwrap();
    assert!(matches!(workflow.next(&state, &json!({}), &limits()), Next::Failed { .. }));
    state.retry();
    assert_eq!(workflow.progress(&state).2, "step 2 of 2, 'b': 2 of 3 items");
    let mut again = Vec::new();
    let end = run(&workflow, &mut state, &json!({}), |call| {
        again.push(call.params["p"].clone());
        Ok(json!(2))
    });
    assert_eq!(again, [json!(20)]);
    let items: Vec<_> =
        done(end)["steps"]["b"]["items"].as_array().unwrap().iter().map(|i| i["data"].clone()).collect();
    assert_eq!(items, [1, 2, 1]);
}

#[test]
fn items_can_be_recorded_one_by_one_and_failures_kept() {
    let workflow = read(json!({"steps": [
        {"name": "a", "operation": "x", "for_each": [1, 2, 3], "on_error": "continue"},
        {"name": "none", "operation": "x", "for_each": []},
    ]}));
    let mut state = State::default();
    let Next::Step(ready) = workflow.next(&state, &json!({}), &limits()) else { panic!() };
    for (call, result) in ready.calls.iter().zip([Ok(json!(1)), Err(refusal())]) {
        state.record(&ready, vec![Outcome::of(call, result)], ROOMY).unwrap();
    }
    let Next::Step(rest) = workflow.next(&state, &json!({}), &limits()) else { panic!() };
    assert_eq!(rest.calls.iter().map(|call| call.item).collect::<Vec<_>>(), [Some(2)]);
    let output = done(run(&workflow, &mut state, &json!({}), |_| Ok(json!(3))));
    assert_eq!(output["steps"]["a"]["success"], false);
    assert_eq!(output["steps"]["a"]["items"][1]["error"]["code"], "NOT_FOUND_RESOURCE");
    assert_eq!(output["steps"]["none"], json!({"success": true, "items": []}));
}

#[test]
fn a_pointer_that_leads_nowhere_says_how_far_it_got() {
    let table = [
        ("/steps/a/data/itms/0", "/steps/a/data", "has no 'itms'", Some("items")),
        ("/steps/a/data/items/5", "/steps/a/data/items", "has 2 elements", None),
        ("/steps/a/data/items/0/x", "/steps/a/data/items/0", "is a number", None),
        ("/steps/b/data", "/steps/b", "because the step failed", None),
        ("/steps/z/data", "/steps", "has no result", None),
        ("/input/x", "/input", "has no 'x'", None),
        ("/item", "", "not known here", None),
    ];
    for (pointer, reached, words, suggestion) in table {
        let workflow = read(json!({"steps": [
            {"name": "a", "operation": "x"},
            {"name": "b", "operation": "y", "on_error": "continue"},
            {"name": "c", "operation": "z", "on_error": "continue", "params": {"deep": [{"$from": pointer}]}},
        ]}));
        let end =
            run(&workflow, &mut State::default(), &json!({"a": 1}), |call| match call.operation.as_str() {
                "x" => Ok(json!({"items": [1, 2]})),
                _ => Err(refusal()),
            });
        let (step, error) = failed(end);
        assert_eq!(step.as_deref(), Some("c"));
        assert_eq!(error.details["step"], "c");
        assert_eq!(error.details["pointer"], pointer);
        assert_eq!(error.details["reached"], reached);
        assert_eq!(error.details["place"], "steps[2].params.deep[0]");
        assert!(error.message.contains(words) && !leaks(&error.message), "{}", error.message);
        let hint = error.details["hint"].as_str().unwrap();
        assert_eq!(suggestion.is_some_and(|near| hint.contains(&format!("'{near}'"))), suggestion.is_some());
    }
}

#[test]
fn an_output_that_cannot_be_made_fails_without_a_step() {
    let workflow =
        read(json!({"steps": [{"name": "a", "operation": "x"}], "output": {"$from": "/steps/a/data/none"}}));
    let (step, error) = failed(run(&workflow, &mut State::default(), &json!({}), |_| Ok(json!({}))));
    assert_eq!((step, error.details["place"].as_str()), (None, Some("output")));
}

#[test]
fn nothing_grows_without_end() {
    let big = |count: usize| "x".repeat(count);
    // One call: many references to one large value are refused before they are built.
    let many: Vec<Value> = (0..10_000).map(|_| json!({"$from": "/input/big"})).collect();
    let workflow = read(json!({"steps": [{"name": "a", "operation": "x", "params": {"p": many}}]}));
    let (_, error) = failed(workflow.next(&State::default(), &json!({"big": big(100_000)}), &limits()));
    assert_eq!((error.code, &error.details["limit_type"]), (Code::PayloadTooLarge, &json!("request_size")));

    // Many calls: no more are held at once than an answer may weigh, and all are made in the end.
    let workflow = read(json!({"steps": [{"name": "a", "operation": "x", "for_each": vec![0; ITEMS_MAX],
        "params": {"p": {"$from": "/input/big"}}}]}));
    let (input, tight) = (json!({"big": big(10_000)}), limits().with_max_response_size(1_048_576).unwrap());
    let (mut count, mut state) = (0, State::default());
    while let Next::Step(ready) = workflow.next(&state, &input, &tight) {
        assert!((1..=104).contains(&ready.calls.len()), "{}", ready.calls.len());
        count += ready.calls.len();
        let outcomes = ready.calls.iter().map(|call| Outcome::of(call, Ok(json!(null)))).collect();
        state.record(&ready, outcomes, ROOMY).unwrap();
    }
    assert_eq!((count, workflow.progress(&state).0), (ITEMS_MAX, 1));

    // Too many items, and what is no list.
    let workflow =
        read(json!({"steps": [{"name": "a", "operation": "x", "for_each": {"$from": "/input/list"}}]}));
    for (list, code) in
        [(json!(vec![0; ITEMS_MAX + 1]), Code::PayloadTooLarge), (json!({}), Code::InvalidType)]
    {
        let (_, error) = failed(workflow.next(&State::default(), &json!({"list": list}), &limits()));
        assert_eq!((error.code, &error.details["step"]), (code, &json!("a")));
    }

    // Values deeper than a request may be.
    let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
    let workflow =
        read(json!({"steps": [{"name": "a", "operation": "x", "params": {"p": {"$from": "/input"}}}]}));
    let (_, error) = failed(workflow.next(&State::default(), &deep, &limits()));
    assert_eq!(error.details["limit_type"], "nesting_depth");
}

#[test]
fn results_are_kept_up_to_a_weight() {
    let workflow = read(json!({"steps": [{"name": "a", "operation": "x", "for_each": [1, 2, 3]}]}));
    let mut state = State::default();
    let Next::Step(ready) = workflow.next(&state, &json!({}), &limits()) else { panic!() };
    let outcomes = ready.calls.iter().map(|call| Outcome::of(call, Ok("x".repeat(400).into()))).collect();
    let error = state.record(&ready, outcomes, 1000).unwrap_err();
    assert_eq!(
        (error.code, &error.details["limit_type"]),
        (Code::PayloadTooLarge, &json!("workflow_results"))
    );
    let (step, told) = failed(workflow.next(&state, &json!({}), &limits()));
    assert_eq!((step.as_deref(), told), (Some("a"), error));
    let again = State::from_value(&state.to_value(), &workflow).unwrap();
    assert_eq!(again, state);
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let workflow = read(json!({"steps": [
        {"name": "a", "operation": "x"},
        {"name": "b", "operation": "x", "for_each": [1, 2]},
        {"name": "c", "operation": "x"},
    ]}));
    let ok = json!({"success": true, "data": 1});
    let good = json!({"version": 1, "results": {"a": ok}, "partial": {"step": "b", "items": [ok, null]}});
    State::from_value(&good, &workflow).unwrap();
    for damaged in [
        json!(null),
        json!({}),
        json!({"version": 2, "results": {}}),
        json!({"version": 1, "results": []}),
        json!({"version": 1, "results": {"z": ok}}),
        json!({"version": 1, "results": {"b": {"success": true, "items": []}}}),
        json!({"version": 1, "results": {"a": 5}}),
        json!({"version": 1, "results": {"a": {"success": true}}}),
        json!({"version": 1, "results": {"a": {"success": false, "error": {}}}}),
        json!({"version": 1, "results": {"a": ok, "b": ok}}),
        json!({"version": 1, "results": {"a": ok}, "partial": {"step": "c", "items": []}}),
        json!({"version": 1, "results": {"a": ok}, "partial": {"step": "b", "items": [1]}}),
        json!({"version": 1, "results": {"a": ok}, "failure": {"step": "b", "error": {"code": "X"}}}),
        json!({"version": 1, "results": {}, "failure": {"step": "b", "error": {}}}),
    ] {
        let error = State::from_value(&damaged, &workflow).unwrap_err();
        assert!(error.code == Code::Internal && !leaks(&error.message), "{damaged}: {}", error.message);
    }
}
