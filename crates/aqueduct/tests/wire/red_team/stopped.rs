//! Going on after being stopped: everything a blocked agent can try, with the operator at their own terminal.

use serde_json::{Value, json};

use super::{agent, seen};
use crate::{
    confirmation::{events, operator, told},
    harness::{Client, Era, Setup, data},
};

const CONFIG: &str = "[safety]\nhold_seconds = 0\n\n[safety.loop]\nmode = \"enforcing\"\n";

fn setup(directory: &std::path::Path) -> Setup {
    Setup::new(directory).asking().config(CONFIG)
}

fn start(client: &mut Client, directory: &std::path::Path, name: &str) -> Value {
    let first = client.execute("execute_agent", json!({"element_name": name}));
    let Some(approval) = first["error"]["details"]["approval_id"].as_str() else { return first };
    assert!(operator(directory, &["approve", approval]).status.success());
    client.execute("execute_agent", json!({"element_name": name}))
}

fn report(client: &mut Client, name: &str, hint: &str) -> Value {
    client.create("record_execution_step", json!({"element_name": name, "next_action_hint": hint}))
}

/// The code that the operator is shown.
fn revealed(directory: &std::path::Path, challenge: &str) -> String {
    let output = operator(directory, &["reveal", challenge, "--force-print"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text.split("\n\n").nth(1).unwrap().trim().to_owned()
}

fn is_blocked(directory: &std::path::Path, name: &str) -> bool {
    told(directory, &["blocks"]).to_string().contains(&format!("\"{name}\""))
}

/// REQ-LOOP-17 REQ-OOB-15 REQ-OOB-16 REQ-OOB-17 REQ-OOB-18 REQ-NOTIF-08
#[test]
fn a_stopped_agent_finds_no_way_on() {
    let directory = data();
    let mut client = agent(&setup(directory.path()));
    let item = client.new_item("Target");
    assert_eq!(start(&mut client, directory.path(), "builder")["success"], true);
    let stopped =
        report(&mut client, "builder", "rm -rf / on the production database server")["data"].clone();
    assert_eq!((&stopped["continue"], &stopped["stopped"]), (&json!(false), &json!(true)), "{stopped}");
    let challenge = stopped["notifications"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|one| one["metadata"]["verificationId"].as_str())
        .unwrap()
        .to_owned();

    // Every spelling of its name, every operation of the loop, and calls that were harmless before.
    for name in ["builder", "Builder", " builder ", "bui\u{200b}lder", "ｂｕｉｌｄｅｒ"] {
        for answer in [
            report(&mut client, name, "reading the notes"),
            client.execute("execute_agent", json!({"element_name": name})),
            client.execute("complete_execution", json!({"element_name": name})),
        ] {
            assert_eq!(answer["success"], false, "{name:?}: {answer}");
        }
    }
    client.execute("abort_execution", json!({"element_name": "builder"}));
    assert!(is_blocked(directory.path(), "builder"), "giving up ends no block");
    let change = json!({"entity_id": item, "input": {"priority": 1}});
    assert_eq!(client.update("update_entity", change.clone())["error"]["code"], "PERMISSION_DENIED");
    assert_eq!(client.read("get_entity", json!({"entity_id": item}))["success"], true, "reading goes on");

    // Another session, another process, the server started anew: the same agent, the same block.
    let mut other = agent(&setup(directory.path()));
    assert_eq!(other.execute("execute_agent", json!({"element_name": "builder"}))["success"], false);
    assert_eq!(other.update("update_entity", change)["error"]["code"], "PERMISSION_DENIED");
    client.stdio().process.child.kill().unwrap();
    client.stdio().process.wait();
    let mut client = agent(&setup(directory.path()));
    assert_eq!(client.execute("execute_agent", json!({"element_name": "builder"}))["success"], false);

    // Guessing, and approving for itself.
    for guess in ["", "0", "AAAA-AAAA", &challenge, "' OR 1=1 --"] {
        let params = json!({"challenge_id": challenge, "code": guess});
        assert_eq!(client.create("verify_challenge", params)["success"], false, "{guess}");
    }
    let confirm = json!({"operation": "execute_agent", "confirmation_token": challenge});
    assert_eq!(client.execute("confirm_operation", confirm)["success"], false);
    assert!(is_blocked(directory.path(), "builder"));

    // The operator's word alone ends it, and it is written down.
    let unblocked = operator(directory.path(), &["unblock", "builder", "--reason", "checked with the team"]);
    assert!(unblocked.status.success());
    assert!(!is_blocked(directory.path(), "builder"));
    assert!(
        events(directory.path()).iter().any(|event| event.contains("UNBLOCK")),
        "{:?}",
        events(directory.path())
    );
    assert_eq!(start(&mut client, directory.path(), "builder")["success"], true);
    assert!(operator(directory.path(), &["verify-audit"]).status.success());
}

/// REQ-OOB-06 REQ-OOB-07: the codes of many challenges, revealed one after the other, in nothing that was ever sent.
#[test]
fn no_code_is_in_any_byte_that_the_agent_is_sent() {
    let directory = data();
    let mut client = setup(directory.path()).env("RUST_LOG", "trace").stdio(Era::Initialize("2025-11-25"));
    let mut codes = Vec::new();
    for round in 0..12 {
        let name = format!("agent{round}");
        assert_eq!(start(&mut client, directory.path(), &name)["success"], true);
        report(&mut client, &name, "drop_database production");
        let asked = told(directory.path(), &["pending"])["challenges"].clone();
        let challenge = asked[0]["id"].as_str().unwrap().to_owned();
        let code = revealed(directory.path(), &challenge);
        // Wrong first, which spends it; or right.
        if round % 2 == 0 {
            let wrong = json!({"challenge_id": challenge, "code": "XXXX-XXXX-XXXX-XXXX-XXXX-XXXX-XX"});
            client.create("verify_challenge", wrong);
        }
        let given = client.create("verify_challenge", json!({"challenge_id": challenge, "code": code}));
        assert_eq!(given["success"], round % 2 == 1, "{given}");
        assert_eq!(is_blocked(directory.path(), &name), round % 2 == 0);
        codes.push(code);
    }
    let seen = seen(&mut client);
    let kept: String = ["safety.db", "safety.db-wal"]
        .iter()
        .filter_map(|file| std::fs::read(directory.path().join("data").join(file)).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect();
    let audit = super::audit_text(directory.path());
    for code in codes {
        let bare: String = code.chars().filter(char::is_ascii_alphanumeric).collect();
        for form in [code.clone(), code.to_lowercase(), bare.clone(), bare.to_lowercase()] {
            assert!(!seen.contains(&form), "{form} was sent");
            assert!(!kept.contains(&form), "{form} is kept");
            assert!(!audit.contains(&form), "{form} is in the audit log");
        }
    }
}
