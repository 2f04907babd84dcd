//! Text on the wire: valid UTF-8 comes through unchanged, anything else is answered for the call it came in.

use serde_json::{Value, json};

use crate::harness::{Client, SCHEMAS, Setup, WIRES, answer_in, data};

/// Sends a `create_entity` whose description is these raw bytes, and gives the answer.
fn create_with_bytes(client: &mut Client, name: &str, description: &[u8]) -> Value {
    let arguments = json!({"operation": "create_entity", "params": {
        "entity_name": name, "entity_type": "item", "description": "@@"
    }});
    let id = client.new_id();
    let frame = client.frame(id, "tools/call", json!({"name": "mcp_aql_create", "arguments": arguments}));
    let text = frame.to_string();
    let (before, after) = text.split_once("@@").unwrap();
    let bytes = [before.as_bytes(), description, after.as_bytes()].concat();
    let answer = client.send_bytes(&json!(id), "tools/call", &frame, &bytes);
    answer_in(&answer["result"], &arguments, &SCHEMAS)
}

/// REQ-ENC-02 REQ-ENC-03 REQ-ENC-04
#[test]
fn broken_text_is_refused_for_its_call_and_the_connection_lives_on() {
    for wire in WIRES {
        let directory = data();
        let mut client = Setup::new(directory.path()).connect(wire);
        for broken in
            [&b"\xFF"[..], b"\xC0\xAF", b"\xC3\x28", b"\xE2\x82", b"\xED\xA0\x80", b"\\ud800", b"\\udfff"]
        {
            let answer = create_with_bytes(&mut client, "Broken", broken);
            assert_eq!(answer["error"]["code"], "VALIDATION_INVALID_ENCODING", "{wire:?} {broken:?}");
            assert!(answer["error"]["details"]["byte_offset"].is_number());
        }
        let paired = create_with_bytes(&mut client, "Paired", b"\\ud83d\\ude00");
        assert_eq!(paired["data"]["description"], "😀", "{wire:?}");
        assert_eq!(client.read("list_entities", json!({}))["data"]["items"].as_array().unwrap().len(), 1);
    }
}

/// REQ-ENC-01 REQ-ENC-09 REQ-ENC-10 REQ-ENC-14 LREQ-CONFORM-06
#[test]
fn what_was_written_is_read_back_unchanged() {
    for wire in WIRES {
        let directory = data();
        let mut client = Setup::new(directory.path()).connect(wire);
        let params = json!({
            "entity_name": "Round-trip_1", "entity_type": "config", "description": "naïve 日本 😀 \"quoted\" \\ back\tslash\nline",
            "priority": 7, "tags": ["a b", "ü"],
            "metadata": {
                "high": 9_007_199_254_740_991_i64, "low": -9_007_199_254_740_991_i64, "float": 0.1, "tiny": 1e-300,
                "amount": "12345678901234567890", "amount_type": "bigint", "none": null, "deep": {"a": [1, {"b": []}]},
                "file_content": "SGVsbG8gV29ybGQ=", "file_encoding": "base64"
            }
        });
        let created = client.create("create_entity", params.clone());
        let got =
            client.read("get_entity", json!({"entity_id": created["data"]["entity_id"], "fields": "full"}));
        assert_eq!(created["data"], got["data"], "{wire:?}");
        for (key, value) in params.as_object().unwrap() {
            assert_eq!(&got["data"][key], value, "{wire:?} {key}");
        }
    }
}

/// REQ-ENC-05 REQ-ENC-07
#[test]
fn nul_is_refused_and_times_are_utc() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let nul = create_with_bytes(&mut client, "Nul", b"a\\u0000b");
    assert_eq!(nul["error"]["code"], "VALIDATION_INVALID_ENCODING");
    assert!(nul["error"]["message"].as_str().unwrap().contains("description"));
    let id = client.new_item("Timed");
    let entity = client.read("get_entity", json!({"entity_id": id}))["data"].clone();
    for key in ["created_at", "updated_at"] {
        let time = entity[key].as_str().unwrap();
        assert!(time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
    }
}
