//! What an operation's level comes to.

use aql::{
    category::Category,
    danger::{Danger, DangerLevel},
    define::{Operation, Param},
    error::Code,
    policy::{Behaviour, Decision, Matrix, Policy, Standing, Then, Verdict, WantOfTrust},
    registry::Registry,
    trust::TrustLevel,
};
use serde_json::json;

use crate::world::{self, decide, plain, policy, registry, rule, standing, verdict};

const OF_LEVEL: [(DangerLevel, &str); 5] = [
    (DangerLevel::Safe, "get_item"),
    (DangerLevel::Reversible, "create_item"),
    (DangerLevel::Destructive, "delete_item"),
    (DangerLevel::Dangerous, "send_money"),
    (DangerLevel::Forbidden, "end_world"),
];

/// LREQ-DANGER-07 LREQ-DANGER-14 LREQ-TRUST-01
#[test]
fn every_cell_of_the_matrix_is_enforced_and_whatever_destroys_is_asked_about() {
    for trust in TrustLevel::ALL {
        let registry = registry(policy(), trust);
        for (level, operation) in OF_LEVEL {
            let cell = match Matrix::default().behaviour(level, trust) {
                Behaviour::Allow => Verdict::Allow,
                Behaviour::Confirm => Verdict::Confirm,
                Behaviour::Deny | Behaviour::IntrospectOnly => Verdict::Deny,
            };
            let floor = if level >= DangerLevel::Destructive { Verdict::Confirm } else { Verdict::Allow };
            assert_eq!(verdict(&registry, operation), cell.max(floor), "{level} {trust}");
            assert_eq!(verdict(&registry, "introspect"), Verdict::Allow);
        }
    }
}

/// LREQ-GATE-01
#[test]
fn with_gating_off_nobody_is_asked_and_what_is_denied_stays_denied() {
    for trust in TrustLevel::ALL {
        let (on, off) = (registry(policy(), trust), registry(Policy::default(), trust));
        for (level, operation) in OF_LEVEL {
            let expected = match verdict(&on, operation) {
                Verdict::Confirm => Verdict::Allow,
                other => other,
            };
            assert_eq!(verdict(&off, operation), expected, "{level} {trust}");
        }
    }
    let asking = Policy { rules: vec![rule(&["delete_item"], Then::Confirm)], ..Policy::default() };
    assert_eq!(verdict(&registry(asking, TrustLevel::Certified), "delete_item"), Verdict::Confirm);
}

/// LREQ-DANGER-08
#[test]
fn of_an_untested_adapter_everything_can_be_looked_up_and_nothing_called() {
    let registry = registry(policy(), TrustLevel::Untested);
    let error = world::error(plain(&registry, "get_item"), "get_item");
    assert_eq!(error.code, Code::TrustInsufficient);
    assert_eq!(
        error.message,
        "Operation 'get_item' requires trust level 'generated', adapter has 'untested'"
    );
    assert_eq!(error.details["required_trust"], "generated");
    assert_eq!(
        (&error.details["actual_trust"], &error.details["danger_level"]),
        (&json!("untested"), &json!(0))
    );
    let shown: Vec<&str> = registry.visible().map(|operation| operation.name().as_str()).collect();
    assert_eq!(shown, ["introspect", "get_item"]);
}

#[test]
fn a_level_that_is_denied_tells_which_trust_would_do_and_is_not_listed() {
    let registry = registry(policy(), TrustLevel::Validated);
    let error = world::error(plain(&registry, "send_money"), "send_money");
    assert_eq!(error.code, Code::DangerDenied);
    assert_eq!(
        error.message,
        "Operation 'send_money' (danger: dangerous) denied for adapter trust level 'validated'"
    );
    assert_eq!(error.details["minimum_trust_required"], "community_reviewed");
    assert_eq!(error.details["reasons"], json!(["the money is gone"]));
    assert!(registry.visible().all(|operation| operation.danger().level < DangerLevel::Dangerous));
}

/// LREQ-DANGER-17
#[test]
fn a_cell_that_is_set_is_the_last_word_about_its_level_and_about_no_other() {
    let matrix = Matrix::default().with(DangerLevel::Destructive, TrustLevel::Validated, Behaviour::Allow);
    let before = registry(policy(), TrustLevel::Validated);
    let after = registry(Policy { matrix: matrix.clone(), ..policy() }, TrustLevel::Validated);
    for (level, operation) in OF_LEVEL {
        let expected = match level {
            DangerLevel::Destructive => Verdict::Allow,
            _ => verdict(&before, operation),
        };
        assert_eq!(verdict(&after, operation), expected, "{operation}");
    }
    let other = registry(Policy { matrix, ..policy() }, TrustLevel::Certified);
    assert_eq!(verdict(&other, "delete_item"), Verdict::Confirm);
}

/// LREQ-DANGER-17
#[test]
fn whoever_is_asked_is_told_why() {
    let registry = registry(policy(), TrustLevel::Certified);
    assert_eq!(plain(&registry, "delete_item"), Decision::Confirm(vec!["it is destructive".to_owned()]));
    assert_eq!(plain(&registry, "send_money"), Decision::Confirm(vec!["the money is gone".to_owned()]));
    assert_eq!(*standing(&registry, "delete_item"), Standing::Confirm);
}

#[test]
fn want_of_trust_may_become_a_question_but_not_for_what_is_untested() {
    let asks = || Policy { want_of_trust: WantOfTrust::Confirm, ..policy() };
    for (trust, expected) in [
        (TrustLevel::Untested, [Verdict::Deny, Verdict::Deny, Verdict::Deny]),
        (TrustLevel::Generated, [Verdict::Allow, Verdict::Confirm, Verdict::Confirm]),
        (TrustLevel::Validated, [Verdict::Allow, Verdict::Allow, Verdict::Confirm]),
    ] {
        let registry = registry(asks(), trust);
        for (operation, expected) in ["get_item", "create_item", "end_world"].iter().zip(expected) {
            assert_eq!(verdict(&registry, operation), expected, "{operation} {trust}");
        }
    }
    // Nobody's trust would do, so it is not for want of any.
    let never = Matrix::default().with(DangerLevel::Forbidden, TrustLevel::Certified, Behaviour::Deny);
    let registry = registry(Policy { matrix: never, ..asks() }, TrustLevel::Validated);
    assert_eq!(verdict(&registry, "end_world"), Verdict::Deny);
    // Neither gating nor a rule makes an untrusted adapter's operation run unasked.
    let unasked = rule(&["send_money"], Then::AllowUnasked);
    let lax = Policy { gating: false, rules: vec![unasked], ..asks() };
    assert_eq!(verdict(&crate::world::registry(lax, TrustLevel::Validated), "send_money"), Verdict::Confirm);
}

/// LREQ-DANGER-09 LREQ-DANGER-10 LREQ-DANGER-11 LREQ-DANGER-12 LREQ-DANGER-13
#[test]
fn a_name_raises_a_level_that_nobody_said() {
    let level = |operation: Operation| {
        let name = operation.name.clone();
        let registry = Registry::builder("x").operation(operation).build().unwrap();
        registry.get(registry.id(&name).unwrap()).unwrap().danger().clone()
    };
    let run = |name: &str| Operation::new(Category::Execute, name, "Do it");
    for (name, expected) in [
        ("purge_logs", DangerLevel::Dangerous),
        ("drop_table", DangerLevel::Forbidden),
        ("force_delete_all", DangerLevel::Forbidden),
        ("sync_items", DangerLevel::Reversible),
    ] {
        assert_eq!(level(run(name)).level, expected, "{name}");
    }
    assert_eq!(level(run("purge_logs")).reasons, ["the name fits 'purge_*', so dangerous"]);
    assert_eq!(level(run("force_sync").danger(DangerLevel::Safe, &[])).level, DangerLevel::Safe);
    let read = Operation::new(Category::Read, "list_production", "List it");
    assert_eq!(level(read).level, DangerLevel::Safe);
    let purge = || world::registry_of(policy(), TrustLevel::CommunityReviewed, vec![run("purge_logs")]);
    assert_eq!(verdict(&purge(), "purge_logs"), Verdict::Confirm);
}

/// LREQ-DANGER-12
#[test]
fn the_operators_patterns_see_names_with_and_without_their_prefix_and_raise_only() {
    let patterns = vec![
        ("rotate_*".to_owned(), DangerLevel::Dangerous),
        ("acme_get_*".to_owned(), DangerLevel::Destructive),
        ("*".to_owned(), DangerLevel::Reversible),
    ];
    let policy = || Policy { danger_patterns: patterns.clone(), ..policy() };
    let of = |name: &str, explicit: bool| Operation {
        server: Some("acme".to_owned()),
        prefix: "acme_".to_owned(),
        danger: Some(Danger { explicit, ..Danger::worked_out(DangerLevel::Safe, vec![]) }),
        ..Operation::new(Category::Read, &format!("acme_{name}"), "Do it")
    };
    let given = vec![
        of("rotate_keys", false),
        of("get_keys", false),
        of("list_keys", false),
        of("rotate_logs", true),
    ];
    let registry = world::registry_of(policy(), TrustLevel::Certified, given);
    let level = |name: &str| registry.get(registry.id(name).unwrap()).unwrap().danger().level;
    assert_eq!(level("acme_rotate_keys"), DangerLevel::Dangerous);
    assert_eq!(level("acme_get_keys"), DangerLevel::Destructive);
    assert_eq!(level("acme_list_keys"), DangerLevel::Reversible);
    assert_eq!(level("acme_rotate_logs"), DangerLevel::Safe, "somebody said so");
    assert_eq!(level("introspect"), DangerLevel::Safe);
}

/// LREQ-DANGER-02 LREQ-DANGER-03
#[test]
fn the_question_has_parameters_filled_in_and_nothing_else() {
    let ask = |template: &str, params: serde_json::Value| {
        let operation = Operation::new(Category::Delete, "delete_repo", "Delete a repository")
            .param(Param::new("owner", "string", "Whose").required())
            .param(Param::new("repo", "string", "Which").required())
            .param(Param::new("pin", "string", "What opens it").sensitive())
            .param(Param::new("tags", "array", "Words"))
            .danger(DangerLevel::Destructive, &["it is gone"])
            .confirmation_message(template);
        let registry = world::registry_of(policy(), TrustLevel::Certified, vec![operation]);
        let id = registry.id("delete_repo").unwrap();
        registry.confirmation_message(id, &world::params(params))
    };
    let acme = || json!({"owner": "acme", "repo": "widgets", "pin": "1234", "tags": ["a", "b"]});
    for (template, expected) in [
        ("Delete repository '{owner}/{repo}'?", "Delete repository 'acme/widgets'?"),
        ("With {pin}?", "With ***?"),
        ("{unknown} {} {", "{unknown} {} {"),
        ("{{owner}}", "{acme}"),
        ("Tags {tags}", "Tags [2 values]"),
    ] {
        assert_eq!(ask(template, acme()), expected);
    }
    let frame = regex::Regex::new(r"(?i)at\s+\S+").unwrap();
    let hostile = json!({"owner": "look at me", "repo": "a\nat b {pin} \u{202e}x"});
    let asked = ask("What about {owner} that is {repo}?", hostile);
    assert!(!frame.is_match(&asked) && !asked.contains(['\n', '\u{202e}']), "{asked:?}");
    assert!(asked.contains("{pin}"), "a value is no template: {asked}");
    assert!(ask("{repo}", json!({"repo": "x".repeat(5000)})).len() < 400);
}

/// LREQ-DANGER-02 LREQ-DANGER-03
#[test]
fn a_question_finds_what_stands_in_input_and_there_is_always_one() {
    let mut operations = world::operations();
    for operation in &mut operations {
        if operation.name == "update_item" {
            *operation = std::mem::take(operation)
                .danger(DangerLevel::Destructive, &[])
                .confirmation_message("Move {item_id} to {branch} with {secret_word}?");
        }
    }
    let registry = world::registry_of(policy(), TrustLevel::Certified, operations);
    let given = world::params(json!({"item_id": "7", "input": {"branch": "main", "secret_word": "x"}}));
    let ask = |name: &str| registry.confirmation_message(registry.id(name).unwrap(), &given);
    assert_eq!(ask("update_item"), "Move 7 to main with ***?");
    assert_eq!(ask("delete_item"), "Run 'delete_item'?");
}

/// REQ-PARAM-13
#[test]
fn a_dry_run_is_decided_as_a_read() {
    let registry = registry(policy(), TrustLevel::Certified);
    let deletes = |dry: bool| decide(&registry, "delete_item", json!({"item_id": "1", "dry_run": dry}));
    assert_eq!(deletes(true), Decision::Allow);
    assert_eq!(deletes(false).verdict(), Verdict::Confirm);
    let of_deletes = aql::policy::Rule { categories: vec![Category::Delete], ..rule(&[], Then::Confirm) };
    for (rules, expected) in [
        (vec![rule(&["delete_item"], Then::Confirm)], Verdict::Confirm),
        (vec![of_deletes], Verdict::Allow),
        (vec![rule(&["delete_item"], Then::Deny)], Verdict::Deny),
    ] {
        let registry = crate::world::registry(Policy { rules, ..policy() }, TrustLevel::Certified);
        let dry = json!({"item_id": "1", "dry_run": true});
        assert_eq!(decide(&registry, "delete_item", dry).verdict(), expected);
    }
    // Another server's word for a dry run is its own, and what nobody may call nobody may try.
    let foreign = world::registry_of(policy(), TrustLevel::Certified, world::served("acme"));
    let dry = |registry: &Registry, name: &str| {
        world::decide_with(registry, name, true, aql::policy::Blocks::none(), &[]).verdict()
    };
    assert_eq!(dry(&foreign, "acme_delete_item"), Verdict::Confirm);
    let capped = Policy { max_danger: Some(DangerLevel::Reversible), ..policy() };
    assert_eq!(dry(&crate::world::registry(capped, TrustLevel::Certified), "delete_item"), Verdict::Deny);
}

/// LREQ-DANGER-16
#[test]
fn introspection_tells_everything_that_is_said_of_danger() {
    let mut operation = Operation::new(Category::Delete, "delete_repo", "Delete it")
        .danger(DangerLevel::Destructive, &["it is gone"])
        .confirmation_message("Delete it?");
    if let Some(danger) = &mut operation.danger {
        (danger.cooldown_seconds, danger.requires_reauth) = (Some(5), true);
    }
    let registry = world::registry_of(policy(), TrustLevel::Certified, vec![operation]);
    let params = world::params(json!({"query": "danger", "name": "delete_repo"}));
    let answer = aql::introspect::answer(&registry, &params, "s").unwrap();
    let told: serde_json::Value = serde_json::from_str(&answer.to_text()).unwrap();
    assert_eq!(
        told["data"]["danger"],
        json!({"name": "delete_repo", "level": "destructive", "number": 2, "reasons": ["it is gone"],
            "confirmation_message": "Delete it?", "cooldown_seconds": 5, "requires_reauth": true})
    );
}
