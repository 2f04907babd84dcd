//! The yardsticks beside the project: built from a copy, and the load generator among them put to work.

use std::{
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{Result, process};

/// What the load generator counts processor time in.
const TICK_MICROSECONDS: f64 = 10_000.0;

/// Builds a copy of the yardsticks, if they are there; they are not ours and their folder may be read-only.
pub(crate) fn build(programs: &[&str]) -> Result<Option<PathBuf>> {
    let source = process::repository().join("../shared/floor");
    if !source.join("Cargo.toml").is_file() {
        return Ok(None);
    }
    let copy = std::env::temp_dir().join("aqueduct-bench-floor");
    std::fs::create_dir_all(copy.join("src/bin"))?;
    let mut files = vec![PathBuf::from("Cargo.toml")];
    for entry in std::fs::read_dir(source.join("src/bin"))? {
        files.push(Path::new("src/bin").join(entry?.file_name()));
    }
    for file in files {
        let text = std::fs::read(source.join(&file))?;
        if std::fs::read(copy.join(&file)).ok().as_ref() != Some(&text) {
            std::fs::write(copy.join(&file), text)?;
        }
    }
    let arguments: Vec<&str> = programs.iter().flat_map(|program| ["--bin", program]).collect();
    process::build(&copy, &copy.join("target"), &arguments).map(Some)
}

/// An address that was free a moment ago.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// One run of one server.
pub(crate) struct Reading {
    pub(crate) calls_a_second: f64,
    /// Processor time of the server, without that of the servers behind it.
    pub(crate) microseconds_a_call: f64,
    /// Processor time that others used meanwhile, as a share of all.
    pub(crate) foreign: f64,
}

/// Runs the load generator. The first of its two phases warms up, the second is read.
pub(crate) fn load(floor: &Path, spec: &Value) -> Result<Reading> {
    let output = Command::new(floor.join("lg")).arg(spec.to_string()).output()?;
    let result: Value = serde_json::from_slice(&output.stdout)?;
    let phase = result.pointer("/phases/1").ok_or_else(|| format!("the load generator failed: {result}"))?;
    let number = |key: &str| phase.get(key).and_then(Value::as_f64).unwrap_or(f64::NAN);
    if number("err") != 0.0 {
        return Err(format!("some calls failed: {phase}").into());
    }
    let cores = std::thread::available_parallelism()?.get() as f64;
    Ok(Reading {
        calls_a_second: number("rps"),
        microseconds_a_call: number("gw_ticks") * TICK_MICROSECONDS / number("n"),
        foreign: number("foreign_ticks") * TICK_MICROSECONDS / 1e6 / (number("secs") * cores),
    })
}
