use super::*;
use crate::harness::{Era, WIRES, data};

const STDIO: Era = Era::Initialize("2025-11-25");

/// REQ-LOOP-04 REQ-LOOP-06 REQ-LOOP-15 REQ-LOOP-17 REQ-AUTO-10 REQ-OOB-09 REQ-OOB-11 REQ-OOB-15 REQ-OOB-17
#[test]
fn an_agent_is_started_by_a_person_stopped_by_a_pattern_and_released_by_a_code() {
    for wire in WIRES {
        let directory = data();
        let mut client = enforcing(directory.path()).connect(wire);
        let operator = Operator::of(directory.path());
        let asked = client.execute("execute_agent", json!({"element_name": "a1"}));
        assert_eq!(code(&asked), "CONFIRMATION_REQUIRED", "{wire:?} {asked}");
        assert!(asked["error"]["details"].get("confirmation_token").is_none(), "{asked}");
        let refused = report(&mut client, "a1", "list files");
        assert_eq!(code(&refused), "CONFLICT_INVALID_STATE", "{refused}");
        let started = start(&mut client, &operator, "a1");
        assert_eq!(started["data"]["status"], "running", "{wire:?} {started}");
        assert!(started["data"]["execution_id"].is_string());

        let told = step(&mut client, "a1", "listing the files");
        assert_eq!((&told["continue"], told.get("notifications")), (&json!(true), None), "{told}");
        let told = step(&mut client, "a1", "rm -rf /tmp/x");
        assert_eq!((&told["continue"], &told["stopped"]), (&json!(false), &json!(true)));
        let challenge = verification_id(&told, "danger_zone");
        for operation in ["execute_agent", "complete_execution"] {
            let mut refused = client.execute(operation, json!({"element_name": "A1\u{200b}"}));
            if code(&refused) == "CONFIRMATION_REQUIRED" {
                refused = start(&mut client, &operator, "a1");
            }
            assert_eq!(code(&refused), "PERMISSION_DENIED", "{refused}");
            assert_eq!(refused["error"]["details"]["challenge_id"], json!(challenge));
        }
        assert_eq!(code(&report(&mut client, "a1", "listing the files")), "PERMISSION_DENIED");

        let given = operator.reveal(&challenge);
        let verified =
            client.create("verify_challenge", json!({"verification_id": challenge, "code": given}));
        assert_eq!(verified["data"]["verified"], true, "{verified}");
        assert_eq!(code(&verify(&mut client, &challenge, &given)), "PERMISSION_DENIED", "no replay");
        assert_eq!(step(&mut client, "a1", "listing the files")["continue"], true);
        let done = client.execute("complete_execution", json!({"element_name": "a1", "summary": "done"}));
        assert_eq!(done["data"]["status"], "completed", "{done}");
        assert_eq!(code(&report(&mut client, "a1", "more")), "CONFLICT_INVALID_STATE");
    }
}

/// REQ-OOB-16 REQ-OOB-20 REQ-OOB-24
#[test]
fn a_kill_ends_pauses_and_no_block() {
    let directory = data();
    let setup = enforcing(directory.path());
    let mut client = setup.stdio(STDIO);
    let operator = Operator::of(directory.path());
    for agent in ["a1", "a3"] {
        assert_eq!(start(&mut client, &operator, agent)["success"], true);
    }
    step(&mut client, "a1", "rm -rf /");
    let told = step(&mut client, "a3", "permanently overwriting the report");
    assert_eq!((&told["nextStepRisk"], told.get("stopped")), (&json!("verify"), None), "{told}");
    client.stdio().process.child.kill().unwrap();
    drop(client);

    let mut client = setup.stdio(STDIO);
    let refused = start(&mut client, &operator, "a1");
    assert_eq!(code(&refused), "PERMISSION_DENIED", "{refused}");
    for agent in ["a2", "a3"] {
        assert_eq!(start(&mut client, &operator, agent)["success"], true);
        assert_eq!(step(&mut client, agent, "listing the files")["continue"], true);
    }
    assert_eq!(operator.blocks(), ["a1"]);
    assert_eq!(operator.unblock("a1").unwrap().agent, "a1");
    assert_eq!(start(&mut client, &operator, "a1")["success"], true);
    assert_eq!(operator.count("AGENT_UNBLOCKED"), 1);
}

/// REQ-OOB-18 REQ-NOTIF-06
#[test]
fn a_block_holds_in_every_process_on_the_directory() {
    let directory = data();
    let setup = enforcing(directory.path());
    let (mut one, mut other) = (setup.stdio(STDIO), setup.stdio(STDIO));
    let operator = Operator::of(directory.path());
    assert_eq!(start(&mut one, &operator, "a1")["success"], true);
    assert_eq!(start(&mut other, &operator, "a2")["success"], true);
    step(&mut other, "a2", "listing the files");
    let id = other.new_item("before");
    assert!(!id.is_empty());
    let challenge = verification_id(&step(&mut one, "a1", "drop_users"), "danger_zone");
    assert_eq!(code(&start(&mut other, &operator, "a1")), "PERMISSION_DENIED");
    assert_eq!(verification_id(&step(&mut other, "a2", "listing the files"), "danger_zone"), challenge);
    // The principal is the same, so it changes nothing anywhere until somebody has looked.
    let params = json!({"entity_name": "after", "entity_type": "item", "description": "x"});
    assert_eq!(code(&other.create("create_entity", params.clone())), "PERMISSION_DENIED");
    let given = operator.reveal(&challenge);
    assert_eq!(verify(&mut other, &challenge, &given)["success"], true);
    assert_eq!(other.create("create_entity", params)["success"], true);
    assert_eq!(step(&mut one, "a1", "listing the files")["continue"], true);
}

/// REQ-LOOP-09 conflict 54
#[test]
fn giving_up_ends_the_execution_and_not_the_block() {
    let directory = data();
    let mut client = enforcing(directory.path()).stdio(STDIO);
    let operator = Operator::of(directory.path());
    start(&mut client, &operator, "a1");
    step(&mut client, "a1", "rm -rf /");
    let aborted = client.execute("abort_execution", json!({"element_name": "a1", "reason": "stopped"}));
    assert_eq!(aborted["data"]["status"], "cancelled", "{aborted}");
    assert_eq!(code(&start(&mut client, &operator, "a1")), "PERMISSION_DENIED");
}
