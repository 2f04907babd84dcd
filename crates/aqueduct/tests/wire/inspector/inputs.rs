//! What servers ask people for, answered by the operator beside the client or in its place.

use std::{sync::Arc, thread::JoinHandle};

use serde_json::{Value, json};

use super::recorded::exported;
use crate::{
    harness::{Client, Era, HttpServer, StdioLink, Wire, stateless_meta},
    operator::{Answer, address, data_of, key_of, operator, send, settings, text},
    upstreams::{Place, begin, call, finish, wait_until},
};

const INITIALIZE: Era = Era::Initialize("2025-11-25");
const ELICIT: &str = "elicitation/create";

/// A gateway with a server that asks, and somebody who has the key.
struct Asking {
    place: Place,
    server: Arc<HttpServer>,
    address: String,
    key: String,
}

impl Asking {
    fn open(era: &str) -> Self {
        let place = Place::new().stdio("one", &["--era", era], "").lines(&settings(""));
        let server = place.setup().http();
        let (address, key) = (address(&server.welcome), key_of(place.path()));
        let mut client = Client::http(Arc::clone(&server), INITIALIZE);
        place.wait_for(&mut client, &["one"]);
        Self { place, server, address, key }
    }

    fn client(&self, era: Era) -> Client {
        Client::http(Arc::clone(&self.server), era)
    }

    /// Calls the tool that asks, for a client that cannot be asked.
    fn ask(&self, era: Era, question: &Value) -> JoinHandle<Value> {
        let (mut client, params) = (self.client(era), asking(question));
        std::thread::spawn(move || call(&mut client, "one_ask", params))
    }

    fn with(&self, key: &str, method: &str, path: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {key}");
        let body = if method == "GET" { String::new() } else { body.to_string() };
        send(&self.address, method, path, &[("authorization", &bearer)], body.as_bytes())
    }

    fn inputs(&self) -> Vec<Value> {
        let answer = self.with(&self.key, "GET", "/api/v1/inputs", &Value::Null);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["inputs"].as_array().unwrap().clone()
    }

    fn asked(&self) -> Value {
        wait_until("a question", || self.inputs().pop())
    }

    fn say(&self, id: &Value, body: &Value) -> Answer {
        self.with(&self.key, "POST", &format!("/api/v1/inputs/{}", id.as_str().unwrap()), body)
    }

    fn events(&self) -> Vec<Value> {
        let log = self.with(&self.key, "GET", "/api/v1/audit?limit=1000", &Value::Null).body;
        let entries = log["entries"].as_array().unwrap().iter().map(|entry| entry["event"].clone());
        entries.filter(|event| event["event"] == "INPUT_ANSWERED").collect()
    }
}

fn asking(question: &Value) -> Value {
    json!({"method": ELICIT, "question": question.to_string()})
}

fn form(properties: Value, required: Value) -> Value {
    json!({"message": "Who\u{202e}?", "quiet": true, "requestedSchema":
        {"type": "object", "properties": properties, "required": required}})
}

fn name() -> Value {
    let mut question = form(
        json!({"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer"}}),
        json!(["name"]),
    );
    question["quiet"] = json!(false);
    question
}

/// REQ-IUI-04 REQ-ISEC-02
#[test]
fn the_operator_answers_where_the_client_cannot_be_asked_and_what_they_say_is_written_nowhere() {
    for era in ["initialize", "discover"] {
        let asking = Asking::open(era);
        for client in [INITIALIZE, Era::Stateless] {
            let secret = "hunter2-secret";
            let properties = json!({"pin": {"type": "string", "minLength": 3, "title": "The\u{200b} pin"},
                "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]}});
            let answering = asking.ask(client, &form(properties, json!(["pin"])));
            let asked = asking.asked();
            assert_eq!((&asked["server"], &asked["operation"]), (&json!("one"), &json!("ask")), "{asked}");
            assert_eq!(asked["message"], "Who<U+202E>?", "{asked}");
            let fields = asked["form"]["fields"].as_array().unwrap();
            let pin = fields.iter().find(|field| field["name"] == "pin").unwrap();
            assert_eq!((&pin["title"], &pin["required"]), (&json!("The<U+200B> pin"), &json!(true)));
            let id = &asked["id"];
            // Who may only look learns that somebody is asked, and not what.
            let viewer = std::fs::read_to_string(data_of(asking.place.path()).join("viewer.key")).unwrap();
            let seen = asking.with(viewer.trim(), "GET", "/api/v1/inputs", &Value::Null).body;
            assert_eq!(seen["inputs"][0]["server"], "one");
            assert!(!seen.to_string().contains("Who") && !seen.to_string().contains("pin"), "{seen}");
            let path = format!("/api/v1/inputs/{}", id.as_str().unwrap());
            let accept = json!({"action": "accept", "content": {"pin": secret, "size": "l"}});
            assert_eq!(asking.with(viewer.trim(), "POST", &path, &accept).status, 403);
            assert_eq!(asking.with("wrong", "POST", &path, &accept).status, 401);
            let news = asking.with(&asking.key, "GET", "/api/v1/approvals/wait", &Value::Null).body;
            assert_eq!(news["inputs"][0]["id"], *id, "{news}");
            // Wrong values change nothing.
            for (body, why) in [
                (json!({"action": "accept", "content": {}}), "'pin' is required"),
                (json!({"action": "accept"}), "'pin' is required"),
                (json!({"action": "accept", "content": {"pin": "ab"}}), "3 characters"),
                (
                    json!({"action": "accept", "content": {"pin": secret, "size": "Large"}}),
                    "one of the choices",
                ),
                (json!({"action": "accept", "content": {"pin": secret, "admin": true}}), "no field"),
                (json!({"action": "accept", "content": [secret]}), "expected"),
                (json!({"action": "decline", "content": {"pin": secret}}), "'accept' only"),
                (json!({"action": "maybe"}), "expected"),
                (json!({"content": {}}), "expected"),
                (json!([]), "expected"),
            ] {
                let wrong = asking.say(id, &body);
                let words = wrong.body["error"]["message"].as_str().unwrap();
                assert!(
                    wrong.status == 400 && words.contains(why),
                    "{body}: {} {}",
                    wrong.status,
                    wrong.body
                );
                assert!(!words.contains(secret), "{words}");
            }
            assert_eq!(asking.say(&json!("input_0"), &accept).status, 404);
            let done = asking.say(id, &accept);
            assert_eq!(
                (done.status, &done.body["input"]["state"]),
                (200, &json!("accepted")),
                "{}",
                done.body
            );
            let answer = answering.join().unwrap();
            assert_eq!(answer["data"]["said"]["action"], "accept", "{era} {client:?}: {answer}");
            let again = asking.say(id, &json!({"action": "decline"}));
            assert_eq!((again.status, &again.body["error"]["code"]), (409, &json!("ALREADY_ANSWERED")));
            assert!(asking.inputs().is_empty());
            let event = asking.events().pop().unwrap();
            assert_eq!(
                (&event["adapter_name"], &event["channel"]),
                (&json!("one"), &json!("page")),
                "{event}"
            );
            assert_eq!(event["detail"]["action"], "accept", "{event}");
            // Neither the traces nor the log have it.
            assert!(!json!(asking.events()).to_string().contains(secret));
            let spans = wait_until("the call's spans", || {
                let spans = exported(asking.place.path());
                spans
                    .iter()
                    .any(|span| span["name"] == "tools/call ask" && !span["ended_ns"].is_null())
                    .then_some(spans)
            });
            assert!(!json!(spans).to_string().contains(secret), "{era}");
            let waits = spans.iter().flat_map(|span| span["events"].as_array().into_iter().flatten());
            let waits: Vec<&Value> = waits.filter(|event| event["name"] == "WaitingOnSignal").collect();
            assert!(waits.iter().any(|event| event["attributes"]["input_id"] == *id), "{waits:?}");
        }
    }
}

#[test]
fn declining_and_cancelling_reach_the_server_as_such() {
    let asking = Asking::open("initialize");
    for action in ["decline", "cancel"] {
        let answering = asking.ask(INITIALIZE, &name());
        assert_eq!(asking.say(&asking.asked()["id"], &json!({"action": action})).status, 200);
        assert_eq!(answering.join().unwrap()["data"]["said"], json!({"action": action}));
    }
}

/// A client of the older revisions that says it can show forms.
fn connected(place: &Place) -> StdioLink {
    let mut link = place.setup().stdio_link();
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"form": {}, "url": {}}},
                        "clientInfo": {"name": "test", "version": "1"}});
    link.send(
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string().as_bytes(),
    );
    link.answer(&json!(0));
    link.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    // Another process on the same data may have learned of the server under other settings meanwhile.
    wait_until("the operation", || {
        let arguments =
            json!({"operation": "introspect", "params": {"query": "operations", "name": "one_ask"}});
        let params = json!({"name": "mcp_aql", "arguments": arguments});
        let frame = json!({"jsonrpc": "2.0", "id": "look", "method": "tools/call", "params": params});
        link.send(frame.to_string().as_bytes());
        link.answer(&json!("look")).to_string().contains("mcpTool").then_some(())
    });
    link
}

fn send_call(link: &mut StdioLink, id: u64, question: &Value) -> Value {
    let arguments = json!({"operation": "one_ask", "params": asking(question)});
    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "mcp_aql", "arguments": arguments}});
    link.send(call.to_string().as_bytes());
    let question = link.next();
    assert_eq!(question["method"], ELICIT, "{question}");
    question["id"].clone()
}

fn said(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"));
    serde_json::from_str::<Value>(text).unwrap()["data"]["said"].clone()
}

/// The process with the call is not the one that has the listener: what is said meets in the store.
#[test]
fn the_first_answer_counts_whether_it_is_the_clients_or_the_operators() {
    let asking = Asking::open("initialize");
    let http = settings("").replace("127.0.0.1:0", &asking.address);
    let place = Place::new().stdio("one", &["--era", "initialize"], "").lines(&http);
    let shared = data_of(asking.place.path());
    std::fs::remove_dir_all(data_of(place.path())).ok();
    std::os::unix::fs::symlink(&shared, data_of(place.path())).unwrap();
    let mut link = connected(&place);

    let question = send_call(&mut link, 1, &name());
    let id = asking.asked()["id"].clone();
    let accept = json!({"action": "accept", "content": {"name": "Grace", "age": 5}});
    assert_eq!(asking.say(&id, &accept).status, 200);
    assert_eq!(said(&link.answer(&json!(1))["result"]), accept);
    // What the client says now comes too late, and does no harm.
    let late =
        json!({"jsonrpc": "2.0", "id": question, "result": {"action": "accept", "content": {"name": "Eve"}}});
    link.send(late.to_string().as_bytes());

    let question = send_call(&mut link, 2, &name());
    let id = asking.asked()["id"].clone();
    let own = json!({"action": "accept", "content": {"name": "Ada"}});
    link.send(json!({"jsonrpc": "2.0", "id": question, "result": own}).to_string().as_bytes());
    assert_eq!(said(&link.answer(&json!(2))["result"]), own);
    let late = asking.say(&id, &accept);
    assert_eq!(late.status, 409, "{}", late.body);
    assert!(late.body.to_string().contains("answered by its client"), "{}", late.body);
    let events: Vec<Value> = asking.events().iter().map(|event| event["channel"].clone()).collect();
    assert_eq!(events, [json!("page"), json!("client")]);

    // A process that is killed takes its questions along.
    send_call(&mut link, 3, &name());
    let id = asking.asked()["id"].clone();
    drop(link);
    wait_until("the end of a question that nobody waits for", || asking.inputs().is_empty().then_some(()));
    let late = asking.say(&id, &accept);
    assert!(late.status == 409 && late.body.to_string().contains("withdrawn"), "{}", late.body);
}

#[test]
fn a_client_that_has_to_call_again_finds_what_the_operator_said_in_the_meantime() {
    let asking = Asking::open("initialize");
    let mut client = asking.client(Era::Stateless);
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    let arguments = json!({"operation": "one_ask", "params": self::asking(&name())});
    let mut params = json!({"name": "mcp_aql", "arguments": arguments, "_meta": meta});
    let asked = client.request("tools/call", params.clone())["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let accept = json!({"action": "accept", "content": {"name": "Grace"}});
    assert_eq!(asking.say(&asking.asked()["id"], &accept).status, 200);
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({"question": {"action": "accept", "content": {"name": "Eve"}}});
    let answer = client.request("tools/call", params);
    assert_eq!(said(&answer["result"]), accept, "{answer}");
}

#[test]
fn a_call_that_is_given_up_takes_its_question_along() {
    let asking = Asking::open("initialize");
    let http = settings("").replace("127.0.0.1:0", &asking.address);
    let place = Place::new().stdio("one", &["--era", "initialize"], "").lines(&http);
    std::os::unix::fs::symlink(data_of(asking.place.path()), data_of(place.path())).unwrap();
    let mut client = place.setup().connect(Wire::Stdio(INITIALIZE));
    place.wait_for(&mut client, &["one"]);
    let id = begin(&mut client, "one_ask", self::asking(&name()));
    asking.asked();
    client.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    wait_until("the end of the question", || asking.inputs().is_empty().then_some(()));
    // The command line answers as well, and says the same of what does not fit.
    let id = begin(&mut client, "one_ask", self::asking(&name()));
    let asked = asking.asked()["id"].as_str().unwrap().to_owned();
    let shown = text(&operator(asking.place.path(), &["pending"]));
    assert!(shown.contains("Who<U+202E>?") && shown.contains("name (text, required)"), "{shown}");
    let short = &asked[..12];
    let wrong = operator(asking.place.path(), &["answer", short, "accept", "--content", "{\"age\": 1.5}"]);
    assert!(!wrong.status.success() && text(&wrong).contains("'name' is required"), "{}", text(&wrong));
    let right =
        operator(asking.place.path(), &["answer", short, "accept", "--content", "{\"name\": \"Ada\"}"]);
    assert!(right.status.success(), "{}", text(&right));
    assert_eq!(finish(&mut client, id)["data"]["said"]["content"], json!({"name": "Ada"}));
}

/// REQ-ISEC-02
#[test]
fn what_is_no_form_can_only_be_declined_and_an_address_is_only_shown() {
    let asking = Asking::open("initialize");
    let many: serde_json::Map<String, Value> = (0..5000)
        .map(|number| (format!("field{number}"), json!({"type": "string", "description": "x".repeat(50)})))
        .collect();
    for (properties, why) in
        [(Value::Object(many), "5000 fields"), (json!({"a": {"type": "object"}}), "type 'object'")]
    {
        let answering = asking.ask(INITIALIZE, &form(properties, json!([])));
        let asked = asking.asked();
        assert!(asked["form"].is_null() && asked["no_form"].as_str().unwrap().contains(why), "{asked}");
        let refused = asking.say(&asked["id"], &json!({"action": "accept", "content": {}}));
        assert!(
            refused.status == 400 && refused.body.to_string().contains("only be declined"),
            "{}",
            refused.body
        );
        assert_eq!(asking.say(&asked["id"], &json!({"action": "decline"})).status, 200);
        assert_eq!(answering.join().unwrap()["data"]["said"], json!({"action": "decline"}));
    }
    let address =
        json!({"mode": "url", "message": "Sign in", "url": "javascript:alert(1)", "elicitationId": "1"});
    // Nobody could open it here, so that nobody waits.
    let answer = asking.ask(INITIALIZE, &address).join().unwrap();
    assert!(answer["data"]["refused"].as_str().unwrap().contains("cannot be asked"), "{answer}");
    let http = settings("").replace("127.0.0.1:0", &asking.address);
    let place = Place::new().stdio("one", &["--era", "initialize"], "").lines(&http);
    std::os::unix::fs::symlink(data_of(asking.place.path()), data_of(place.path())).unwrap();
    let mut link = connected(&place);
    send_call(&mut link, 1, &address);
    let asked = asking.asked();
    assert_eq!((&asked["mode"], &asked["url"]), (&json!("url"), &json!("javascript:alert(1)")), "{asked}");
    assert_eq!(asking.say(&asked["id"], &json!({"action": "accept"})).status, 400);
    assert_eq!(asking.say(&asked["id"], &json!({"action": "decline"})).status, 200);
    assert_eq!(said(&link.answer(&json!(1))["result"]), json!({"action": "decline"}));
}
