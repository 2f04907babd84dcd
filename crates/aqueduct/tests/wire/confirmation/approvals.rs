//! `confirmation = "operator"`, the default: a call waits until the operator has answered on their own side.

use serde_json::{Value, json};

use super::{code, delete, events, exists, operator, pending, told};
use crate::harness::{Client, Era, Setup, WIRES, data};

fn quick(directory: &std::path::Path) -> Setup {
    Setup::new(directory).asking().config("[safety]\nhold_seconds = 0\n")
}

fn approval_of(answer: &Value) -> String {
    assert_eq!(code(answer), "CONFIRMATION_REQUIRED", "{answer}");
    let details = &answer["error"]["details"];
    assert!(details.get("confirmation_token").is_none(), "the agent gets no token: {details}");
    details["approval_id"].as_str().unwrap().to_owned()
}

/// LREQ-DANGER-14 LREQ-GATE-04: by default somebody is asked, and nothing the agent has lets it answer.
#[test]
fn a_delete_runs_once_after_the_operator_approved_it() {
    for wire in WIRES {
        let directory = data();
        let mut client = quick(directory.path()).connect(wire);
        let id = client.new_item("Precious");
        let approval = approval_of(&delete(&mut client, &id));
        assert_eq!(
            approval_of(&delete(&mut client, &id)),
            approval,
            "asked once, however often it is called"
        );
        let waiting = pending(directory.path());
        assert_eq!(waiting.as_array().unwrap().len(), 1);
        assert_eq!(
            (&waiting[0]["id"], &waiting[0]["operation"]),
            (&json!(approval), &json!("delete_entity"))
        );
        assert_eq!(waiting[0]["params"]["entity_id"], json!(id));
        let unknown =
            client.delete("delete_entity", json!({"entity_id": id, "confirmation_token": approval}));
        assert_eq!(code(&unknown), "VALIDATION_UNKNOWN_PARAM", "there are no tokens here");
        assert!(exists(&mut client, &id));

        assert!(operator(directory.path(), &["approve", &approval]).status.success());
        let other = client.new_item("Other");
        assert_ne!(approval_of(&delete(&mut client, &other)), approval, "it is for the one call");
        let answer = delete(&mut client, &id);
        assert_eq!(answer["success"], true, "{wire:?} {answer}");
        assert!(!exists(&mut client, &id) && exists(&mut client, &other));
        approval_of(&delete(&mut client, &id));
        let again = operator(directory.path(), &["approve", &approval]);
        assert!(!again.status.success(), "it is over");
    }
}

/// The call that waits is released by the answer.
#[test]
fn a_held_call_goes_on_as_soon_as_it_is_approved() {
    let directory = data();
    let mut client = Setup::new(directory.path()).asking().stdio(Era::Initialize("2025-11-25"));
    let id = client.new_item("Held");
    let params = json!({"name": "mcp_aql_delete", "_meta": {"progressToken": "p"},
        "arguments": {"operation": "delete_entity", "params": {"entity_id": id}}});
    let request = client.new_id();
    let frame = client.frame(request, "tools/call", params);
    client.stdio().send(frame.to_string().as_bytes());
    let approval = pending(directory.path())[0]["id"].as_str().unwrap().to_owned();
    // Others go on meanwhile.
    assert!(exists(&mut client, &id));
    assert!(operator(directory.path(), &["approve", &approval]).status.success());
    let answer = client.stdio().answer(&json!(request));
    assert!(answer.to_string().contains("\\\"success\\\":true"), "{answer}");
    assert!(!exists(&mut client, &id));
    let expected = ["CONFIRMATION_REQUIRED", "APPROVAL_GIVEN", "CONFIRMATION_GRANTED"];
    assert_eq!(events(directory.path()), expected);
    assert!(operator(directory.path(), &["verify-audit"]).status.success());
}

#[test]
fn what_the_operator_refuses_does_not_run() {
    let directory = data();
    let mut client = quick(directory.path()).connect(WIRES[4]);
    let id = client.new_item("Refused");
    let approval = approval_of(&delete(&mut client, &id));
    assert!(operator(directory.path(), &["deny", &approval]).status.success());
    for _ in 0..2 {
        assert_eq!(code(&delete(&mut client, &id)), "PERMISSION_DENIED", "it is not asked again at once");
    }
    assert!(exists(&mut client, &id));
    assert_eq!(told(directory.path(), &["pending"])["approvals"], json!([]));
}

/// Another session of the same client has to ask for itself, and so has a server that was started anew.
#[test]
fn an_approval_is_worth_nothing_in_another_session_or_after_a_restart() {
    let directory = data();
    let server = quick(directory.path()).http();
    let mut one = Client::http(server.clone(), Era::Initialize("2025-11-25"));
    let id = one.new_item("Bound");
    let approval = approval_of(&delete(&mut one, &id));
    operator(directory.path(), &["approve", &approval]);
    let mut other = Client::http(server.clone(), Era::Initialize("2025-11-25"));
    assert_ne!(approval_of(&delete(&mut other, &id)), approval);
    drop((one, other, server));
    let mut after = quick(directory.path()).connect(WIRES[5]);
    assert_ne!(approval_of(&delete(&mut after, &id)), approval);
    assert!(exists(&mut after, &id));
}

/// REQ-BATCH-10 with conflicts 72: the approval stands where the token would.
#[test]
fn a_batch_halts_where_somebody_has_to_be_asked() {
    let directory = data();
    let mut client = Setup::new(directory.path()).asking().connect(WIRES[3]);
    let (one, two) = (client.new_item("One"), client.new_item("Two"));
    let entry = |id: &str| json!({"operation": "delete_entity", "params": {"entity_id": id}});
    let batch = json!({"operations": [entry(&one), entry(&two)]});
    let answer = client.call("mcp_aql_delete", batch.clone());
    let halted = &answer["halted_at"]["result"];
    let approval = approval_of(halted);
    assert_eq!(answer["pending_operations"][0]["params"]["entity_id"], json!(two));
    assert!(exists(&mut client, &one) && exists(&mut client, &two));
    operator(directory.path(), &["approve", &approval]);
    let answer = client.call("mcp_aql_delete", batch);
    assert_eq!(answer["results"][0]["result"]["success"], true, "{answer}");
    assert_eq!(answer["halted_at"]["index"], 1);
    assert!(!exists(&mut client, &one) && exists(&mut client, &two));
}

/// A workflow is no way around: its steps pass the same gate.
#[test]
fn a_step_of_a_workflow_is_asked_for_too() {
    let directory = data();
    let mut client = quick(directory.path()).connect(WIRES[1]);
    let id = client.new_item("Worked");
    let steps = json!([{"name": "remove", "operation": "delete_entity", "params": {"entity_id": id}}]);
    let workflow = json!({"entity_name": "w", "entity_type": "workflow", "description": "d", "metadata": {"steps": steps}});
    let created = client.create("create_entity", workflow);
    assert_eq!(created["success"], true, "{created}");
    let ran = client.execute("execute_workflow", json!({"entity_name": "w", "wait_seconds": 50}));
    assert!(ran.to_string().contains("CONFIRMATION_REQUIRED"), "{ran}");
    assert!(exists(&mut client, &id));
}

/// No store, no decision.
#[test]
fn without_its_store_nothing_dangerous_runs() {
    let directory = data();
    let mut client = quick(directory.path()).connect(WIRES[1]);
    let id = client.new_item("Safe");
    let database = directory.path().join("data/safety.db");
    for suffix in ["", "-wal", "-shm"] {
        let file = directory.path().join(format!("data/safety.db{suffix}"));
        if file.exists() {
            std::fs::write(&file, vec![0x5a; 8192]).unwrap();
        }
    }
    assert!(database.exists());
    let answer = delete(&mut client, &id);
    assert_eq!(code(&answer), "PERMISSION_DENIED", "{answer}");
    assert!(exists(&mut client, &id), "what reads works");
    assert_eq!(client.new_item("Another").len(), id.len(), "and what only adds does, too");
}

/// REQ-SESS-03: what a client that goes away had asked for goes with it.
#[test]
fn questions_of_a_session_end_with_it() {
    let directory = data();
    let server = quick(directory.path()).http();
    let mut client = Client::http(server.clone(), Era::Initialize("2025-11-25"));
    let id = client.new_item("Left");
    approval_of(&delete(&mut client, &id));
    pending(directory.path());
    let Some(session) = (match &client.link {
        crate::harness::Link::Http(link) => link.session.clone(),
        crate::harness::Link::Stdio(_) => None,
    }) else {
        panic!("no session")
    };
    server.delete(&[("mcp-session-id", &session)]);
    let deadline = std::time::Instant::now() + crate::harness::PATIENCE;
    while told(directory.path(), &["pending"])["approvals"] != json!([]) {
        assert!(std::time::Instant::now() < deadline, "it still waits");
        crate::harness::pause();
    }
    assert!(events(directory.path()).contains(&"APPROVAL_REVOKED".to_owned()));
}
