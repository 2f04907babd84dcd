use super::*;
use crate::harness::{Era, aqueduct, command, data};

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

/// REQ-LOOP-22
#[test]
fn a_loop_whose_operations_may_not_be_called_does_not_start() {
    let directory = data();
    let file = directory.path().join("policy.toml");
    for (written, what) in
        [("max_danger = 'safe'", "max_danger"), ("allow = ['introspect', 'get_*']", "'allow'")]
    {
        std::fs::write(&file, format!("[safety]\n{written}\n[safety.loop]\nmode = 'enforcing'\n")).unwrap();
        let name = file.to_str().unwrap();
        for arguments in [&["--safety-only", "--policy", name][..], &["--config", name]] {
            let mut serve = command(&aqueduct(), directory.path());
            let serve = serve.args(["serve", "--stdio"]).args(arguments);
            let output = serve.stdin(std::process::Stdio::null()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success(), "{said}");
            // A report may break its lines anywhere.
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            for part in ["the safety loop is enforcing", what, "record_execution_step"] {
                assert!(said.contains(part), "{part} in {said}");
            }
        }
    }
}
