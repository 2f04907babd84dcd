//! Aqueduct as one of the gateways: how it is started, and which of its tools an operation is called through.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::config::{self, Server};
use crate::{
    Result,
    client::{Client, ToolCall},
    process::pause,
};

/// A configuration and a data directory of its own, kept from run to run as a user's are.
pub(crate) struct Setup {
    pub(crate) program: PathBuf,
    pub(crate) config: PathBuf,
    pub(crate) data: PathBuf,
    /// Another configuration, by which calls are recorded.
    recorded: PathBuf,
}

impl Setup {
    pub(crate) fn new(program: &Path, directory: &Path, servers: &[Server]) -> Result<Self> {
        let (config, data) = (directory.join("aqueduct.toml"), directory.join("data"));
        std::fs::create_dir_all(&data)?;
        std::fs::write(&config, config::aqueduct(servers, false))?;
        let recorded = directory.join("recorded.toml");
        std::fs::write(&recorded, config::aqueduct(servers, true))?;
        Ok(Self { program: program.to_owned(), config, data, recorded })
    }

    /// The same with everything recorded.
    pub(crate) fn recorded_words(&self, address: Option<SocketAddr>) -> Vec<String> {
        self.words_by(&self.recorded, address)
    }

    /// The program and its arguments; HTTP if there is an address, else stdio.
    pub(crate) fn words(&self, address: Option<SocketAddr>) -> Vec<String> {
        self.words_by(&self.config, address)
    }

    fn words_by(&self, config: &Path, address: Option<SocketAddr>) -> Vec<String> {
        let text = |path: &Path| path.display().to_string();
        let mut words = vec![text(&self.program), "serve".to_owned()];
        words.extend(["--config".to_owned(), text(config), "--data".to_owned(), text(&self.data)]);
        match address {
            Some(address) => words.extend(["--http".to_owned(), address.to_string()]),
            None => words.push("--stdio".to_owned()),
        }
        words
    }

    /// Through which tool each operation is called. Fails if one of them is not there after a while.
    pub(crate) fn tools(
        &self,
        operations: &[String],
        patience: Duration,
    ) -> Result<BTreeMap<String, String>> {
        let mut client = Client::stdio(command(&self.words(None), &[], Stdio::null())?)?;
        let mut tools = BTreeMap::new();
        for operation in operations {
            tools.insert(operation.clone(), tool_of(&mut client, operation, patience)?);
        }
        client.close()?;
        Ok(tools)
    }
}

/// A call of an operation through its tool.
pub(crate) fn operation_call(tool: &str, operation: &str, params: &Value) -> ToolCall {
    ToolCall { tool: tool.to_owned(), arguments: json!({"operation": operation, "params": params}) }
}

/// The tool that an operation's details name; what other servers offer may be known a moment after the start.
pub(crate) fn tool_of(client: &mut Client, operation: &str, patience: Duration) -> Result<String> {
    let since = Instant::now();
    loop {
        let params = json!({"query": "operations", "name": operation});
        let answer = client.operation("mcp_aql_read", "introspect", &params)?;
        if let Some(tool) = answer.pointer("/data/operation/mcpTool").and_then(Value::as_str) {
            return Ok(tool.to_owned());
        }
        if since.elapsed() > patience {
            return Err(format!("there is no operation '{operation}'").into());
        }
        pause(Duration::from_millis(100));
    }
}

/// A command, with another one before it that watches it.
pub(crate) fn command(words: &[String], before: &[String], errors: Stdio) -> Result<Command> {
    let mut words = before.iter().chain(words);
    let mut command = Command::new(words.next().ok_or("there is no command")?);
    command.args(words).stderr(errors);
    Ok(command)
}
