//! How far adapters are trusted, and what that opens.

use aql::{
    danger::DangerLevel,
    error::Code,
    introspect::{self, AdapterInfo},
    policy::{Behaviour, Matrix, Minimums, Policy, Verdict},
    registry::Registry,
    trust::{Block, Report, TrustLevel},
};
use serde_json::{Value, json};

use crate::world::{self, plain, policy, registry, verdict};

/// LREQ-TRUST-07
#[test]
fn minimums_are_enforced_where_the_operator_wants_them() {
    // A table that allows everything shows the minimums alone.
    let mut open = Matrix::default();
    for (danger, trust) in DangerLevel::ALL.into_iter().flat_map(|d| TrustLevel::ALL.map(|t| (d, t))) {
        open = open.with(danger, trust, Behaviour::Allow);
    }
    let strict = || Policy { minimums: Some(Minimums::default()), matrix: open.clone(), ..policy() };
    for (operation, least) in [
        ("introspect", TrustLevel::Untested),
        ("get_item", TrustLevel::Generated),
        ("create_item", TrustLevel::Validated),
        ("update_item", TrustLevel::Validated),
        ("run_job", TrustLevel::Validated),
        ("delete_item", TrustLevel::CommunityReviewed),
        ("send_money", TrustLevel::Certified),
        ("end_world", TrustLevel::Certified),
    ] {
        for trust in TrustLevel::ALL {
            let registry = registry(strict(), trust);
            let expected = if trust >= least { Verdict::Allow } else { Verdict::Deny };
            assert_eq!(verdict(&registry, operation), expected, "{operation} {trust}");
            if expected == Verdict::Deny {
                let error = world::error(plain(&registry, operation), operation);
                assert_eq!(error.code, Code::TrustInsufficient);
                assert_eq!(error.details["required_trust"], least.as_str());
            }
        }
    }
}

/// LREQ-TRUST-08
#[test]
fn the_operator_may_lower_a_minimum_and_a_cell() {
    let minimums = Minimums { create: TrustLevel::Generated, ..Minimums::default() };
    let matrix = Matrix::default().with(DangerLevel::Reversible, TrustLevel::Generated, Behaviour::Allow);
    let lower = Policy { minimums: Some(minimums), matrix: matrix.clone(), ..policy() };
    let generated = registry(lower, TrustLevel::Generated);
    assert_eq!(verdict(&generated, "create_item"), Verdict::Allow);
    assert_eq!(verdict(&generated, "update_item"), Verdict::Deny, "its minimum is as it was");
    let strict = Policy { minimums: Some(Minimums::default()), matrix, ..policy() };
    assert_eq!(verdict(&registry(strict, TrustLevel::Generated), "create_item"), Verdict::Deny);
}

/// LREQ-TRUST-09
#[test]
fn introspection_tells_whom_to_trust_how_far() {
    let report = Report {
        tests_passed: 47,
        tests_total: 47,
        endpoints_verified: None,
        coverage_percent: None,
        last_api_response: None,
    };
    let trust = Block {
        validated_at: Some("2026-01-15T12:00:00Z".parse().unwrap()),
        validation_report: Some(report),
        ..Block::of_level(TrustLevel::Validated)
    };
    let github = AdapterInfo { name: "github".to_owned(), version: "2.1.0".to_owned(), trust };
    let registry = Registry::builder("items").version("1.4.0").servers([github]).build().unwrap();
    let ask = |params: Value| -> Result<Value, aql::error::Error> {
        let answer = introspect::answer(&registry, &world::params(params), "s")?;
        Ok(serde_json::from_str::<Value>(&answer.to_text()).unwrap()["data"].clone())
    };
    let own = ask(json!({"query": "adapter_info"})).unwrap();
    assert_eq!(
        own,
        json!({"name": "items", "version": "1.4.0", "trust": {"level": "certified"},
            "servers": [{"name": "github", "trust": {"level": "validated"}}]})
    );
    let server = ask(json!({"query": "adapter_info", "name": "github"})).unwrap();
    assert_eq!(
        server,
        json!({"name": "github", "version": "2.1.0", "trust": {"level": "validated",
            "validated_at": "2026-01-15T12:00:00Z", "validation_report": {"tests_passed": 47, "tests_total": 47}}})
    );
    let nobody = ask(json!({"query": "adapter_info", "name": "gitlab"})).unwrap();
    assert_eq!(nobody, json!({"adapter": null, "servers": ["github"]}));
    let described = ask(json!({"query": "operations", "name": "introspect"})).unwrap();
    assert!(described.to_string().contains("\"adapter_info\""), "{described}");
}

#[test]
fn operations_of_our_own_are_certified() {
    let registry = Registry::builder("items").operations(world::operations()[..1].to_vec()).build().unwrap();
    assert_eq!(registry.get(registry.id("get_item").unwrap()).unwrap().trust(), TrustLevel::Certified);
}
