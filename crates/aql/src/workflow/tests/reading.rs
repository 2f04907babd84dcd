//! Reading metadata.

use super::*;

fn refused(metadata: Value) -> Vec<Problem> {
    Workflow::read(&object(metadata)).unwrap_err()
}

#[test]
fn everything_wrong_is_told_at_once_with_its_place_and_the_nearest_name() {
    let problems = refused(json!({
        "steps": [
            {"name": "find", "operation": "find_things", "parms": {}, "on_error": "contine"},
            {"name": "Find It", "operation": "", "params": []},
            {"name": "find", "operation": 7, "params": {"a": {"b": [0, {"$from": "input/x"}]}}},
            "no step",
            {"operation": "x", "params": {"$from": "/input"}, "for_each": 5},
            {"name": "last", "operation": "x", "params": {
                "a": {"$from": "/input/x", "defualt": 1}, "b": {"$literal": 1, "more": 2}, "c": {"$form": "/x"},
                "d": {"$from": 7}, "two words": {"$from": "/a~5"}
            }},
        ],
        "outputs": 1,
        "input": {"Topic": {}, "depth": {"requird": true}, "size": 5, "both": {"required": true, "default": 1}},
    }));
    assert_eq!(
        places(&problems),
        [
            ("outputs", Some("output")),
            ("steps[0].parms", Some("params")),
            ("steps[0].on_error", Some("continue")),
            ("steps[1].name", None),
            ("steps[1].operation", None),
            ("steps[1].params", None),
            ("steps[2].operation", None),
            ("steps[2].params.a.b[1].$from", None),
            ("steps[2].name", None),
            ("steps[3]", None),
            ("steps[4].name", None),
            ("steps[4].params", None),
            ("steps[4].for_each", None),
            ("steps[5].params.a.defualt", Some("default")),
            ("steps[5].params.b.more", None),
            ("steps[5].params.c.$form", Some("$from")),
            ("steps[5].params.d.$from", None),
            ("steps[5].params['two␠words'].$from", None),
            ("input.Topic", None),
            ("input.both.required", None),
            ("input.depth.requird", Some("required")),
            ("input.size", None),
        ]
    );
    assert!(!leaks(&problems_error(&problems).message));
}

#[test]
fn the_number_of_steps_and_the_depth_of_templates_are_bounded() {
    let step = |number: usize| json!({"name": format!("s{number}"), "operation": "x"});
    let steps = |count: usize| json!({"steps": (0..count).map(step).collect::<Vec<_>>()});
    assert_eq!(read(steps(STEPS_MAX)).steps().len(), STEPS_MAX);
    assert_eq!(places(&refused(steps(STEPS_MAX + 1))), [("steps", None)]);
    assert_eq!(places(&refused(steps(0))), [("steps", None)]);
    assert_eq!(places(&refused(json!({}))), [("steps", None)]);
    assert_eq!(places(&refused(json!({"steps": {}}))), [("steps", None)]);

    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let with = |template: Value| json!({"steps": [step(0)], "output": template});
    read(with(nested(TEMPLATE_LEVELS_MAX)));
    read(with(json!({"$literal": nested(TEMPLATE_LEVELS_MAX - 1)})));
    assert_eq!(refused(with(nested(TEMPLATE_LEVELS_MAX + 1))).len(), 1);
    assert_eq!(places(&refused(with(json!({"$literal": nested(32)})))), [("output.$literal", None)]);
}

#[test]
fn inputs_are_named_when_missing_or_unknown_and_filled_with_defaults() {
    let workflow = read(json!({
        "steps": [{"name": "a", "operation": "x"}],
        "input": {"topic": {"description": "What about"}, "depth": {"default": 2}, "note": {"required": false}},
    }));
    let error = |given: Value| workflow.inputs_error(&object(given));
    assert_eq!(error(json!({"topic": 1})), None);
    let missing = error(json!({"topc": 1})).unwrap();
    assert_eq!(missing.code, crate::error::Code::MissingParam);
    assert_eq!(missing.details["param_name"], "input.topic");
    assert_eq!(missing.details["hint"], "Did you mean 'topic' by 'topc'?");
    let unknown = error(json!({"topic": 1, "dept": 3})).unwrap();
    assert_eq!(unknown.code, crate::error::Code::UnknownField);
    assert_eq!(unknown.details["unknown_fields"], json!(["dept"]));
    assert_eq!(unknown.details["hint"], "Did you mean 'depth'?");
    assert_eq!(workflow.input_with_defaults(&object(json!({"topic": 1}))), json!({"topic": 1, "depth": 2}));

    let open = read(json!({"steps": [{"name": "a", "operation": "x"}]}));
    assert_eq!(open.inputs_error(&object(json!({"anything": 1}))), None);
}
