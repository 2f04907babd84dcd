//! The same servers, as each gateway wants to be told of them.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{Result, process};

/// The server behind every gateway, and so the prefix of its operations.
pub(crate) const SERVER: &str = "echo";

/// A server and how it is started.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
}

impl Server {
    /// The upstream of this benchmark, listing further tools if a file of them is given.
    pub(crate) fn upstream(name: &str, further: Option<&Path>) -> Result<Self> {
        let mut arguments = vec!["upstream".to_owned()];
        arguments.extend(further.map(|file| file.display().to_string()));
        Ok(Self { name: name.to_owned(), program: process::this()?, arguments })
    }

    /// What tells its processes from those of the gateway before it.
    pub(crate) fn pattern(&self) -> String {
        let name = self.program.file_name().map(|name| name.to_string_lossy().into_owned());
        let words = name.into_iter().chain(self.arguments.first().cloned());
        words.collect::<Vec<String>>().join(" ")
    }
}

/// Nothing is recorded where others are beside it, since none of them does that.
const NOT_RECORDED: &str = "[inspector]\ncapture = \"off\"\n";
/// Everything is, as it is where nobody says otherwise. Who reports is measured elsewhere.
const RECORDED: &str = "[inspector]\notlp_http = \"off\"\notlp_grpc = \"off\"\n";

/// Strings and arrays of them are written alike in JSON and in TOML. A dollar would begin a variable.
pub(crate) fn aqueduct(servers: &[Server], recorded: bool) -> String {
    let each = servers.iter().map(|Server { name, program, arguments }| {
        let arguments: Vec<String> = arguments.iter().map(|argument| argument.replace('$', "$$")).collect();
        // The yardstick's tool says nothing of itself, so that each of its calls would be asked about.
        let known = if program.ends_with("fastecho") { "tools.echo.danger = \"safe\"\n" } else { "" };
        format!("[upstream.{name}]\ncommand = {}\nargs = {}\n{known}", json!(program), json!(arguments))
    });
    let head = if recorded { RECORDED } else { NOT_RECORDED };
    std::iter::once(head.to_owned()).chain(each).collect()
}

/// What most clients and gateways read.
pub(crate) fn mcp_servers(servers: &[Server]) -> String {
    let each = servers.iter().map(|Server { name, program, arguments }| {
        (name.clone(), json!({"command": program, "args": arguments}))
    });
    json!({"mcpServers": each.collect::<serde_json::Map<String, Value>>()}).to_string()
}

pub(crate) fn lazy_mcp(servers: &[Server]) -> String {
    let each = servers.iter().map(|Server { name, program, arguments }| {
        let mut command = vec![json!(program)];
        command.extend(arguments.iter().map(|argument| json!(argument)));
        json!({"name": name, "description": "Says what it is told", "command": command})
    });
    json!({"servers": each.collect::<Vec<Value>>()}).to_string()
}

pub(crate) fn mcp_proxy(servers: &[Server], address: SocketAddr) -> String {
    let head = format!(
        "[proxy]\nname = \"bench\"\nseparator = \"_\"\n\n[proxy.listen]\nhost = \"{}\"\nport = {}\n",
        address.ip(),
        address.port()
    );
    let each = servers.iter().map(|Server { name, program, arguments }| {
        format!(
            "\n[[backends]]\nname = {}\ntransport = \"stdio\"\ncommand = {}\nargs = {}\n",
            json!(name),
            json!(program),
            json!(arguments)
        )
    });
    head + &each.collect::<String>()
}
