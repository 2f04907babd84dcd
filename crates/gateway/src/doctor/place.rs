//! What stands around the upstreams: the data directory, and the address that HTTP is served at.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    path::Path,
};

use super::{Finding, Looked, Severity};
use crate::{
    adapters::upstream::examine::{self, Ailment},
    config::{Checked, Link, Upstream},
    store,
};

/// Whether data can be kept there. Nothing is made that is not there yet.
pub(super) fn data(directory: &Path) -> Looked {
    let findings = match store::check(directory) {
        Ok(()) => Vec::new(),
        Err(error) => vec![
            Finding::new(Severity::Unreachable, "data_directory", error.to_string())
                .mend("choose another with '--data', 'AQUEDUCT_DATA' or 'data' under '[store]'"),
        ],
    };
    Looked { what: directory.display().to_string(), findings }
}

/// Whether `aqueduct serve` would get its address.
pub(super) async fn address(config: &Checked) -> Looked {
    let address = config.server.http;
    let error = TcpListener::bind(address).err();
    let finding = match error.map(|error| error.kind()) {
        None => None,
        Some(io::ErrorKind::AddrInUse) => Some(occupied(config, address).await),
        Some(kind) => Some(
            Finding::new(Severity::Problem, "address_unusable", format!("{address} cannot be used: {kind}"))
                .mend("choose another address with '--http' or 'http' under '[server]'"),
        ),
    };
    Looked { what: address.to_string(), findings: finding.into_iter().collect() }
}

async fn occupied(config: &Checked, address: SocketAddr) -> Finding {
    let visited = examine::examine(&itself(address), &config.store.data).await;
    let is_aqueduct = match visited {
        Ok(met) => met.server.is_some_and(|server| server.name == "aqueduct"),
        // One of ours that wants a token does not say who it is.
        Err(Ailment::WantsCredential) => !config.auth.tokens.is_empty(),
        Err(_) => false,
    };
    if is_aqueduct {
        let message = format!("Aqueduct is serving there already, at http://{address}/mcp");
        return Finding::new(Severity::Note, "already_served", message);
    }
    let message = format!("another program uses port {}", address.port());
    Finding::new(Severity::Problem, "port_in_use", message).mend(
        "stop it, or choose another address with '--http' or 'http' under '[server]'; 'serve --stdio' needs none",
    )
}

/// Ourselves as a client sees us.
fn itself(address: SocketAddr) -> Upstream {
    Upstream::of_link(
        "aqueduct",
        Link::Http { url: format!("http://{address}/mcp"), headers: Vec::new(), bearer: None },
        std::time::Duration::from_secs(3),
    )
}
