//! What holds of decisions whatever the settings are.

use aql::{
    category::Category,
    danger::DangerLevel,
    policy::{
        Behaviour, Blocks, Condition, Facts, Matrix, Policy, Rule, Test, Then, Verdict, WantOfTrust, explain,
    },
    trust::TrustLevel,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{params, registry, texts};

fn any_then() -> impl Strategy<Value = Then> {
    prop::sample::select(Then::ALL.to_vec())
}

fn any_condition() -> impl Strategy<Value = Condition> {
    let test = prop_oneof![
        Just(Test::Equals(json!("root"))),
        Just(Test::Pattern("r*".to_owned())),
        Just(Test::Greater(3.into())),
        Just(Test::Present(true)),
        Just(Test::Present(false)),
    ];
    let path = prop::sample::select(vec!["owner", "count", "target.name"]);
    (path, test, any::<bool>()).prop_map(|(path, test, not)| Condition { not, ..Condition::new(path, test) })
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let some = |of: Vec<&'static str>| prop::option::of(prop::sample::select(of));
    (
        some(vec!["*", "create_item", "delete_*", "*_item"]),
        some(vec!["local", "ann", "g*"]),
        prop::option::of(prop::sample::select(Category::ALL.to_vec())),
        prop::option::of(prop::sample::select(DangerLevel::ALL.to_vec())),
        prop::collection::vec(any_condition(), 0..2),
        any_then(),
    )
        .prop_map(|(operations, callers, category, danger, when, then)| Rule {
            operations: operations.map(|text| texts(&[text])).unwrap_or_default(),
            callers: callers.map(|text| texts(&[text])).unwrap_or_default(),
            categories: category.into_iter().collect(),
            danger,
            when,
            ..Rule::new(then)
        })
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let cell = (0_usize..5, 0_usize..5, prop::sample::select(Behaviour::ALL.to_vec()));
    (any::<bool>(), any::<bool>(), prop::collection::vec(cell, 0..3), prop::collection::vec(any_rule(), 0..6))
        .prop_map(|(gating, asks, cells, rules)| {
            let set = |matrix: Matrix, (danger, trust, behaviour): (usize, usize, Behaviour)| {
                matrix.with(DangerLevel::ALL[danger], TrustLevel::ALL[trust], behaviour)
            };
            Policy {
                gating,
                want_of_trust: if asks { WantOfTrust::Confirm } else { WantOfTrust::Deny },
                matrix: cells.into_iter().fold(Matrix::default(), set),
                rules,
                ..Policy::default()
            }
        })
}

fn any_params() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!({"owner": "root"}),
        json!({"owner": ["ann", "root"], "count": 5}),
        json!({"count": 2, "target": {"name": "root"}}),
        json!({"input": {"owner": "rob"}, "target": [{"name": 1}, {}]}),
    ])
}

/// What is decided about every operation.
fn verdicts(
    policy: &Policy,
    trust: TrustLevel,
    given: &Value,
    principal: &str,
    dry_run: bool,
) -> Vec<Verdict> {
    let registry = registry(policy.clone(), trust);
    let given = params(given.clone());
    let facts = Facts { params: &given, principal, dry_run, blocks: Blocks::none(), executing: &[] };
    registry
        .operations()
        .map(|(id, _)| {
            let verdict = registry.decide(id, &facts).verdict();
            assert_eq!(explain::explain(&registry, id, &facts).decision, verdict);
            // What holds for every caller holds for this one.
            let standing = registry.standing(id);
            assert!(standing.denied().is_none() || verdict == Verdict::Deny, "{standing:?} {verdict:?}");
            verdict
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// LREQ-GATE-05
    #[test]
    fn adding_a_rule_that_tightens_never_loosens(
        policy in any_policy(), rule in any_rule(), asks in any::<bool>(), place in 0_usize..6,
        trust in 0_usize..5, given in any_params(), dry_run in any::<bool>(),
    ) {
        let trust = TrustLevel::ALL[trust];
        let stricter = Rule { then: if asks { Then::Confirm } else { Then::Deny }, ..rule };
        let mut more = policy.clone();
        more.rules.insert(place.min(more.rules.len()), stricter);
        let before = verdicts(&policy, trust, &given, "local", dry_run);
        let after = verdicts(&more, trust, &given, "local", dry_run);
        for (before, after) in before.iter().zip(&after).skip(1) {
            prop_assert!(after >= before, "{before:?} {after:?}");
        }
        prop_assert_eq!(after[0], Verdict::Allow, "introspection");
    }

    /// LREQ-GATE-05
    #[test]
    fn the_order_of_rules_means_nothing(
        policy in any_policy(), trust in 0_usize..5, given in any_params(), caller in "local|ann|guest",
    ) {
        let trust = TrustLevel::ALL[trust];
        let mut turned = policy.clone();
        turned.rules.reverse();
        prop_assert_eq!(
            verdicts(&policy, trust, &given, &caller, false),
            verdicts(&turned, trust, &given, &caller, false)
        );
    }

    /// LREQ-DANGER-07
    #[test]
    fn more_trust_never_tightens_where_no_cell_is_set(
        policy in any_policy(), trust in 0_usize..4, given in any_params(),
    ) {
        let policy = Policy { matrix: Matrix::default(), ..policy };
        let before = verdicts(&policy, TrustLevel::ALL[trust], &given, "local", false);
        let after = verdicts(&policy, TrustLevel::ALL[trust + 1], &given, "local", false);
        for (before, after) in before.iter().zip(&after) {
            prop_assert!(after <= before);
        }
    }

    /// LREQ-GATE-01
    #[test]
    fn gating_only_ever_asks(policy in any_policy(), trust in 0_usize..5, given in any_params()) {
        let of = |gating| verdicts(&Policy { gating, ..policy.clone() }, TrustLevel::ALL[trust], &given, "local", false);
        for (off, on) in of(false).iter().zip(&of(true)) {
            prop_assert!(on == off || (*off, *on) == (Verdict::Allow, Verdict::Confirm));
        }
    }
}
