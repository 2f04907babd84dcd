//! The fast path and the library's path answer alike: everything is run with the fast path on and off.

use serde_json::{Value, json};

use crate::harness::{Client, Setup, WIRES, data};

/// Calls that are understood, refused, malformed and odd, in an order in which each has something to meet.
fn requests() -> Vec<(&'static str, Value)> {
    let item = |name: &str| json!({"entity_name": name, "entity_type": "item", "description": "d"});
    let call = |tool: &str, arguments: Value| ("tools/call", json!({"name": tool, "arguments": arguments}));
    let op = |operation: &str, params: Value| json!({"operation": operation, "params": params});
    let mut all = vec![
        call("mcp_aql_create", op("create_entity", item("A"))),
        call("mcp_aql_create", op("create_entity", item("A"))),
        call(
            "mcp_aql_create",
            op("create_entity", json!({"entity_name": "9", "entity_type": "item", "description": "d"})),
        ),
        call("mcp_aql_read", op("get_entity", json!({"entity_name": "A"}))),
        call("mcp_aql_read", op("get_entity", json!({"entity_name": "A", "fields": ["nosuch"]}))),
        call("mcp_aql_read", op("get_entity", json!({"entity_name": "A", "fields": "minimal"}))),
        call("mcp_aql_read", op("list_entities", json!({"first": 1}))),
        call("mcp_aql_read", op("list_entities", json!({"first": 0}))),
        call("mcp_aql_read", op("search_entities", json!({"query": "a \"b"}))),
        call("mcp_aql_update", op("update_entity", json!({"entity_id": "x", "input": {}}))),
        call("mcp_aql_delete", op("delete_entity", json!({"entity_id": "x"}))),
        call("mcp_aql_read", op("introspect", json!({"query": "operations"}))),
        call("mcp_aql_read", op("introspect", json!({"query": "operations", "name": "create_entity"}))),
        call("mcp_aql_read", op("introspect", json!({"query": "types"}))),
        call("mcp_aql_read", op("introspect", json!({"query": "banana"}))),
        call("mcp_aql_read", op("nonsense", json!({}))),
        call("mcp_aql_execute", op("create_entity", item("B"))),
        call(
            "mcp_aql_create",
            json!({"operations": [op("create_entity", item("C")), op("create_entity", item("C")), {}]}),
        ),
        call("mcp_aql_create", json!({"operations": []})),
        call("mcp_aql_read", json!({})),
        call("mcp_aql_read", json!({"operation": 7})),
        call("mcp_aql_read", json!({"operation": "list_entities", "params": []})),
        call("mcp_aql_read", json!({"operation": "list_entities", "_pad": "x".repeat(2_000_000)})),
        call("mcp_aql_read", json!({"operation": "list_entities", "s": "\u{0}"})),
        call("nope", json!({})),
        ("tools/call", json!({"name": "mcp_aql_read"})),
        ("tools/call", json!({"name": "mcp_aql_read", "arguments": []})),
        ("tools/call", json!({"name": "mcp_aql_read", "arguments": "x"})),
        ("tools/call", json!({"name": 7, "arguments": {}})),
        ("tools/call", json!({"arguments": {}})),
        ("tools/list", json!({})),
        ("bogus/method", json!({})),
    ];
    all.push((
        "tools/call",
        json!({"name": "mcp_aql_read", "arguments": {"operation": "list_entities"}, "_meta": {"progressToken": 7}}),
    ));
    all
}

/// Ids, times and sessions differ between two servers and mean nothing here.
fn normalised(mut message: Value) -> Value {
    if let Some(text) = message.pointer_mut("/result/content/0/text") {
        let parsed: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
        *text = parsed;
    }
    let mut text = message.to_string();
    let mut cut = String::new();
    // A UUID, wherever it stands.
    while let Some(place) = find_uuid(&text) {
        cut.push_str(&text[..place]);
        cut.push_str("ID");
        text = text[place + 36..].to_owned();
    }
    cut.push_str(&text);
    let mut message: Value = serde_json::from_str(&cut).unwrap();
    blank_times(&mut message);
    message
}

fn find_uuid(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len().saturating_sub(35)).find(|&start| {
        bytes[start..start + 36].iter().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    })
}

fn blank_times(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                if key.ends_with("_at") || key.ends_with("Cursor") {
                    *inner = json!("");
                } else {
                    blank_times(inner);
                }
            }
        }
        Value::Array(array) => array.iter_mut().for_each(blank_times),
        _ => {}
    }
}

fn run(client: &mut Client) -> Vec<Value> {
    requests().into_iter().map(|(method, params)| normalised(client.request(method, params))).collect()
}

#[test]
fn the_fast_path_changes_no_answer() {
    for wire in WIRES {
        let answers = ["", "[server]\nfast_path = false\n"].map(|config| {
            let directory = data();
            run(&mut Setup::new(directory.path()).config(config).connect(wire))
        });
        for ((fast, slow), (method, params)) in answers[0].iter().zip(&answers[1]).zip(requests()) {
            let shown: String = params.to_string().chars().take(200).collect();
            assert_eq!(fast, slow, "{wire:?} {method} {shown}");
        }
    }
}
