//! How dangerous operations are, and where a caller reads it.

use aql::{
    category::Category,
    danger::DangerLevel,
    define,
    policy::{Blocks, Decision, Facts, Policy, Reason},
    registry::Registry,
};
use serde_json::json;

use crate::{
    drive::{Adapter, items, names, no_leak_in},
    fixture,
};

/// LREQ-DANGER-01
#[test]
fn levels_have_names_and_numbers_in_order() {
    for (name, number) in
        [("safe", 0), ("reversible", 1), ("destructive", 2), ("dangerous", 3), ("forbidden", 4)]
    {
        let level: DangerLevel = name.parse().unwrap();
        assert_eq!((level.number(), level.as_str()), (number, name));
        assert_eq!(serde_json::to_value(level).unwrap(), name);
    }
    for other in ["Safe", "harmless", "", "5"] {
        assert!(other.parse::<DangerLevel>().is_err(), "{other}");
        assert!(serde_json::from_value::<DangerLevel>(json!(other)).is_err(), "{other}");
    }
}

/// LREQ-DANGER-05 LREQ-DANGER-06 LREQ-DANGER-16
#[test]
fn an_unlabelled_operation_has_its_categorys_level_and_only_reads_are_safe() {
    let adapter =
        Adapter::of(Registry::builder("x").operations(fixture::synthetic(5)).build().unwrap().into());
    let data = adapter.introspect(json!({"query": "danger"}));
    let levels: Vec<_> =
        names(&data["dangers"], "name").into_iter().zip(names(&data["dangers"], "level")).collect();
    assert_eq!(
        levels,
        [
            ("introspect", "safe"),
            ("create_thing_0000", "reversible"),
            ("get_thing_0001", "safe"),
            ("update_thing_0002", "reversible"),
            ("delete_thing_0003", "destructive"),
            ("execute_thing_0004", "reversible"),
        ]
    );
    let adapter = items();
    let purge = adapter.introspect(json!({"query": "danger", "name": "purge_cache"}));
    assert_eq!(
        purge["danger"],
        json!({"name": "purge_cache", "level": "dangerous", "number": 3, "reasons": ["every cached answer is lost"]})
    );
    let protocol = adapter.introspect(json!({"query": "operations"}))["_protocol"].clone();
    assert_eq!(
        protocol["danger_levels"],
        json!({"destructive": ["delete_item"], "dangerous": ["purge_cache"]})
    );
    assert_eq!(protocol["capabilities"]["dangerous_operations"], true);
}

/// LREQ-DANGER-06 REQ-CLASS-08
#[test]
fn the_dangerous_mark_raises_a_level_and_lowers_none() {
    let level = |operation: define::Operation| {
        let registry = Registry::builder("x").operation(operation).build().unwrap();
        registry.get(registry.id("execute_thing").unwrap()).unwrap().danger().level
    };
    let operation = || define::Operation::new(Category::Execute, "execute_thing", "Do it");
    let marked = |operation: define::Operation| define::Operation { dangerous: true, ..operation };
    assert_eq!(level(operation()), DangerLevel::Reversible);
    assert_eq!(level(marked(operation())), DangerLevel::Dangerous);
    assert_eq!(level(marked(operation().danger(DangerLevel::Safe, &[]))), DangerLevel::Dangerous);
    assert_eq!(level(marked(operation().danger(DangerLevel::Forbidden, &[]))), DangerLevel::Forbidden);
}

/// LREQ-DANGER-01
#[test]
fn the_operators_rules_decide_by_name_and_level() {
    let decision = |policy: Policy, name: &str| {
        let registry = fixture::built(fixture::builder().policy(policy));
        let facts = Facts {
            params: &serde_json::Map::new(),
            principal: "local",
            dry_run: false,
            blocks: Blocks::none(),
            executing: &[],
        };
        registry.decide(registry.id(name).unwrap(), &facts)
    };
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let capped = || Policy { max_danger: Some(DangerLevel::Destructive), ..Policy::default() };
    assert_eq!(decision(capped(), "delete_item"), Decision::Allow);
    let denied = decision(capped(), "purge_cache");
    let expected = Reason::TooDangerous { level: DangerLevel::Dangerous, max: DangerLevel::Destructive };
    assert_eq!(denied, Decision::Deny(expected.clone()));
    let only = || Policy { allow: texts(&["get_*"]), deny: texts(&["*_item"]), ..Policy::default() };
    assert_eq!(decision(only(), "introspect"), Decision::Allow, "without it nobody could learn anything");
    assert_eq!(decision(only(), "get_item"), Decision::Deny(Reason::DenyRule("*_item".to_owned())));
    assert_eq!(decision(only(), "list_items"), Decision::Deny(Reason::NotAllowed));
    for reason in [expected, Reason::NotAllowed, Reason::DenyRule("*_item".to_owned())] {
        no_leak_in(&reason.to_string());
    }
}
