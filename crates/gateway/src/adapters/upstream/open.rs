//! How a connection begins, in both eras of the protocol.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    peer::{Failure, Peer},
    wire::{INITIALIZED, METHOD_NOT_FOUND, Params, RpcError, SELF_CONTAINED},
};

/// Which life a connection leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Era {
    /// It begins with `initialize` and knows a session.
    Initialized,
    /// Every request says everything itself.
    SelfContained,
}

/// What an upstream said of itself.
#[derive(Debug, Clone)]
pub(super) struct Hello {
    pub(super) era: Era,
    pub(super) version: String,
    pub(super) server: Option<Identity>,
    pub(super) capabilities: Map<String, Value>,
    pub(super) instructions: Option<String>,
}

/// Who an upstream is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
pub struct Identity {
    pub name: String,
    #[serde(default)]
    pub version: String,
}

impl Hello {
    pub(super) fn offers(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(|given| !given.is_null())
    }
}

/// A server that does not know `server/discover` says so at once; one that says nothing may be an older one.
const PROBE: Duration = Duration::from_secs(3);

/// Older revisions that we can speak as well.
const OLDER: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

/// Codes with which a server of today refuses; anything else comes from an older one.
const REFUSED_BY_TODAYS: [i64; 2] = [-32020, -32021];

/// What we can be asked for, whoever of our clients answers it.
fn capabilities() -> Value {
    json!({"roots": {"listChanged": false}, "sampling": {}, "elicitation": {"form": {}, "url": {}}})
}

fn identity() -> Value {
    json!({"name": "aqueduct", "title": "Aqueduct", "version": env!("CARGO_PKG_VERSION")})
}

/// The `_meta` members of a request that says everything itself. The capabilities are those of the client it is made
/// for, as JSON.
pub(super) fn meta(capabilities: &str) -> String {
    format!(
        "\"io.modelcontextprotocol/protocolVersion\":\"{SELF_CONTAINED}\",\
         \"io.modelcontextprotocol/clientInfo\":{},\"io.modelcontextprotocol/clientCapabilities\":{capabilities}",
        identity(),
    )
}

/// Opens the connection. The era that worked the last time is tried first.
pub(super) async fn open(peer: &Arc<Peer>, within: Duration, last: Option<Era>) -> Result<(), Failure> {
    if last == Some(Era::Initialized) {
        return match initialize(peer, within).await {
            // It was renewed since.
            Err(Failure::Rpc(_)) => discover(peer, within).await,
            other => other,
        };
    }
    let discovering = discover(peer, within);
    if last == Some(Era::SelfContained) {
        return discovered(discovering.await, initialize(peer, within)).await;
    }
    tokio::pin!(discovering);
    if let Ok(found) = tokio::time::timeout(PROBE.min(within / 2), &mut discovering).await {
        return discovered(found, initialize(peer, within)).await;
    }
    // It is an older one that says nothing, or one that is slow to start. Whichever it answers first counts.
    let initializing = initialize(peer, within);
    tokio::pin!(initializing);
    tokio::select! {
        found = &mut discovering => discovered(found, initializing).await,
        begun = &mut initializing => match begun {
            Ok(()) => Ok(()),
            // One that was slow refuses this because it took the first question.
            Err(failure) => match tokio::time::timeout(PROBE, discovering).await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) | Err(_) => Err(failure),
            },
        },
    }
}

/// What follows from the answer to `server/discover`: an older server is asked to initialize.
async fn discovered(
    found: Result<(), Failure>,
    initializing: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    match found {
        Ok(()) => Ok(()),
        Err(Failure::Rpc(error)) if REFUSED_BY_TODAYS.contains(&error.code) => Err(Failure::Rpc(error)),
        Err(Failure::Gone(why)) => Err(Failure::Gone(why)),
        Err(_) => initializing.await,
    }
}

#[derive(Deserialize)]
struct Discovered {
    #[serde(default, rename = "supportedVersions")]
    supported: Vec<String>,
    #[serde(default)]
    capabilities: Map<String, Value>,
    #[serde(default, rename = "serverInfo")]
    server: Option<Identity>,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default, rename = "_meta")]
    meta: Map<String, Value>,
}

async fn discover(peer: &Arc<Peer>, within: Duration) -> Result<(), Failure> {
    if let Some(link) = peer.http() {
        link.lives(Era::SelfContained, SELF_CONTAINED);
    }
    let raw = peer.request_with("server/discover", &Params::none(), within, None, &meta("{}")).await?;
    let found: Discovered = serde_json::from_str(raw.get()).map_err(|_| unreadable("server/discover"))?;
    if !found.supported.is_empty() && !found.supported.iter().any(|version| version == SELF_CONTAINED) {
        return Err(unreadable("server/discover"));
    }
    // Another attempt may have said something else meanwhile.
    if let Some(link) = peer.http() {
        link.lives(Era::SelfContained, SELF_CONTAINED);
    }
    let in_meta = found.meta.get("io.modelcontextprotocol/serverInfo");
    let server = found.server.or_else(|| serde_json::from_value(in_meta?.clone()).ok());
    peer.greeted(Hello {
        era: Era::SelfContained,
        version: SELF_CONTAINED.to_owned(),
        server,
        capabilities: found.capabilities,
        instructions: found.instructions,
    });
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: String,
    #[serde(default)]
    capabilities: Map<String, Value>,
    #[serde(default)]
    server_info: Option<Identity>,
    #[serde(default)]
    instructions: Option<String>,
}

async fn initialize(peer: &Arc<Peer>, within: Duration) -> Result<(), Failure> {
    if let Some(link) = peer.http() {
        link.lives(Era::Initialized, INITIALIZED);
    }
    let params = Params::none()
        .value("protocolVersion", &INITIALIZED)
        .value("capabilities", &capabilities())
        .value("clientInfo", &identity());
    let raw = peer.request_with("initialize", &params, within, None, "").await?;
    let found: Initialized = serde_json::from_str(raw.get()).map_err(|_| unreadable("initialize"))?;
    let version = found.protocol_version;
    if version != INITIALIZED && !OLDER.contains(&version.as_str()) {
        return Err(Failure::Unreachable(format!("it speaks MCP '{version}', which we do not")));
    }
    if let Some(link) = peer.http() {
        link.lives(Era::Initialized, &version);
    }
    peer.greeted(Hello {
        era: Era::Initialized,
        version,
        server: found.server_info,
        capabilities: found.capabilities,
        instructions: found.instructions,
    });
    peer.notify("notifications/initialized", &Params::none());
    Ok(())
}

fn unreadable(method: &str) -> Failure {
    Failure::Rpc(RpcError {
        code: METHOD_NOT_FOUND,
        message: format!("its answer to '{method}' cannot be read"),
        data: None,
    })
}
