//! `aqueduct inspector`: where the Inspector's page is, or the page itself over data that others write.

use std::{
    io::IsTerminal,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
    process::ExitCode,
};

use gateway::{
    app,
    library::stop_signal,
    operator::{Opened, key::Key},
};

use super::runtime;
use crate::{
    Configuration,
    report::{self, Failure},
};

/// Where it is unless the configuration names another address.
const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7172);

/// See every call, live and later, on a page in your browser
///
/// Says where the page is that a running server serves for the data directory. If none does, it is served by this command
/// until Ctrl-C, over whatever other processes write to the directory.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Address to serve at, if no server does; port 0 takes a free one. Without it, the operator's of the configuration
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Print the address with the key in it, which opens the page without asking; only on a terminal
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    configuration: Configuration,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let _log = report::log();
    let config = arguments.configuration.load()?;
    if arguments.open && !std::io::stdout().is_terminal() {
        let help =
            "whatever reads the output would have the key; leave out '--open', or run it on a terminal";
        return Err(Failure::usage("the key is only printed on a terminal", help));
    }
    if let Some(address) = arguments.http.filter(|address| !address.ip().is_loopback()) {
        let help =
            "the page is for this machine; reach it from another one through a tunnel, such as 'ssh -L'";
        return Err(Failure::usage(&format!("'{address}' can be reached by other machines"), help));
    }
    if !config.store.data.is_dir() {
        let help = format!(
            "data directory: {}\nis it the one that 'aqueduct serve' uses? name it with '--data' or '--config'",
            config.store.data.display()
        );
        return Err(Failure::trouble("there is no data directory yet", &help));
    }
    let address = arguments.http.or(config.operator.http).unwrap_or(ADDRESS);
    runtime()?.block_on(async {
        let watched =
            app::watch(&config, address).await.map_err(|error| Failure::app(error, &config.store.data))?;
        let done = match &watched.listener.opened {
            Opened::Here { address, key } => {
                told(arguments, *address, key, &config.store.data)?;
                report::print("Served by this command over what other processes write. Ctrl-C stops it.");
                stop_signal().await;
                Ok(ExitCode::SUCCESS)
            }
            Opened::Elsewhere { address, key } => {
                told(arguments, *address, key, &config.store.data).map(|()| ExitCode::SUCCESS)
            }
            Opened::Taken { address } => {
                let help = "choose another one with '--http', such as '--http 127.0.0.1:0' for a free port";
                Err(Failure::trouble(&format!("{address} is taken by another program"), help))
            }
            Opened::Refused(why) => Err(Failure::trouble("the page cannot be served", why)),
            Opened::Off => Ok(ExitCode::SUCCESS),
        };
        watched.close().await;
        done
    })
}

/// Where the page is. The key stands behind `#`, which browsers send to nobody.
fn told(arguments: &Arguments, address: SocketAddr, key: &Path, data: &Path) -> Result<(), Failure> {
    if arguments.open {
        let secret =
            Key::open(data).map_err(|error| Failure::trouble("there is no key", &error.to_string()))?;
        report::print(&format!("Inspector  http://{address}/#key={}", secret.expose()));
    } else {
        report::print(&format!("Inspector  http://{address}/ with the key in {}", key.display()));
    }
    Ok(())
}
