//! The operator's own socket: approvals, blocks, challenges and the audit log as JSON, for who has the key.
//!
//! Whoever holds the port serves everything of the data directory, since all processes on it share one store. The others
//! wait for it to become free.

pub(crate) mod api;
mod entrance;
pub(crate) mod inputs;
pub(crate) mod reply;
pub(crate) mod resources;
pub(crate) mod told;
pub(crate) mod wait;
mod webhook;
pub(crate) mod words;

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware,
    routing::{get, post},
};
use tokio::{net::TcpListener, sync::Semaphore, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{desk::Desk, key::Key, lockout::Lockout};
use crate::{
    config::{Checked, Webhook},
    inspect::{self, Inspect, Role},
    pipeline::Gateway,
    safety::{Safety, channels::Channels},
    serve::{
        connections::{self, Bounds},
        http::{Credential, Guard},
    },
    store::SafetyStore,
};

/// Nothing that is sent here is longer.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// How many wait for news at once; more are told to come back.
const WAITING_MAX: usize = 32;

/// Few: one person asks here, and whoever waits for news holds one of them.
const BOUNDS: Bounds =
    Bounds { connections: 4 * WAITING_MAX, head: Duration::from_secs(10), body: Duration::from_secs(10) };

/// How often a port that is taken is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// How long another process gets to show that it is one of ours.
const PROBE: Duration = Duration::from_secs(2);

/// How the listener came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    Off,
    /// Here, for who has the key in this file.
    Here {
        address: SocketAddr,
        key: PathBuf,
    },
    /// Another process on the same data directory has the port.
    Elsewhere {
        address: SocketAddr,
        key: PathBuf,
    },
    /// Another program has the port, or a process on other data.
    Taken {
        address: SocketAddr,
    },
    /// There is no key that could be trusted, or no such address.
    Refused(String),
}

/// The listener, as long as it is held.
pub struct Listener {
    pub opened: Opened,
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

/// What requests are answered with.
struct Shared {
    desk: Desk,
    key: Key,
    guard: Guard,
    webhooks: Vec<Webhook>,
    lockout: Mutex<Lockout>,
    /// Forged answers of webhooks must not lock the operator out.
    webhook_lockout: Mutex<Lockout>,
    waiting: Semaphore,
    /// Nothing where only the data is looked at.
    gateway: Option<Arc<Gateway>>,
    inspect: Arc<Inspect>,
}

impl Listener {
    /// Opens the listener as configured. It never keeps the server from starting: what went wrong is told instead.
    pub async fn open(
        config: &Checked,
        wanted: Option<SocketAddr>,
        safety: &Safety,
        gateway: &Arc<Gateway>,
        inspect: Arc<Inspect>,
    ) -> Self {
        Self::open_with(config, wanted, safety.store(), safety.channels().cloned(), Some(gateway), inspect)
            .await
    }

    /// The listener alone, over data that other processes write.
    pub async fn over_data(
        config: &Checked,
        wanted: SocketAddr,
        store: &SafetyStore,
        inspect: Arc<Inspect>,
    ) -> Self {
        Self::open_with(config, Some(wanted), store, None, None, inspect).await
    }

    async fn open_with(
        config: &Checked,
        wanted: Option<SocketAddr>,
        store: &SafetyStore,
        channels: Option<Channels>,
        gateway: Option<&Arc<Gateway>>,
        inspect: Arc<Inspect>,
    ) -> Self {
        let stop = CancellationToken::new();
        let closed = |opened| Self { opened, stop: stop.clone(), task: None };
        let Some(wanted) = wanted else { return closed(Opened::Off) };
        let keys = Key::open(&config.store.data).and_then(|key| Ok((key, Key::viewer(&config.store.data)?)));
        let (key, viewer) = match keys {
            Ok(keys) => keys,
            Err(error) => return closed(Opened::Refused(error.to_string())),
        };
        let desk = match Desk::new(store.clone(), &config.store.data) {
            Ok(desk) => desk,
            Err(error) => return closed(Opened::Refused(error.to_string())),
        };
        let bound = match bind(wanted).await {
            Ok(listener) => listener.local_addr().map(|address| (Some(listener), address)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok((None, wanted)),
            Err(error) => Err(error),
        };
        let (listener, address) = match bound {
            Ok(bound) => bound,
            Err(error) => {
                return closed(Opened::Refused(format!("its address cannot be used: {}", error.kind())));
            }
        };
        // No call may lead here, whether it is this process that listens or another one of ours.
        if let Some(gateway) = gateway {
            gateway.guard().listens(address);
        }
        inspect.listens("operator", address.to_string());
        let path = key.path().to_owned();
        let opened = match &listener {
            Some(_) => Opened::Here { address, key: path },
            None if is_ours(address, &key).await => Opened::Elsewhere { address, key: path },
            None => Opened::Taken { address },
        };
        let shared = Arc::new(Shared {
            guard: guard(config, address, &key, &viewer),
            desk,
            key,
            webhooks: config.operator.webhooks.clone(),
            lockout: Mutex::default(),
            webhook_lockout: Mutex::default(),
            waiting: Semaphore::new(WAITING_MAX),
            gateway: gateway.cloned(),
            inspect,
        });
        let task = tokio::spawn(run(listener, address, shared, channels, stop.clone()));
        Self { opened, stop, task: Some(task) }
    }

    /// Ends it; requests under way are cut off.
    pub async fn close(self) {
        self.stop.cancel();
        if let Some(task) = self.task {
            let _ = task.await;
        }
    }
}

async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Serves, or waits until the port is free and serves then.
async fn run(
    mut listener: Option<TcpListener>,
    address: SocketAddr,
    shared: Arc<Shared>,
    channels: Option<Channels>,
    stop: CancellationToken,
) {
    let say = |open| {
        if let Some(channels) = &channels {
            channels.page_is_open(open);
        }
    };
    loop {
        if let Some(listener) = listener.take() {
            say(true);
            let served = connections::serve(listener, router(Arc::clone(&shared)), BOUNDS, stop.clone());
            tokio::select! {
                () = served => {}
                () = stop.cancelled() => return,
            }
        }
        say(is_ours(address, &shared.key).await);
        tokio::select! {
            () = tokio::time::sleep(RETRY) => {}
            () = stop.cancelled() => return,
        }
        listener = bind(address).await.ok();
    }
}

fn guard(config: &Checked, address: SocketAddr, key: &Key, viewer: &Key) -> Guard {
    let keys = [(Role::Operator, key), (Role::Viewer, viewer)];
    let credentials = keys
        .map(|(role, key)| Credential { principal: role.as_str().to_owned(), sha256: key.sha256() })
        .to_vec();
    Guard::new(address, &config.server.allowed_hosts, &[], credentials)
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/api/v1/approvals", get(api::approvals))
        .route("/api/v1/approvals/wait", get(wait::wait))
        .route("/api/v1/approvals/{id}", get(api::approval))
        .route("/api/v1/approvals/{id}/approve", post(api::approve))
        .route("/api/v1/approvals/{id}/deny", post(api::deny))
        .route("/api/v1/approvals/{id}/revoke", post(api::revoke))
        .route("/api/v1/approvals/{id}/token", post(api::token))
        .route("/api/v1/inputs", get(inputs::inputs))
        .route("/api/v1/inputs/{id}", post(inputs::answer))
        .route("/api/v1/resources/read", post(resources::again))
        .route("/api/v1/blocks", get(api::blocks))
        .route("/api/v1/blocks/{agent}/unblock", post(api::unblock))
        .route("/api/v1/challenges", get(api::challenges))
        .route("/api/v1/challenges/{id}/reveal", post(api::reveal))
        .route("/api/v1/audit", get(api::audit))
        .route("/api/v1/audit/verify", get(api::verify))
        .route("/api/v1/policy/test", get(api::policy))
        .route(entrance::PROOF_PATH, get(api::proof))
        .route(entrance::WEBHOOK_PATH, post(webhook::answer))
        .merge(inspect::router(Arc::clone(&shared.inspect)))
        .fallback(api::nothing)
        .method_not_allowed_fallback(api::wrong_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), entrance::entrance))
        .with_state(shared)
}

/// Whether who has the port knows the key of our data directory. Only such a process serves what we would.
async fn is_ours(address: SocketAddr, key: &Key) -> bool {
    let nonce = super::signature::hex(&crate::random::bytes::<16>());
    let expected = key.proof(&nonce);
    matches!(tokio::time::timeout(PROBE, ask(address, &nonce)).await, Ok(Ok(text)) if text.contains(&expected))
}

/// One small request, by hand: a client would bring a pool and redirects.
async fn ask(address: SocketAddr, nonce: &str) -> io::Result<String> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    const ANSWER_BYTES_MAX: u64 = 8 * 1024;
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    let path = entrance::PROOF_PATH;
    let request =
        format!("GET {path}?nonce={nonce} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
