//! Resources that were read once and are read again for the operator, and how the servers are that have them.

use std::{path::Path, sync::Arc};

use serde_json::{Value, json};

use super::recorded::{exported, finished};
use crate::{
    harness::{Client, Era, HttpServer},
    operator::{Answer, address, data_of, key_of, send, settings},
    scripts,
    upstreams::{Place, answered, wait_until},
};

/// A server with notes. What the first says stands in a file beside it.
const NOTES: &str = r#"#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\),.*/\1/p')
  case "$line" in
    *'"method":"initialize"'*)
      answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"notes","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      answer '{"tools":[{"name":"get_it","description":"Gets something","inputSchema":{"type":"object","properties":{}}}]}' ;;
    *'"method":"resources/list"'*)
      answer '{"resources":[{"uri":"note://one","name":"one"},{"uri":"note://huge","name":"huge"}]}' ;;
    *'"method":"resources/templates/list"'*) answer '{"resourceTemplates":[]}' ;;
    *'"method":"resources/read"'*note://huge*)
      answer "{\"contents\":[{\"uri\":\"note://huge\",\"text\":\"$(head -c 1500000 /dev/zero | tr '\0' x)\"}]}" ;;
    *'"method":"resources/read"'*)
      answer "{\"contents\":[{\"uri\":\"note://one\",\"mimeType\":\"text/plain\",\"text\":\"$(cat "$0.text")\"}]}" ;;
    *'"method":"tools/call"'*) answer '{"content":[{"type":"text","text":"0123456789012345678901234567890123456789"}]}' ;;
    '{"jsonrpc":"2.0","id":'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}\n' "$id" ;;
  esac
done
"#;

pub(super) struct Notes {
    pub(super) place: Place,
    pub(super) server: Arc<HttpServer>,
    pub(super) address: String,
    pub(super) key: String,
}

impl Notes {
    pub(super) fn open() -> Self {
        let place = Place::new();
        let script = scripts::program(place.path(), "notes.sh", NOTES);
        let place = place.program("notes", &script, &[], "").lines(&settings(""));
        let place = place.program("broken", Path::new("/bin/false"), &[], "");
        let notes = Self { server: place.setup().http(), place, address: String::new(), key: String::new() };
        notes.says("first");
        let mut client = Client::http(Arc::clone(&notes.server), Era::Stateless);
        notes.place.wait_for(&mut client, &["notes"]);
        Self { address: address(&notes.server.welcome), key: key_of(notes.place.path()), ..notes }
    }

    pub(super) fn says(&self, text: &str) {
        std::fs::write(self.place.path().join("notes.sh.text"), text).unwrap();
    }

    /// A client reads the note, and the trace that is left of it.
    pub(super) fn read(&self) -> String {
        let mut client = Client::http(Arc::clone(&self.server), Era::Initialize("2025-11-25"));
        let read = client.request("resources/read", json!({"uri": "notes+note://one"}));
        assert_eq!(read["result"]["contents"][0]["text"], "first", "{read}");
        let spans = wait_until("the span of the resource", || {
            let spans = exported(self.place.path());
            let found = spans.into_iter().find(|span| {
                span["kind"] == "client"
                    && span["attributes"]["mcp.resource.uri"] == "note://one"
                    && !span["ended_ns"].is_null()
            });
            found.filter(|span| !span.to_string().contains("first"))
        });
        spans["trace_id"].as_str().unwrap().to_owned()
    }

    fn with(&self, key: &str, method: &str, path: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {key}");
        let body = if method == "GET" { String::new() } else { body.to_string() };
        send(&self.address, method, path, &[("authorization", &bearer)], body.as_bytes())
    }

    fn again(&self, body: &Value) -> Answer {
        self.with(&self.key, "POST", "/api/v1/resources/read", body)
    }
}

/// REQ-IUI-05
#[test]
fn a_resource_is_read_again_as_it_is_now_and_what_it_says_is_kept_nowhere() {
    let notes = Notes::open();
    notes.read();
    notes.says("second");
    let spans = exported(notes.place.path()).len();
    for body in [
        json!({"server": "notes", "uri": "note://one"}),
        json!({"uri": "notes+note://one"}),
        json!({"server": "notes", "uri": "notes+note://one"}),
    ] {
        let read = notes.again(&body);
        assert_eq!(read.status, 200, "{body}: {}", read.body);
        let content = &read.body["contents"][0];
        assert_eq!(
            (&content["text"], &content["mimeType"]),
            (&json!("second"), &json!("text/plain")),
            "{body}"
        );
    }
    let own = data_of(notes.place.path()).join("operator.key");
    for (body, status, why) in [
        (json!({"server": "notes", "uri": "note://none"}), 404, "not found"),
        (json!({"server": "other", "uri": "note://one"}), 404, "no such server"),
        (json!({"server": "broken", "uri": "note://one"}), 404, "not found"),
        (json!({"server": "notes", "uri": "note://huge"}), 502, "can be shown"),
        (json!({"server": "notes", "uri": ""}), 400, "between"),
        (json!({"server": "notes", "uri": "x".repeat(5000)}), 400, "between"),
        (json!({"server": "notes"}), 400, "uri"),
        (json!({"server": "notes", "uri": format!("file://{}", own.display())}), 403, "own"),
    ] {
        let refused = notes.again(&body);
        let words = refused.body["error"]["message"].as_str().unwrap().to_lowercase();
        assert!(
            refused.status == status && words.contains(why),
            "{body}: {} {}",
            refused.status,
            refused.body
        );
    }
    let viewer = std::fs::read_to_string(data_of(notes.place.path()).join("viewer.key")).unwrap();
    let body = json!({"server": "notes", "uri": "note://one"});
    assert_eq!(notes.with(viewer.trim(), "POST", "/api/v1/resources/read", &body).status, 403);
    let log = notes.with(&notes.key, "GET", "/api/v1/audit?limit=1000", &Value::Null).body.to_string();
    assert!(log.contains("RESOURCE_READ") && !log.contains("second"), "{log}");
    // A call after it is recorded, so that everything before would be by now.
    answered(&mut Client::http(Arc::clone(&notes.server), Era::Stateless), "notes_get_it", json!({}));
    finished(notes.place.path(), "tools/call get_it", 1);
    let all = exported(notes.place.path());
    assert!(!json!(all).to_string().contains("second"));
    assert_eq!(all.len(), spans + 2, "only the call itself is new");
}

/// REQ-IUI-04
#[test]
fn servers_say_how_they_are_and_results_what_they_cost() {
    let notes = Notes::open();
    answered(&mut Client::http(Arc::clone(&notes.server), Era::Stateless), "notes_get_it", json!({}));
    finished(notes.place.path(), "tools/call get_it", 1);
    let get = |path: &str| notes.with(&notes.key, "GET", path, &Value::Null).body;
    let state = |name: &str| {
        let servers = get("/api/v1/servers");
        servers["servers"]
            .as_array()
            .unwrap()
            .iter()
            .find(|server| server["server"] == name)
            .cloned()
            .unwrap()
    };
    assert_eq!((&state("notes")["state"], &state("notes")["error"]), (&json!("running"), &Value::Null));
    let broken = wait_until("a server that failed", || {
        Some(state("broken")).filter(|server| server["state"] == "failed")
    });
    assert!(!broken["error"].as_str().unwrap().is_empty(), "{broken}");
    let row = wait_until("the cost of the call", || {
        let calls = get("/api/v1/tokens")["calls"].as_array().unwrap().clone();
        calls.into_iter().find(|row| row["operation"] == "notes_get_it")
    });
    // The result is JSON of about a hundred bytes.
    let tokens = row["result_tokens"].as_u64().unwrap();
    assert!((10..200).contains(&tokens) && row["calls"] == 1, "{row}");
}
