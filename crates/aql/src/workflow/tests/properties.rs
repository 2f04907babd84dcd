//! What holds for every workflow there could be.

use proptest::{collection::vec, option, prelude::*, sample::select};

use super::*;

fn any_json() -> impl Strategy<Value = Value> {
    let key = || {
        select(vec![
            "steps",
            "name",
            "operation",
            "params",
            "on_error",
            "for_each",
            "output",
            "input",
            "$from",
            "$literal",
            "default",
            "required",
            "x y",
        ])
    };
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        pointer().prop_map(Value::from),
        key().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 40, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((key(), inner), 0..5)
                .prop_map(|members| members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

fn pointer() -> impl Strategy<Value = String> {
    let token = select(vec![
        "input", "steps", "item", "index", "s0", "s1", "s2", "s3", "data", "items", "success", "error", "0",
        "1", "~1", "topic", "",
    ]);
    let likely = select(vec![
        "/input/topic",
        "/steps/s0/data",
        "/steps/s0/data/items/0",
        "/steps/s0/success",
        "/steps/s0/items/1/data",
        "/steps/s1/data/items",
        "/steps/s2/error/code",
        "/item/topic",
        "/index",
    ]);
    prop_oneof![
        1 => vec(token, 0..5).prop_map(|tokens| tokens.iter().map(|token| format!("/{token}")).collect()),
        3 => likely.prop_map(str::to_owned),
    ]
}

/// Mostly workflows, in which anything may still be wrong.
fn likely_workflow() -> impl Strategy<Value = Value> {
    let from = || {
        (pointer(), option::of(any_json())).prop_map(|(pointer, default)| match default {
            Some(default) => json!({"$from": pointer, "default": default}),
            None => json!({"$from": pointer}),
        })
    };
    let value = || prop_oneof![3 => from(), 3 => Just(json!("x"))];
    let operation = prop_oneof![
        8 => select(vec!["find_things", "get_thing"]),
        1 => select(vec!["get_secret", "execute_workflow", "nothing"]),
    ];
    let list = prop_oneof![Just(json!([1, {"topic": 2}])), from()];
    let step = (operation, value(), option::weighted(0.3, list), any::<bool>());
    (vec(step, 1..5), option::of(value())).prop_map(|(steps, output)| {
        let steps: Vec<Value> = steps
            .into_iter()
            .enumerate()
            .map(|(index, (operation, value, for_each, goes_on))| {
                let param = if operation == "find_things" { "query" } else { "thing_id" };
                let mut step =
                    json!({"name": format!("s{index}"), "operation": operation, "params": {param: value}});
                if let Some(list) = for_each {
                    step["for_each"] = list;
                }
                if goes_on {
                    step["on_error"] = "continue".into();
                }
                step
            })
            .collect();
        let mut metadata = json!({"steps": steps});
        if let Some(output) = output {
            metadata["output"] = output;
        }
        metadata
    })
}

/// An answer that depends on nothing but the call.
fn answer(call: &Call) -> Result<Value, Error> {
    let text = Value::Object(call.params.clone()).to_string();
    if text.len().is_multiple_of(3) {
        Err(Error::internal("no"))
    } else {
        Ok(json!({"items": [{"topic": 1}], "0": text}))
    }
}

proptest! {
    #[test]
    fn any_metadata_is_read_or_refused(members in vec((".{0,6}", any_json()), 0..3), steps in vec(any_json(), 0..4), rest in any_json()) {
        let mut metadata: Map<String, Value> = members.into_iter().collect();
        metadata.insert("steps".to_owned(), steps.into());
        metadata.insert("input".to_owned(), rest.clone());
        metadata.insert("output".to_owned(), rest);
        match Workflow::read(&metadata) {
            Ok(workflow) => drop(workflow.check(&registry(), |_| false)),
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                let error = problems_error(&problems);
                prop_assert!(!leaks(&error.message), "{}", error.message);
            }
        }
    }

    #[test]
    fn runs_end_are_repeatable_and_survive_a_checkpoint_anywhere(
        metadata in likely_workflow(),
        input in any_json(),
    ) {
        let Ok(workflow) = Workflow::read(&object(metadata.clone())) else { return Ok(()) };
        prop_assert_eq!(&workflow, &read(metadata));
        let (mut kept, mut restored) = (State::default(), State::default());
        for _ in 0..1000 {
            let next = workflow.next(&kept, &input, &limits());
            prop_assert_eq!(&next, &workflow.next(&restored, &input, &limits()));
            let Next::Step(ready) = next else { break };
            let record = |state: &mut State| {
                // One item a time, as a careful runner would.
                let outcomes = ready.calls.iter().take(1).map(|call| Outcome::of(call, answer(call)));
                state.record(&ready, outcomes.collect(), ROOMY)
            };
            prop_assert_eq!(record(&mut kept), record(&mut restored));
            let text = restored.to_value().to_string();
            restored = State::from_value(&serde_json::from_str(&text).unwrap(), &workflow).unwrap();
            prop_assert_eq!(&restored, &kept);
            let (done, total, _) = workflow.progress(&kept);
            prop_assert!(done <= total);
        }
        prop_assert!(!matches!(workflow.next(&kept, &input, &limits()), Next::Step(_)), "it never ends");
    }

    #[test]
    fn what_passes_the_check_asks_only_for_what_there_is(metadata in likely_workflow(), input in any_json()) {
        let registry = registry();
        let refused = |name: &str| name == "execute_workflow";
        let Ok(workflow) = Workflow::read(&object(metadata)) else { return Ok(()) };
        if !workflow.check(&registry, refused).is_empty() {
            return Ok(());
        }
        let mut state = State::default();
        let mut unknown = Vec::new();
        let end = run(&workflow, &mut state, &input, |call| {
            if registry.visible_named(&call.operation).is_none() || refused(&call.operation) {
                unknown.push(call.operation.clone());
            }
            answer(call)
        });
        prop_assert_eq!(unknown, Vec::<String>::new());
        if let Next::Failed { error, .. } = end {
            prop_assert!(!error.message.contains("has no result"), "{}", error.message);
            prop_assert!(!error.message.contains("not known here"), "{}", error.message);
        }
    }

    #[test]
    fn any_checkpoint_is_read_or_refused(checkpoint in any_json(), results in any_json()) {
        let workflow = read(json!({"steps": [{"name": "s0", "operation": "x"}]}));
        let _ = State::from_value(&checkpoint, &workflow);
        let _ = State::from_value(&json!({"version": 1, "results": results, "partial": checkpoint}), &workflow);
    }
}
