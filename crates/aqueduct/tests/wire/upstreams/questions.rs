//! Questions of an upstream, for the client whose call is under way: clients of both eras, servers of both eras.

use serde_json::{Value, json};

use super::{Place, answered, call};
use crate::harness::{Client, Era, StdioLink, Wire, stateless_meta};

const ERAS: [&str; 2] = ["initialize", "discover"];

/// What a client that has everything says to each question.
pub(crate) fn reply(method: &str) -> Value {
    match method {
        "elicitation/create" => json!({"action": "accept", "content": {"name": "Ada"}}),
        "sampling/createMessage" => {
            json!({"role": "assistant", "model": "m", "stopReason": "endTurn", "content": {"type": "text", "text": "something"}})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///here", "name": "here"}]}),
        other => panic!("asked for {other}"),
    }
}

pub(crate) fn everything() -> Value {
    json!({"elicitation": {}, "sampling": {}, "roots": {}})
}

fn meta(capabilities: &Value) -> Value {
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    meta
}

/// A client of the older revisions with these capabilities.
pub(crate) fn initialized(place: &Place, capabilities: &Value) -> StdioLink {
    let mut link = place.setup().stdio_link();
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                        "clientInfo": {"name": "test", "version": "1"}});
    link.send(
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string().as_bytes(),
    );
    link.answer(&json!(0));
    link.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    link
}

pub(crate) fn ask(operation: &str, method: &str) -> Value {
    json!({"name": "mcp_aql", "arguments": {"operation": operation, "params": {"method": method}}})
}

fn data(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"));
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_client_that_answers_while_its_call_runs_is_asked_at_once() {
    for era in ERAS {
        let place = Place::new().stdio("one", &["--era", era], "");
        place.learn(&["one"]);
        let mut link = initialized(&place, &everything());
        for (id, method) in (1..).zip(["elicitation/create", "sampling/createMessage", "roots/list"]) {
            let request =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": ask("one_ask", method)});
            link.send(request.to_string().as_bytes());
            let question = link.next();
            assert_eq!(question["method"], method, "{era}: {question}");
            let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": reply(method)});
            link.send(answer.to_string().as_bytes());
            let answer = data(&link.answer(&json!(id))["result"]);
            assert_eq!(answer["data"]["said"], reply(method), "{era} {method}: {answer}");
        }
    }
}

#[test]
fn a_client_that_has_to_call_again_finds_its_call_where_it_left_it() {
    for era in ERAS {
        for wire in [Wire::Stdio(Era::Stateless), Wire::Http(Era::Stateless)] {
            let place = Place::new().stdio("one", &["--era", era], "");
            place.learn(&["one"]);
            let mut client = place.connect(wire);
            let mut params = ask("one_ask", "elicitation/create");
            params["_meta"] = meta(&everything());
            let asked = client.request("tools/call", params.clone());
            let asked = &asked["result"];
            assert_eq!(asked["resultType"], "input_required", "{era} {wire:?}: {asked}");
            let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
            assert_eq!(question["method"], "elicitation/create", "{asked}");
            assert_eq!(question["params"]["message"], "Who?", "{asked}");
            params["requestState"] = asked["requestState"].clone();
            params["inputResponses"] = json!({key: reply("elicitation/create")});
            let answer = client.request("tools/call", params.clone());
            let answer = data(&answer["result"]);
            assert_eq!(answer["data"]["said"], reply("elicitation/create"), "{era} {wire:?}: {answer}");
            if era == "initialize" {
                // Once is once: nobody can have the same call answered again.
                let again = data(&client.request("tools/call", params.clone())["result"]);
                assert_eq!(again["error"]["code"], "CONFLICT_INVALID_STATE", "{again}");
            }
        }
    }
}

#[test]
fn a_question_is_answered_only_by_the_call_that_it_was_asked_for() {
    let place = Place::new().stdio("one", &["--era", "initialize"], "");
    let mut client = place.connect(Wire::Stdio(Era::Stateless));
    let mut params = ask("one_ask", "elicitation/create");
    params["_meta"] = meta(&everything());
    let asked = client.request("tools/call", params.clone())["result"].clone();
    let mut other = ask("one_ask", "sampling/createMessage");
    other["_meta"] = meta(&everything());
    other["requestState"] = asked["requestState"].clone();
    other["inputResponses"] = json!({"question": reply("elicitation/create")});
    let refused = data(&client.request("tools/call", other)["result"]);
    assert_eq!(refused["error"]["code"], "CONFLICT_INVALID_STATE", "{refused}");
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({"question": reply("elicitation/create")});
    let answer = data(&client.request("tools/call", params)["result"]);
    assert_eq!(answer["data"]["said"]["content"]["name"], "Ada", "{answer}");
}

#[test]
fn a_client_that_cannot_be_asked_is_not() {
    for (wire, era) in super::CLIENTS.into_iter().flat_map(|wire| ERAS.map(|era| (wire, era))) {
        // The operator would be asked in its place.
        let place = Place::new().stdio("one", &["--era", era], "").lines("[operator]\ninputs = false");
        let mut client = place.connect(wire);
        let answer = call(&mut client, "one_ask", json!({"method": "elicitation/create"}));
        match era {
            // It hears that there is nobody to ask, and goes on.
            "initialize" => {
                let refused = answer["data"]["refused"].as_str().unwrap_or_default();
                assert!(refused.contains("cannot be asked"), "{wire:?}: {answer}");
            }
            _ => {
                let words = &answer["error"]["details"]["upstream_error"]["message"];
                assert!(words.as_str().unwrap().contains("cannot be asked"), "{wire:?}: {answer}");
            }
        }
        assert_eq!(answered(&mut client, "one_echo", json!({"text": "on"})), "on");
    }
}

/// Whose question it is cannot be told, so neither hears it.
#[test]
fn with_two_clients_at_a_shared_server_nobody_hears_a_question() {
    let place = Place::new().stdio("one", &["--era", "initialize"], "");
    place.learn(&["one"]);
    let server = place.setup().http();
    let mut waiting = Client::http(std::sync::Arc::clone(&server), super::INITIALIZE);
    let sleeping = std::thread::spawn(move || {
        answered(&mut waiting, "one_sleep", json!({"milliseconds": 3000}));
    });
    place.event("one", "the sleep", |event| event["params"]["name"] == "sleep");
    let mut client = Client::http(server, Era::Stateless);
    let mut params = ask("one_ask", "elicitation/create");
    params["_meta"] = meta(&everything());
    let answer = data(&client.request("tools/call", params)["result"]);
    let refused = answer["data"]["refused"].as_str().unwrap_or_default();
    assert!(refused.contains("per_session"), "{answer}");
    sleeping.join().unwrap();
}
