//! An echo operation of ours over HTTP beside the echo tool of a bare rmcp server: same protocol, same load.

use std::{net::SocketAddr, path::Path};

use aql::{category::Category, define::Operation};
use gateway::{adapters::Operations, library::Server};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Result,
    floor::{self, Reading},
    process,
    report::{Report, Target, median},
};

const SECTION: &str = "HTTP echo beside bare rmcp, concurrency 16";
const CONCURRENCY: usize = 16;
const WARM_CALLS: usize = 4_000;
const CALLS: usize = 40_000;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// Message to echo
    message: String,
}

/// Serves the echo operation, with everything else as it is by default.
pub(crate) fn echo(address: SocketAddr) -> Result<()> {
    let operations = Operations::new().typed(
        Operation::new(Category::Read, "get_echo", "Echoes back the input string"),
        |asked: Echo, _| async move { Ok(json!(format!("Echo: {}", asked.message))) },
    )?;
    let server = Server::new("echo", operations)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    Ok(runtime.block_on(server.http(address))?)
}

/// A way to speak to both servers.
struct Mode {
    what: &'static str,
    protocol: &'static str,
    /// How the bare server is told to run.
    floor: &'static str,
}

const MODES: [Mode; 2] = [
    Mode { what: "2026-07-28, JSON", protocol: "2026-07-28", floor: "json" },
    Mode { what: "2025-11-25, session", protocol: "2025-11-25", floor: "stateful" },
];

pub(crate) fn measure(report: &mut Report, rounds: usize) -> Result<()> {
    let Some(floor) = floor::build(&["lg", "rmcp_echo"])? else {
        report.note("HTTP: not measured, because the yardsticks (../shared/floor) are not there.");
        return Ok(());
    };
    let ours = process::this()?;
    let mut foreign = Vec::new();
    let mut readings: Vec<[Vec<Reading>; 2]> = MODES.iter().map(|_| Default::default()).collect();
    for _ in 0..rounds.max(1) {
        for (mode, [of_ours, of_floor]) in MODES.iter().zip(&mut readings) {
            of_ours.push(floor::load(&floor, &our_spec(&ours, mode)?)?);
            of_floor.push(floor::load(&floor, &floor_spec(&floor, mode)?)?);
        }
    }
    for (mode, [ours, floor]) in MODES.iter().zip(&readings) {
        add(report, mode, ours, floor);
        foreign.extend(ours.iter().chain(floor).map(|reading| reading.foreign));
    }
    report.note(format!(
        "HTTP: medians of {rounds} interleaved runs of {CALLS} calls; others used {:.0}% of the machine in the median.",
        100.0 * median(foreign)
    ));
    Ok(())
}

fn add(report: &mut Report, mode: &Mode, ours: &[Reading], floor: &[Reading]) {
    let throughput = |all: &[Reading]| median(all.iter().map(|reading| reading.calls_a_second).collect());
    let processor = |all: &[Reading]| median(all.iter().map(|reading| reading.microseconds_a_call).collect());
    let what = mode.what;
    report.add(SECTION, format!("{what}: ours"), throughput(ours), "calls/s", Target::None);
    report.add(SECTION, format!("{what}: bare rmcp"), throughput(floor), "calls/s", Target::None);
    let ratio = throughput(ours) / throughput(floor);
    report.add(SECTION, format!("{what}: throughput to bare rmcp"), ratio, "times", Target::AtLeast(1.3));
    report.add(SECTION, format!("{what}: ours"), processor(ours), "µs CPU/call", Target::None);
    report.add(SECTION, format!("{what}: bare rmcp"), processor(floor), "µs CPU/call", Target::None);
    let ratio = processor(ours) / processor(floor);
    report.add(SECTION, format!("{what}: processor time to bare rmcp"), ratio, "times", Target::AtMost(0.6));
}

fn our_spec(program: &Path, mode: &Mode) -> Result<Value> {
    let address = floor::free_address()?;
    let mut spec = spec(mode, address, vec![json!(program), json!("echo"), json!(address.to_string())]);
    if let Value::Object(spec) = &mut spec {
        spec.insert("tool".to_owned(), json!("mcp_aql_read"));
        spec.insert("args".to_owned(), json!({"operation": "get_echo", "params": {"message": "{MSG}"}}));
        if mode.protocol == "2026-07-28" {
            spec.insert("headers".to_owned(), json!({"mcp-param-operation": "get_echo"}));
        }
    }
    Ok(spec)
}

fn floor_spec(floor: &Path, mode: &Mode) -> Result<Value> {
    let address = floor::free_address()?;
    let port = address.port().to_string();
    let command = vec![json!(floor.join("rmcp_echo")), json!("http"), json!(port), json!(mode.floor)];
    Ok(spec(mode, address, command))
}

fn spec(mode: &Mode, address: SocketAddr, command: Vec<Value>) -> Value {
    json!({
        "name": "aqueduct-bench", "transport": "http", "cmd": command, "url": format!("http://{address}/mcp"),
        "tool": "echo", "args": {"message": "{MSG}"}, "proto": mode.protocol, "settle_s": 0.2,
        "phases": [{"c": CONCURRENCY, "n": WARM_CALLS}, {"c": CONCURRENCY, "n": CALLS}],
    })
}
