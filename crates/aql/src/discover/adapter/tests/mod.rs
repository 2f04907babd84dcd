//! From bundles to adapter files and back to operations.

mod applying;
mod building;
mod published;
mod reading;
mod safety;

use serde_json::{Value, json};

use super::{
    Adapter, Built, Overrides, build,
    overrides::{self, Notation},
    read,
};
use crate::{
    adopt::{self, Taken},
    classify,
    discover::{Bundle, tests, yaml},
    listed::{self, ListedTool},
};

fn tools() -> Value {
    json!([
        {"name": "get_user", "description": "Get a user\n\nBy name: `x` [y](z) <b>\n", "inputSchema": {"type": "object",
            "properties": {"userName": {"type": "string", "description": "Who", "pattern": "^[a-z]+$"},
                "perPage": {"type": "integer", "minimum": 1, "maximum": 100, "default": 30},
                "since": {"type": "string", "format": "date-time"},
                "kind": {"type": "string", "enum": ["a", "b", "yes"]}}, "required": ["userName"]}},
        {"name": "update_user", "description": "Update a user", "inputSchema": {"type": "object",
            "properties": {"id": {"type": "string"}, "fullName": {"type": "string"}, "age": {"type": "integer"}},
            "required": ["id"]}},
        {"name": "manage_items", "description": "Manage items", "inputSchema": {"type": "object",
            "properties": {"action": {"type": "string", "enum": ["list", "delete"]}, "id": {"type": "string"}},
            "required": ["action"]}},
        {"name": "process"},
    ])
}

fn bundled() -> Bundle {
    tests::bundled(tools())
}

fn said(yaml: &str) -> Overrides {
    overrides::read(yaml, Notation::Yaml).unwrap()
}

fn built(yaml: &str) -> Built {
    build(&bundled(), &said(yaml)).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn markdown(built: &Built) -> String {
    built.files()[0].content.clone()
}

/// The settings of an adapter file as JSON.
fn front(markdown: &str) -> Value {
    let front = markdown.strip_prefix("---\n").unwrap().split("\n---\n").next().unwrap();
    yaml::read(front).unwrap().to_json()
}

fn reread(built: &Built) -> Adapter {
    let text = markdown(built);
    read(&text, Some(&built.files()[0].name))
        .unwrap_or_else(|problems| panic!("{problems:?}\n{text}"))
        .adapter
}

fn listed_tools(tools: Value) -> Vec<ListedTool> {
    listed::read(tools).unwrap()
}

fn options<'a>(overrides: &'a classify::Overrides, prefix: &'a str) -> adopt::Options<'a> {
    adopt::Options { server: "sample", prefix, trust: classify::Trust::Claimed, overrides }
}

fn applied(adapter: &Adapter, tools: Value, prefix: &str) -> super::Applied {
    let overrides = classify::Overrides::default();
    super::adopt(adapter, &listed_tools(tools), &options(&overrides, prefix), &mut Taken::default())
}
