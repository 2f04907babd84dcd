//! Asking the client's user, where the operator allows that: a convenience, not a protection.

use serde_json::{Value, json};

use super::{events, exists};
use crate::{
    harness::{Client, Era, Setup, data},
    upstreams::Place,
};

fn setup(directory: &std::path::Path, more: &str) -> Setup {
    let config = format!("[safety]\nelicitation = true\nhold_seconds = 20\n{more}");
    Setup::new(directory).asking().config(&config)
}

/// A client that declared it can show forms.
fn connect(setup: &Setup) -> Client {
    let mut link = setup.stdio_link();
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"}});
    link.send(
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string().as_bytes(),
    );
    link.answer(&json!(0));
    link.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    Client::greeted(link, Era::Initialize("2025-11-25"))
}

fn frame(id: u64, entity: &str) -> Value {
    let arguments = json!({"operation": "delete_entity", "params": {"entity_id": entity}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "mcp_aql_delete", "arguments": arguments}})
}

/// Answers the question that comes for a call, and returns the call's own answer.
fn answered(client: &mut Client, entity: &str, action: &str, approve: bool) -> Value {
    let id = client.new_id();
    let call = frame(id, entity);
    let link = client.stdio();
    link.send(call.to_string().as_bytes());
    loop {
        let message = link.next();
        if message["method"] == "elicitation/create" {
            let content = json!({"action": action, "content": {"approve": approve}});
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": content});
            assert_eq!(message["params"]["requestedSchema"]["required"], json!(["approve"]));
            link.send(answer.to_string().as_bytes());
        } else if message["id"] == json!(id) {
            return message;
        }
    }
}

#[test]
fn a_connected_client_is_asked_where_the_operator_allows_it() {
    let directory = data();
    let mut client = connect(&setup(directory.path(), ""));
    let (yes, no, box_unticked) =
        (client.new_item("Yes"), client.new_item("No"), client.new_item("Unticked"));
    let answer = answered(&mut client, &yes, "accept", true);
    assert!(!exists(&mut client, &yes), "{answer}");
    for (entity, action, approve) in [(&no, "decline", true), (&box_unticked, "accept", false)] {
        let answer = answered(&mut client, entity, action, approve);
        assert!(answer.to_string().contains("PERMISSION_DENIED"), "{answer}");
        assert!(exists(&mut client, entity));
    }
    let written = super::audit(directory.path());
    let given = written.iter().find(|entry| entry["event"] == "APPROVAL_GIVEN").unwrap();
    assert_eq!(given["channel"], "elicitation", "the log says who answered");
}

/// What a client is asked while a call waits that needs a person.
fn first_message(setup: &Setup, tool: &str, arguments: Value) -> Value {
    let mut client = connect(setup);
    let id = client.new_id();
    let params = json!({"name": tool, "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    client.stdio().send(call.to_string().as_bytes());
    client.stdio().next()
}

#[test]
fn a_client_is_not_asked_where_nobody_allowed_it() {
    let directory = data();
    let setup = Setup::new(directory.path()).asking().config("[safety]\nhold_seconds = 1\n");
    let arguments = json!({"operation": "delete_entity", "params": {"entity_id": "00000000-0000-4000-8000-000000000000"}});
    let message = first_message(&setup, "mcp_aql_delete", arguments);
    assert!(message.to_string().contains("CONFIRMATION_REQUIRED"), "{message}");
}

/// Never for what is worse than destructive: a hostile client would answer for itself.
#[test]
fn a_client_is_not_asked_for_what_is_dangerous() {
    for (danger, asked) in [("destructive", true), ("dangerous", false)] {
        let more = format!("trust = \"community_reviewed\"\n[upstream.up.tools.echo]\ndanger = \"{danger}\"");
        let safety = "[safety]\nelicitation = true\nhold_seconds = 1\n";
        let place = Place::new().lines(safety).stdio("up", &[], &more);
        place.learn(&["up"]);
        let arguments = json!({"operation": "up_echo", "params": {"text": "x"}});
        let message = first_message(&place.setup().asking(), "mcp_aql", arguments);
        assert_eq!(message["method"] == "elicitation/create", asked, "{danger}: {message}");
    }
}

fn stateless(setup: &Setup) -> Client {
    setup.stdio(Era::Stateless)
}

/// A call of today's revision, with what its client brings back.
fn call(client: &mut Client, entity: &str, state: Option<&str>, responses: Value) -> Value {
    let arguments = json!({"operation": "delete_entity", "params": {"entity_id": entity}});
    let mut params = json!({"name": "mcp_aql_delete", "arguments": arguments,
        "_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}});
    if let Some(state) = state {
        params["requestState"] = json!(state);
        params["inputResponses"] = responses;
    }
    client.request("tools/call", params)
}

#[test]
fn a_stateless_client_is_asked_by_the_answer_and_its_state_is_good_for_one_answer() {
    let directory = data();
    let mut client = stateless(&setup(directory.path(), ""));
    let (one, other) = (client.new_item("One"), client.new_item("Other"));
    let asked = call(&mut client, &one, None, json!({}));
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let (key, _) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
    let state = result["requestState"].as_str().unwrap().to_owned();
    let yes = json!({key: {"action": "accept", "content": {"approve": true}}});

    let tampered = format!("{}x", state.trim_end_matches(char::is_alphanumeric));
    let forged = call(&mut client, &one, Some(&tampered), yes.clone());
    assert_eq!(forged["result"]["resultType"], "input_required", "a forged state answers nothing: {forged}");
    let elsewhere = call(&mut client, &other, Some(&state), yes.clone());
    assert_eq!(elsewhere["result"]["resultType"], "input_required", "it is for the one call: {elsewhere}");
    assert!(exists(&mut client, &other));

    // The state was taken above, for the call it belongs to.
    let ran = call(&mut client, &one, Some(&state), yes.clone());
    assert!(ran.to_string().contains("\\\"success\\\":true"), "{ran}");
    assert!(!exists(&mut client, &one));
    let again = call(&mut client, &one, Some(&state), yes);
    assert_eq!(again["result"]["resultType"], "input_required", "and for one time: {again}");
    assert!(events(directory.path()).iter().filter(|event| *event == "CONFIRMATION_GRANTED").count() == 1);
}
