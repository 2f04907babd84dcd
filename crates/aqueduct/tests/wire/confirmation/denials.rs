//! What is denied again and again.

use serde_json::{Value, json};

use super::{audit, code, operator};
use crate::harness::{Era, Setup, data};

/// LREQ-GATE-09: every denial is in the log, and no number of them fills it.
#[test]
fn being_denied_fills_no_log_and_none_is_lost() {
    let directory = data();
    let config = "[safety]\n[[safety.rule]]\noperations = ['delete_entity']\nthen = 'deny'\n";
    let mut client = Setup::new(directory.path()).config(config).stdio(Era::Initialize("2025-11-25"));
    for number in 0..300 {
        let params = json!({"entity_id": number.to_string(), "_request_id": "x".repeat(1000)});
        let answer = client.delete("delete_entity", params);
        assert_eq!(code(&answer), "PERMISSION_DENIED", "{answer}");
    }
    drop(client.stdio().stdin.take());
    client.stdio().process.wait();
    let denials: Vec<Value> =
        audit(directory.path()).into_iter().filter(|event| event["event"] == "OPERATION_DENIED").collect();
    assert!(denials.len() <= 24, "{} entries", denials.len());
    let times = |event: &Value| event["detail"]["repeated"].as_u64().unwrap_or(1);
    assert_eq!(denials.iter().map(times).sum::<u64>(), 300);
    assert!(denials.iter().all(|event| event["operation"] == "delete_entity"), "{denials:?}");
    assert!(operator(directory.path(), &["verify-audit"]).status.success());
}
