//! What is HTTP's own: who is let in, headers of both eras, and where a server may listen.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Client, Era, HttpServer, Process, Setup, data, stateless_meta};

fn list_call() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_read", "arguments": {"operation": "list_entities"}, "_meta": stateless_meta()}})
}

const MODERN: [(&str, &str); 4] = [
    ("mcp-protocol-version", "2026-07-28"),
    ("mcp-method", "tools/call"),
    ("mcp-name", "mcp_aql_read"),
    ("mcp-param-operation", "list_entities"),
];

fn with<'a>(name: &'a str, value: Option<&'a str>) -> Vec<(&'a str, &'a str)> {
    let kept = MODERN.iter().copied().filter(|(known, _)| *known != name);
    kept.chain(value.map(|value| (name, value))).collect()
}

/// REQ-MCP-02
#[test]
fn discover_and_list_answer_without_a_session_and_say_how_long_they_keep() {
    let directory = data();
    let server = Setup::new(directory.path()).http();
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    let discovered = client.request("server/discover", json!({}));
    assert!(
        discovered["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{discovered}"
    );
    assert!(discovered["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2025-06-18")));
    let tools = client.request("tools/list", json!({}));
    assert_eq!(
        (&tools["result"]["ttlMs"], &tools["result"]["cacheScope"]),
        (&json!(60_000), &json!("private"))
    );
    let call = server.post(&MODERN, list_call().to_string().as_bytes());
    assert_eq!((call.status, call.headers["content-type"].as_str()), (200, Some("application/json")));
    assert_eq!(call.messages()[0]["result"]["resultType"], "complete");
    assert!(!call.headers.contains_key("mcp-session-id"));
    let mut legacy = Client::http(server, Era::Initialize("2025-06-18"));
    let tools = legacy.request("tools/list", json!({}));
    assert!(tools["result"].get("ttlMs").is_none() && tools["result"].get("resultType").is_none(), "{tools}");
}

#[test]
fn headers_that_contradict_the_body_are_refused() {
    let directory = data();
    let server = Setup::new(directory.path()).http();
    for (name, value) in [
        ("mcp-method", Some("tools/list")),
        ("mcp-method", None),
        ("mcp-name", Some("mcp_aql_delete")),
        ("mcp-name", None),
        ("mcp-param-operation", Some("delete_entity")),
        ("mcp-protocol-version", Some("1999-01-01")),
        ("mcp-protocol-version", Some("2025-06-18")),
    ] {
        let answer = server.post(&with(name, value), list_call().to_string().as_bytes());
        let refused =
            answer.status >= 400 || answer.messages().iter().any(|message| message.get("error").is_some());
        assert!(refused, "{name}: {value:?} gave {} {}", answer.status, answer.body);
    }
    assert_eq!(server.post(&MODERN, list_call().to_string().as_bytes()).status, 200);
}

#[test]
fn strangers_are_turned_away_before_anything_is_read() {
    let directory = data();
    let server = Setup::new(directory.path()).http();
    let body = list_call().to_string();
    let status = |name: &'static str, value: &'static str| {
        server.post(&with(name, Some(value)), body.as_bytes()).status
    };
    assert_eq!(status("origin", "https://evil.example"), 403);
    assert_eq!(status("origin", "null"), 403);
    assert_eq!(status("origin", "http://localhost:3000"), 200);
    assert_eq!(
        raw(
            &server,
            "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
        403
    );
    assert_eq!(
        raw(&server, "GET /mcp HTTP/1.1\r\nHost: rebind.evil.example:80\r\nConnection: close\r\n\r\n"),
        403
    );
    assert_eq!(raw(&server, "GET /other HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), 404);
}

/// The status of a raw exchange.
pub(crate) fn raw(server: &HttpServer, request: &str) -> u16 {
    use std::io::{Read, Write};
    let address = server.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    answer.split(' ').nth(1).unwrap_or_default().parse().unwrap_or_else(|_| panic!("no HTTP: {answer}"))
}

const TOKENS: &str = r#"
    [[auth.tokens]]
    principal = "alice"
    sha256 = "f52fbd32b2b3b86ff88ef6c490628285f482af15ddcb29541f94bcf526a3f6c7"
    [[auth.tokens]]
    principal = "bob"
    sha256 = "fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603"
"#;

/// REQ-SESS-13 REQ-ISEC-05
#[test]
fn where_tokens_are_configured_each_names_its_own_principal() {
    let directory = data();
    let server = Setup::new(directory.path()).config(TOKENS).http();
    let body = list_call().to_string();
    assert_eq!(server.post(&MODERN, body.as_bytes()).status, 401);
    for wrong in ["Bearer nonsense", "Basic aHVudGVyMg==", "hunter2"] {
        assert_eq!(server.post(&with("authorization", Some(wrong)), body.as_bytes()).status, 401, "{wrong}");
    }
    assert_eq!(server.get(&[]).status, 401);
    assert_eq!(server.delete(&[]).status, 401);
    // sha256 of "hunter2" and "ab"
    let answer = server.post(&with("authorization", Some("Bearer hunter2")), body.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.body);

    let introspect = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_read", "arguments": {"operation": "introspect", "params": {"query": "operations"}}, "_meta": stateless_meta()}});
    let session_of = |token: &str| {
        let mut headers = with("mcp-param-operation", Some("introspect"));
        headers.push(("authorization", token));
        let answer = server.post(&headers, introspect.to_string().as_bytes()).messages().remove(0);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        serde_json::from_str::<Value>(&text).unwrap()["data"]["_protocol"]["session_id"].clone()
    };
    assert_eq!(session_of("Bearer hunter2"), session_of("Bearer hunter2"));
    assert_ne!(session_of("Bearer hunter2"), session_of("Bearer ab"));
    // Who called is written down, and nothing of what they proved it with.
    let recorded = crate::inspector::recorded::finished(directory.path(), "tools/call introspect", 4);
    let recorded = json!(recorded).to_string();
    assert!(recorded.contains("alice") && recorded.contains("bob") && !recorded.contains("hunter2"));

    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let opened = server.post(&[("authorization", "Bearer hunter2")], initialize.to_string().as_bytes());
    let session = opened.headers["mcp-session-id"].as_str().unwrap();
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
    let as_principal = |token: &str| {
        server.post(&[("authorization", token), ("mcp-session-id", session)], ping.as_bytes()).status
    };
    assert_eq!(as_principal("Bearer hunter2"), 200);
    assert_eq!(as_principal("Bearer ab"), 404, "another's session is not there");
}

#[test]
fn an_address_that_others_reach_needs_a_flag_and_tokens() {
    let directory = data();
    let refused = |arguments: &[&str], config: &str| {
        let setup = Setup::new(directory.path()).config(config).arguments(arguments);
        let mut process = Process::start(setup.command(&["--http", "0.0.0.0:0"]));
        assert_eq!(process.wait().code(), Some(3));
        process.stderr_with("--allow-remote")
    };
    assert!(refused(&[], "").contains("auth"));
    assert!(refused(&["--allow-remote"], "").contains("sha256sum"));
    refused(&[], TOKENS);
    let setup = Setup::new(directory.path()).config(TOKENS).arguments(&["--allow-remote"]);
    let mut process = Process::start(setup.command(&["--http", "127.0.0.2:0"]));
    crate::harness::wait_for(std::time::Duration::from_millis(300));
    assert!(process.child.try_wait().unwrap().is_none());
}

#[test]
fn a_taken_port_is_told_with_a_way_out() {
    let directory = data();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut process = Process::start(Setup::new(directory.path()).command(&["--http", &address]));
    assert_eq!(process.wait().code(), Some(4));
    let text = process.stderr_with("--http 127.0.0.1:0");
    assert!(text.contains(&address), "{text}");
}
