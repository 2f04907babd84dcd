//! What a tool answers comes through the gateway: its data once, and what is not text behind it, unchanged.

use serde_json::{Value, json};

use super::{CLIENTS, Place, Remote, answered, call, upstream};
use crate::harness::{Client, Era, StdioLink, command};

/// What the gateway should make of a result, as documented: structured content, else one text, read if it is a JSON
/// object or array, else the blocks by their kinds. What is no text follows the answer.
pub(super) fn expected(result: &Value) -> (Value, Vec<Value>) {
    let blocks = result["content"].as_array().cloned().unwrap_or_default();
    let is_text = |block: &Value| block["type"] == "text" && block["text"].is_string();
    let attached: Vec<Value> = blocks.iter().filter(|block| !is_text(block)).cloned().collect();
    let structured = &result["structuredContent"];
    if !structured.is_null() {
        // Text follows too, unless it says the same once more.
        let same = |block: &Value| {
            let text = block["text"].as_str().unwrap();
            let read = serde_json::from_str::<Value>(text).ok();
            let values: Vec<&Value> =
                structured.as_object().into_iter().flat_map(|data| data.values()).collect();
            text.is_empty()
                || values.contains(&&block["text"])
                || read.is_some_and(|read| read == *structured || (values.len() == 1 && *values[0] == read))
        };
        let told = blocks.iter().filter(|block| !is_text(block) || !same(block)).cloned().collect();
        return (structured.clone(), told);
    }
    if let [block] = blocks.as_slice()
        && is_text(block)
    {
        let text = block["text"].as_str().unwrap();
        let read =
            serde_json::from_str::<Value>(text).ok().filter(|read| read.is_object() || read.is_array());
        return (read.unwrap_or_else(|| block["text"].clone()), attached);
    }
    let kind = |block: &Value| json!({"type": block["type"].as_str().unwrap_or("unknown")});
    let listed: Vec<Value> =
        blocks.iter().map(|block| if is_text(block) { block.clone() } else { kind(block) }).collect();
    (json!({"content": listed}), attached)
}

/// What a call gives through the gateway: its data, what follows it, and the result's `_meta`.
pub(super) fn given(client: &mut Client, operation: &str, params: Value) -> (Value, Vec<Value>, Value) {
    let result = client.result("mcp_aql", json!({"operation": operation, "params": params}));
    let content = result["content"].as_array().unwrap();
    let answer: Value = serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&answer["success"], &result["isError"]), (&json!(true), &json!(false)), "{result}");
    (answer["data"].clone(), content[1..].to_vec(), result["_meta"].clone())
}

/// A client that speaks to the upstream itself.
fn direct(place: &Place) -> Client {
    Client::over_stdio(StdioLink::start(command(&upstream(), place.path())), Era::Stateless)
}

const KINDS: [&str; 25] = [
    "structured",
    "structured_only",
    "structured_list",
    "structured_differs",
    "json",
    "json_lines",
    "almost_json",
    "number",
    "empty",
    "nothing",
    "no_content",
    "texts",
    "image",
    "image_and_text",
    "image_and_structured",
    "audio",
    "link",
    "embedded",
    "embedded_blob",
    "hologram",
    "unknown_fields",
    "meta",
    "broken_blocks",
    "odd_text",
    "no such kind",
];

#[test]
fn every_kind_of_content_is_the_same_as_without_a_gateway() {
    let place = Place::new();
    let json = Remote::start(&place, "json", &["--era", "initialize"]);
    let sse = Remote::start(&place, "sse", &["--era", "discover", "--sse"]);
    let place = place.stdio("process", &[], "").http("json", &json.url, "").http("sse", &sse.url, "");
    let mut direct = direct(&place);
    for wire in CLIENTS {
        let mut client = place.connect(wire);
        for kind in KINDS {
            let result = direct.result("content", json!({"kind": kind}));
            let (data, attached) = expected(&result);
            for server in ["process", "json", "sse"] {
                let given = given(&mut client, &format!("{server}_content"), json!({"kind": kind}));
                assert_eq!((&given.0, &given.1), (&data, &attached), "{wire:?} {server} {kind}");
                let meta = result.get("_meta").cloned().unwrap_or_default();
                assert_eq!(given.2, meta, "{wire:?} {server} {kind}");
            }
        }
    }
}

/// Numbers are not rounded, and keys stay in their order.
#[test]
fn json_is_passed_on_as_it_was_written() {
    let place = Place::new().stdio("one", &[], "");
    let mut client = place.client();
    let result = client.result("mcp_aql", json!({"operation": "one_content", "params": {"kind": "json"}}));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("{\"b\": 1, \"a\": [1.50, 12345678901234567890, \"ü\"]}"), "{text}");
}

#[test]
fn a_megabyte_of_text_comes_through_and_more_than_the_limit_does_not() {
    let place = Place::new();
    let remote = Remote::start(&place, "remote", &[]);
    let place = place
        .stdio("process", &[], "")
        .http("remote", &remote.url, "")
        .lines("[limits]\nmax_response_size = 2000000");
    for wire in CLIENTS {
        let mut client = place.connect(wire);
        for server in ["process", "remote"] {
            let text = answered(&mut client, &format!("{server}_big"), json!({"bytes": 1_000_000}));
            assert_eq!(text.as_str().map(str::len), Some(1_000_000), "{wire:?} {server}");
            let answer = call(&mut client, &format!("{server}_big"), json!({"bytes": 2_000_000}));
            assert_eq!(answer["error"]["code"], "VALIDATION_PAYLOAD_TOO_LARGE", "{wire:?} {server}");
        }
    }
}

/// Calls of one batch that bring images bring all of them, in their order.
#[test]
fn content_of_a_batch_follows_in_the_order_of_its_calls() {
    let place = Place::new().stdio("one", &[], "");
    let mut client = place.client();
    let entry = |kind: &str| json!({"operation": "one_content", "params": {"kind": kind}});
    let batch = json!({"operations": [entry("audio"), entry("json"), entry("image")]});
    let result = client.result("mcp_aql", batch);
    let kinds: Vec<&str> =
        result["content"].as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "audio", "image"], "{result}");
}

/// Parameters have our names outside and the upstream's inside, and the endpoint fits what the tool does.
#[test]
fn operations_stand_where_their_tools_belong() {
    let place = Place::new().stdio("one", &[], "");
    let mut client = crate::harness::Setup::new(place.path()).config(&place.config).connect(CLIENTS[0]);
    assert_eq!(client.read("one_get_user_name", json!({"user_id": "7"}))["data"], "user 7");
    assert_eq!(client.delete("one_delete_thing", json!({"thing_id": "7"}))["data"], "deleted 7");
    let error = client.read("one_delete_thing", json!({"thing_id": "7"}))["error"].clone();
    assert_eq!(error["code"], "VALIDATION_ENDPOINT_MISMATCH", "{error}");
    let missing = client.read("one_get_user_name", json!({}))["error"].clone();
    assert_eq!(
        (&missing["code"], &missing["details"]["param_name"]),
        (&json!("VALIDATION_MISSING_PARAM"), &json!("user_id"))
    );
    let asked = place.count("one", |event| event["params"]["name"] == "getUserName");
    assert_eq!(asked, 1, "a call that lacks something does not reach the server");
}
