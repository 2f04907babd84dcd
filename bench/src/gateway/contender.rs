//! A gateway in front of the same server, and what the load generator must be told to call through it.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{
    config::{self, SERVER, Server},
    ours::Setup,
    peers::Peers,
};
use crate::{Result, client::PROTOCOL, floor};

pub(crate) const STATELESS: &str = "2026-07-28";
/// A slow gateway on a busy machine makes fewer calls than it was to; what is told is a call's share all the same.
const PHASE_SECONDS_MAX: usize = 15;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Gateway {
    Ours,
    /// Ours, with the Inspector.
    Recorded,
    Rmcp,
    McpProxy,
    LazyMcp,
    McpCompressor,
    /// No gateway: the server itself.
    Direct,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Transport {
    Http,
    Stdio,
}

/// One gateway, spoken to in one way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contender {
    pub(crate) what: &'static str,
    pub(crate) gateway: Gateway,
    pub(crate) transport: Transport,
    pub(crate) protocol: &'static str,
}

impl Contender {
    pub(crate) const fn http(what: &'static str, gateway: Gateway) -> Self {
        Self { what, gateway, transport: Transport::Http, protocol: PROTOCOL }
    }

    pub(crate) const fn stdio(what: &'static str, gateway: Gateway) -> Self {
        Self { what, gateway, transport: Transport::Stdio, protocol: PROTOCOL }
    }
}

/// What is called, and how often.
pub(crate) struct Case {
    pub(crate) tool: &'static str,
    pub(crate) params: Value,
    pub(crate) concurrency: usize,
    pub(crate) warm: usize,
    pub(crate) calls: usize,
}

/// Everything that a contender is started from.
pub(crate) struct Place {
    pub(crate) directory: PathBuf,
    pub(crate) floor: PathBuf,
    pub(crate) server: Server,
    pub(crate) ours: Setup,
    /// Which of our tools each operation is called through; empty if upstreams are not served.
    pub(crate) tools: std::collections::BTreeMap<String, String>,
    pub(crate) peers: Peers,
}

/// How a call looks to one gateway.
struct Wire {
    command: Vec<String>,
    path: &'static str,
    tool: String,
    arguments: Value,
    headers: Value,
}

/// Our name of an operation.
pub(crate) fn operation(tool: &str) -> String {
    format!("{SERVER}_{tool}")
}

impl Place {
    /// What the load generator is given; nothing if the gateway is not there.
    pub(crate) fn spec(&self, contender: Contender, case: &Case) -> Result<Option<Value>> {
        let address = floor::free_address()?;
        let Some(wire) = self.wire(contender, case, address)? else { return Ok(None) };
        let Wire { command, path, tool, arguments, headers } = wire;
        let transport = if contender.transport == Transport::Http { "http" } else { "stdio" };
        let Case { concurrency, warm, calls, .. } = case;
        Ok(Some(json!({
            "name": "aqueduct-bench-gateway", "transport": transport, "cmd": command, "headers": headers,
            "url": format!("http://{address}{path}"), "tool": tool, "args": arguments, "settle_s": 0.3,
            "proto": contender.protocol, "upstream_pat": [self.server.pattern()],
            "phases": [
                {"c": concurrency, "n": warm, "max_s": PHASE_SECONDS_MAX},
                {"c": concurrency, "n": calls, "max_s": PHASE_SECONDS_MAX},
            ],
        })))
    }

    fn wire(&self, contender: Contender, case: &Case, address: SocketAddr) -> Result<Option<Wire>> {
        let servers = std::slice::from_ref(&self.server);
        let params = case.params.clone();
        let over_http = contender.transport == Transport::Http;
        let mut wire = Wire {
            command: Vec::new(),
            path: "/mcp",
            tool: case.tool.to_owned(),
            arguments: params.clone(),
            headers: json!({}),
        };
        match contender.gateway {
            Gateway::Ours | Gateway::Recorded => {
                let name = operation(case.tool);
                let Some(tool) = self.tools.get(&name) else { return Ok(None) };
                wire.tool.clone_from(tool);
                wire.arguments = json!({"operation": name, "params": params});
                let address = over_http.then_some(address);
                wire.command = match contender.gateway {
                    Gateway::Recorded => self.ours.recorded_words(address),
                    _ => self.ours.words(address),
                };
                if contender.protocol == STATELESS {
                    wire.headers = json!({"mcp-param-operation": name});
                }
            }
            Gateway::Rmcp => {
                let config = self.write("mcp.json", &config::mcp_servers(servers))?;
                let port = address.port().to_string();
                let way = if over_http { vec!["http".to_owned(), port] } else { vec!["stdio".to_owned()] };
                wire.command = vec![text(&self.floor.join("rmcp_gw")), config];
                wire.command.extend(way);
                wire.tool = format!("{SERVER}__{}", case.tool);
            }
            Gateway::McpProxy => {
                let Some(program) = &self.peers.mcp_proxy else { return Ok(None) };
                let config = self.write("proxy.toml", &config::mcp_proxy(servers, address))?;
                wire.command = vec![text(program), "--config".to_owned(), config];
                wire.path = "/";
                wire.tool = operation(case.tool);
            }
            Gateway::LazyMcp => {
                let Some(program) = &self.peers.lazy_mcp else { return Ok(None) };
                let config = self.write("lazy.json", &config::lazy_mcp(servers))?;
                wire.command = vec![text(program), "--config".to_owned(), config];
                wire.tool = "invoke_command".to_owned();
                wire.arguments = json!({"server": SERVER, "command_name": case.tool, "parameters": params});
            }
            Gateway::McpCompressor => {
                let Some(program) = &self.peers.mcp_compressor else { return Ok(None) };
                let config = self.write("mcp.json", &config::mcp_servers(servers))?;
                wire.command = vec![text(program), "--config".to_owned(), config];
                wire.tool = "invoke_tool".to_owned();
                wire.arguments = json!({"tool_name": case.tool, "tool_input": params});
            }
            Gateway::Direct => {
                wire.command = vec![text(&self.server.program)];
                wire.command.extend(self.server.arguments.iter().cloned());
            }
        }
        Ok(Some(wire))
    }

    fn write(&self, name: &str, content: &str) -> Result<String> {
        let path = self.directory.join(name);
        std::fs::write(&path, content)?;
        Ok(text(&path))
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
