//! Warnings: in successes only, always a list, the most important first.

use aql::{
    define::Deprecation,
    limits::Limits,
    response::{Answer, Data},
    warning::{Severity, Told, WARNINGS_MAX, Warning},
};
use serde_json::{Value, json};

use crate::drive::{Kind, items, no_leak_in, parsed, well_formed};

fn answered(warnings: Vec<Warning>) -> Value {
    let arranged = Told::default().arrange(warnings);
    let answer = parsed(&Answer::success(&Data::Value(json!({})), &arranged, &Limits::default()));
    well_formed(&answer, Kind::Operation);
    answer
}

fn warning(message: &str, severity: Severity) -> Warning {
    Warning::new("PERFORMANCE_TEST_WARNING", message, severity)
}

/// LREQ-WARN-01 REQ-RESP-02 REQ-RESP-04
#[test]
fn one_warning_is_a_list_and_none_is_no_key() {
    let one = answered(vec![warning("slow", Severity::Low)]);
    assert_eq!(
        one["warnings"],
        json!([{"code": "PERFORMANCE_TEST_WARNING", "message": "slow", "severity": "low"}])
    );
    assert!(answered(vec![]).get("warnings").is_none());
    let failed = items().run("find_items", json!({"limit": 1000}));
    assert_eq!(failed["success"], false);
    assert!(failed.get("warnings").is_none(), "a failure warns of nothing");
}

/// LREQ-WARN-02 LREQ-WARN-08 LREQ-WARN-09
#[test]
fn they_are_sorted_bounded_and_collapsed() {
    use Severity::{High, Low, Medium};
    let mut many: Vec<Warning> = (0..12).map(|n| warning(&format!("low {n}"), Low)).collect();
    many.extend([warning("medium", Medium), warning("medium", Medium), warning("medium", Medium)]);
    many.extend((0..3).map(|n| warning(&format!("high {n}"), High)));
    let answer = answered(many);
    let warnings = answer["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), WARNINGS_MAX);
    let severities: Vec<&str> = warnings.iter().map(|w| w["severity"].as_str().unwrap()).collect();
    assert_eq!(severities[..4], ["high", "high", "high", "medium"]);
    assert!(severities[4..].iter().all(|severity| *severity == "low"));
    assert_eq!(warnings[3]["details"]["occurrence_count"], 3);
    assert!(warnings[0].get("details").is_none(), "one occurrence is not counted");
}

/// LREQ-WARN-03 LREQ-WARN-05 LREQ-WARN-10
#[test]
fn a_deprecation_says_what_goes_when_and_what_comes() {
    let today = jiff::civil::date(2026, 3, 1);
    for (date, expected) in [
        (Some("2026-03-31"), Severity::High),
        (Some("2026-04-01"), Severity::Medium),
        (Some("2025-01-01"), Severity::High),
        (None, Severity::Low),
    ] {
        let notice =
            Deprecation { replacement: Some("list_items".to_owned()), removal_date: date.map(str::to_owned) };
        let warn = || Warning::deprecation("operation", "find_items", &notice).dated(today);
        assert_eq!(warn().severity, expected, "{date:?}");
        assert_eq!(warn(), warn(), "one state, one severity");
        assert_eq!(warn().code, "DEPRECATION_WARNING");
        let details = Value::Object(warn().details);
        assert_eq!(
            (&details["type"], &details["deprecated_item"], &details["replacement"]),
            (&json!("operation"), &json!("find_items"), &json!("list_items"))
        );
        assert_eq!(details["removal_date"].as_str(), date);
        assert!(warn().message.contains("'list_items'"));
        no_leak_in(&warn().message);
    }
}

/// REQ-SESS-08
#[test]
fn a_session_is_told_of_a_deprecation_once() {
    let notice = Deprecation::default();
    let warn = |name: &str| Warning::deprecation("parameter", name, &notice);
    let mut session = Told::default();
    assert_eq!(session.arrange(vec![warn("limit"), warn("offset")]).len(), 2);
    assert_eq!(session.arrange(vec![warn("limit"), warning("slow", Severity::Low)]).len(), 1);
    assert_eq!(
        session.arrange(vec![warning("slow", Severity::Low)]).len(),
        1,
        "other conditions are told each time"
    );
    assert_eq!(Told::default().arrange(vec![warn("limit")]).len(), 1, "another session is told anew");
}
