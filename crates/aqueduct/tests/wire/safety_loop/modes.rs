use super::*;
use crate::harness::{Era, aqueduct, command, data};

const STDIO: Era = Era::Initialize("2025-11-25");

/// REQ-LOOP-01 REQ-LOOP-03 REQ-LOOP-24
#[test]
fn the_variable_sets_the_mode_and_introspection_tells_it() {
    for (variable, file, expected) in [
        ("", "", "disabled"),
        ("disabled", ENFORCING, "disabled"),
        ("enforcing", "[safety]\nhold_seconds = 0\n", "enforcing"),
        ("monitoring", ENFORCING, "monitoring"),
        ("logging", "", "logging"),
        ("", ENFORCING, "enforcing"),
    ] {
        let directory = data();
        let setup = Setup::new(directory.path()).config(file).env("MCPAQL_SAFETY_LOOP", variable);
        let mut client = setup.stdio(STDIO);
        let list = client.introspect(json!({"query": "operations"}));
        let told = &list["data"]["_protocol"]["capabilities"]["execution_safety_loop"];
        assert_eq!(told, expected, "{variable}");
        let offered = list.to_string().contains("record_execution_step");
        assert_eq!(offered, expected != "disabled");
        let answer = client.execute("execute_agent", json!({"element_name": "a1"}));
        let code = code(&answer).to_owned();
        match expected {
            "disabled" => assert_eq!(code, "NOT_FOUND_OPERATION", "{answer}"),
            "enforcing" => assert_eq!(code, "CONFIRMATION_REQUIRED", "{answer}"),
            _ => assert_eq!(answer["success"], true, "{answer}"),
        }
        client.new_item("works");
    }
}

/// REQ-AUTO-06 REQ-AUTO-21
#[test]
fn mistakes_in_the_settings_are_told_when_starting() {
    for (variable, text, expected) in [
        (
            "enforce",
            "",
            "the mode of the safety loop 'enforce' is none of enforcing, monitoring, logging, disabled",
        ),
        ("", "[safety.loop]\nmode = \"on\"\n", "none of enforcing"),
        ("", "[safety.loop]\nmax_autonomous_steps = 0\n", "must be between 1 and"),
        ("", "[safety.loop]\nmax_autonomous_steps = -3\n", "must be between 1 and"),
        (
            "",
            "[safety.agent.a1]\nrisk_tolerance = \"reckless\"\n",
            "none of conservative, moderate, aggressive",
        ),
        ("", "[safety.loop]\ndeny = [\" \"]\n", "is empty"),
        ("", "[safety.loop]\nstages = [\"magic\"]\n", "none of the stages"),
        ("", "[safety.loop]\nchallenge_seconds = 1\n", "between 10 and"),
        ("", "[safety.loop]\nmodes = \"x\"\n", "is not a known key"),
    ] {
        let directory = data();
        let file = directory.path().join("c.toml");
        std::fs::write(&file, text).unwrap();
        let mut command = command(&aqueduct(), directory.path());
        command.args(["check", "--config"]).arg(&file).env("MCPAQL_SAFETY_LOOP", variable);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let flat = said.replace("│", " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!output.status.success() && flat.contains(expected), "{text}: {said}");
    }
}

/// REQ-LOOP-08 REQ-LOOP-21
#[test]
fn clients_are_told_the_duty_when_they_connect() {
    let directory = data();
    for (setup, told) in [(enforcing(directory.path()), true), (Setup::new(directory.path()), false)] {
        let mut link = setup.stdio_link();
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
        link.send(hello.to_string().as_bytes());
        let answer = link.answer(&json!(1));
        let text = answer["result"]["instructions"].as_str().unwrap().to_owned();
        let parts = [
            "record_execution_step",
            "tool calls",
            "file system",
            "shell",
            "network",
            "database",
            "state change",
        ];
        assert_eq!(parts.iter().all(|part| text.contains(part)), told, "{text}");
    }
}

/// REQ-AUTO-21 REQ-AUTO-23 REQ-AUTO-06
#[test]
fn agents_have_their_own_settings() {
    let directory = data();
    let text = "[safety]\nhold_seconds = 0\n[safety.loop]\nmode = \"enforcing\"\nmax_autonomous_steps = 5\n\
                [safety.agent.careful]\nmax_autonomous_steps = 1\n\
                [safety.agent.counted]\nstages = []\nmax_autonomous_steps = 2\n";
    let mut client = Setup::new(directory.path()).config(text).stdio(STDIO);
    let operator = Operator::of(directory.path());
    for (agent, allowed) in [("careful", 1), ("counted", 2), ("other", 5)] {
        assert_eq!(start(&mut client, &operator, agent)["success"], true);
        for _ in 0..allowed {
            let hint = if agent == "counted" { "rm -rf /" } else { "listing the files" };
            assert_eq!(step(&mut client, agent, hint)["continue"], true, "{agent}");
        }
        assert_eq!(step(&mut client, agent, "listing the files")["reason"], "Step limit exceeded");
    }
}

/// REQ-LOOP-19 REQ-LOOP-20
#[test]
fn monitoring_and_logging_hold_nobody_up() {
    for mode in ["monitoring", "logging"] {
        let directory = data();
        let mut client = Setup::new(directory.path()).env("MCPAQL_SAFETY_LOOP", mode).stdio(STDIO);
        assert_eq!(client.execute("execute_agent", json!({"element_name": "a1"}))["success"], true);
        client.new_item("unreported");
        let told = step(&mut client, "a1", "rm -rf /");
        assert_eq!((&told["continue"], told.get("stopped")), (&json!(true), None));
        assert_eq!(told.get("nextStepRisk").is_some(), mode == "monitoring");
        let operator = Operator::of(directory.path());
        assert!(operator.blocks().is_empty() && operator.pending().is_empty());
    }
}
