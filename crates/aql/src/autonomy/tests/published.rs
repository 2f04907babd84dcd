use serde_json::{Map, Value, json};
use std::sync::Arc;

use super::super::{define, *};
use crate::{
    category::Category,
    define::Operation,
    introspect,
    registry::{Endpoint, RESERVED, Registry},
    request::Call,
};

fn registry(mode: Mode, rules: Rules) -> Arc<Registry> {
    let autonomy = Autonomy { mode, all: Settings::new(rules).unwrap(), agents: Default::default() };
    let builder = Registry::builder("test").safety_loop(mode);
    let built = builder.operations(define::operations(&autonomy)).types(define::types(&autonomy)).build();
    Arc::new(built.unwrap_or_else(|problems| panic!("{problems}")))
}

fn asked(registry: &Registry, params: Value) -> Value {
    let Value::Object(params) = params else { panic!() };
    let answer = introspect::answer(registry, &params, "s").unwrap();
    serde_json::from_str(&answer.to_text()).unwrap()
}

/// REQ-LOOP-03 REQ-LOOP-23
#[test]
fn the_six_and_introspect_are_all_there_is_and_the_mode_is_told() {
    for mode in Mode::ALL {
        let list = asked(&registry(mode, Rules::default()), json!({"query": "operations"}));
        assert_eq!(list["data"]["_protocol"]["capabilities"]["execution_safety_loop"], mode.as_str());
        let names: Vec<&str> = list["data"]["operations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, RESERVED);
    }
}

/// REQ-AUTO-07 REQ-AUTO-22
#[test]
fn introspection_has_the_settings_in_force() {
    let rules = Rules { max_autonomous_steps: 7, deny: vec!["boom*".to_owned()], ..Rules::default() };
    let registry = registry(Mode::Enforcing, rules);
    let step = asked(&registry, json!({"query": "operations", "name": "record_execution_step"}));
    assert!(step["data"]["operation"]["description"].as_str().unwrap().contains("maxAutonomousSteps is 7"));
    let settings = asked(&registry, json!({"query": "types", "name": "AutonomySettings"}));
    let fields = settings["data"]["type"]["fields"].as_array().unwrap();
    let defaults: Map<String, Value> = fields
        .iter()
        .map(|field| (field["name"].as_str().unwrap().to_owned(), field["default"].clone()))
        .collect();
    let expected = json!({
        "maxAutonomousSteps": 7, "riskTolerance": "moderate", "deny": ["boom*"],
        "requiresApproval": ["delete_*", "deploy_*", "git push*", "*--force*"], "autoApprove": [],
    });
    assert_eq!(Value::Object(defaults), expected);
}

/// REQ-LOOP-10 REQ-LOOP-11 REQ-LOOP-12 REQ-LOOP-13 REQ-LOOP-14
#[test]
fn reports_are_checked_and_both_spellings_are_taken() {
    let registry = registry(Mode::Enforcing, Rules::default());
    let check = |params: Value| {
        let Value::Object(params) = params else { panic!() };
        let call = Call { operation: "record_execution_step".to_owned(), params };
        registry.validate(Endpoint::Unified, call).map(|mut valid| valid.take_params())
    };
    let code = |params: Value| check(params).unwrap_err();
    let error = code(json!({"next_action_hint": "x"}));
    assert_eq!(
        (error.code.as_str(), &error.details["param_name"]),
        ("VALIDATION_MISSING_PARAM", &json!("element_name"))
    );
    let error = code(json!({"element_name": "a1"}));
    assert_eq!(error.details["param_name"], "next_action_hint");
    assert!(error.message.contains("nextActionHint"), "{}", error.message);
    for (params, expected) in [
        (json!({"element_name": "a1", "nextActionHint": 7}), "VALIDATION_INVALID_TYPE"),
        (json!({"element_name": "a1", "nextActionHint": ""}), "VALIDATION_"),
        (json!({"element_name": "a1", "nextActionHint": " \t\n"}), "VALIDATION_"),
        (json!({"element_name": " ", "nextActionHint": "x"}), "VALIDATION_"),
        (json!({"element_name": "a1", "nextActionHint": "x", "outcome": "ok"}), "VALIDATION_INVALID_ENUM"),
    ] {
        let error = code(params.clone());
        assert!(error.code.as_str().starts_with(expected), "{params}: {error:?}");
    }
    let error = code(json!({"element_name": "a1", "nextActionHint": "x", "outcome": "ok"}));
    let text = format!("{} {:?}", error.message, error.details);
    assert!(["success", "failure", "skipped"].iter().all(|word| text.contains(word)), "{text}");
    for hint in ["nextActionHint", "next_action_hint"] {
        let mut params = json!({"elementName": "a1", "stepDescription": "did it", "findings": "none"});
        params[hint] = json!("reading");
        let taken = check(params).unwrap();
        assert_eq!(taken["next_action_hint"], "reading");
        assert_eq!((&taken["element_name"], &taken["step_description"]), (&json!("a1"), &json!("did it")));
    }
    for outcome in StepOutcome::WORDS {
        check(json!({"element_name": "a1", "next_action_hint": "x", "outcome": outcome})).unwrap();
    }
}

/// REQ-OOB-11
#[test]
fn a_challenge_is_named_in_several_ways_and_the_code_is_sensitive() {
    let registry = registry(Mode::Enforcing, Rules::default());
    for name in ["challenge_id", "verification_id", "verificationId", "challengeId"] {
        let params = Map::from_iter([(name.to_owned(), json!("c")), ("code".to_owned(), json!("x"))]);
        let call = Call { operation: "verify_challenge".to_owned(), params };
        let valid = registry.validate(Endpoint::Unified, call).unwrap();
        assert_eq!(valid.params()["challenge_id"], "c");
    }
}

#[test]
fn nobody_else_can_take_the_names() {
    for name in RESERVED {
        let own = Operation::new(Category::Read, name, "Something else").returns("string", "text");
        let problems = Registry::builder("test").operation(own).build().unwrap_err().to_string();
        assert!(problems.contains("reserved"), "{problems}");
    }
}

/// REQ-LOOP-08 REQ-LOOP-21
#[test]
fn agents_are_told_to_check_in() {
    let text = define::instructions(Mode::Enforcing).unwrap();
    for part in
        ["record_execution_step", "tool calls", "file system", "shell", "network", "database", "state change"]
    {
        assert!(text.contains(part), "{part}");
    }
    assert!(text.contains("protocol violation"));
    assert_eq!(define::instructions(Mode::Disabled), None);
}
