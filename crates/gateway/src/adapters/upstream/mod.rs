//! Other MCP servers behind ours: each tool of theirs is an operation, each connection is looked after.

mod call;
pub mod catalogue;
mod environment;
mod error;
pub mod examine;
mod file;
mod http;
mod introduce;
mod keep;
mod lines;
pub mod offers;
mod one_text;
mod open;
mod peer;
mod pins;
mod pressure;
mod process;
mod relay;
mod result;
mod server;
mod slot;
mod veil;
mod visit;
mod wire;

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    time::SystemTime,
};

use aql::{
    adopt::{self, Adopted, Taken},
    classify,
    introspect::AdapterInfo,
    listed::{self, ListedTool},
    registry::{Builder, Problems},
    trust::{Block, TrustLevel},
};
use arc_swap::ArcSwap;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use self::offers::Refused;
pub(crate) use self::relay::is_servers_own;
use self::{
    call::ToolCall,
    catalogue::{Catalogues, Kept, Pinned},
    offers::Offers,
    pins::Accepted,
    server::{Notice, Upstream},
};
pub use self::{
    open::{Era, Identity},
    visit::{Visit, accept, pinned, visit},
};
use super::Operations;
use crate::{bearers::Bearers, config, dispatch::Surface, hub::Hub, pipeline::Gateway, store::QuotaStore};

/// All upstreams, and what is needed to publish their operations.
pub struct Upstreams {
    all: Vec<Arc<Upstream>>,
    catalogues: Catalogues,
    /// What is served without any upstream.
    own: Operations,
    builder: Builder,
    /// What is offered besides tools.
    offers: ArcSwap<Offers>,
    notices: Mutex<Option<mpsc::UnboundedReceiver<Notice>>>,
    /// How many of the times that publishing was asked for are done.
    publishing: tokio::sync::Mutex<u64>,
    asked: AtomicU64,
    stopping: CancellationToken,
    /// Callers' own tokens, where a server is to get them.
    bearers: Option<Arc<Bearers>>,
    /// When the catalogues were written that are in force.
    in_force: Mutex<HashMap<String, Option<SystemTime>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Upstreams {
    /// Prepares the upstreams. Nothing is started yet. What processes say is read by the hub, if there is one.
    #[must_use]
    pub fn new(
        configured: &[config::Upstream],
        data: &Path,
        own: Operations,
        builder: Builder,
        hub: Option<&Hub>,
    ) -> Arc<Self> {
        let catalogues = Catalogues::new(data);
        let (notices, heard) = mpsc::unbounded_channel();
        let forwards = configured.iter().any(|settings| settings.forward_auth);
        let bearers = forwards.then(Arc::<Bearers>::default);
        let open = |settings: &config::Upstream| {
            let era = catalogues.load(settings).map(|kept| kept.era);
            let bearers = bearers.clone().filter(|_| settings.forward_auth);
            Upstream::new(settings.clone(), era, notices.clone(), bearers, hub.cloned())
        };
        let all = configured.iter().map(open).collect();
        Arc::new(Self {
            all,
            catalogues,
            own,
            builder,
            offers: ArcSwap::default(),
            notices: Mutex::new(Some(heard)),
            publishing: tokio::sync::Mutex::default(),
            asked: AtomicU64::new(0),
            stopping: CancellationToken::new(),
            bearers,
            in_force: Mutex::default(),
        })
    }

    /// Everything that can be called, by what is known of the upstreams now.
    pub fn surface(&self) -> Result<Surface, Problems> {
        let mut operations = self.own.clone();
        let own = operations.operations.iter().map(|(operation, _)| operation);
        let mut taken = Taken::default().with(own, &operations.types);
        let mut offers = Offers::default();
        for upstream in &self.all {
            let written = self.catalogues.written(&upstream.settings);
            lock(&self.in_force).insert(upstream.name().to_owned(), written);
            if let Some(kept) = self.catalogues.load(&upstream.settings) {
                add(&mut operations, &mut taken, upstream, &kept)?;
                offers.add(upstream, &kept);
            } else if let Some(file) = &upstream.settings.adapter {
                // A mistake in it is told now, not when the server has answered.
                file::read(file, upstream.name())?;
            }
        }
        self.offers.store(Arc::new(offers));
        let surface = operations.publish(self.builder.clone())?;
        Ok(surface.introduced(self.introduction()))
    }

    /// What the server says of itself where there is only one, given on the command line.
    fn introduction(&self) -> Option<String> {
        let [upstream] = self.all.as_slice() else { return None };
        let settings = &upstream.settings;
        let kept = self.catalogues.load(settings).filter(|_| settings.wrapped)?;
        Some(introduce::introduce(&settings.name, kept.server.as_ref(), kept.instructions.as_deref()))
    }

    /// Keeps in that store which servers ask to be left alone, and takes over what it holds.
    pub(crate) fn remember(&self, store: &QuotaStore, held: &[(String, Timestamp)]) {
        self.all.iter().for_each(|upstream| upstream.pressure.remember(store, held));
    }

    /// Where callers' own tokens are kept, if any server is to get them.
    pub(crate) fn bearers(&self) -> Option<&Arc<Bearers>> {
        self.bearers.as_ref()
    }

    /// How each is in this process: running, starting, idle, or failed and why.
    #[must_use]
    pub fn states(&self) -> HashMap<String, (&'static str, Option<String>)> {
        self.all.iter().map(|upstream| (upstream.name().to_owned(), upstream.state())).collect()
    }

    #[must_use]
    pub fn are_any(&self) -> bool {
        !self.all.is_empty()
    }

    /// Whether all of them were asked before what they offer.
    #[must_use]
    pub fn are_known(&self) -> bool {
        self.all.iter().all(|upstream| self.catalogues.load(&upstream.settings).is_some())
    }

    /// Starts looking after the upstreams, publishing to that gateway whatever changes.
    pub fn tend(self: &Arc<Self>, gateway: &Arc<Gateway>) {
        let heard = self.notices.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(heard) = heard {
            keep::start(Arc::clone(self), Arc::downgrade(gateway), heard);
        }
    }

    /// Ends all connections.
    pub async fn close(&self) {
        self.stopping.cancel();
        let stops = self.all.iter().map(|upstream| upstream.stop());
        futures_util::future::join_all(stops).await;
        process::all_ended().await;
    }
}

/// How to accept what has changed of a server that has no name in the configuration.
const ACCEPT_WRAPPED: &str =
    "The operator can accept the changes by starting 'aqueduct wrap' once with '--accept-changes'.";

/// Adds what an upstream offers.
fn add(
    operations: &mut Operations,
    taken: &mut Taken,
    upstream: &Arc<Upstream>,
    kept: &Kept,
) -> Result<(), Problems> {
    let settings = &upstream.settings;
    let Became { pinned, tools, adopted, info } = adopted(settings, kept, taken)?;
    for mut operation in adopted.operations {
        let changed = pinned.iter().find(|tool| tool.name() == operation.tool && tool.offered.is_some());
        let held = changed.map(|tool| {
            let held = call::held(&settings.name, tool.name(), &tool.changes());
            if settings.wrapped { held.hint(ACCEPT_WRAPPED) } else { held }
        });
        let Some(tool) = tools.iter().find(|tool| tool.name == operation.tool) else { continue };
        let accepted = pinned.iter().find(|pinned| pinned.name() == operation.tool);
        let accepted = accepted.map(|pinned| Accepted::new(&pinned.definition));
        let call = ToolCall::new(Arc::clone(upstream), tool, operation.wiring, accepted, held);
        operation.definition.trust = Some(info.trust.level);
        operations.add(operation.definition, call);
    }
    operations.add_types(adopted.types);
    operations.add_server(info);
    Ok(())
}

/// How much the upstream's annotations count.
pub(crate) fn annotations_trust(settings: &config::Upstream) -> classify::Trust {
    match settings.trust() >= TrustLevel::CommunityReviewed {
        true => classify::Trust::Trusted,
        false => classify::Trust::Claimed,
    }
}

/// What became of an upstream's tools.
struct Became<'a> {
    /// Those that could be read, in the same order as `tools`.
    pinned: Vec<&'a Pinned>,
    tools: Vec<ListedTool>,
    adopted: Adopted,
    info: AdapterInfo,
}

/// What becomes of the tools that an upstream offers and the operator allows.
fn adopted<'a>(
    settings: &config::Upstream,
    kept: &'a Kept,
    taken: &mut Taken,
) -> Result<Became<'a>, Problems> {
    let offered = kept.tools.iter().filter(|tool| !tool.gone && settings.tools.allows(tool.name()));
    let (pinned, tools): (Vec<_>, Vec<ListedTool>) =
        offered.filter_map(|tool| Some((tool, read(&tool.definition)?))).unzip();
    let options = adopt::Options {
        server: &settings.name,
        prefix: &settings.prefix,
        trust: annotations_trust(settings),
        overrides: &settings.overrides,
    };
    let (adopted, version, mut trust) = match &settings.adapter {
        Some(file) => {
            let (adopted, adapter) = file::adopt(file, &tools, &options, taken)?;
            let mut trust = adapter.trust;
            trust.level = trust.effective(jiff::Timestamp::now());
            (adopted, adapter.version, trust)
        }
        None => {
            let version = kept.server.as_ref().map(|server| server.version.clone()).unwrap_or_default();
            (adopt::adopt(&tools, &options, taken), version, Block::of_level(settings.trust()))
        }
    };
    // The operator's word is the last, both ways.
    trust.level = settings.trust.unwrap_or(trust.level);
    let info = AdapterInfo { name: settings.name.clone(), version, trust };
    Ok(Became { pinned, tools, adopted, info })
}

fn read(definition: &Value) -> Option<ListedTool> {
    listed::read(Value::Array(vec![definition.clone()])).ok()?.pop()
}
