//! Clients that stumble, stop reading, hang up or spell things oddly; none of it may cost an answer or a stop.

use std::{
    io::{Read, Write},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    harness::{
        Client, Era, Link, Process, Setup, WIRES, Wire, data, fixture_setup, stateless_meta, wait_for,
    },
    http::raw,
};

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
}

fn wait_call(id: u64, milliseconds: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "mcp_aql_read", "arguments": {"operation": "get_wait", "params": {"milliseconds": milliseconds}},
        "_meta": stateless_meta()}})
}

#[test]
fn a_malformed_initialize_can_be_tried_again() {
    let directory = data();
    let mut link = Setup::new(directory.path()).stdio_link();
    link.send(br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#);
    assert!(link.answer(&json!(0))["error"].is_object());
    link.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    link.send(initialize().to_string().as_bytes());
    assert_eq!(link.answer(&json!(1))["result"]["serverInfo"]["name"], "aqueduct");
    link.send(br#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    assert_eq!(link.answer(&json!(2))["result"]["tools"].as_array().unwrap().len(), 5);
}

#[test]
fn requests_that_nobody_can_read_are_answered() {
    let directory = data();
    let mut link = Setup::new(directory.path()).stdio_link();
    link.send(initialize().to_string().as_bytes());
    link.answer(&json!(1));
    for (request, code) in [
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nope","arguments":{"a":1e999}}}"#,
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nope","arguments":5}}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"mcp_aql_read","requestState":5}}"#,
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":5}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, -32600),
    ] {
        link.send(request.as_bytes());
        let answer = link.next();
        assert_eq!(answer["error"]["code"], code, "{request}: {answer}");
    }
}

#[test]
fn an_id_is_the_same_however_it_is_spelled() {
    let directory = data();
    let mut link = Setup::new(directory.path()).stdio_link();
    link.send(initialize().to_string().as_bytes());
    link.answer(&json!(1));
    for id in [r#""\u0061""#, "-0"] {
        link.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}").as_bytes());
        let expected: Value = serde_json::from_str(id).unwrap();
        assert_eq!(
            link.next()["id"].to_string().replace('-', ""),
            expected.to_string().replace("-0.0", "0").replace('-', "")
        );
    }
    drop(link.stdin.take());
    let before = Instant::now();
    assert!(link.process.wait().success());
    assert!(before.elapsed() < Duration::from_secs(5), "an answered id was waited for");
}

/// REQ-SESS-02
#[test]
fn input_that_ends_early_still_gets_its_answers() {
    let directory = data();
    let mut link = fixture_setup(directory.path()).stdio_link();
    link.send(wait_call(7, 1500).to_string().as_bytes());
    drop(link.stdin.take());
    assert_eq!(link.answer(&json!(7))["result"]["isError"], false);
    assert!(link.process.wait().success());
}

/// REQ-SESS-02 REQ-SESS-09
#[test]
fn a_second_signal_stops_at_once() {
    let directory = data();
    let mut link = fixture_setup(directory.path()).stdio_link();
    link.send(wait_call(7, 30_000).to_string().as_bytes());
    wait_for(Duration::from_millis(300));
    let before = Instant::now();
    link.process.signal("-TERM");
    wait_for(Duration::from_millis(300));
    link.process.signal("-TERM");
    assert!(link.process.wait().success());
    assert!(before.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_client_that_does_not_read_cannot_keep_the_server_from_stopping() {
    let directory = data();
    let mut process = Process::start(fixture_setup(directory.path()).command(&[]));
    let mut input = process.child.stdin.take().unwrap();
    let _unread = process.child.stdout.take().unwrap();
    let writer = std::thread::spawn(move || {
        for id in 0..400_u64 {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": "mcp_aql_read", "arguments": {"operation": "get_wait", "params": {"milliseconds": 200}},
                "_meta": stateless_meta()}});
            if writeln!(input, "{call}").is_err() {
                break;
            }
            let large = json!({"jsonrpc": "2.0", "id": format!("l{id}"), "method": "tools/call", "params": {
                "name": "mcp_aql_read", "arguments": {"operation": "get_bytes", "params": {"bytes": 5000}},
                "_meta": stateless_meta()}});
            if writeln!(input, "{large}").is_err() {
                break;
            }
        }
    });
    wait_for(Duration::from_millis(800));
    process.signal("-TERM");
    wait_for(Duration::from_millis(200));
    process.signal("-TERM");
    let before = Instant::now();
    process.wait();
    assert!(before.elapsed() < Duration::from_secs(5));
    writer.join().unwrap();
}

#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let directory = data();
    let mut command =
        Setup::new(directory.path()).config("[safety]\ndeny = [\"delete_*\"]\n").command(&["--stdio"]);
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    writeln!(input, "{}", initialize()).unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    for id in 0..2000 {
        let denied = json!({"name": "mcp_aql_delete", "arguments": {"operation": "delete_entity"}});
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": denied}))
            .unwrap();
        line.clear();
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        assert!(line.contains("PERMISSION_DENIED"), "{line}");
    }
    drop(input);
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_legacy_call_outlives_its_request_and_a_stateless_one_does_not() {
    for (era, finished) in [(Era::Initialize("2025-06-18"), 1), (Era::Stateless, 0)] {
        let directory = data();
        let server = fixture_setup(directory.path()).http();
        let mut client = Client::http(Arc::clone(&server), era);
        let params = json!({"name": "mcp_aql_execute", "arguments": {"operation": "execute_wait", "params": {"milliseconds": 900}}});
        let frame = client.frame(5, "tools/call", params);
        let headers = client.headers("tools/call", &frame);
        crate::slow::abandon(&server.url, &headers, &frame.to_string(), Duration::from_millis(300));
        wait_for(Duration::from_millis(1500));
        assert_eq!(client.read("count_finished", json!({}))["data"]["finished"], finished, "{era:?}");
    }
}

#[test]
fn a_stop_waits_for_answers_that_are_on_their_way() {
    for wire in [Wire::Http(Era::Initialize("2025-11-25")), Wire::Http(Era::Stateless)] {
        for _ in 0..4 {
            let directory = data();
            let client = fixture_setup(directory.path()).connect(wire);
            let params = json!({"name": "mcp_aql_read", "_meta": {"progressToken": 1},
                "arguments": {"operation": "get_wait", "params": {"milliseconds": 400}}});
            let frame = client.frame(60, "tools/call", params);
            let headers = client.headers("tools/call", &frame);
            let Link::Http(link) = &client.link else { panic!("http") };
            let server = Arc::clone(&link.server);
            let asking = std::thread::spawn(move || {
                let headers: Vec<(&str, &str)> =
                    headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
                server.post(&headers, frame.to_string().as_bytes())
            });
            wait_for(Duration::from_millis(200));
            link.server.process.lock().unwrap().signal("-TERM");
            let answer = asking.join().unwrap();
            let found = answer.messages().into_iter().any(|message| message["result"]["isError"] == false);
            assert!(found, "{wire:?} {} {}", answer.status, answer.body);
        }
    }
}

#[test]
fn headers_given_twice_are_not_taken_for_one() {
    let directory = data();
    let server = Setup::new(directory.path()).http();
    let address = server.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_read", "arguments": {"operation": "list_entities"}, "_meta": stateless_meta()}})
    .to_string();
    let request = |extra: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nConnection: close\r\n\
             Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: mcp_aql_read\r\nMcp-Param-Operation: list_entities\r\n{extra}\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    assert_eq!(raw(&server, &request("")), 200);
    for twice in [
        "Host: evil.example\r\n",
        "Mcp-Session-Id: 00000000-0000-0000-0000-000000000000\r\n",
        "Mcp-Name: mcp_aql_delete\r\n",
        "Mcp-Param-Operation: delete_entity\r\n",
        "Mcp-Method: tools/list\r\n",
    ] {
        assert!(raw(&server, &request(twice)) >= 400, "{twice}");
    }
}

/// REQ-ENC-02
#[test]
fn broken_text_does_not_get_past_the_session_check() {
    let directory = data();
    let server = Setup::new(directory.path()).http();
    let body = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"mcp_aql_read\",\"arguments\":{\"a\":\"\xFF\"}}}";
    let answer = server.post(&[("mcp-session-id", "00000000-0000-0000-0000-000000000000")], body);
    assert_eq!((answer.status, &answer.messages()[0]["error"]["code"]), (400, &json!(-32700)));
    let mut link = Setup::new(directory.path()).stdio_link();
    link.send(body);
    assert_eq!(link.answer(&json!(1))["error"]["code"], -32700, "no call before initialize");
}

#[test]
fn what_the_library_cannot_read_is_answered_over_http_in_the_protocols_words() {
    for wire in &WIRES[3..] {
        let directory = data();
        let mut client = Setup::new(directory.path()).connect(*wire);
        let mut frame = client.frame(9, "tools/list", json!({}));
        frame["params"] = json!(5);
        let answer = client.send_frame(&frame);
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(9), &json!(-32602)),
            "{wire:?} {answer}"
        );
    }
}
