//! The sockets by which agents report: OTLP over HTTP and over gRPC.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    grpc,
    serve::{self, Door, Intake, Sink},
};
use crate::{
    config::Checked,
    serve::{
        connections::{self, Bounds},
        http::{Credential, Guard},
    },
};

/// How often a port that is taken is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Agents that report keep a connection each. Who only holds one must not take the files of the process.
const BOUNDS: Bounds =
    Bounds { connections: 256, head: Duration::from_mins(2), body: Duration::from_secs(30) };

/// How one of them came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    Off,
    Here {
        address: SocketAddr,
    },
    /// Somebody else has the port: another process of ours, or a collector. It is tried again until it is free.
    Taken {
        address: SocketAddr,
    },
    /// There is no such address.
    Refused(String),
}

/// Both, as long as they are held.
pub struct Receivers {
    pub http: Opened,
    pub grpc: Opened,
    stop: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Http,
    Grpc,
}

/// Opens what is configured. On standard input and output only what the file names. It never keeps the server from
/// starting: what went wrong is told instead.
pub async fn listen(config: &Checked, on_stdio: bool, sink: Arc<dyn Sink>) -> Receivers {
    let inspector = &config.inspector;
    let intake = Intake::new(sink);
    let mut receivers =
        Receivers { http: Opened::Off, grpc: Opened::Off, stop: CancellationToken::new(), tasks: Vec::new() };
    if let Some(address) = inspector.otlp_http.wanted(on_stdio) {
        receivers.http = receivers.open(config, Way::Http, address, &intake).await;
    }
    if let Some(address) = inspector.otlp_grpc.wanted(on_stdio) {
        receivers.grpc = receivers.open(config, Way::Grpc, address, &intake).await;
    }
    receivers
}

impl Receivers {
    async fn open(&mut self, config: &Checked, way: Way, wanted: SocketAddr, intake: &Arc<Intake>) -> Opened {
        let bound = match TcpListener::bind(wanted).await {
            Ok(listener) => listener.local_addr().map(|address| (Some(listener), address)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok((None, wanted)),
            Err(error) => Err(error),
        };
        let (listener, address) = match bound {
            Ok(bound) => bound,
            Err(error) => return Opened::Refused(format!("its address cannot be used: {}", error.kind())),
        };
        let opened = match &listener {
            Some(_) => Opened::Here { address },
            None => Opened::Taken { address },
        };
        let run = run(way, listener, address, Arc::clone(intake), door(config, address), self.stop.clone());
        self.tasks.push(tokio::spawn(run));
        opened
    }

    /// The addresses that are ours, or will be once they are free. No call may lead there.
    pub fn addresses(&self) -> impl Iterator<Item = (&'static str, SocketAddr)> {
        let both = [("otlp_http", &self.http), ("otlp_grpc", &self.grpc)];
        both.into_iter().filter_map(|(what, opened)| match opened {
            Opened::Here { address } | Opened::Taken { address } => Some((what, *address)),
            Opened::Off | Opened::Refused(_) => None,
        })
    }

    /// Ends them; requests under way are cut off, and whoever sent them sends them again.
    pub async fn close(self) {
        self.stop.cancel();
        for task in self.tasks {
            let _ = task.await;
        }
    }
}

fn door(config: &Checked, address: SocketAddr) -> Door {
    let tokens = config.auth.tokens.iter();
    let credentials =
        tokens.map(|token| Credential { principal: token.principal.clone(), sha256: token.sha256 }).collect();
    let origins = config.server.allowed_origins.clone();
    let guard = Guard::new(address, &config.server.allowed_hosts, &origins, credentials);
    Door { guard, origins }
}

/// Serves, or waits until the port is free and serves then.
async fn run(
    way: Way,
    mut listener: Option<TcpListener>,
    address: SocketAddr,
    intake: Arc<Intake>,
    door: Door,
    stop: CancellationToken,
) {
    loop {
        if let Some(listener) = listener.take() {
            let serve = serve(way, listener, &intake, &door, stop.clone());
            tokio::select! {
                () = serve => {}
                () = stop.cancelled() => return,
            }
        }
        tokio::select! {
            () = tokio::time::sleep(RETRY) => {}
            () = stop.cancelled() => return,
        }
        listener = TcpListener::bind(address).await.ok();
    }
}

async fn serve(way: Way, listener: TcpListener, intake: &Arc<Intake>, door: &Door, stop: CancellationToken) {
    let (intake, door) = (Arc::clone(intake), door.clone());
    match way {
        Way::Http => connections::serve(listener, serve::router(intake, door), BOUNDS, stop).await,
        Way::Grpc => grpc::serve(listener, grpc::router(intake, door)).await,
    }
}
