//! Sessions: when they begin and end, and whose they are.

use std::sync::Arc;

use serde_json::json;

use crate::harness::{Client, Era, Link, Process, Setup, WIRES, Wire, data};

const LEGACY: Era = Era::Initialize("2025-06-18");

/// REQ-SESS-01 REQ-SESS-02 REQ-SESS-14
#[test]
fn a_session_begins_with_initialize_and_ends_with_the_input() {
    let directory = data();
    let mut link = Setup::new(directory.path()).stdio_link();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mcp_aql_read", "arguments": {"operation": "introspect", "params": {"query": "operations"}}}});
    link.send(call.to_string().as_bytes());
    let refused = link.answer(&json!(1));
    assert!(refused["error"]["code"].is_number() && !refused.to_string().contains("session_id"), "{refused}");
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    link.send(
        json!({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": params}).to_string().as_bytes(),
    );
    assert_eq!(link.answer(&json!(2))["result"]["serverInfo"]["name"], "aqueduct");
    let log = link.process.stderr_with("session_started");
    assert_eq!(log.matches("session_started").count(), 1);
    drop(link.stdin.take());
    let before = std::time::Instant::now();
    assert!(link.process.wait().success());
    assert!(before.elapsed().as_secs() < 5);
    let log = link.process.stderr_with("session_ended");
    assert!(log.contains("reason=\"graceful\""), "{log}");
    let id = log.split("session_started\" session_id=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(log.contains(&format!("session_ended\" session_id=\"{id}\"")), "{log}");
}

/// REQ-SESS-03 REQ-SESS-09
#[test]
fn a_client_that_vanishes_ends_its_session_abruptly() {
    use std::io::{BufRead, BufReader, Write};
    let directory = data();
    let mut process = Process::start(Setup::new(directory.path()).command(&["--stdio"]));
    let mut input = process.child.stdin.take().unwrap();
    let mut output = BufReader::new(process.child.stdout.take().unwrap());
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
        .unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    // Nobody reads the next answer any more.
    drop(output);
    let call = json!({"name": "mcp_aql_read", "arguments": {"operation": "list_entities"}});
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}))
        .unwrap();
    drop(input);
    assert!(process.wait().success());
    let log = process.stderr_with("session_ended");
    assert!(log.contains("reason=\"disconnect\""), "{log}");
}

/// REQ-SESS-04 REQ-SESS-16 REQ-SESS-13 REQ-SESS-15
#[test]
fn every_connection_is_a_session_of_its_own_with_an_id_of_ours() {
    for wire in [Wire::Stdio(LEGACY), Wire::Http(LEGACY)] {
        let directory = data();
        let setup = Setup::new(directory.path());
        let (mut one, mut two) = match wire {
            Wire::Stdio(era) => (setup.stdio(era), setup.stdio(era)),
            Wire::Http(era) => {
                let server = setup.http();
                (Client::http(Arc::clone(&server), era), Client::http(server, era))
            }
        };
        let id = one.session_id();
        assert_eq!(one.session_id(), id, "{wire:?}");
        assert_ne!(two.session_id(), id, "{wire:?}");
        let failure = one.read("get_entity", json!({"entity_id": "x"}));
        assert_eq!(failure["error"]["details"]["session_id"], id.as_str(), "{wire:?}");
        let label = json!({"operation": "get_entity", "params": {"entity_id": "x"}, "_meta": {"session_id": id, "user": "admin"}});
        let failure = two.call("mcp_aql_read", label);
        assert_ne!(failure["error"]["details"]["session_id"], id.as_str(), "{wire:?}: _meta is only a label");
    }
}

/// REQ-SESS-02 REQ-SESS-04
#[test]
fn a_legacy_http_session_ends_by_delete_and_is_nobody_elses() {
    let directory = data();
    let server = Setup::new(directory.path()).http();
    let mut client = Client::http(Arc::clone(&server), LEGACY);
    client.session_id();
    let Link::Http(link) = &client.link else { panic!("http") };
    let wire_id = link.session.clone().unwrap();
    assert!(
        !client.introspect(json!({"query": "operations"})).to_string().contains(&wire_id),
        "the wire's id is a secret"
    );
    let headers = [("mcp-session-id", wire_id.as_str()), ("mcp-protocol-version", "2025-06-18")];
    assert!((200..300).contains(&server.delete(&headers).status));
    server.process.lock().unwrap().stderr_with("reason=\"graceful\"");
    let frame = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "mcp_aql_read", "arguments": {"operation": "list_entities"}}});
    assert_eq!(server.post(&headers, frame.to_string().as_bytes()).status, 404);
    let invented = [("mcp-session-id", "00000000-0000-0000-0000-000000000000")];
    assert_eq!(server.post(&invented, frame.to_string().as_bytes()).status, 404);
}

/// REQ-SESS-06 REQ-SESS-11 REQ-INTRO-28
#[test]
fn the_next_session_sees_the_new_configuration_and_the_old_things() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let id = client.new_item("Lasting");
    drop(client);
    let mut client =
        Setup::new(directory.path()).config("[safety]\ndeny = [\"search_*\"]\n").connect(WIRES[0]);
    assert_eq!(client.read("get_entity", json!({"entity_id": id}))["data"]["entity_name"], "Lasting");
    assert!(!client.introspect(json!({"query": "operations"})).to_string().contains("search_entities"));
}

/// REQ-SESS-04
#[test]
fn stateless_http_is_one_session_for_its_principal() {
    let directory = data();
    let server = Setup::new(directory.path()).http();
    let mut one = Client::http(Arc::clone(&server), Era::Stateless);
    let mut two = Client::http(server, Era::Stateless);
    assert_eq!(one.session_id(), two.session_id());
}

/// REQ-MCP-01
#[test]
fn an_unknown_version_is_answered_with_one_we_speak() {
    let directory = data();
    let mut link = Setup::new(directory.path()).stdio_link();
    let params = json!({"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    link.send(
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string().as_bytes(),
    );
    let version = link.answer(&json!(1))["result"]["protocolVersion"].as_str().unwrap().to_owned();
    assert!(["2025-11-25", "2025-06-18"].contains(&version.as_str()), "{version}");
}
