//! Calls that a person has to agree to, over every wire, with the operator on their own side.

mod approvals;
mod crash;
mod denials;
mod elicitation;
mod tokens;

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Client, PATIENCE, aqueduct, command, pause};

/// Runs a command of the operator's and returns what it printed.
pub(crate) fn operator(directory: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = command(&aqueduct(), directory);
    command.arg("operator").args(arguments).env("AQUEDUCT_DATA", directory.join("data"));
    command.output().unwrap()
}

/// The same, where it has to work, as JSON.
pub(crate) fn told(directory: &Path, arguments: &[&str]) -> Value {
    let arguments = [arguments, &["--json"]].concat();
    let output = operator(directory, &arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{arguments:?} printed no JSON ({error}): {text}"))
}

/// What waits for the operator, once there is something.
pub(crate) fn pending(directory: &Path) -> Value {
    let deadline = std::time::Instant::now() + PATIENCE;
    loop {
        if directory.join("data/safety.db").exists() {
            let waiting = told(directory, &["pending"])["approvals"].clone();
            if waiting.as_array().is_some_and(|waiting| !waiting.is_empty()) {
                return waiting;
            }
        }
        assert!(std::time::Instant::now() < deadline, "nothing waits for the operator");
        pause();
    }
}

/// The events of the audit log, oldest first.
pub(crate) fn audit(directory: &Path) -> Vec<Value> {
    let output = operator(directory, &["audit", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone()).collect()
}

pub(crate) fn events(directory: &Path) -> Vec<String> {
    let event = |entry: &Value| entry["event"].as_str().unwrap().to_owned();
    audit(directory).iter().map(event).collect()
}

fn exists(client: &mut Client, id: &str) -> bool {
    client.read("get_entity", json!({"entity_id": id}))["success"] == true
}

fn delete(client: &mut Client, id: &str) -> Value {
    client.delete("delete_entity", json!({"entity_id": id}))
}

fn code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap_or("none")
}
