//! Whole tool lists and introspection answers, so that every change to what a model reads is seen.

use aql::{
    profile::{Mode, Profile},
    tools::Tool,
};
use serde_json::{Value, json};

use crate::{drive::items, fixture};

fn shown(tools: &[Tool]) -> Value {
    let shown = tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description.lines().collect::<Vec<_>>(),
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "inputSchema": tool.input_schema,
        })
    });
    shown.collect()
}

/// Keys are sorted, so that the order other crates ask of JSON objects changes nothing here.
fn snapshot(name: &str, value: &Value) {
    let mut settings = insta::Settings::clone_current();
    settings.set_sort_maps(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_json_snapshot!(name, value));
}

fn tools(mode: Mode, profile: Profile) -> Value {
    shown(fixture::built(fixture::builder().mode(mode).profile(profile)).tools())
}

/// REQ-MODE-03 LREQ-MCP-02
#[test]
fn tools_crude() {
    snapshot("tools_crude", &tools(Mode::Semantic, Profile::crude()));
}

/// REQ-MODE-05 LREQ-MCP-03
#[test]
fn tools_discover() {
    snapshot("tools_discover", &tools(Mode::Semantic, Profile::discover()));
}

/// REQ-MODE-04 LREQ-MCP-04
#[test]
fn tools_single() {
    snapshot("tools_single", &tools(Mode::Single, Profile::crude()));
}

/// REQ-MODE-09
#[test]
fn tools_all() {
    snapshot("tools_all", &tools(Mode::All, Profile::crude()));
}

/// REQ-INTRO-05 REQ-INTRO-18
#[test]
fn introspection_list() {
    snapshot("introspection_list", &items().introspection(json!({"query": "operations"})));
}

/// REQ-INTRO-06
#[test]
fn introspection_detail() {
    snapshot(
        "introspection_detail",
        &items().introspection(json!({"query": "operations", "name": "update_item"})),
    );
}
