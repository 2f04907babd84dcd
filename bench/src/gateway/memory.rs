//! What stays in memory with ten servers' catalogues, and after many calls.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    PATIENCE,
    config::{self, Server},
    contender::Place,
    ours::{Setup, command, operation_call, tool_of},
};
use crate::{
    Result,
    client::{Client, ToolCall},
    floor,
    process::{self, pause},
    report::{Report, Target},
    upstream,
};

const SECTION: &str = "Gateway, memory with ten servers";
/// Ten servers as somebody might have them, by the names of their captures.
const CAPTURES: [&str; 10] = [
    "github-mcp-server",
    "playwright-mcp",
    "todoist-mcp",
    "chrome-devtools-mcp",
    "supabase-mcp",
    "firecrawl-mcp",
    "notion-mcp",
    "stripe-mcp",
    "mcp-server-git",
    "mcp-server-time",
];
/// Where there are no captures, each server lists so many tools.
const MADE_UP_TOOLS: usize = 38;
const REST: Duration = Duration::from_secs(1);
const FIRST_CALLS: usize = 1_000;
const ALL_CALLS: usize = 10_000;
const LANES: usize = 16;
const RESIDENT_MEGABYTES_MAX: f64 = 40.0;
/// What counts as flat from the thousandth call to the ten thousandth.
const GROWTH_MEGABYTES_MAX: f64 = 2.0;

pub(super) fn measure(report: &mut Report, place: &Place) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let (servers, tools) = servers(scratch.path())?;
    report.add(SECTION, "tools of the ten servers", tools as f64, "tools", Target::None);
    if place.tools.is_empty() {
        report.note("Gateway: memory of ours NOT MEASURED YET.");
    } else {
        let setup = Setup::new(&place.ours.program, scratch.path(), &servers)?;
        let address = floor::free_address()?;
        let mut client = Client::http(command(&setup.words(Some(address)), &[], Stdio::null())?, address)?;
        let mut calls = Vec::new();
        for server in &servers {
            let operation = format!("{}_{}", server.name, upstream::ECHO);
            let tool = tool_of(&mut client, &operation, PATIENCE)?;
            calls.push(operation_call(&tool, &operation, &json!({"message": "{MSG}"})));
        }
        read(report, "ours", client, &calls, true)?;
    }
    let address = floor::free_address()?;
    let mut client = rmcp(place, scratch.path(), &servers, address)?;
    let calls: Vec<ToolCall> = servers
        .iter()
        .map(|server| ToolCall {
            tool: format!("{}__{}", server.name, upstream::ECHO),
            arguments: json!({"message": "{MSG}"}),
        })
        .collect();
    client.call(calls.first().ok_or("there is no server")?)?;
    read(report, "rmcp_gw", client, &calls, false)
}

fn rmcp(place: &Place, directory: &Path, servers: &[Server], address: SocketAddr) -> Result<Client> {
    let config = directory.join("mcp.json");
    std::fs::write(&config, config::mcp_servers(servers))?;
    let program = place.floor.join("rmcp_gw");
    let words = [program.display().to_string(), config.display().to_string(), "http".to_owned()];
    let words: Vec<String> = words.into_iter().chain([address.port().to_string()]).collect();
    Client::http(command(&words, &[], Stdio::null())?, address)
}

fn read(report: &mut Report, who: &str, mut client: Client, calls: &[ToolCall], is_ours: bool) -> Result<()> {
    let target = |megabytes| if is_ours { Target::AtMost(megabytes) } else { Target::None };
    let resident = |client: &Client| {
        pause(REST);
        client.resident_megabytes()
    };
    let idle = resident(&client)?;
    let round = |client: &mut Client, count: usize| {
        let each = count / calls.len().max(1);
        calls.iter().try_for_each(|call| client.repeat(call, each, LANES))
    };
    round(&mut client, FIRST_CALLS)?;
    let first = resident(&client)?;
    round(&mut client, ALL_CALLS - FIRST_CALLS)?;
    let last = resident(&client)?;
    report.add(SECTION, format!("{who}: before any call"), idle, "MB", target(RESIDENT_MEGABYTES_MAX));
    report.add(SECTION, format!("{who}: after {FIRST_CALLS} calls"), first, "MB", Target::None);
    report.add(
        SECTION,
        format!("{who}: after {ALL_CALLS} calls"),
        last,
        "MB",
        target(RESIDENT_MEGABYTES_MAX),
    );
    report.add(SECTION, format!("{who}: growth between"), last - first, "MB", target(GROWTH_MEGABYTES_MAX));
    client.close()
}

/// The servers, and how many tools they list in all. Their catalogues are real ones where those are at hand.
fn servers(directory: &Path) -> Result<(Vec<Server>, usize)> {
    let mut tools = 0;
    let mut servers = Vec::new();
    for (number, capture) in CAPTURES.iter().enumerate() {
        let captured = process::repository().join("../shared/eval/captures").join(capture);
        let captured = captured.join("raw-tools-list.json");
        let file = if captured.is_file() { captured } else { made_up(directory, number)? };
        let saved: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
        tools += saved.get("tools").and_then(Value::as_array).map_or(0, Vec::len);
        servers.push(Server::upstream(&format!("server{number}"), Some(&file))?);
    }
    Ok((servers, tools))
}

fn made_up(directory: &Path, number: usize) -> Result<PathBuf> {
    let tools = (0..MADE_UP_TOOLS).map(|tool| {
        json!({
            "name": format!("list_things_{tool}"), "description": "Lists things of one kind in a project, by filters",
            "inputSchema": {"type": "object", "required": ["project"], "properties": {
                "project": {"type": "string", "description": "Project to look in"},
                "state": {"type": "string", "enum": ["open", "closed", "all"], "description": "Their state"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many"},
            }},
        })
    });
    let file = directory.join(format!("tools-{number}.json"));
    std::fs::write(&file, json!({"tools": tools.collect::<Vec<Value>>()}).to_string())?;
    Ok(file)
}
