//! From the start of the program to its first tool list, and what it keeps in memory when nobody calls.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    Result,
    process::{self, Running},
    report::{Report, Target, median},
};

const SECTION: &str = "Start of 'aqueduct serve'";
const STARTS: usize = 9;
/// How long the server is left alone before its memory is read.
const IDLE: Duration = Duration::from_secs(1);
const START_MILLISECONDS_MAX: f64 = 50.0;
const RESIDENT_MEGABYTES_MAX: f64 = 25.0;

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    let program = program()?;
    let fresh = || tempfile::tempdir();
    let kept = fresh()?;
    on_stdio(&program, kept.path())?;
    let mut readings: [Vec<f64>; 4] = Default::default();
    let [stdio_kept, stdio_fresh, http_kept, resident] = &mut readings;
    for _ in 0..STARTS {
        stdio_kept.push(on_stdio(&program, kept.path())?.0);
        stdio_fresh.push(on_stdio(&program, fresh()?.path())?.0);
        http_kept.push(on_http(&program, kept.path())?.0);
    }
    for start in [on_stdio, on_http] {
        let (_, running) = start(&program, kept.path())?;
        let wait = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        wait.block_on(async { tokio::time::sleep(IDLE).await });
        resident.push(running.resident_megabytes()?);
    }
    let [stdio_kept, stdio_fresh, http_kept, resident] = readings;
    for (what, times) in [
        ("--stdio to the first tools/list answer", stdio_kept),
        ("the same with an empty data directory", stdio_fresh),
        ("--http to the first tools/list answer", http_kept),
    ] {
        report.add(SECTION, what, median(times), "ms", Target::AtMost(START_MILLISECONDS_MAX));
    }
    for (what, megabytes) in
        ["--stdio, resident memory idle", "--http, resident memory idle"].iter().zip(resident)
    {
        report.add(SECTION, *what, megabytes, "MB", Target::AtMost(RESIDENT_MEGABYTES_MAX));
    }
    Ok(())
}

/// The program beside this one, built now so that it is of the same state.
pub(crate) fn program() -> Result<PathBuf> {
    let this = process::this()?;
    let target = this.parent().and_then(Path::parent).ok_or("this program stands in no target directory")?;
    Ok(process::build(process::repository(), target, &["-p", "aqueduct", "-p", "bench"])?.join("aqueduct"))
}

fn tool_list() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }}})
}

fn command(program: &Path, data: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(data).arg("serve").arg("--data").arg(data);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

fn on_stdio(program: &Path, data: &Path) -> Result<(f64, Running)> {
    let started = Instant::now();
    let mut running = Running(command(program, data).arg("--stdio").spawn()?);
    let input = running.0.stdin.as_mut().ok_or("no standard input")?;
    writeln!(input, "{}", tool_list())?;
    let mut answer = String::new();
    BufReader::new(running.0.stdout.as_mut().ok_or("no standard output")?).read_line(&mut answer)?;
    check(&answer)?;
    Ok((started.elapsed().as_secs_f64() * 1e3, running))
}

fn on_http(program: &Path, data: &Path) -> Result<(f64, Running)> {
    let started = Instant::now();
    let mut running = Running(command(program, data).args(["--http", "127.0.0.1:0"]).spawn()?);
    let lines = BufReader::new(running.0.stdout.as_mut().ok_or("no standard output")?).lines();
    let address = lines
        .map_while(std::io::Result::ok)
        .find_map(|line| Some(line.split_once("http://")?.1.strip_suffix("/mcp")?.to_owned()))
        .ok_or("the server told no address")?;
    let body = tool_list().to_string();
    let mut stream = TcpStream::connect(&address)?;
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/list\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    check(&answer)?;
    Ok((started.elapsed().as_secs_f64() * 1e3, running))
}

fn check(answer: &str) -> Result<()> {
    if answer.contains("\"mcp_aql_read\"") { Ok(()) } else { Err(format!("no tool list: {answer}").into()) }
}
