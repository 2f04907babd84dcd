//! kill -9 between a decision and its call: what was spent stays spent, and nothing runs that was not decided.

use std::time::Duration;

use serde_json::{Value, json};

use super::{code, delete, exists, operator};
use crate::harness::{Client, Era, Setup, data, wait_for};

const ERA: Era = Era::Initialize("2025-06-18");

fn setup(directory: &std::path::Path) -> Setup {
    // Tokens that outlive their session, so that a restart could bring one back to life.
    let config = "[safety]\npersist_tokens = true\nhold_seconds = 0\n";
    Setup::new(directory).env("AQUEDUCT_CONFIRMATION", "token").config(config)
}

fn token(client: &mut Client, id: &str) -> String {
    let answer = delete(client, id);
    answer["error"]["details"]["confirmation_token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn with(client: &mut Client, id: &str, token: &str) -> Value {
    client.delete("delete_entity", json!({"entity_id": id, "confirmation_token": token}))
}

/// Sends the call without waiting for an answer that may never come.
fn fire(client: &mut Client, id: &str, params: Value) {
    let arguments = json!({"operation": "delete_entity", "params": params});
    let params = json!({"name": "mcp_aql_delete", "arguments": arguments});
    let frame = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    client.stdio().try_send(frame.to_string().as_bytes());
}

/// LREQ-TOKEN-10
#[test]
fn a_token_whose_call_died_is_spent_if_that_was_on_disk_and_whole_if_not() {
    for (point, spent) in [("token.spending", false), ("token.spent", true)] {
        let directory = data();
        let mut client = setup(directory.path()).stdio(ERA);
        let id = client.new_item("Between");
        let token = token(&mut client, &id);
        drop(client);
        let mut dying = setup(directory.path()).env("AQUEDUCT_FAILPOINT", point).stdio(ERA);
        fire(&mut dying, "x", json!({"entity_id": id, "confirmation_token": token}));
        dying.stdio().process.wait();
        drop(dying);
        let mut client = setup(directory.path()).stdio(ERA);
        assert!(exists(&mut client, &id), "{point}: nothing ran");
        let answer = with(&mut client, &id, &token);
        match spent {
            true => assert_eq!(code(&answer), "TOKEN_ALREADY_USED", "{point}"),
            false => assert_eq!(answer["success"], true, "{point}: {answer}"),
        }
        assert!(operator(directory.path(), &["verify-audit"]).status.success(), "{point}");
    }
}

/// What destroys is written down before it runs.
#[test]
fn a_call_that_could_not_be_written_down_does_not_run() {
    for point in ["audit.adding", "audit.added"] {
        let directory = data();
        let mut client = Setup::new(directory.path()).stdio(ERA);
        let id = client.new_item("Noted");
        drop(client);
        let mut dying = Setup::new(directory.path()).env("AQUEDUCT_FAILPOINT", point).stdio(ERA);
        fire(&mut dying, "x", json!({"entity_id": id}));
        dying.stdio().process.wait();
        drop(dying);
        let mut client = Setup::new(directory.path()).stdio(ERA);
        assert!(exists(&mut client, &id), "{point}");
        assert!(operator(directory.path(), &["verify-audit"]).status.success(), "{point}");
    }
}

#[test]
fn an_approval_whose_call_died_is_not_alive_again() {
    for point in ["approval.claiming", "approval.claimed"] {
        let directory = data();
        let asking = |point: &str| {
            Setup::new(directory.path())
                .asking()
                .config("[safety]\nhold_seconds = 0\n")
                .env("AQUEDUCT_FAILPOINT", point)
        };
        let mut client = asking("").stdio(ERA);
        let id = client.new_item("Asked");
        drop(client);
        let mut dying = asking(point).stdio(ERA);
        fire(&mut dying, "x", json!({"entity_id": id}));
        dying.stdio().process.wait();
        drop(dying);
        let mut client = asking("").stdio(ERA);
        assert!(exists(&mut client, &id), "{point}");
        assert_eq!(code(&delete(&mut client, &id)), "CONFIRMATION_REQUIRED", "{point}");
        assert!(operator(directory.path(), &["verify-audit"]).status.success(), "{point}");
    }
}

/// A hundred deaths somewhere between the token and the call's end.
#[test]
fn however_a_process_dies_a_token_runs_one_call_or_none() {
    let directory = data();
    let mut client = setup(directory.path()).stdio(ERA);
    for round in 0..100_u64 {
        let id = client.new_item(&format!("Round{round}"));
        let token = token(&mut client, &id);
        fire(&mut client, "dying", json!({"entity_id": id, "confirmation_token": token}));
        // From before the frame is read to after the call is done; a step of 53 visits the range unevenly.
        wait_for(Duration::from_micros((round * 53 % 100) * 60));
        client.stdio().process.child.kill().unwrap();
        client.stdio().process.wait();
        client = setup(directory.path()).stdio(ERA);
        let gone = !exists(&mut client, &id);
        let answer = with(&mut client, &id, &token);
        match (gone, code(&answer)) {
            // It had not been spent: it may run now, once.
            (false, "none") => assert_eq!(code(&with(&mut client, &id, &token)), "TOKEN_ALREADY_USED"),
            (_, "TOKEN_ALREADY_USED") => {}
            (gone, other) => panic!("round {round}: gone: {gone}, then {other}: {answer}"),
        }
    }
    assert!(operator(directory.path(), &["verify-audit"]).status.success());
}
