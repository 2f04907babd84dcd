//! What the tools answer with, and what no server should.

use serde_json::{Value, json};

use crate::protocol::Out;

pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

pub(crate) fn structured(value: Value) -> Value {
    json!({"content": [{"type": "text", "text": value.to_string()}], "structuredContent": value})
}

/// A result of each kind that servers answer with.
pub(crate) fn content(kind: &str) -> Value {
    let block = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png", "annotations": {"priority": 0.5}});
    match kind {
        "structured" => structured(
            json!({"city": "Ålesund", "degrees": -3.5, "none": null, "deep": {"list": [1, {"a": []}]}}),
        ),
        "structured_only" => json!({"content": [], "structuredContent": {"only": true}}),
        "structured_list" => json!({"content": [], "structuredContent": [1, 2, 3]}),
        "structured_differs" => {
            json!({"content": [block("a sentence for people")], "structuredContent": {"for": "machines"}})
        }
        "json" => text("{\"b\": 1, \"a\": [1.50, 12345678901234567890, \"ü\"]}"),
        "json_lines" => text("[\n  {\"id\": 1},\n  {\"id\": 2}\n]\n"),
        "almost_json" => text("{\"a\": 1,}"),
        "number" => text("42"),
        "empty" => text(""),
        "nothing" => json!({"content": []}),
        "no_content" => json!({}),
        "texts" => json!({"content": [block("one"), block("two"), block("{\"three\": 3}")]}),
        "image" => json!({"content": [image]}),
        "image_and_text" => json!({"content": [block("before"), image, block("after")]}),
        "image_and_structured" => {
            json!({"content": [block("{\"a\":1}"), image], "structuredContent": {"a": 1}})
        }
        "audio" => json!({"content": [{"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}]}),
        "link" => json!({"content": [{"type": "resource_link", "uri": "file:///a%20b.txt", "name": "a b.txt",
                                      "description": "A file", "mimeType": "text/plain", "size": 12}]}),
        "embedded" => {
            json!({"content": [{"type": "resource", "resource": {"uri": "test://1", "mimeType": "text/plain", "text": "inside"}}]})
        }
        "embedded_blob" => {
            json!({"content": [{"type": "resource", "resource": {"uri": "test://2", "blob": "AAEC"}}]})
        }
        "hologram" => json!({"content": [{"type": "hologram", "depth": 3, "layers": [{"z": 1}]}]}),
        "unknown_fields" => {
            json!({"content": [{"type": "text", "text": "known", "x-new": {"a": 1}, "annotations": {"audience": ["user"]}}],
                                   "x-result": 7})
        }
        "meta" => {
            json!({"content": [block("with meta")], "_meta": {"example.com/trace": "abc", "n": [1, 2]}})
        }
        "broken_blocks" => json!({"content": [1, "x", {"type": 5}, {"text": "no type"}]}),
        "odd_text" => {
            text("quotes \" backslash \\ tab \t line \n null \u{0} emoji 👩‍👩‍👧 rtl \u{202e} sep \u{2028}")
        }
        "not_a_result" => json!([1, 2]),
        "null_result" => Value::Null,
        "content_no_list" => json!({"content": "just text"}),
        "error_without_text" => json!({"isError": true, "content": [image]}),
        other => text(&format!("no kind '{other}'")),
    }
}

/// A list of objects, with something beside it. `call` tells which call made it.
pub(crate) fn things(count: u64, note: u64, call: usize) -> Value {
    let note = "n".repeat(usize::try_from(note).unwrap());
    let thing = |n: u64| {
        json!({"id": n, "title": format!("Thing {n}"), "state": if n.is_multiple_of(3) { "open" } else { "closed" },
               "note": note, "author": {"login": format!("user{}", n % 2)}})
    };
    let things: Vec<Value> = (1..=count).map(thing).collect();
    text(&json!({"call": call, "things": things}).to_string())
}

/// Answers badly.
pub(crate) fn hostile(kind: &str, id: &Value, out: &dyn Out) {
    let answer =
        |result: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n").into_bytes();
    match kind {
        "deep_structure" => {
            let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
            out.raw(&answer(&format!("{{\"content\":[],\"structuredContent\":{{\"a\":{deep}}}}}")));
        }
        "deep_text" => {
            let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
            out.raw(&answer(&text(&deep).to_string()));
        }
        "deep_error" => {
            let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
            let error = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":1,\"message\":\"deep\",\"data\":{deep}}}}}\n");
            out.raw(error.as_bytes());
        }
        "invalid_utf8" => {
            let mut bytes = answer(&text("broken ? text").to_string());
            let place = bytes.iter().position(|byte| *byte == b'?').unwrap();
            bytes[place] = 0xff;
            out.raw(&bytes);
        }
        "lone_surrogate" => out.raw(&answer("{\"content\":[{\"type\":\"text\",\"text\":\"half \\ud800\"}]}")),
        "long_line" => {
            // In one piece: what else is answered meanwhile would end the line.
            out.pour(&vec![b'x'; 100 * 1024 * 1024]);
        }
        "duplicate_keys" => {
            out.raw(&answer("{\"content\":[],\"structuredContent\":{\"a\":1,\"a\":2},\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}"));
        }
        "neither" => out.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id}}}\n").as_bytes()),
        "both" => out.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[]}},\"error\":{{\"code\":5,\"message\":\"both\"}}}}\n").as_bytes()),
        "text_error" => out.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":\"only words\"}}\n").as_bytes()),
        "carriage_return" => {
            let mut bytes = answer(&text("windows").to_string());
            bytes.insert(bytes.len() - 1, b'\r');
            out.raw(&bytes);
        }
        "late" => {
            std::thread::sleep(std::time::Duration::from_millis(1500));
            out.raw(&answer(&text("too late").to_string()));
        }
        "in_pieces" => {
            for byte in answer(&text("in pieces").to_string()) {
                out.raw(&[byte]);
            }
        }
        "line_feeds" => out.raw(&answer("{\"content\":[\r{\"type\":\"image\",\r\"data\":\"QUJD\",\"mimeType\":\"image/png\"}]}")),
        "huge_number" => out.raw(&answer("{\"content\":[],\"structuredContent\":{\"n\":1e999999,\"m\":0.1234567890123456789012345}}")),
        other => out.raw(&answer(&text(&format!("no kind '{other}'")).to_string())),
    }
}
