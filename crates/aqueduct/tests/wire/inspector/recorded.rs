//! What is recorded of calls through the real gateway, with real servers' way of answering behind it.

use std::{path::Path, sync::Arc};

use serde_json::{Value, json};

use crate::{
    harness::{Client, Era, HttpServer, Wire, aqueduct, command},
    operator::{address, data_of, key_of, send, settings},
    upstreams::{Place, Remote, answered, call, refused, wait_until},
};

const INITIALIZE: Era = Era::Initialize("2025-11-25");

/// Every span that was recorded in the data directory of a test, as the command writes them.
pub(super) fn exported(directory: &Path) -> Vec<Value> {
    let mut command = command(&aqueduct(), directory);
    let output = command.args(["trace", "export"]).env("AQUEDUCT_DATA", data_of(directory)).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The finished spans whose name is this one, once there are so many.
pub(crate) fn finished(directory: &Path, name: &str, count: usize) -> Vec<Value> {
    wait_until(&format!("{count} spans called {name}"), || {
        let all = exported(directory);
        let found: Vec<Value> =
            all.into_iter().filter(|span| span["name"] == name && !span["ended_ns"].is_null()).collect();
        (found.len() >= count).then_some(found)
    })
}

fn attribute<'a>(span: &'a Value, name: &str) -> &'a Value {
    &span["attributes"][name]
}

/// REQ-IATTR-01 REQ-IATTR-04
#[test]
fn what_begins_and_keeps_up_a_connection_is_recorded_too() {
    for wire in [
        Wire::Stdio(INITIALIZE),
        Wire::Stdio(Era::Stateless),
        Wire::Http(INITIALIZE),
        Wire::Http(Era::Stateless),
    ] {
        let place = Place::new();
        let mut client = place.connect(wire);
        call(&mut client, "list_entities", json!({}));
        let (Wire::Stdio(era) | Wire::Http(era)) = wire;
        let methods: &[&str] = if era == INITIALIZE { &["initialize", "ping"] } else { &["server/discover"] };
        for method in methods.iter().filter(|method| **method != "initialize") {
            let answer = client.request(method, json!({}));
            assert!(!answer["result"].is_null(), "{wire:?}: {answer}");
        }
        assert_eq!(client.request("no/such", json!({"token": "t"}))["error"]["code"], -32601, "{wire:?}");
        let called = finished(place.path(), "tools/call list_entities", 1).remove(0);
        for method in methods {
            let span = finished(place.path(), method, 1).remove(0);
            assert_eq!((&span["kind"], &span["status"]), (&json!("server"), &json!("ok")), "{wire:?}");
            assert_eq!(attribute(&span, "mcp.rpc.method"), method, "{wire:?}");
            for known in ["mcp.session.id", "mcp.client.name", "mcp.rpc.transport"] {
                let said = attribute(&span, known);
                assert_eq!((said, said.is_string()), (attribute(&called, known), true), "{wire:?}: {known}");
            }
        }
        let unknown = finished(place.path(), "no/such", 1).remove(0);
        assert_eq!(
            (&unknown["status"], attribute(&unknown, "mcp.error.code")),
            (&json!("error"), &json!("-32601"))
        );
    }
}

/// REQ-IATTR-01 REQ-IATTR-02 REQ-IPROP-02 REQ-IPROP-03 REQ-IPROP-06 REQ-IPROP-07 REQ-IATTR-11
#[test]
fn a_call_of_another_server_is_a_child_of_the_call_that_came_in_over_every_transport() {
    for wire in [
        Wire::Stdio(INITIALIZE),
        Wire::Stdio(Era::Stateless),
        Wire::Http(INITIALIZE),
        Wire::Http(Era::Stateless),
    ] {
        let place = Place::new().stdio("near", &[], "");
        let remote = Remote::start(&place, "far", &[]);
        let place = place.http("far", &remote.url, "");
        let mut client = place.connect(wire);
        for (server, transport) in [("near", "stdio"), ("far", "http")] {
            let operation = format!("{server}_echo");
            answered(&mut client, &operation, json!({"text": "hello"}));
            let inbound = finished(place.path(), &format!("tools/call {operation}"), 1).remove(0);
            let outbound = finished(place.path(), "tools/call echo", 1)
                .into_iter()
                .find(|span| span["trace_id"] == inbound["trace_id"])
                .unwrap();
            assert_eq!((&inbound["kind"], &outbound["kind"]), (&json!("server"), &json!("client")));
            assert_eq!(outbound["parent_id"], inbound["span_id"]);
            assert_eq!(outbound["session_id"], inbound["session_id"]);
            assert_eq!(attribute(&outbound, "mcp.peer.server_id"), server);
            assert_eq!(attribute(&outbound, "mcp.rpc.transport"), transport, "{wire:?}");
            let own = if matches!(wire, Wire::Stdio(_)) { "stdio" } else { "http" };
            assert_eq!(attribute(&inbound, "mcp.rpc.transport"), own);
            let (of_request, of_parent) = ("mcp.request_id", "mcp.parent_request_id");
            assert_eq!(attribute(&outbound, of_parent), attribute(&inbound, of_request));
            assert!(attribute(&inbound, of_parent).is_null());
            for span in [&inbound, &outbound] {
                assert_eq!(attribute(span, "mcp.agent.server_id"), "aqueduct");
                assert!(attribute(span, "mcp.tool.input_json").as_str().unwrap().contains("hello"));
                assert!(attribute(span, "mcp.tool.output_json").as_str().unwrap().contains("hello"));
            }
            // The other server is told what it is part of.
            let called = place.event(server, "the call", |event| {
                event["event"] == "received" && event["params"]["name"] == "echo"
            });
            let meta = &called["params"]["_meta"];
            let (trace, span) =
                (outbound["trace_id"].as_str().unwrap(), outbound["span_id"].as_str().unwrap());
            assert_eq!(meta["traceparent"], format!("00-{trace}-{span}-01"), "{called}");
            assert_eq!(&meta["X-MCP-Request-Id"], attribute(&outbound, of_request));
            if transport == "http" {
                let headers = &called["headers"];
                assert_eq!(headers["traceparent"], meta["traceparent"], "{called}");
                assert_eq!(headers["x-mcp-request-id"], meta["X-MCP-Request-Id"], "{called}");
            }
        }
    }
}

/// REQ-IPROP-04
#[test]
fn who_records_nothing_passes_ids_on_as_they_came() {
    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
    let place = Place::new().stdio("near", &[], "");
    let remote = Remote::start(&place, "far", &[]);
    let place = place.http("far", &remote.url, "").lines("[inspector]\ncapture = \"off\"\n");
    let server = place.setup().http();
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    place.wait_for(&mut client, &["near", "far"]);
    let mut call = |operation: &str, text: &str, more: &[(&str, &str)]| {
        let arguments = json!({"operation": operation, "params": {"text": text}});
        let id = client.new_id();
        let frame = client.frame(id, "tools/call", json!({"name": "mcp_aql", "arguments": arguments}));
        let headers = client.headers("tools/call", &frame);
        let mut headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        headers.extend(more);
        assert_eq!(server.post(&headers, frame.to_string().as_bytes()).status, 200);
    };
    for (name, operation) in [("near", "near_echo"), ("far", "far_echo")] {
        let received = |text: &str| {
            let called = place.event(name, "the call", |event| {
                event["event"] == "received" && event["params"]["arguments"]["text"] == text
            });
            called["params"]["_meta"].clone()
        };
        call(operation, "given", &[("traceparent", PARENT), ("X-MCP-Request-Id", "r-9")]);
        let meta = received("given");
        assert_eq!((&meta["traceparent"], &meta["X-MCP-Request-Id"]), (&json!(PARENT), &json!("r-9")));
        call(operation, "nothing", &[]);
        let meta = received("nothing");
        assert_eq!((&meta["traceparent"], &meta["X-MCP-Request-Id"]), (&Value::Null, &Value::Null), "{meta}");
        call(operation, "broken", &[("traceparent", "00-zz"), ("X-MCP-Request-Id", "two words")]);
        assert_eq!(received("broken")["traceparent"], Value::Null);
        call(operation, "half", &[("X-MCP-Request-Id", "r-10")]);
        let meta = received("half");
        assert_eq!(
            (&meta["traceparent"], &meta["X-MCP-Request-Id"]),
            (&Value::Null, &json!("r-10")),
            "{meta}"
        );
    }
}

/// REQ-IATTR-07 REQ-IPROP-04 REQ-ISESS-01
#[test]
fn ids_in_headers_are_taken() {
    let place = Place::new().stdio("near", &[], "").lines(&settings(""));
    let server = place.setup().http();
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    place.wait_for(&mut client, &["near"]);
    let arguments = json!({"operation": "near_echo", "params": {"text": "a"}});
    let id = client.new_id();
    let frame = client.frame(id, "tools/call", json!({"name": "mcp_aql", "arguments": arguments}));
    let mut headers = client.headers("tools/call", &frame);
    headers.push(("X-MCP-Request-Id".to_owned(), "r-9".to_owned()));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(server.post(&headers, frame.to_string().as_bytes()).status, 200);
    let inbound = finished(place.path(), "tools/call near_echo", 1).remove(0);
    let outbound = finished(place.path(), "tools/call echo", 1).remove(0);
    assert_eq!(
        (&inbound["session_id"], attribute(&inbound, "mcp.request_id")),
        (&json!("r-9"), &json!("r-9"))
    );
    assert_eq!(attribute(&outbound, "mcp.parent_request_id"), "r-9");
    let bearer = format!("Bearer {}", key_of(place.path()));
    let headers = [("authorization", bearer.as_str())];
    let session = send(&address(&server.welcome), "GET", "/api/v1/sessions/r-9", &headers, b"");
    assert_eq!(session.body["session"]["engine"], "inbound", "{}", session.body);
    assert_eq!(session.body["spans"].as_array().unwrap().len(), 2);
}

/// REQ-IEVT-04
#[test]
fn a_call_that_takes_too_long_is_a_timeout() {
    let place = Place::new().stdio("slow", &[], "timeout_seconds = 1");
    let mut client = place.client();
    refused(&mut client, "slow_sleep", json!({"milliseconds": 3_600_000}));
    let outbound = finished(place.path(), "tools/call sleep", 1).remove(0);
    assert_eq!(
        (&outbound["status"], attribute(&outbound, "error.type")),
        (&json!("error"), &json!("timeout"))
    );
    let inbound = finished(place.path(), "tools/call slow_sleep", 1).remove(0);
    assert_eq!(inbound["status"], "error");
    assert!(attribute(&inbound, "mcp.rpc.duration_ms").as_f64().unwrap() >= 1000.0);
}

/// Calls that never end by themselves, of one session of the Inspector's.
pub(super) fn stuck(
    server: &Arc<HttpServer>,
    operation: &str,
    session: &str,
    calls: usize,
) -> Vec<std::thread::JoinHandle<Value>> {
    let one = || {
        let (server, session, operation) = (Arc::clone(server), session.to_owned(), operation.to_owned());
        std::thread::spawn(move || {
            let mut client = Client::http(Arc::clone(&server), Era::Stateless);
            let arguments = json!({"operation": operation, "params": {"milliseconds": 3_600_000}});
            let id = client.new_id();
            let frame = client.frame(id, "tools/call", json!({"name": "mcp_aql", "arguments": arguments}));
            let headers = client.headers("tools/call", &frame);
            let mut headers: Vec<(&str, &str)> =
                headers.iter().map(|(name, value)| (&**name, &**value)).collect();
            headers.push(("X-MCP-Request-Id", &session));
            let answer = server.post(&headers, frame.to_string().as_bytes());
            let message = answer.messages().remove(0);
            serde_json::from_str(message["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
        })
    };
    (0..calls).map(|_| one()).collect()
}

/// The calls of a session that run, once there are so many.
pub(super) fn running(directory: &Path, session: &str, calls: usize) -> Vec<Value> {
    wait_until("the calls that run", || {
        let of = |span: &Value| {
            span["kind"] == "server" && span["status"] == "running" && span["session_id"] == session
        };
        let found: Vec<Value> = exported(directory).into_iter().filter(of).collect();
        (found.len() == calls).then_some(found)
    })
}

pub(super) fn is_stopped(answer: &Value) {
    assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("operator stopped"), "{answer}");
}

/// REQ-IUI-03
#[test]
fn the_operator_ends_one_call_or_all_of_a_session_and_their_clients_are_told() {
    let place = Place::new().stdio("slow", &[], "timeout_seconds = 3600").lines(&settings(""));
    let server = place.setup().http();
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    place.wait_for(&mut client, &["slow"]);
    let bearer = format!("Bearer {}", key_of(place.path()));
    let ask = |method: &str, path: &str| {
        let headers = [("authorization", bearer.as_str())];
        send(&address(&server.welcome), method, path, &headers, b"")
    };
    for (session, ends_session) in [("one", false), ("all", true)] {
        let mut calls = stuck(&server, "slow_sleep", session, 2);
        let spans = running(place.path(), session, 2);
        let path = match ends_session {
            true => format!("/api/v1/sessions/{session}/cancel"),
            false => format!("/api/v1/operations/{}/cancel", spans[0]["span_id"].as_str().unwrap()),
        };
        let cancelled = ask("POST", &path);
        let expected = if ends_session { json!(2) } else { json!(true) };
        assert_eq!((cancelled.status, &cancelled.body["cancelled"]), (200, &expected), "{}", cancelled.body);
        if !ends_session {
            // The other one goes on.
            running(place.path(), session, 1);
            let again = ask("POST", &path);
            assert_eq!(again.status, 404, "it has ended: {}", again.body);
            let rest = ask("POST", &format!("/api/v1/sessions/{session}/cancel"));
            assert_eq!(rest.body["cancelled"], 1, "{}", rest.body);
        }
        calls.drain(..).for_each(|call| is_stopped(&call.join().unwrap()));
        let ended = wait_until("their ends", || {
            let session = ask("GET", &format!("/api/v1/sessions/{session}")).body;
            (session["session"]["status"] == "cancelled").then_some(session)
        });
        let spans = ended["spans"].as_array().unwrap();
        assert_eq!(spans.len(), 4, "two calls, and two of the server: {ended}");
        for span in spans {
            assert_eq!(
                (&span["status"], &ended["truncated"]),
                (&json!("cancelled"), &json!(false)),
                "{span}"
            );
        }
        let nothing = ask("POST", &format!("/api/v1/sessions/{session}/cancel"));
        assert_eq!((nothing.status, &nothing.body["cancelled"]), (200, &json!(0)));
    }
    assert_eq!(ask("POST", "/api/v1/sessions/nobody/cancel").status, 404);
    place.event("slow", "that it is given up", |event| event["event"] == "given up");
}

/// Whoever holds the operator's port is not who runs the calls of another client.
#[test]
fn what_runs_in_another_process_is_ended_as_well() {
    let place = Place::new().stdio("slow", &[], "timeout_seconds = 3600");
    place.learn(&["slow"]);
    let server = place.setup().http();
    let watching = place.setup().config(&settings("")).http();
    let bearer = format!("Bearer {}", key_of(place.path()));
    let post = |path: &str| {
        let headers = [("authorization", bearer.as_str())];
        send(&address(&watching.welcome), "POST", path, &headers, b"")
    };
    for ends_session in [false, true] {
        let session = format!("session-{ends_session}");
        let call = stuck(&server, "slow_sleep", &session, 1).remove(0);
        let span = running(place.path(), &session, 1).remove(0);
        let (path, expected) = match ends_session {
            true => (format!("/api/v1/sessions/{session}/cancel"), json!(1)),
            false => {
                (format!("/api/v1/operations/{}/cancel", span["span_id"].as_str().unwrap()), json!(true))
            }
        };
        let cancelled = post(&path);
        assert_eq!((cancelled.status, &cancelled.body["cancelled"]), (200, &expected), "{}", cancelled.body);
        is_stopped(&call.join().unwrap());
    }
}

/// What ran when the process was killed does not run for ever.
#[test]
fn calls_of_a_process_that_was_killed_are_cancelled_and_say_so() {
    let place = Place::new().stdio("slow", &[], "timeout_seconds = 3600");
    let server = place.setup().http();
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    place.wait_for(&mut client, &["slow"]);
    let mut caller = Client::http(Arc::clone(&server), Era::Stateless);
    let stuck =
        std::thread::spawn(move || call(&mut caller, "slow_sleep", json!({"milliseconds": 3_600_000})));
    let runs = |span: &Value| span["name"] == "tools/call slow_sleep" && span["status"] == "running";
    wait_until("the call that runs", || exported(place.path()).into_iter().find(runs));
    server.process.lock().unwrap().signal("-KILL");
    assert!(stuck.join().is_err(), "nobody answers any more");
    let lost = finished(place.path(), "tools/call slow_sleep", 1).remove(0);
    assert_eq!((&lost["status"], attribute(&lost, "error.type")), (&json!("cancelled"), &json!("lost")));
    assert!(!exported(place.path()).iter().any(runs));
}
