//! Work that takes its time: progress, cancellation, waiting side by side, and a stop that lets it finish.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::harness::{Client, Era, Link, WIRES, Wire, data, fixture_setup, wait_for};

fn wait_call(milliseconds: u64, operation: &str) -> Value {
    json!({"operation": operation, "params": {"milliseconds": milliseconds}})
}

/// LREQ-MCP-13 LREQ-MCP-14 LREQ-MCP-16
#[test]
fn long_work_tells_how_far_it_is_to_those_who_asked() {
    for wire in WIRES {
        let directory = data();
        let mut client = fixture_setup(directory.path()).connect(wire);
        let params = json!({"name": "mcp_aql_execute", "arguments": wait_call(2600, "execute_wait"), "_meta": {"progressToken": "mine"}});
        let answer = client.request("tools/call", params);
        assert_eq!(answer["result"]["isError"], false, "{wire:?}");
        let told = std::mem::take(client.notifications());
        let progress: Vec<f64> =
            told.iter().map(|message| message["params"]["progress"].as_f64().unwrap()).collect();
        assert!(progress.len() >= 2 && progress.is_sorted_by(|a, b| a < b), "{wire:?} {told:?}");
        for message in &told {
            assert_eq!(
                (&message["method"], &message["params"]["progressToken"]),
                (&json!("notifications/progress"), &json!("mine"))
            );
            assert!(message["params"]["message"].as_str().unwrap().starts_with("step"));
        }
        client.execute("execute_wait", json!({"milliseconds": 1200}));
        assert_eq!(client.notifications().len(), 0, "{wire:?}: nobody asked");
    }
}

#[test]
fn a_cancelled_call_stops_and_gets_no_answer_over_stdio() {
    for era in [Era::Initialize("2025-06-18"), Era::Stateless] {
        for plain in [true, false] {
            let directory = data();
            let mut client = fixture_setup(directory.path()).stdio(era);
            let meta = if plain { json!({}) } else { json!({"progressToken": 1}) };
            let params = json!({"name": "mcp_aql_execute", "arguments": wait_call(1500, "execute_wait"), "_meta": meta});
            let frame = client.frame(77, "tools/call", params);
            client.stdio().send(frame.to_string().as_bytes());
            wait_for(Duration::from_millis(200));
            client.notify("notifications/cancelled", json!({"requestId": 77, "reason": "changed my mind"}));
            assert_eq!(
                client.stdio().next_within(Duration::from_millis(400)).filter(|m| m.get("method").is_none()),
                None
            );
            wait_for(Duration::from_millis(1500));
            let finished = client.read("count_finished", json!({}))["data"]["finished"].clone();
            assert_eq!(finished, 0, "{era:?} plain={plain}: the work went on");
        }
    }
}

#[test]
fn a_cancelled_call_stops_over_http() {
    for era in [Era::Initialize("2025-11-25"), Era::Stateless] {
        let directory = data();
        let server = fixture_setup(directory.path()).http();
        let mut client = Client::http(Arc::clone(&server), era);
        let frame = client.frame(
            77,
            "tools/call",
            json!({"name": "mcp_aql_execute", "arguments": wait_call(1500, "execute_wait")}),
        );
        let headers = client.headers("tools/call", &frame);
        let caller = {
            let (server, frame) = (Arc::clone(&server), frame.to_string());
            // A legacy client stays on the line: only the notification can end its call.
            let stay =
                if era == Era::Stateless { Duration::from_millis(500) } else { Duration::from_secs(3) };
            std::thread::spawn(move || abandon(&server.url, &headers, &frame, stay))
        };
        wait_for(Duration::from_millis(300));
        if era != Era::Stateless {
            client.notify("notifications/cancelled", json!({"requestId": 77}));
        }
        caller.join().unwrap();
        wait_for(Duration::from_millis(1500));
        assert_eq!(
            client.read("count_finished", json!({}))["data"]["finished"],
            0,
            "{era:?}: the work went on"
        );
    }
}

/// REQ-SESS-07 REQ-SESS-09
#[test]
fn what_a_session_runs_ends_with_it() {
    let directory = data();
    let server = fixture_setup(directory.path()).http();
    let client = Client::http(Arc::clone(&server), Era::Initialize("2025-06-18"));
    let frame = client.frame(
        5,
        "tools/call",
        json!({"name": "mcp_aql_execute", "arguments": wait_call(1500, "execute_wait")}),
    );
    let headers = client.headers("tools/call", &frame);
    let running = {
        let (server, headers) = (Arc::clone(&server), headers.clone());
        std::thread::spawn(move || abandon(&server.url, &headers, &frame.to_string(), Duration::from_secs(3)))
    };
    wait_for(Duration::from_millis(300));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert!((200..300).contains(&server.delete(&headers).status));
    running.join().unwrap();
    let mut next = Client::http(server, Era::Initialize("2025-06-18"));
    assert_eq!(
        next.read("count_finished", json!({}))["data"]["finished"],
        0,
        "the work outlived its session"
    );
}

/// Sends a request and hangs up after a while, which cancels it where there are no sessions.
pub(crate) fn abandon(url: &str, headers: &[(String, String)], body: &str, after: Duration) {
    use std::io::Write;
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let mut head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
    wait_for(after);
}

/// REQ-CONC-02
#[test]
fn calls_that_wait_do_not_hold_up_others() {
    for wire in [Wire::Stdio(Era::Initialize("2025-06-18")), Wire::Stdio(Era::Stateless)] {
        let directory = data();
        let mut client = fixture_setup(directory.path()).connect(wire);
        let slow = client.frame(
            900,
            "tools/call",
            json!({"name": "mcp_aql_read", "arguments": wait_call(1000, "get_wait")}),
        );
        client.stdio().send(slow.to_string().as_bytes());
        let quick = client.frame(901, "tools/call", json!({"name": "mcp_aql_read", "arguments": {"operation": "get_echo", "params": {"message": "quick"}}}));
        client.stdio().send(quick.to_string().as_bytes());
        assert_eq!(client.stdio().next()["id"], 901, "{wire:?}");
        assert_eq!(client.stdio().next()["id"], 900, "{wire:?}");
    }
}

#[test]
fn a_stop_lets_running_calls_finish() {
    for wire in
        [Wire::Stdio(Era::Stateless), Wire::Http(Era::Stateless), Wire::Http(Era::Initialize("2025-06-18"))]
    {
        let directory = data();
        let mut client = fixture_setup(directory.path()).connect(wire);
        let frame = client.frame(
            60,
            "tools/call",
            json!({"name": "mcp_aql_read", "arguments": wait_call(800, "get_wait")}),
        );
        let headers = client.headers("tools/call", &frame);
        match &mut client.link {
            Link::Stdio(link) => {
                link.send(frame.to_string().as_bytes());
                wait_for(Duration::from_millis(200));
                link.process.signal("-TERM");
                assert_eq!(link.answer(&json!(60))["result"]["isError"], false, "{wire:?}");
                assert!(link.process.wait().success());
            }
            Link::Http(link) => {
                let server = Arc::clone(&link.server);
                let asking = std::thread::spawn(move || {
                    let headers: Vec<(&str, &str)> =
                        headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
                    server.post(&headers, frame.to_string().as_bytes()).messages()
                });
                wait_for(Duration::from_millis(300));
                link.server.process.lock().unwrap().signal("-TERM");
                let messages = asking.join().unwrap();
                assert_eq!(messages[0]["result"]["isError"], false, "{wire:?} {messages:?}");
                assert!(link.server.process.lock().unwrap().wait().success());
            }
        }
    }
}
