//! Bad input is normal: whatever comes in, the server answers and goes on.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    harness::{Client, Era, Setup, WIRES, data},
    http::raw,
};

/// A small generator of its own, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 8 }) {
            0 => Value::Null,
            1 => json!(self.next().is_multiple_of(2)),
            2 => json!(self.next() as i64),
            3 => json!(f64::from_bits(self.next() >> 2)),
            4 => json!(
                [
                    "",
                    "a",
                    "entity",
                    "\u{0}",
                    "😀",
                    "../../etc",
                    "'; DROP TABLE entity; --",
                    "%s%n",
                    "{{7*7}}"
                ][self.below(9)]
            ),
            5 => json!("x".repeat(self.below(3000))),
            6 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect::<Vec<_>>().into(),
            _ => {
                let keys = [
                    "operation",
                    "params",
                    "entity_id",
                    "entity_name",
                    "input",
                    "fields",
                    "query",
                    "first",
                    "_meta",
                    "x",
                    "metadata",
                ];
                (0..self.below(5))
                    .map(|_| (keys[self.below(keys.len())].to_owned(), self.value(depth - 1)))
                    .collect()
            }
        }
    }
}

const OPERATIONS: [&str; 10] = [
    "introspect",
    "create_entity",
    "get_entity",
    "list_entities",
    "search_entities",
    "update_entity",
    "delete_entity",
    "create_relation",
    "delete_relation",
    "query_relationships",
];

/// REQ-VALID-20 LREQ-ERR-01 REQ-ERR-01
#[test]
fn malformed_parameters_are_always_answered_as_failures_or_successes() {
    let directory = data();
    let mut client = Setup::new(directory.path()).arguments(&["--mode", "all"]).connect(WIRES[0]);
    let known: Vec<&str> = gateway::aql::error::Code::ALL.iter().map(|code| code.as_str()).collect();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for round in 0..600 {
        let mut arguments = json!({"operation": OPERATIONS[random.below(OPERATIONS.len())]});
        if random.below(8) == 0 {
            arguments = random.value(3);
            if !arguments.is_object() {
                arguments = json!({"operation": arguments});
            }
        } else {
            arguments["params"] = random.value(3);
        }
        let answer = client.call("mcp_aql", arguments.clone());
        if answer["success"] == false {
            assert!(
                known.contains(&answer["error"]["code"].as_str().unwrap()),
                "{round} {arguments}: {answer}"
            );
            assert_ne!(answer["error"]["code"], "INTERNAL_ERROR", "{round} {arguments}");
        }
    }
    assert_eq!(client.call("mcp_aql", json!({"operation": "list_entities"}))["success"], true);
}

/// REQ-VALID-20 LREQ-MCP-12
#[test]
fn mutilated_frames_never_end_the_server() {
    let directory = data();
    let mut client = Setup::new(directory.path()).stdio(Era::Initialize("2025-11-25"));
    let frame = client.frame(
        5,
        "tools/call",
        json!({"name": "mcp_aql_read", "arguments": {"operation": "list_entities", "params": {"first": 5}}}),
    );
    let good = frame.to_string().into_bytes();
    let mut random = Random(42);
    for _ in 0..2000 {
        let mut bytes = good.clone();
        for _ in 0..=random.below(4) {
            let place = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[place] = random.next() as u8,
                1 => drop(bytes.remove(place)),
                _ => bytes.insert(place, random.next() as u8),
            }
        }
        bytes.retain(|byte| *byte != b'\n');
        client.stdio().send(&bytes);
    }
    let last = client.frame(
        999_999,
        "tools/call",
        json!({"name": "mcp_aql_read", "arguments": {"operation": "list_entities"}}),
    );
    assert_eq!(client.send_frame(&last)["result"]["isError"], false);
}

#[test]
fn what_is_no_message_is_answered_over_http_too() {
    let directory = data();
    let server = Setup::new(directory.path()).http();
    for (body, code) in
        [(&b"{"[..], -32700), (b"\xFF", -32700), (b"[]", -32600), (b"{}", -32600), (b"", -32700)]
    {
        let answer = server.post(&[], body);
        assert_eq!((answer.status, &answer.messages()[0]["error"]["code"]), (400, &json!(code)), "{body:?}");
    }
    let unknown =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"arguments": {}}}).to_string();
    assert_eq!(server.post(&[], unknown.as_bytes()).messages()[0]["error"]["code"], -32602);
    assert_eq!(server.post(&[("content-type", "text/plain")], unknown.as_bytes()).status / 100, 4);
    let huge =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40000000\r\nConnection: close\r\n\r\n{";
    assert_eq!(raw(&server, huge), 413);
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    assert_eq!(client.read("list_entities", json!({}))["success"], true);
}

/// LREQ-MCP-12
#[test]
fn protocol_faults_have_the_protocols_codes_on_every_wire() {
    for wire in WIRES {
        let directory = data();
        let mut client = Setup::new(directory.path()).connect(wire);
        assert_eq!(
            client.request("tools/call", json!({"name": "nope", "arguments": {}}))["error"]["code"],
            -32602,
            "{wire:?}"
        );
        assert_eq!(client.request("bogus/method", json!({}))["error"]["code"], -32601, "{wire:?}");
        assert_eq!(client.read("list_entities", json!({}))["success"], true, "{wire:?}");
    }
}

#[test]
fn one_key_twice_is_refused_on_every_wire() {
    for wire in WIRES {
        let directory = data();
        let mut client = Setup::new(directory.path()).connect(wire);
        let id = client.new_id();
        let arguments = json!({"operation": "list_entities", "first": "@@"});
        let frame = client.frame(id, "tools/call", json!({"name": "mcp_aql_read", "arguments": arguments}));
        let twice = frame.to_string().replace("\"first\":\"@@\"", "\"first\":1,\"first\":2");
        let answer = client.send_bytes(&json!(id), "tools/call", &frame, twice.as_bytes());
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("VALIDATION_INVALID_JSON") && text.contains("'first'"), "{wire:?} {text}");
    }
}

#[test]
fn a_depth_that_would_overflow_a_stack_is_only_counted() {
    for wire in WIRES {
        let directory = data();
        let mut client = Setup::new(directory.path()).connect(wire);
        let id = client.new_id();
        let frame = client.frame(
            id,
            "tools/call",
            json!({"name": "mcp_aql_read", "arguments": {"operation": "list_entities", "x": "@@"}}),
        );
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let bytes = frame.to_string().replace("\"@@\"", &deep);
        let answer = client.send_bytes(&json!(id), "tools/call", &frame, bytes.as_bytes());
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("nesting_depth") && text.contains("100001"), "{wire:?} {text}");
    }
}
