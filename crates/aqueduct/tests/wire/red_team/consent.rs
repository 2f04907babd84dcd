//! Getting a call through that nobody agreed to.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{agent, operations, seen};
use crate::{
    confirmation::{events, operator, pending},
    harness::{Client, Era, Setup, WIRES, data},
};

fn default(directory: &std::path::Path) -> Setup {
    Setup::new(directory).asking().config("[safety]\nhold_seconds = 0\n")
}

fn delete(client: &mut Client, id: &str) -> Value {
    client.delete("delete_entity", json!({"entity_id": id}))
}

fn approval_id(answer: &Value) -> String {
    answer["error"]["details"]["approval_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn is_there(client: &mut Client, id: &str) -> bool {
    client.read("get_entity", json!({"entity_id": id}))["success"] == true
}

/// REQ-NOTIF-09: nothing that an agent can say approves what it asked for.
#[test]
fn an_agent_cannot_approve_for_itself() {
    let directory = data();
    let mut client = agent(&default(directory.path()));
    let id = client.new_item("Target");
    let approval = approval_id(&delete(&mut client, &id));
    let guesses = [
        json!({"entity_id": id, "approval_id": approval}),
        json!({"entity_id": id, "confirmation_token": approval}),
        json!({"entity_id": id, "_confirmation": approval}),
        json!({"entity_id": id, "approved": true}),
        json!({"entity_id": id, "confirm": true, "force": true}),
        json!({"entity_id": id, "principal": "operator"}),
        json!({"entity_id": id, "dry_run": "false"}),
    ];
    for params in guesses {
        assert_eq!(client.delete("delete_entity", params.clone())["success"], false, "{params}");
    }
    for meta in [
        json!({"approval_id": approval, "approved": true}),
        json!({"principal": "operator", "session_id": "x"}),
    ] {
        let arguments = json!({"operation": "delete_entity", "params": {"entity_id": id}, "_meta": meta});
        client
            .request("tools/call", json!({"name": "mcp_aql_delete", "arguments": arguments, "_meta": meta}));
        client.request(
            "tools/call",
            json!({"name": "mcp_aql_delete",
            "arguments": {"operation": "delete_entity", "params": {"entity_id": id}}, "_meta": meta}),
        );
    }
    // Whatever is there or might be is tried with the approval in every place.
    let invented =
        ["approve", "operator_approve", "confirm_operation", "approve_call", "answer_approval", "grant"];
    let mut all = operations(&mut client);
    all.extend(invented.iter().flat_map(|name| {
        let tools = ["mcp_aql_create", "mcp_aql_execute", "mcp_aql_update"];
        tools.map(|tool| ((*name).to_owned(), tool.to_owned()))
    }));
    for (operation, tool) in all {
        let params =
            json!({"approval_id": approval, "id": approval, "operation": "delete_entity", "approve": true});
        client.call(&tool, json!({"operation": operation, "params": params}));
        client.call(&tool, json!({"operation": operation, "params": {"confirmation_token": approval}}));
    }
    for method in
        ["operator/approve", "approvals/answer", "resources/read", "prompts/get", "completion/complete"]
    {
        client.request(
            method,
            json!({"id": approval, "uri": format!("approval:{approval}"), "name": approval}),
        );
    }
    assert!(is_there(&mut client, &id));
    assert!(!events(directory.path()).contains(&"APPROVAL_GIVEN".to_owned()));
    assert!(operator(directory.path(), &["verify-audit"]).status.success());
    // And nothing of what the operator's side lives on was ever said.
    let seen = seen(&mut client);
    for secret in ["operator.key", "cursor.key", "verification.key"] {
        let Ok(key) = std::fs::read(directory.path().join("data").join(secret)) else { continue };
        assert!(!seen.contains(String::from_utf8_lossy(&key).trim()), "{secret} was said");
    }
    assert!(!seen.contains("operator.key"), "not even where it is");
}

/// What was approved is for the call that was shown.
#[test]
fn an_approved_call_cannot_be_swapped_for_another() {
    let directory = data();
    let mut client = agent(&default(directory.path()));
    let (shown, other) = (client.new_item("Shown"), client.new_item("Other"));
    let approval = approval_id(&delete(&mut client, &shown));
    operator(directory.path(), &["approve", &approval]);
    for params in [
        json!({"entity_id": other}),
        json!({"entity_id": other, "approval_id": approval}),
        json!({"entity_name": "Other"}),
        json!({"entity_id": shown, "if_match": "x"}),
    ] {
        assert_eq!(client.delete("delete_entity", params.clone())["success"], false, "{params}");
    }
    assert!(is_there(&mut client, &other) && is_there(&mut client, &shown));
    assert_eq!(delete(&mut client, &shown)["success"], true, "the one that was shown runs");
    assert_eq!(delete(&mut client, &shown)["success"], false, "once");
}

/// LREQ-TOKEN-10 LREQ-TOKEN-14: of everything that is sent at once with one token, one runs.
#[test]
fn a_token_cannot_be_raced() {
    let directory = data();
    let setup = Setup::new(directory.path())
        .env("AQUEDUCT_CONFIRMATION", "token")
        .config("[safety]\ntoken_uses = 1\n");
    let server = setup.http();
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    // Few enough that guessing is not what ends it.
    for round in 0..3 {
        let id = client.new_item(&format!("Raced{round}"));
        let answer = delete(&mut client, &id);
        let token = answer["error"]["details"]["confirmation_token"].as_str().unwrap().to_owned();
        let won: usize = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        let mut racer = Client::http(Arc::clone(&server), Era::Stateless);
                        let params = json!({"entity_id": id, "confirmation_token": token});
                        let answer = racer.delete("delete_entity", params);
                        usize::from(answer["success"] == true)
                    })
                })
                .collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).sum()
        });
        assert_eq!(won, 1, "round {round}");
    }
}

/// The same with two processes on one directory.
#[test]
fn a_token_cannot_be_raced_through_another_process() {
    let directory = data();
    let config = "[safety]\npersist_tokens = true\n";
    let setup = Setup::new(directory.path()).env("AQUEDUCT_CONFIRMATION", "token").config(config);
    let (mut one, mut other) = (setup.connect(WIRES[0]), setup.connect(WIRES[0]));
    for round in 0..10 {
        let id = one.new_item(&format!("Raced{round}"));
        let token =
            delete(&mut one, &id)["error"]["details"]["confirmation_token"].as_str().unwrap().to_owned();
        let params = json!({"entity_id": id, "confirmation_token": token});
        let frame = |id: u64| {
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "mcp_aql_delete",
                "arguments": {"operation": "delete_entity", "params": params}}})
        };
        let (first, second) = (one.new_id(), other.new_id());
        one.stdio().send(frame(first).to_string().as_bytes());
        other.stdio().send(frame(second).to_string().as_bytes());
        let answers = [one.stdio().answer(&json!(first)), other.stdio().answer(&json!(second))];
        let won = answers.iter().filter(|answer| answer.to_string().contains("\\\"success\\\":true")).count();
        assert_eq!(won, 1, "round {round}: {answers:?}");
    }
}

/// LREQ-TOKEN-17: nobody is buried under questions, and others get through.
#[test]
fn a_flood_of_questions_ends_in_a_limit() {
    let directory = data();
    let mut client = agent(&default(directory.path()));
    let mut limited = 0;
    for number in 0..60 {
        let id = format!("00000000-0000-4000-8000-{number:012}");
        limited += usize::from(delete(&mut client, &id)["error"]["code"] == "RATE_LIMIT_EXCEEDED");
    }
    assert_eq!(limited, 44);
    assert_eq!(pending(directory.path()).as_array().unwrap().len(), 16);
}

/// A client that answers every question itself gets nothing by it, unless the operator chose that.
#[test]
fn a_hostile_client_that_answers_everything_gets_nothing_by_it() {
    let directory = data();
    let mut link = default(directory.path()).stdio_link();
    let params = json!({"protocolVersion": "2025-11-25", "clientInfo": {"name": "hostile", "version": "1"},
        "capabilities": {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}});
    link.send(
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string().as_bytes(),
    );
    link.answer(&json!(0));
    link.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let mut client = Client::greeted(link, Era::Initialize("2025-11-25"));
    let id = client.new_item("Target");
    // Answers to questions that were never asked, and to whatever might be.
    for number in 0..20 {
        let result = json!({"action": "accept", "content": {"approve": true}});
        client.stdio().send(json!({"jsonrpc": "2.0", "id": number, "result": result}).to_string().as_bytes());
    }
    let answer = delete(&mut client, &id);
    assert_eq!(answer["error"]["code"], "CONFIRMATION_REQUIRED");
    assert!(is_there(&mut client, &id));

    let mut stateless = default(directory.path()).stdio(Era::Stateless);
    let approval = approval_id(&answer);
    for state in [
        format!("approval.{approval}.AAAA"),
        format!("approval.{approval}."),
        "approval.".to_owned(),
        "aqueduct.1".to_owned(),
    ] {
        let mut params = json!({"name": "mcp_aql_delete",
            "arguments": {"operation": "delete_entity", "params": {"entity_id": id}},
            "_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}});
        params["requestState"] = json!(state);
        params["inputResponses"] = json!({"approval": {"action": "accept", "content": {"approve": true}}});
        stateless.request("tools/call", params);
    }
    assert!(is_there(&mut client, &id));
    assert!(!events(directory.path()).contains(&"APPROVAL_GIVEN".to_owned()));
}

/// Trying again what was refused leaves a trace each time.
#[test]
fn a_repeat_of_what_was_refused_is_written_down() {
    let directory = data();
    let mut client = agent(&default(directory.path()));
    let id = client.new_item("Target");
    let approval = approval_id(&delete(&mut client, &id));
    assert!(operator(directory.path(), &["deny", &approval]).status.success());
    for _ in 0..2 {
        assert_eq!(delete(&mut client, &id)["error"]["code"], "PERMISSION_DENIED");
    }
    let denied = |event: &&Value| {
        event["event"] == "OPERATION_DENIED" && event["reasons"][0] == "it was refused before"
    };
    let log = crate::confirmation::audit(directory.path());
    assert_eq!(log.iter().filter(denied).count(), 2, "{log:?}");
    assert!(is_there(&mut client, &id));
}

/// What decides must be where the operator finds it.
#[test]
fn nothing_is_let_through_once_the_log_is_removed() {
    let directory = data();
    let mut client = agent(&default(directory.path()));
    let id = client.new_item("Target");
    let approval = approval_id(&delete(&mut client, &id));
    assert!(operator(directory.path(), &["approve", &approval]).status.success());
    for file in ["safety.db", "safety.db-wal", "safety.db-shm"] {
        let _ = std::fs::remove_file(directory.path().join("data").join(file));
    }
    let answer = delete(&mut client, &id);
    assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{answer}");
    assert!(is_there(&mut client, &id));
    assert!(seen(&mut client).contains("was removed while it was in use"));
}
