//! A fixed number of calls through the whole program, for an instruction counter that watches it from outside.

use std::{net::SocketAddr, path::PathBuf, process::Stdio, time::Duration};

use serde_json::json;

use super::{
    config::{self, SERVER, Server},
    contender::operation,
    ours::{Setup, command, operation_call, tool_of},
};
use crate::{
    Result,
    client::{Client, ToolCall},
    floor, process, upstream,
};

const OVER_HTTP: &str = "gateway_http";
const OVER_STDIO: &str = "gateway_stdio";
/// The same with all four parameters, of which each is read, checked and written.
const FOUR_OVER_STDIO: &str = "gateway_stdio_4";
const CONCURRENCY: usize = 16;
/// Watched, everything takes thirty times as long.
const PATIENCE: Duration = Duration::from_secs(120);

/// Starts the gateway behind `before` (the counter and its options), makes the calls and lets it end by itself.
/// Instead of ours, the yardstick `rmcp_gw` may be driven.
pub(crate) fn drive(scenario: &str, count: usize, rmcp: Option<PathBuf>, before: &[String]) -> Result<()> {
    let over_http = match scenario {
        OVER_HTTP => true,
        OVER_STDIO | FOUR_OVER_STDIO => false,
        _ => return Err("no scenario has that name".into()),
    };
    let scratch = tempfile::tempdir()?;
    let servers = [Server::upstream(SERVER, None)?];
    let address = over_http.then(floor::free_address).transpose()?;
    // One parameter, as the yardstick's echo takes.
    let params = match scenario {
        FOUR_OVER_STDIO => json!({"message": "{MSG}", "count": 100, "mode": "plain", "verbose": false}),
        _ => json!({"message": "{MSG}"}),
    };
    if let Some(program) = rmcp {
        let config = scratch.path().join("mcp.json");
        std::fs::write(&config, config::mcp_servers(&servers))?;
        let mut words = vec![program.display().to_string(), config.display().to_string()];
        match address {
            Some(address) => words.extend(["http".to_owned(), address.port().to_string()]),
            None => words.push("stdio".to_owned()),
        }
        let mut client = start(&words, before, address)?;
        let call = ToolCall { tool: format!("{SERVER}__{}", upstream::ECHO), arguments: params };
        client.repeat(&call, count, CONCURRENCY)?;
        return client.close();
    }
    // Beside this program, where one build puts both.
    let program = process::this()?.with_file_name("aqueduct");
    let setup = Setup::new(&program, scratch.path(), &servers)?;
    let name = operation(upstream::ECHO);
    let mut client = start(&setup.words(address), before, address)?;
    let tool = tool_of(&mut client, &name, PATIENCE)?;
    client.repeat(&operation_call(&tool, &name, &params), count, CONCURRENCY)?;
    client.close()
}

fn start(words: &[String], before: &[String], address: Option<SocketAddr>) -> Result<Client> {
    let command = command(words, before, Stdio::inherit())?;
    match address {
        Some(address) => Client::http(command, address),
        None => Client::stdio(command),
    }
}

#[expect(clippy::print_stdout, reason = "the script that counts reads the names")]
pub(crate) fn print_names() {
    println!("{OVER_HTTP}\n{OVER_STDIO}\n{FOUR_OVER_STDIO}");
}
