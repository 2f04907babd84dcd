//! The compromised agent: the whole MCP surface, everything it was ever sent, the logs of its server, and no scruples.
//!
//! Each test plays one way to get something done that nobody agreed to. None may succeed.

mod consent;
mod places;
mod stopped;

use serde_json::{Value, json};

use crate::harness::{Client, Era, Setup};

/// What an agent of a stdio server sees: every line, and every log line at the most talkative level.
fn agent(setup: &Setup) -> Client {
    setup.clone().env("RUST_LOG", "trace").stdio(Era::Initialize("2025-11-25"))
}

/// Every byte that was sent to the agent's side.
fn seen(client: &mut Client) -> String {
    let link = client.stdio();
    let heard = link.heard.lock().unwrap().clone();
    let logged = link.process.stderr.lock().unwrap().clone();
    heard + &logged
}

/// Every operation that there is, with the tool that takes it.
fn operations(client: &mut Client) -> Vec<(String, String)> {
    let listed = client.introspect(json!({"query": "operations", "first": 100}));
    let operations = listed["data"]["operations"].as_array().unwrap().clone();
    let text = |operation: &Value, key: &str| operation[key].as_str().unwrap().to_lowercase();
    let addressed =
        |operation: &Value| (text(operation, "name"), format!("mcp_aql_{}", text(operation, "endpoint")));
    operations.iter().map(addressed).collect()
}

/// The audit log as its reader sees it.
fn audit_text(directory: &std::path::Path) -> String {
    String::from_utf8_lossy(&crate::confirmation::operator(directory, &["audit", "--json"]).stdout)
        .into_owned()
}
