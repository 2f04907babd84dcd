//! `aqueduct wrap`: a drop-in in front of one other server.

use std::{path::PathBuf, process::ExitCode};

use gateway::{
    app,
    config::{Secret, Wrapped},
};

use super::serve;
use crate::{
    Configuration,
    report::{self, Failure},
};

/// Stand in front of one MCP server, given as a command or an address
///
/// Put 'aqueduct wrap --' before the command in a client's configuration: the client sees few tools instead of all, and
/// the operations keep the names of the server's own tools. No configuration file is needed; one that is found still
/// counts for everything but its servers and the built-in workspace.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What stands before '--' by mistake; only here to say so
    #[arg(value_name = "WORD", hide = true, value_parser = behind_dashes())]
    misplaced: Vec<String>,
    /// The command that starts the server, and its arguments, after '--'
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url")]
    command: Vec<String>,
    /// The address of a server that speaks streamable HTTP, instead of a command
    #[arg(long, conflicts_with_all = ["command", "env", "cwd"])]
    url: Option<String>,
    /// Environment variable for the command; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair('='))]
    env: Vec<(String, Secret)>,
    /// Directory to run the command in
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// HTTP header to send to the address; may be given several times
    #[arg(long, value_name = "NAME: VALUE", value_parser = pair(':'), conflicts_with = "command")]
    header: Vec<(String, Secret)>,
    /// Environment variable that holds the bearer token for the address
    #[arg(long, value_name = "VARIABLE", conflicts_with = "command")]
    bearer_env: Option<String>,
    /// What the server is called in messages [default: derived from the command or the address]
    #[arg(long)]
    name: Option<String>,
    /// How long the server may take to start [default: 30]
    #[arg(long, value_name = "SECONDS")]
    start_timeout: Option<i64>,
    /// Accept definitions of tools that have changed since they were first seen
    #[arg(long)]
    accept_changes: bool,
    /// Address to serve HTTP at, instead of standard input and output; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// Allow an address that other machines can reach; needs tokens in the configuration
    #[arg(long, requires = "http")]
    allow_remote: bool,
    #[command(flatten)]
    configuration: Configuration,
}

const EXAMPLES: &str = "Examples:
  aqueduct wrap -- npx -y @modelcontextprotocol/server-everything
  aqueduct wrap --mode single --env API_KEY=x -- uvx mcp-server-git
  aqueduct wrap --url https://mcp.example.com/mcp --bearer-env EXAMPLE_TOKEN";

/// Refuses a command that has no `--` before it: its own flags would be taken for ours.
fn behind_dashes() -> impl Fn(&str) -> Result<String, String> + Clone + Send + Sync + 'static {
    |word| Err(format!("put '--' before the command: aqueduct wrap -- {word} …"))
}

/// Reads `KEY=VALUE` or `NAME: VALUE`. The value may be a secret, so no error repeats it.
fn pair(
    separator: char,
) -> impl Fn(&str) -> Result<(String, Secret), String> + Clone + Send + Sync + 'static {
    move |text| {
        let (key, value) = text
            .split_once(separator)
            .ok_or_else(|| format!("there is no '{separator}' between name and value"))?;
        let value = if separator == ':' { value.trim() } else { value };
        Ok((key.trim().to_owned(), Secret::new(value)))
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let _log = report::log();
    let mut flags = arguments.configuration.overrides();
    flags.http.clone_from(&arguments.http);
    flags.allow_remote = arguments.allow_remote;
    flags.wrapped = Some(wrapped(arguments));
    let config = arguments.configuration.load_with(flags)?;
    let (runtime, hub) = serve::threads(arguments.http.is_none())?;
    let served = runtime.block_on(async {
        let app =
            app::open(&config, hub.as_ref()).map_err(|error| Failure::app(error, &config.store.data))?;
        // The server's own instructions are a part of ours, which a client gets only once.
        app.gateway.settled().await;
        let result = match &arguments.http {
            None => serve::on_stdio(&config, &app).await,
            Some(_) => serve::on_http(&config, &app, &as_arguments(arguments, config.file.as_deref())).await,
        };
        app.close().await;
        result
    });
    // The thread that reads standard input may still wait for it; nothing is left to be done for it.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

fn wrapped(arguments: &Arguments) -> Wrapped {
    Wrapped {
        name: arguments.name.clone(),
        command: arguments.command.iter().map(Secret::new).collect(),
        env: arguments.env.clone(),
        cwd: arguments.cwd.clone(),
        url: arguments.url.as_ref().map(Secret::new),
        headers: arguments.header.clone(),
        bearer_env: arguments.bearer_env.clone(),
        start_timeout_seconds: arguments.start_timeout,
        accept_changes: arguments.accept_changes,
        directory: std::env::current_dir().unwrap_or_default(),
    }
}

/// The arguments with which a client would start the same. Values that may be secrets are left for a person to fill in.
fn as_arguments(arguments: &Arguments, file: Option<&std::path::Path>) -> Vec<String> {
    let mut line = vec!["wrap".to_owned()];
    line.extend(arguments.configuration.as_arguments(file));
    let mut flag = |name: &str, value: Option<String>| {
        line.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    };
    flag("--name", arguments.name.clone());
    flag("--cwd", arguments.cwd.as_ref().map(|cwd| cwd.display().to_string()));
    for (key, _) in &arguments.env {
        flag("--env", Some(format!("{key}=…")));
    }
    for (name, _) in &arguments.header {
        flag("--header", Some(format!("{name}: …")));
    }
    flag("--bearer-env", arguments.bearer_env.clone());
    flag("--start-timeout", arguments.start_timeout.map(|seconds| seconds.to_string()));
    flag("--url", arguments.url.clone());
    if !arguments.command.is_empty() {
        line.push("--".to_owned());
        line.extend_from_slice(&arguments.command);
    }
    line
}
