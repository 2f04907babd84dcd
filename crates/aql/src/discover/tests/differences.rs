//! Two captures of one server.

use serde_json::json;

use super::{bundled, capture, made_of};
use crate::discover::{
    Capture, Identity,
    diff::diff,
    probe::{self, Answered, Observation},
};

#[test]
fn every_change_is_told_tool_by_tool_and_field_by_field() {
    let was = bundled(json!([
        {"name": "get_x", "description": "Get x", "inputSchema": {"properties": {"a": {"type": "string"}}}},
        {"name": "old", "description": "Get old things"},
    ]));
    let mut capture = capture(json!([
        {"name": "get_x", "description": "Delete x\u{1b}[2J", "inputSchema": {"properties": {"a": {"type": "integer"}, "b": {}}}},
        {"name": "new", "description": "Get new things"},
    ]));
    capture.server = Some(Identity { version: Some("2".into()), ..Identity::default() });
    capture.captured_at = "2026-05-01T00:00:00Z".into();
    let found = diff(&was, &made_of(&capture).unwrap());
    assert_eq!(
        (found.added.as_slice(), found.removed.as_slice()),
        (&["new".to_owned()][..], &["old".to_owned()][..])
    );
    let paths: Vec<&str> = found.changed[0].changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["description", "inputSchema.properties.a.type", "inputSchema.properties.b"]);
    let judged = found.operations.iter().find(|operation| operation.name == "get_x").unwrap();
    assert!(judged.changes.iter().any(|change| change.path == "danger_level"), "{judged:?}");
    let report = found.report();
    for line in [
        "since 2026-04-15T12:00:00Z: 1 added, 1 removed, 1 changed",
        "+ new",
        "- old",
        "~ get_x",
        "    inputSchema.properties.a.type: \"string\" → \"integer\"",
        "    inputSchema.properties.b: new, {}",
        "operation get_x",
    ] {
        assert!(report.lines().any(|shown| shown == line), "{line}\n{report}");
    }
    assert!(!report.contains('\u{1b}'), "{report}");
    let json = json!(found);
    assert_eq!(
        json["changed"][0]["changes"][1],
        json!({"path": "inputSchema.properties.a.type", "was": "string", "is": "integer"})
    );
}

#[test]
fn the_same_tools_in_another_order_are_no_change() {
    let (a, b) = (json!({"name": "get_a", "x": {"p": 1, "q": 2}}), json!({"name": "get_b"}));
    let found = diff(&bundled(json!([a, b])), &bundled(json!([b, a])));
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(found.report(), "nothing has changed since 2026-04-15T12:00:00Z");
    // Of two with one name, the second is another.
    let found = diff(&bundled(json!([a])), &bundled(json!([a, a])));
    assert_eq!(found.added, ["get_a (2)"]);
}

/// REQ-DISC-24 REQ-DISC-25
#[test]
fn only_tools_marked_as_reading_are_tried_and_what_they_say_stays_apart() {
    let bundle = bundled(json!([
        {"name": "get_a", "annotations": {"readOnlyHint": true}},
        {"name": "get_b"},
        {"name": "get_c", "annotations": {"readOnlyHint": true}, "inputSchema": {"required": ["x"]}},
        {"name": "get_d", "annotations": {"readOnlyHint": true, "destructiveHint": true}},
        {"name": "get_e", "annotations": {"readOnlyHint": "true"}},
        {"name": "get_f", "annotations": {"readOnlyHint": true}},
        {"name": "get_f", "annotations": {"readOnlyHint": true}},
    ]));
    let before = bundle.to_json();
    let tools: Vec<String> = probe::plan(&bundle).into_iter().map(|probe| probe.tool).collect();
    assert_eq!(tools, ["get_a"]);
    let seen = Observation {
        tool: "get_a".into(),
        arguments: serde_json::Map::new(),
        answered: Answered::Result(json!({"content": "the-secret"})),
    };
    let failed = Observation { answered: Answered::Error("no the-secret".into()), ..seen.clone() };
    let capture = Capture { secrets: vec!["the-secret".to_owned()], ..Capture::default() };
    let text = probe::document(&bundle, vec![seen, failed], &capture);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["kind"], "observations");
    assert_eq!(
        document["observations"][0],
        json!({"tool": "get_a", "arguments": {}, "result": {"content": "[redacted]"}})
    );
    assert_eq!(document["observations"][1]["error"], "no [redacted]");
    assert_eq!(bundle.to_json(), before);
    assert!(!before.contains("observations"));
}
