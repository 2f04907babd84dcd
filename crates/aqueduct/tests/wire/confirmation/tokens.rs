//! `confirmation = "token"`: the specification's own flow, where the caller gets the token.

use serde_json::{Value, json};

use super::{code, delete, events, exists};
use crate::harness::{Client, Era, Setup, WIRES, data};

fn setup(directory: &std::path::Path) -> Setup {
    Setup::new(directory).env("AQUEDUCT_CONFIRMATION", "token")
}

fn token_of(answer: &Value) -> String {
    assert_eq!(code(answer), "CONFIRMATION_REQUIRED", "{answer}");
    answer["error"]["details"]["confirmation_token"].as_str().unwrap().to_owned()
}

fn delete_with(client: &mut Client, id: &str, token: &str) -> Value {
    client.delete("delete_entity", json!({"entity_id": id, "confirmation_token": token}))
}

/// REQ-CONF-01 REQ-CONF-02 REQ-CONF-03 REQ-CONF-04 LREQ-TOKEN-01 LREQ-TOKEN-02 LREQ-GATE-06 LREQ-DANGER-14
#[test]
fn a_delete_waits_for_its_token_and_runs_with_it() {
    for wire in WIRES {
        let directory = data();
        let mut client = setup(directory.path()).connect(wire);
        let id = client.new_item("Precious");
        let answer = delete(&mut client, &id);
        let token = token_of(&answer);
        let error = &answer["error"];
        assert_eq!(error["message"], "This operation requires confirmation");
        let details = &error["details"];
        assert_eq!(
            (&details["operation"], &details["danger_level"]),
            (&json!("delete_entity"), &json!("destructive"))
        );
        assert!(details["reasons"].as_array().is_some_and(|reasons| !reasons.is_empty()), "{details}");
        let expires: jiff::Timestamp = details["expires_at"].as_str().unwrap().parse().unwrap();
        let left = expires.duration_since(jiff::Timestamp::now()).as_secs();
        assert!((270..=300).contains(&left), "{left}");
        assert!(token.starts_with("conf_") && token.len() >= 8 + 40 && token.len() <= 80, "{token}");
        assert!(exists(&mut client, &id));

        let answer = delete_with(&mut client, &id, &token);
        assert_eq!(answer["success"], true, "{wire:?} {answer}");
        assert!(!exists(&mut client, &id));
        let second = client.new_item("Second");
        let token = token_of(&delete(&mut client, &second));
        let answer = client.delete("delete_entity", json!({"entity_id": second, "_confirmation": token}));
        assert_eq!(answer["success"], true, "{answer}");
        let third = client.new_item("Third");
        let token = token_of(&delete(&mut client, &third));
        let both =
            json!({"entity_id": third, "_confirmation": token, "confirmation_token": format!("{token}x")});
        assert!(code(&client.delete("delete_entity", both)).starts_with("VALIDATION_"));
        assert!(exists(&mut client, &third));

        let listed = client.introspect(json!({"query": "operations", "name": "delete_entity"}));
        let params = listed["data"]["operation"]["parameters"].as_array().unwrap().clone();
        let listed = params.iter().find(|param| param["name"] == "confirmation_token").unwrap();
        assert_eq!(listed["required"], false);
        let protocol = client.introspect(json!({"query": "operations"}))["data"]["_protocol"].clone();
        assert_eq!(protocol["capabilities"]["confirmation"], true);
        let ungated = client.read("list_entities", json!({"confirmation_token": "conf_x"}));
        assert_eq!(code(&ungated), "VALIDATION_UNKNOWN_PARAM");
    }
}

/// REQ-CONF-04 LREQ-GATE-01
#[test]
fn with_confirmation_off_a_delete_runs_at_once() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let id = client.new_item("Gone");
    assert_eq!(delete(&mut client, &id)["success"], true);
    let protocol = client.introspect(json!({"query": "operations"}))["data"]["_protocol"].clone();
    assert_eq!(protocol["capabilities"]["confirmation"], false);
    assert_eq!(events(directory.path()), ["OPERATION_ALLOWED"], "what destroys is written down all the same");
}

/// LREQ-TOKEN-03 LREQ-TOKEN-04 LREQ-TOKEN-06 LREQ-TOKEN-14 LREQ-TOKEN-15
#[test]
fn no_other_call_runs_with_a_token() {
    let directory = data();
    let mut client = setup(directory.path()).connect(WIRES[1]);
    let (one, other) = (client.new_item("One"), client.new_item("Other"));
    let token = token_of(&delete(&mut client, &one));
    assert_eq!(code(&delete_with(&mut client, &other, &token)), "TOKEN_SCOPE_MISMATCH");
    let mut unknown = Vec::new();
    let changed = |place: usize| {
        let mut bytes = token.clone().into_bytes();
        bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).unwrap()
    };
    let guesses = [
        "conf_x".to_owned(),
        "garbage".to_owned(),
        token.to_uppercase(),
        changed(5),
        changed(token.len() - 2),
    ];
    for guess in &guesses {
        let answer = delete_with(&mut client, &one, guess);
        assert_eq!(code(&answer), "TOKEN_INVALID", "{guess}");
        let mut error = answer["error"].clone();
        assert_eq!(error["details"]["token"], json!(guess));
        error["details"]["token"] = Value::Null;
        unknown.push(error);
        assert!(!answer.to_string().contains(&one), "parameters are not repeated: {answer}");
    }
    assert!(unknown.iter().all(|error| *error == unknown[0]), "{unknown:?}");
    assert!(exists(&mut client, &one) && exists(&mut client, &other));
    assert_eq!(delete_with(&mut client, &one, &token)["success"], true, "the right call still runs");
    assert_eq!(code(&delete_with(&mut client, &one, &token)), "TOKEN_ALREADY_USED");
    assert!(exists(&mut client, &other));
}

/// REQ-SESS-04 REQ-SESS-05 REQ-SESS-13
#[test]
fn a_token_is_worth_nothing_in_another_session() {
    let directory = data();
    let server = setup(directory.path()).http();
    let mut one = Client::http(server.clone(), Era::Initialize("2025-11-25"));
    let mut other = Client::http(server, Era::Initialize("2025-11-25"));
    let id = one.new_item("Mine");
    let token = token_of(&delete(&mut one, &id));
    assert_eq!(code(&delete_with(&mut other, &id, &token)), "TOKEN_INVALID");
    let claimed = json!({"name": "mcp_aql_delete",
        "arguments": {"operation": "delete_entity", "params": {"entity_id": id, "confirmation_token": token}},
        "_meta": {"session_id": one.session_id(), "user": "admin"}});
    let answer = other.request("tools/call", claimed);
    assert!(answer.to_string().contains("TOKEN_INVALID"), "{answer}");
    assert!(exists(&mut one, &id));
    assert_eq!(delete_with(&mut one, &id, &token)["success"], true);
}

/// REQ-SESS-05: unless the operator wants that.
#[test]
fn tokens_outlive_their_session_where_that_is_configured() {
    let directory = data();
    let setup = setup(directory.path()).config("[safety]\npersist_tokens = true\n");
    let mut first = setup.connect(WIRES[0]);
    let id = first.new_item("Kept");
    let token = token_of(&delete(&mut first, &id));
    drop(first);
    let mut second = setup.connect(WIRES[0]);
    assert_eq!(delete_with(&mut second, &id, &token)["success"], true);
}

/// LREQ-TOKEN-11
#[test]
fn a_token_can_be_good_for_several_calls() {
    let directory = data();
    let mut client = setup(directory.path()).config("[safety]\ntoken_uses = 2\n").connect(WIRES[0]);
    let id = client.new_item("Twice");
    let token = token_of(&delete(&mut client, &id));
    assert_eq!(delete_with(&mut client, &id, &token)["success"], true);
    assert_eq!(
        code(&delete_with(&mut client, &id, &token)),
        "NOT_FOUND_RESOURCE",
        "it got as far as the store"
    );
    assert_eq!(code(&delete_with(&mut client, &id, &token)), "TOKEN_ALREADY_USED");
}

/// LREQ-TOKEN-10: spent before the call runs, whatever comes of it.
#[test]
fn a_call_that_fails_has_spent_its_token() {
    let directory = data();
    let mut client = setup(directory.path()).connect(WIRES[0]);
    let missing = "00000000-0000-4000-8000-000000000000";
    let token = token_of(&delete(&mut client, missing));
    assert_eq!(code(&delete_with(&mut client, missing, &token)), "NOT_FOUND_RESOURCE");
    assert_eq!(code(&delete_with(&mut client, missing, &token)), "TOKEN_ALREADY_USED");
}

/// LREQ-TOKEN-17
#[test]
fn guessing_is_limited() {
    let directory = data();
    let mut client = setup(directory.path()).connect(WIRES[0]);
    let id = client.new_item("Guarded");
    let codes: Vec<String> =
        (0..80).map(|n| code(&delete_with(&mut client, &id, &format!("conf_{n}"))).to_owned()).collect();
    assert_eq!(codes[0], "TOKEN_INVALID");
    assert_eq!(codes[79], "RATE_LIMIT_EXCEEDED", "{codes:?}");
    assert!(exists(&mut client, &id));
}

/// REQ-BATCH-10 LREQ-GATE-08
#[test]
fn no_way_of_writing_a_call_goes_past_the_gate() {
    let directory = data();
    let mut client = setup(directory.path()).connect(WIRES[2]);
    let id = client.new_item("Stays");
    let flat = client.call("mcp_aql_delete", json!({"operation": "delete_entity", "entity_id": id}));
    let nested = delete(&mut client, &id);
    for answer in [&flat, &nested] {
        token_of(answer);
    }
    let entry = json!({"operation": "delete_entity", "params": {"entity_id": id}});
    let batch = client.call("mcp_aql_delete", json!({"operations": [entry, entry]}));
    assert_eq!(batch["halted_at"]["result"]["error"]["code"], "CONFIRMATION_REQUIRED", "{batch}");
    assert_eq!(batch["summary"]["pending"], 1);
    let spelled =
        client.call("mcp_aql_delete", json!({"operation": "Delete_Entity", "params": {"entity_id": id}}));
    assert_eq!(code(&spelled), "NOT_FOUND_OPERATION");
    assert!(exists(&mut client, &id));
    // The token of one way of writing it is good for the other.
    let moved =
        json!({"operation": "delete_entity", "entity_id": id, "confirmation_token": token_of(&nested)});
    assert_eq!(client.call("mcp_aql_delete", moved)["success"], true);
}

/// A dry run is decided as a READ.
#[test]
fn a_dry_run_asks_nobody() {
    let directory = data();
    let mut client = setup(directory.path()).connect(WIRES[0]);
    let id = client.new_item("Tried");
    let tried = client.delete("delete_entity", json!({"entity_id": id, "dry_run": true}));
    assert_eq!(tried["success"], true, "{tried}");
    assert!(exists(&mut client, &id));
    assert!(events(directory.path()).is_empty());
}

/// LREQ-TOKEN-16 LREQ-DANGER-15 LREQ-TRUST-10 LREQ-GATE-07 REQ-SESS-14
#[test]
fn every_step_is_in_the_audit_log_and_the_token_is_not() {
    let directory = data();
    let mut client = setup(directory.path()).connect(WIRES[0]);
    let id = client.new_item("Noted");
    let token = token_of(&delete(&mut client, &id));
    delete_with(&mut client, &id, "conf_wrong");
    delete_with(&mut client, &id, &token);
    let session = client.session_id();
    let audit = super::audit(directory.path());
    let events: Vec<&str> = audit.iter().map(|entry| entry["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["TOKEN_ISSUED", "TOKEN_REJECTED", "TOKEN_VALIDATED"]);
    for entry in &audit {
        assert_eq!(
            (&entry["session_id"], &entry["operation"]),
            (&json!(session), &json!("delete_entity")),
            "{entry}"
        );
        assert!(!entry.to_string().contains(&token), "{entry}");
    }
    assert_eq!(audit[0]["adapter_trust"], "certified");
    assert_eq!(audit[0]["danger_level"], "destructive");
}
