//! What is known of a call beside its operation, and how a decision is explained.

use aql::{
    policy::{Block, Blocks, Decision, Executing, Facts, Policy, Reason, Rule, Then, Verdict, explain},
    trust::TrustLevel,
};
use serde_json::{Map, json};

use crate::world::{self, decide_with, policy, registry, rule, texts};

fn block(agent: &str, principal: &str) -> Block {
    Block {
        agent: agent.to_owned(),
        principal: principal.to_owned(),
        verification_id: format!("ver_{agent}"),
        reason: "it was about to drop a table that is in use".to_owned(),
    }
}

#[test]
fn a_blocked_principal_may_read_and_nothing_else() {
    let registry = registry(Policy::default(), TrustLevel::Certified);
    let blocks: Blocks = [block("worker", "local"), block("other", "ann")].into_iter().collect();
    let decide = |name: &str, dry: bool| decide_with(&registry, name, dry, &blocks, &[]);
    for name in ["create_item", "update_item", "delete_item", "run_job"] {
        let error = world::error(decide(name, false), name);
        assert_eq!(error.details["verification_id"], "ver_worker");
        assert!(error.message.contains("'ver_worker'"), "{}", error.message);
    }
    assert_eq!(decide("get_item", false), Decision::Allow);
    assert_eq!(decide("introspect", false), Decision::Allow);
    assert_eq!(decide("create_item", true), Decision::Allow, "a dry run reads");
    assert_eq!(blocks.of_agent("other").map(|block| block.principal.as_str()), Some("ann"));
    assert!(blocks.of_agent("nobody").is_none() && blocks.of_principal("worker").is_none());
    let others: Blocks = [block("other", "ann")].into_iter().collect();
    assert_eq!(decide_with(&registry, "create_item", false, &others, &[]), Decision::Allow);
}

#[test]
fn a_supervised_execution_reports_before_it_changes_anything() {
    let registry = registry(Policy::default(), TrustLevel::Certified);
    let agent = || "worker".to_owned();
    let running = || Executing::Running { agent: agent() };
    let paused = || Executing::Paused { agent: agent(), reason: "a risky step".to_owned() };
    let silent = || Executing::NothingReported { agent: agent() };
    let decide =
        |name: &str, executing: &[Executing]| decide_with(&registry, name, false, Blocks::none(), executing);
    for (executing, hint) in [(vec![silent()], "record_execution_step"), (vec![running(), paused()], "Wait")]
    {
        let error = world::error(decide("create_item", &executing), "create_item");
        assert!(error.details["hint"].as_str().unwrap().contains(hint), "{error:?}");
        assert_eq!(decide("get_item", &executing), Decision::Allow);
    }
    assert_eq!(decide("create_item", &[running()]), Decision::Allow);
}

#[test]
fn whoever_is_denied_for_good_is_told_that_and_not_of_a_block() {
    let denies = Policy { deny: texts(&["create_*"]), ..Policy::default() };
    let registry = registry(denies, TrustLevel::Certified);
    let blocks: Blocks = [block("worker", "local")].into_iter().collect();
    let decision = decide_with(&registry, "create_item", false, &blocks, &[]);
    assert_eq!(decision, Decision::Deny(Reason::DenyRule("create_*".to_owned())));
}

/// LREQ-GATE-02
#[test]
fn an_explanation_tells_every_voice_and_which_one_counts() {
    let rules = vec![
        rule(&["delete_*"], Then::Allow),
        Rule { callers: texts(&["ann"]), ..rule(&["delete_*"], Then::Deny) },
        rule(&["get_*"], Then::Deny),
    ];
    let registry = registry(Policy { rules, ..policy() }, TrustLevel::CommunityReviewed);
    let none = Map::new();
    let explained = |principal: &str, name: &str, dry_run: bool| {
        let facts = Facts { params: &none, principal, dry_run, blocks: Blocks::none(), executing: &[] };
        explain::explain(&registry, registry.id(name).unwrap(), &facts)
    };
    let asked = explained("local", "delete_item", false);
    assert_eq!(
        (asked.decision, asked.danger, asked.trust),
        (Verdict::Confirm, Some("destructive"), Some("community_reviewed"))
    );
    let voices: Vec<(&str, &str, bool)> =
        asked.layers.iter().map(|layer| (layer.layer.as_str(), layer.says.as_str(), layer.decides)).collect();
    assert_eq!(
        voices,
        [
            ("names", "allow", false),
            ("matrix", "allow", false),
            ("danger", "confirm", true),
            ("rule 1", "allow", false),
            ("safety_loop", "allow", false),
        ]
    );
    let text = asked.to_string();
    assert!(
        text.starts_with(
            "delete_item: confirm (destructive, adapter 'community_reviewed', caller 'local')\n"
        )
    );
    assert!(text.contains("\n * danger        confirm what is destructive is asked about"), "{text}");
    let json = serde_json::to_value(&asked).unwrap();
    assert_eq!((&json["decision"], &json["layers"][2]["decides"]), (&json!("confirm"), &json!(true)));
    let denied = explained("ann", "delete_item", false);
    assert_eq!(denied.decision, Verdict::Deny);
    assert!(denied.layers.iter().any(|layer| layer.layer == "rule 2" && layer.decides));
    assert_eq!(explained("local", "delete_item", true).decision, Verdict::Allow);
    assert_eq!(explained("local", "introspect", false).decision, Verdict::Allow);
}

/// An explanation never says another thing than the decision it explains.
#[test]
fn an_explanation_always_names_who_decides() {
    for trust in TrustLevel::ALL {
        for gating in [true, false] {
            let registry = registry(Policy { gating, ..Policy::default() }, trust);
            for (id, operation) in registry.operations() {
                let none = Map::new();
                let facts = Facts {
                    params: &none,
                    principal: "local",
                    dry_run: false,
                    blocks: Blocks::none(),
                    executing: &[],
                };
                let told = explain::explain(&registry, id, &facts);
                assert_eq!(told.decision, registry.decide(id, &facts).verdict());
                let named = told.layers.iter().any(|layer| layer.decides);
                assert_eq!(named, told.decision != Verdict::Allow, "{} {told}", operation.name());
            }
        }
    }
}
