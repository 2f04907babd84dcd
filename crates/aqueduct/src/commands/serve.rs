//! `aqueduct serve`: MCP over HTTP, or on standard input and output.

use std::process::ExitCode;

use gateway::{
    app,
    aql::registry::{CONFORMANCE, SPEC_VERSION},
    config::Checked,
    hub::Hub,
    library::stop_signal,
    operator::Opened,
    serve::{http, stdio},
};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::{
    Configuration,
    report::{self, Failure},
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Speak MCP on standard input and output; no port is opened
    #[arg(long, conflicts_with_all = ["http", "allow_remote"])]
    stdio: bool,
    /// Address to serve HTTP at [default: 127.0.0.1:7171]; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// Allow an address that other machines can reach; needs tokens in the configuration
    #[arg(long)]
    allow_remote: bool,
    /// Serve the execution safety loop and nothing else, to stand beside other servers
    #[arg(long)]
    safety_only: bool,
    /// Configuration file for --safety-only, of which only the settings of safety, server and store count
    #[arg(long, value_name = "FILE", requires = "safety_only", conflicts_with = "config")]
    policy: Option<std::path::PathBuf>,
    #[command(flatten)]
    configuration: Configuration,
}

pub(crate) fn run(mut arguments: Arguments) -> Result<ExitCode, Failure> {
    let _log = report::log();
    if let Some(policy) = arguments.policy.take() {
        arguments.configuration.config = Some(policy);
    }
    let mut flags = arguments.configuration.overrides();
    flags.http = arguments.http;
    flags.allow_remote = arguments.allow_remote;
    flags.safety_only = arguments.safety_only;
    let config = arguments.configuration.load_with(flags)?;
    let (runtime, hub) = threads(arguments.stdio)?;
    let served = runtime.block_on(async {
        let app =
            app::open(&config, hub.as_ref()).map_err(|error| Failure::app(error, &config.store.data))?;
        let result = if arguments.stdio {
            on_stdio(&config, &app).await
        } else {
            let mut client = vec!["serve".to_owned(), "--stdio".to_owned()];
            if arguments.safety_only {
                client.push("--safety-only".to_owned());
            }
            client.extend(arguments.configuration.as_arguments(config.file.as_deref()));
            on_http(&config, &app, &client).await
        };
        app.close().await;
        result
    });
    // The thread that reads standard input may still wait for it; nothing is left to be done for it.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

/// What serves, and what reads the servers behind it where it serves standard input. Clients and servers live on the same
/// machine and want to run too, and fewer threads hand less to each other: half of the processors are enough.
pub(super) fn threads(stdio: bool) -> Result<(Runtime, Option<Hub>), Failure> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads((processors / 2).max(1))
        .enable_all()
        .build();
    let threads = runtime.and_then(|runtime| Ok((runtime, stdio.then(Hub::start).transpose()?)));
    threads.map_err(|error| Failure::trouble("no threads could be started", &error.to_string()))
}

pub(super) async fn on_stdio(config: &Checked, app: &app::App) -> Result<(), Failure> {
    let server = &config.server;
    let gateway = std::sync::Arc::clone(&app.gateway);
    let operator = app.operator(config, true).await;
    let receivers = app.receivers(config, true).await;
    // The client reads what is said here, so neither the address nor the key's file is.
    match &operator.opened {
        Opened::Taken { .. } => report::note("the operator's address is taken by another program"),
        Opened::Refused(why) => report::note(&format!("the operator's listener is not open: {why}")),
        Opened::Off | Opened::Here { .. } | Opened::Elsewhere { .. } => {}
    }
    let served = stdio::serve(gateway, server.fast_path, server.shutdown_grace, stop_signal).await;
    operator.close().await;
    if let Some(receivers) = receivers {
        receivers.close().await;
    }
    served.map_err(|error| Failure::trouble("standard input cannot be read", &error.to_string()))
}

/// `client` are the arguments with which a client would start the same on standard input and output.
pub(super) async fn on_http(config: &Checked, app: &app::App, client: &[String]) -> Result<(), Failure> {
    let address = config.server.http;
    let unusable = |error: std::io::Error| {
        let help = "choose another address with --http, such as --http 127.0.0.1:0 for a free port";
        Failure::trouble(&format!("cannot serve at {address}: {error}"), help)
    };
    let gateway = std::sync::Arc::clone(&app.gateway);
    let server = http::Server::bind(address, gateway, app::http_options(config)).await.map_err(unusable)?;
    let address = server.address().map_err(unusable)?;
    let operator = app.operator(config, false).await;
    let receivers = app.receivers(config, false).await;
    report::print(&welcome(config, app, client, &format!("http://{address}/mcp"), &operator.opened));
    let served = server.serve(stop_signal).await;
    operator.close().await;
    if let Some(receivers) = receivers {
        receivers.close().await;
    }
    served.map_err(unusable)
}

/// Where the operator answers. The key itself is never shown, only where it is.
fn operator_line(opened: &Opened) -> String {
    match opened {
        Opened::Off => "off; 'aqueduct operator' shows what waits".to_owned(),
        Opened::Here { address, key } => format!("http://{address}/ with the key in {}", key.display()),
        Opened::Elsewhere { address, key } => {
            format!("http://{address}/ by another process on this data, with the key in {}", key.display())
        }
        Opened::Taken { address } => format!(
            "not served: {address} is taken by another program; choose another as '[operator] http', or use 'aqueduct operator'"
        ),
        Opened::Refused(why) => format!("not served: {why}"),
    }
}

fn welcome(config: &Checked, app: &app::App, client: &[String], url: &str, operator: &Opened) -> String {
    let surface = app.gateway.surface();
    let registry = surface.registry();
    let tools: Vec<&str> = registry.tools().iter().map(|tool| tool.name.as_str()).collect();
    let program =
        std::env::current_exe().map_or_else(|_| "aqueduct".to_owned(), |path| path.display().to_string());
    let over_http = json!({"mcpServers": {"aqueduct": {"type": "http", "url": url}}});
    let over_stdio = format!(
        "{{\"mcpServers\":{{\"aqueduct\":{{\"command\":{},\"args\":{}}}}}}}",
        json!(program),
        json!(client)
    );
    format!(
        "Aqueduct {} implements MCP-AQL {SPEC_VERSION}, {CONFORMANCE}\n  \
         MCP       {url}\n  Operator  {}\n  Tools     {}\n  Data      {}\n  {} operations{}{}; 'aqueduct ops' lists them\n\n\
         Paste into an MCP client's configuration:\n  {over_http}\nor let the client start it:\n  {over_stdio}\n\n\
         Ctrl-C stops it.",
        env!("CARGO_PKG_VERSION"),
        operator_line(operator),
        tools.join(", "),
        config.store.data.display(),
        registry.visible().count(),
        super::not_trusted(registry),
        super::not_asked(config),
    )
}
