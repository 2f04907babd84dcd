//! The operator's rules.

use aql::{
    category::Category,
    danger::DangerLevel,
    error::Code,
    policy::{Condition, Decision, Policy, Rule, Standing, Test, Then, Verdict},
    registry::{Endpoint, Registry},
    request::Call,
    trust::TrustLevel,
};
use serde_json::json;

use crate::world::{self, decide, decide_as, policy, registry, rule, standing, texts, verdict};

fn ruled(rules: Vec<Rule>) -> Policy {
    Policy { rules, ..policy() }
}

fn when(param: &str, test: Test) -> Vec<Condition> {
    vec![Condition::new(param, test)]
}

/// LREQ-GATE-05
#[test]
fn of_two_rules_the_stricter_counts_in_either_order() {
    let kinds =
        [(Then::Allow, Verdict::Allow), (Then::Confirm, Verdict::Confirm), (Then::Deny, Verdict::Deny)];
    for (first, one) in kinds {
        for (second, other) in kinds {
            for callers in [vec![], texts(&["local"])] {
                let of = |then| Rule { callers: callers.clone(), ..rule(&["create_*"], then) };
                let registry = registry(ruled(vec![of(first), of(second)]), TrustLevel::Certified);
                let found = decide(&registry, "create_item", json!({})).verdict();
                assert_eq!(found, one.max(other), "{first} {second}");
                assert_eq!(verdict(&registry, "get_item"), Verdict::Allow, "other operations are not met");
            }
        }
    }
}

/// LREQ-GATE-04
#[test]
fn a_rule_decides_for_the_values_that_it_names() {
    let denies =
        Rule { when: when("owner", Test::Equals(json!("root"))), ..rule(&["create_item"], Then::Deny) };
    let denies = Rule { reason: Some("root's things are made by hand".to_owned()), ..denies };
    let asks =
        Rule { when: when("count", Test::Greater(100.into())), ..rule(&["create_item"], Then::Confirm) };
    let registry = registry(ruled(vec![denies, asks]), TrustLevel::Certified);
    assert_eq!(*standing(&registry, "create_item"), Standing::Depends);
    let create = |params| decide(&registry, "create_item", params);
    assert_eq!(create(json!({"owner": "ann"})), Decision::Allow);
    assert_eq!(create(json!({"count": 101})).verdict(), Verdict::Confirm);
    assert_eq!(create(json!({"count": 101, "owner": "root"})).verdict(), Verdict::Deny);
    let error = world::error(create(json!({"owner": "root"})), "create_item");
    assert_eq!(error.code, Code::PermissionDenied);
    assert_eq!(error.message, "Permission denied: root's things are made by hand");
}

/// LREQ-GATE-08
#[test]
fn no_spelling_of_a_call_avoids_a_rule() {
    let denies = |param: &str, value: &str| Rule {
        when: when(param, Test::Equals(json!(value))),
        ..rule(&[], Then::Deny)
    };
    let rules = vec![denies("owner", "root"), denies("branch", "main"), denies("owner", "nobody")];
    let registry = registry(ruled(rules), TrustLevel::Certified);
    for (operation, params) in [
        ("create_item", json!({"owner": "root"})),
        ("create_item", json!({"ownerName": "root"})),
        ("create_item", json!({})),
        ("update_item", json!({"item_id": "1", "input": {"branch": "main"}})),
        ("update_item", json!({"itemId": "1", "input": {"branch": "main"}})),
    ] {
        assert_eq!(decide(&registry, operation, params.clone()).verdict(), Verdict::Deny, "{params}");
    }
    assert_eq!(decide(&registry, "create_item", json!({"owner": "ann"})), Decision::Allow);
    for misspelled in [json!({"Owner": "root"}), json!({"OWNER": "root"}), json!({"owner.": "root"})] {
        let call = Call { operation: "create_item".to_owned(), params: world::params(misspelled) };
        assert!(registry.validate(Endpoint::Unified, call).is_err(), "it does not come this far");
    }
}

/// LREQ-GATE-10
#[test]
fn two_callers_may_have_different_rights() {
    let guests = Rule { callers: texts(&["guest*"]), ..rule(&["create_item"], Then::Deny) };
    let ann = Rule { callers: texts(&["ann"]), ..rule(&["delete_item"], Then::AllowUnasked) };
    let registry = registry(ruled(vec![guests, ann]), TrustLevel::Certified);
    let create = |caller: &str| decide_as(&registry, caller, "create_item", json!({})).verdict();
    assert_eq!(
        (create("guest-7"), create("ann"), create("Guest")),
        (Verdict::Deny, Verdict::Allow, Verdict::Allow)
    );
    let delete =
        |caller: &str| decide_as(&registry, caller, "delete_item", json!({"item_id": "1"})).verdict();
    assert_eq!(
        (delete("guest-7"), delete("ann"), delete("anna")),
        (Verdict::Confirm, Verdict::Allow, Verdict::Confirm)
    );
    assert!(
        registry.visible().any(|operation| operation.name().as_str() == "create_item"),
        "others may call it"
    );
}

#[test]
fn only_the_one_word_for_it_lets_what_destroys_run_unasked() {
    let of = |thens: &[Then]| {
        let rules = thens.iter().map(|then| rule(&["delete_item", "end_world"], *then)).collect();
        registry(ruled(rules), TrustLevel::Certified)
    };
    assert_eq!(verdict(&of(&[Then::Allow]), "delete_item"), Verdict::Confirm);
    assert_eq!(verdict(&of(&[Then::AllowUnasked]), "delete_item"), Verdict::Allow);
    assert_eq!(*standing(&of(&[Then::AllowUnasked]), "end_world"), Standing::Allow);
    assert_eq!(verdict(&of(&[Then::AllowUnasked, Then::Confirm]), "delete_item"), Verdict::Confirm);
    assert_eq!(verdict(&of(&[Then::AllowUnasked, Then::Deny]), "delete_item"), Verdict::Deny);
    let denied = registry(ruled(vec![rule(&["send_money"], Then::AllowUnasked)]), TrustLevel::Validated);
    assert_eq!(verdict(&denied, "send_money"), Verdict::Deny, "it says nothing about trust");
}

/// LREQ-GATE-08
#[test]
fn no_server_gets_a_freedom_by_calling_its_tool_like_anothers() {
    let rules = |then| vec![rule(&["delete_item"], then)];
    let served = |rules| world::registry_of(ruled(rules), TrustLevel::Certified, world::served("acme"));
    assert_eq!(verdict(&served(rules(Then::AllowUnasked)), "acme_delete_item"), Verdict::Confirm);
    assert_eq!(verdict(&served(rules(Then::Deny)), "acme_delete_item"), Verdict::Deny);
    let named = Rule { servers: texts(&["acme"]), ..rule(&["delete_item"], Then::AllowUnasked) };
    assert_eq!(verdict(&served(vec![named]), "acme_delete_item"), Verdict::Allow);
    let others = Rule { servers: texts(&["other", "built_in"]), ..rule(&[], Then::Deny) };
    assert_eq!(verdict(&served(vec![others.clone()]), "acme_get_item"), Verdict::Allow);
    assert_eq!(verdict(&registry(ruled(vec![others]), TrustLevel::Certified), "get_item"), Verdict::Deny);
    let listed = Policy { deny: texts(&["delete_*"]), allow: texts(&["get_*"]), ..policy() };
    let listed = world::registry_of(listed, TrustLevel::Certified, world::served("acme"));
    assert_eq!(verdict(&listed, "acme_delete_item"), Verdict::Deny);
    assert_eq!(verdict(&listed, "acme_get_item"), Verdict::Deny, "what is allowed is named in full");
}

#[test]
fn categories_levels_and_trust_narrow_a_rule() {
    let narrow = [
        (
            Rule { categories: vec![Category::Create, Category::Execute], ..Rule::new(Then::Deny) },
            "create_item run_job send_money",
        ),
        (Rule { danger: Some(DangerLevel::Dangerous), ..Rule::new(Then::Deny) }, "send_money end_world"),
        (Rule { trust: Some(TrustLevel::Validated), ..Rule::new(Then::Deny) }, ""),
    ];
    for (rule, expected) in narrow {
        let registry = registry(ruled(vec![rule]), TrustLevel::Certified);
        let denied: Vec<&str> = world::operations()
            .iter()
            .filter(|operation| verdict(&registry, &operation.name) == Verdict::Deny)
            .map(|operation| registry.get(registry.id(&operation.name).unwrap()).unwrap().name().as_str())
            .collect();
        assert_eq!(denied.join(" "), expected);
    }
}

#[test]
fn a_rule_for_everything_leaves_introspection_alone() {
    let registry = registry(ruled(vec![Rule::new(Then::Deny)]), TrustLevel::Certified);
    assert_eq!(registry.visible().count(), 1);
    assert_eq!(verdict(&registry, "introspect"), Verdict::Allow);
}

/// Fails closed: rules that cannot be used keep the registry from being published.
#[test]
fn a_rule_that_cannot_be_used_is_told() {
    let broken = Rule { when: when("a", Test::Regex("(".to_owned())), ..Rule::new(Then::Deny) };
    let built = Registry::builder("x").policy(ruled(vec![Rule::new(Then::Allow), broken])).build();
    let problems = built.unwrap_err().to_string();
    assert_eq!(problems, "the operator's rules: 'rule 2' cannot be used: '(' is no regular expression");
}
