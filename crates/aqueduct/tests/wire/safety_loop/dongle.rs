use super::*;
use crate::harness::{Era, data};

/// REQ-LOOP-22 REQ-LOOP-23 LREQ-GATE-12
#[test]
fn the_loop_alone_serves_seven_operations_and_keeps_nothing_else() {
    let directory = data();
    let policy = directory.path().join("policy.toml");
    let text = "[safety]\nhold_seconds = 0\n[safety.loop]\ndeny = [\"launch*\"]\nrequires_approval = [\"*slack*\"]\n\
                auto_approve = [\"npm *\"]\n[upstream.ignored]\ncommand = \"false\"\n";
    std::fs::write(&policy, text).unwrap();
    let setup =
        Setup::new(directory.path()).arguments(&["--safety-only", "--policy", policy.to_str().unwrap()]);
    let mut client = setup.stdio(Era::Initialize("2025-11-25"));
    let list = client.introspect(json!({"query": "operations"}));
    assert_eq!(list["data"]["_protocol"]["capabilities"]["execution_safety_loop"], "enforcing");
    let names: Vec<&str> = list["data"]["operations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    let expected = [
        "introspect",
        "execute_agent",
        "record_execution_step",
        "complete_execution",
        "abort_execution",
        "confirm_operation",
        "verify_challenge",
    ];
    assert_eq!(names, expected);
    let operator = Operator::of(directory.path());
    assert_eq!(start(&mut client, &operator, "a1")["success"], true);
    assert_eq!(step(&mut client, "a1", "npm install express")["continue"], true);
    let paused = step(&mut client, "a1", "sending message to #general channel via Slack MCP server");
    assert_eq!((&paused["continue"], paused.get("stopped")), (&json!(false), None));
    operator.answer(&operator.pending()[0], true);
    let told = step(&mut client, "a1", "sending message to #general channel via Slack MCP server");
    assert_eq!(told["continue"], true, "{told}");
    assert_eq!(step(&mut client, "a1", "now launch the missiles")["stopped"], true);
    let mut files: Vec<String> = std::fs::read_dir(directory.path().join("data"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm"))
        .collect();
    files.sort();
    files.retain(|name| !name.starts_with("operator"));
    assert_eq!(files, ["safety.db", "verification.key"]);
}
