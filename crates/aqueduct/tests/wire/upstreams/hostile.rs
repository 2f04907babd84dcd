//! Servers that send what no server should. They may harm their own calls, and nothing else.

use serde_json::{Value, json};

use super::{Place, Remote, answered, call, echoes, operations, refused, wait_until};
use crate::harness::Client;

fn hostile(client: &mut Client, server: &str, kind: &str) -> Value {
    call(client, &format!("{server}_hostile"), json!({"kind": kind}))
}

/// What comes between the messages is passed over, and what a server prints to standard error harms nobody.
#[test]
fn a_server_may_be_loud() {
    let place = Place::new().stdio("one", &["--noise"], "");
    let mut client = place.client();
    for _ in 0..3 {
        echoes(&mut client, "one");
        assert_eq!(answered(&mut client, "one_noise", json!({})), "loud");
    }
    assert_eq!(place.starts("one").len(), 1);
}

#[test]
fn answers_that_can_be_understood_are() {
    let place = Place::new();
    let remote = Remote::start(&place, "remote", &[]);
    let place = place.stdio("process", &[], "").http("remote", &remote.url, "");
    let mut client = place.client();
    for server in ["process", "remote"] {
        assert_eq!(hostile(&mut client, server, "carriage_return")["data"], "windows", "{server}");
        let both = hostile(&mut client, server, "both");
        assert_eq!(both["error"]["details"]["upstream_error"]["message"], "both", "{server}: {both}");
        for kind in ["neither", "text_error"] {
            let answer = hostile(&mut client, server, kind);
            assert_eq!(answer["error"]["code"], "INTERNAL_ERROR", "{server} {kind}: {answer}");
        }
        echoes(&mut client, server);
    }
    assert_eq!(hostile(&mut client, "process", "in_pieces")["data"], "in pieces");
    let result =
        client.result("mcp_aql", json!({"operation": "process_hostile", "params": {"kind": "line_feeds"}}));
    assert_eq!(result["content"][1], json!({"type": "image", "data": "QUJD", "mimeType": "image/png"}));
}

/// Whatever comes back is an answer, it comes before the time is up, and the connection lives on.
#[test]
fn answers_that_cannot_be_understood_fail_their_own_call_at_once() {
    let place = Place::new();
    let remote = Remote::start(&place, "remote", &[]);
    let sse = Remote::start(&place, "sse", &["--sse"]);
    let patient = "timeout_seconds = 3600";
    let place = place
        .stdio("process", &[], patient)
        .http("remote", &remote.url, patient)
        .http("sse", &sse.url, patient);
    let mut client = place.client();
    for server in ["process", "remote", "sse"] {
        for kind in [
            "invalid_utf8",
            "lone_surrogate",
            "deep_structure",
            "deep_text",
            "deep_error",
            "duplicate_keys",
            "huge_number",
        ] {
            let id = super::begin(&mut client, &format!("{server}_hostile"), json!({"kind": kind}));
            // Deep answers are too deep for a reader of values, so only the frame is read.
            let line = wait_until(&format!("the answer to {server} {kind}"), || {
                client.stdio().lines.try_iter().find(|line| line.contains(&format!("\"id\":{id},")))
            });
            assert!(line.contains("\\\"success\\\":"), "{server} {kind}: {line:.300}");
            echoes(&mut client, server);
        }
    }
    assert_eq!(place.starts("process").len(), 1, "no answer ended the connection");
}

#[test]
fn a_message_without_end_ends_its_server_and_nothing_else() {
    let place = Place::new();
    let remote = Remote::start(&place, "remote", &[]);
    let place = place.stdio("process", &[], "").http("remote", &remote.url, "").stdio("other", &[], "");
    let mut client = place.client();
    echoes(&mut client, "other");
    for server in ["process", "remote"] {
        let error = refused(&mut client, &format!("{server}_hostile"), json!({"kind": "long_line"}));
        assert_eq!(error["code"], "INTERNAL_UNAVAILABLE", "{error}");
        let why = error["details"]["upstream_error"]["message"].as_str().unwrap();
        assert!(why.contains("more than"), "{error}");
        echoes(&mut client, "other");
        wait_until("it is used again", || {
            let answer = call(&mut client, &format!("{server}_echo"), json!({"text": "x"}));
            (answer["success"] == true).then_some(())
        });
    }
}

/// A server that announces changes without end is listened to, but not at its pace.
#[test]
fn many_announcements_cost_few_looks() {
    let place = Place::new().stdio("one", &[], "");
    let mut client = place.client();
    echoes(&mut client, "one");
    let calls: Vec<u64> = (0..300).map(|_| super::begin(&mut client, "one_announce", json!({}))).collect();
    for id in calls {
        assert_eq!(super::finish(&mut client, id)["data"], "announced");
    }
    echoes(&mut client, "one");
    let looks = place.count("one", |event| event["method"] == "tools/list");
    // How many calls share a look depends on how many run together: about thirty looks, a hundred where everything is slow.
    assert!(looks < 200, "{looks} looks for 300 announcements");
}

/// A list without end is no list.
#[test]
fn a_list_that_never_ends_is_given_up() {
    for kind in ["new", "same"] {
        let place = Place::new();
        let remote = Remote::start(&place, "remote", &["--endless", kind]);
        let place = place.stdio("process", &["--endless", kind], "").http("remote", &remote.url, "").stdio(
            "well",
            &[],
            "",
        );
        let mut client = place.setup().connect(super::CLIENTS[0]);
        place.wait_for(&mut client, &["well"]);
        echoes(&mut client, "well");
        let names = operations(&mut client);
        assert!(!names.iter().any(|name| name.contains("tool_")), "{kind}: {names:?}");
        let told = client.stdio().process.stderr_with("does not end");
        assert!(told.contains("could not be listed"), "{told}");
    }
}

/// Definitions that are none, or too much, cost at most their own tool.
#[test]
fn broken_definitions_leave_the_other_tools_alone() {
    let mut deep = json!({"type": "string"});
    for _ in 0..60 {
        deep = json!({"type": "object", "properties": {"in": deep}});
    }
    for (what, definition) in [
        ("no name", json!({"name": ""})),
        ("a number for a name", json!({"name": 7})),
        ("no words", json!({"name": "日本語"})),
        ("a name twice", json!({"name": "echo", "description": "Another one."})),
        ("a name with everything", json!({"name": "../../etc/passwd\u{0}\n; rm -rf"})),
        ("a very long name", json!({"name": "n".repeat(100_000)})),
        ("no schema", json!({"inputSchema": null})),
        ("a list for a schema", json!({"inputSchema": [1, 2]})),
        ("a text for a schema", json!({"inputSchema": "object"})),
        ("a deep schema", json!({"inputSchema": deep})),
        (
            "a schema of itself",
            json!({"inputSchema": {"type": "object", "properties": {"a": {"$ref": "#"}}}}),
        ),
        ("a schema elsewhere", json!({"inputSchema": {"$ref": "https://127.0.0.1:9/x.json"}})),
        ("a long description", json!({"description": "d".repeat(1_000_000)})),
        ("a description that is none", json!({"description": {"a": 1}})),
        (
            "reserved names",
            json!({"inputSchema": {"type": "object", "properties": {"operation": {}, "params": {}, "fields": {}, "first": {}}}}),
        ),
    ] {
        let place = Place::new().stdio("one", &[], "");
        place.define("one", &json!({"odd": definition}));
        let mut client = place.client();
        echoes(&mut client, "one");
        let names = operations(&mut client);
        assert!(names.len() > 20, "{what}: {names:?}");
        assert!(
            names
                .iter()
                .all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')),
            "{what}: {names:?}"
        );
    }
}

/// Kept files are data like any other.
#[test]
fn a_damaged_catalogue_is_asked_for_again() {
    let place = Place::new().stdio("one", &[], "");
    place.learn(&["one"]);
    let file = place.path().join("data/upstreams/one.json");
    for damage in ["", "{", "[]", "{\"form\": 1}", "{\"form\": 99}", "\u{feff}null"] {
        std::fs::write(&file, damage).unwrap();
        let mut client = place.setup().connect(super::CLIENTS[0]);
        echoes(&mut client, "one");
        wait_until("it is kept again", || place.catalogue("one").filter(|kept| kept["tools"].is_array()));
    }
    std::fs::write(&file, b"\xff\xfe").unwrap();
    echoes(&mut place.setup().connect(super::CLIENTS[0]), "one");
}

/// Nothing of it is a place to write to for others.
#[cfg(unix)]
#[test]
fn catalogues_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new().stdio("one", &[], "");
    place.learn(&["one"]);
    let mode = std::fs::metadata(place.path().join("data/upstreams/one.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    let left: Vec<_> = std::fs::read_dir(place.path().join("data/upstreams")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
