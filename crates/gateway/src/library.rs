//! Serving one's own operations from a Rust program: declare them, publish them, choose a transport.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use aql::registry::{Problems, Registry};

use crate::{
    adapters::Operations,
    pipeline::Gateway,
    serve::{
        http::{self, Guard, Options},
        stdio,
    },
};

/// How long running calls may go on after a stop.
const GRACE: Duration = Duration::from_secs(10);
const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);

/// An MCP server over a set of operations.
pub struct Server {
    gateway: Arc<Gateway>,
}

impl Server {
    /// Checks the operations and puts them in force, with everything else by default.
    pub fn new(adapter: &str, operations: Operations) -> Result<Self, Problems> {
        Self::with(Registry::builder(adapter), operations)
    }

    /// The same with a builder that sets mode, profile, limits or rules.
    pub fn with(builder: aql::registry::Builder, operations: Operations) -> Result<Self, Problems> {
        let surface = operations.publish(builder)?;
        Ok(Self { gateway: Arc::new(Gateway::new(surface, jiff::Timestamp::now)) })
    }

    #[must_use]
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// Serves one client on standard input and output until it closes them or the process is told to stop.
    pub async fn stdio(self) -> std::io::Result<()> {
        stdio::serve(self.gateway, true, GRACE, stop_signal).await
    }

    /// Serves HTTP on a loopback address until the process is told to stop.
    pub async fn http(self, address: SocketAddr) -> std::io::Result<()> {
        if !address.ip().is_loopback() {
            let message = "only loopback addresses are served without credentials";
            return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, message));
        }
        let options = Options {
            guard: Guard::new(address, &[], &[], Vec::new()),
            session_idle: SESSION_IDLE,
            grace: GRACE,
            fast_path: true,
        };
        http::Server::bind(address, self.gateway, options).await?.serve(stop_signal).await
    }
}

/// Resolves when the process is asked to stop, by a person or by its supervisor.
pub async fn stop_signal() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = interrupt.await;
}
