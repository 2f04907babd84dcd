//! From a checked configuration to a gateway that can serve.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use aql::{
    autonomy::{Autonomy, Mode},
    query::CursorKey,
    registry::{Builder, Concurrency, Problem, Problems, Registry},
};

use serde_json::json;

#[cfg(feature = "tokens")]
use crate::{
    adapters::upstream::{self, catalogue::Catalogues},
    tokens::{List, Own},
};
use crate::{
    adapters::{
        self, Operations, entities, executions,
        safety_loop::{self, SafetyLoop},
        upstream::Upstreams,
    },
    bearers::Bearers,
    config::{self, Checked, Environment, Inspector, Link, SecretSource},
    executions::Executions,
    guard::{self, Places},
    hub::Hub,
    inspect::{Configured, Inspect},
    limits::Limits,
    operator::{Listener, desk::Desk},
    pipeline::Gateway,
    safety::{Safety, channels::Channels},
    serve::http::{Credential, Guard, Options},
    store::{self, EntityStore, ExecutionStore, QuotaStore, SafetyStore, TraceStore, traces},
    trace::{
        Kept, Recorder, Settings, Told,
        metrics::Metrics,
        otlp::{self, Exporter, Receivers},
    },
};

/// What the server calls itself to agents.
const ADAPTER: &str = "aqueduct";

/// What cursors are signed with, so that they work after a restart and in every process on the directory.
const CURSOR_KEY_FILE: &str = "cursor.key";

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Store(#[from] store::Error),
    #[error("{0}")]
    Problems(#[from] Problems),
}

/// A gateway with the stores that have to be closed behind it.
pub struct App {
    pub gateway: Arc<Gateway>,
    stores: Option<(EntityStore, Executions)>,
    safety: Arc<Safety>,
    upstreams: Arc<Upstreams>,
    limits: Option<Arc<Limits>>,
    inspect: Arc<Inspect>,
    exporter: Arc<Exporter>,
}

/// The operations as configured and as far as they are known, without opening any data or starting any server.
pub fn registry(config: &Checked) -> Result<Arc<Registry>, Problems> {
    let mut own = Operations::new();
    if config.entities.enabled {
        let (operations, types) = adapters::built_in();
        for operation in operations {
            own.add(operation, adapters::Nobody);
        }
        own.add_types(types);
    }
    if let Some(autonomy) = autonomy(config)? {
        let (operations, types) = safety_loop::definitions(&autonomy);
        for operation in operations {
            own.add(operation, adapters::Nobody);
        }
        own.add_types(types);
    }
    let upstreams = Upstreams::new(&config.upstreams, &config.store.data, own, builder(config), None);
    Ok(Arc::clone(upstreams.surface()?.registry()))
}

/// Asks upstreams that were never asked what they offer, and keeps it. Those that cannot be reached stay unknown; why is
/// told, one line each.
pub async fn learn(config: &Checked) -> Vec<String> {
    let own = Operations::new();
    let upstreams = Upstreams::new(&config.upstreams, &config.store.data, own, builder(config), None);
    let troubles = upstreams.learn().await;
    upstreams.close().await;
    troubles
}

/// What the servers that are configured list, as far as they were asked, and what is served beside them.
#[cfg(feature = "tokens")]
#[must_use]
pub fn lists(config: &Checked) -> (Vec<List>, Own, Builder) {
    let catalogues = Catalogues::new(&config.store.data);
    let known = config.upstreams.iter().filter_map(|settings| Some((settings, catalogues.load(settings)?)));
    let lists = known.map(|(settings, kept)| {
        let offered = kept.tools.iter().filter(|tool| !tool.gone);
        let definitions: Vec<_> = offered.map(|tool| tool.definition.clone()).collect();
        let mut list = List::of_definitions(&settings.name, &definitions);
        list.tools.retain(|tool| settings.tools.allows(&tool.name));
        list.prefix.clone_from(&settings.prefix);
        list.overrides = settings.overrides.clone();
        list.trust = upstream::annotations_trust(settings);
        list
    });
    let own = match config.entities.enabled {
        true => {
            let (operations, types) = adapters::built_in();
            Own { operations, types }
        }
        false => Own::default(),
    };
    (lists.collect(), own, builder(config))
}

/// Opens the data and puts everything together. Who serves standard input has a hub read what servers say.
pub fn open(config: &Checked, hub: Option<&Hub>) -> Result<App, Error> {
    let mut operations = Operations::new();
    let mut stores = None;
    let options = store::Options { max_database_bytes: config.store.max_database_bytes };
    let kept = SafetyStore::open(&config.store.data, options)?;
    let channels = Channels::new(&config.operator, kept.clone());
    let desk = Desk::new(kept.clone(), &config.store.data)?;
    let safety = Safety::new(kept, config.confirmation.clone(), jiff::Timestamp::now);
    safety.ask_through(channels, desk);
    if config.entities.enabled {
        let opened = EntityStore::open(&config.store.data, options, &config.entities.index)?;
        let kept = ExecutionStore::open(&config.store.data, options)?;
        let running = Executions::new(kept, config.executions, jiff::Timestamp::now);
        operations.extend(entities::operations(&opened, &running));
        operations.extend(executions::operations(&running));
        stores = Some((opened, running));
    }
    if let Some(autonomy) = autonomy(config)? {
        let (dir, kept) = (&config.store.data, safety.store().clone());
        let challenge = config.safety_loop.challenge;
        let own = SafetyLoop::open(dir, kept, autonomy, challenge, ADAPTER, jiff::Timestamp::now)?;
        operations.extend(safety_loop::operations(&own));
        safety.supervise(own);
    }
    let upstreams = Upstreams::new(&config.upstreams, &config.store.data, operations, builder(config), hub);
    // Asked first: another process may learn of a server in between, and what is then missing has to be waited for.
    let known = upstreams.are_known();
    let surface = upstreams.surface()?;
    let mut gateway = Gateway::new(surface, jiff::Timestamp::now).with_page_bytes(config.page_bytes);
    // The loop alone has no pages to come back to, and keeps nothing but its own.
    if !config.safety_only {
        gateway =
            gateway.with_cursor_key(CursorKey::new(&store::secret(&config.store.data, CURSOR_KEY_FILE)?));
    }
    let limits = limits(config, &upstreams, &safety)?;
    let traces = traces(config);
    let metrics = Arc::new(Metrics::default());
    let exporter = Arc::new(Exporter::start(&config.inspector.export));
    let told = Told { metrics: Arc::clone(&metrics), exporter: Arc::clone(&exporter) };
    let recorder = recorder(config, &traces, told, upstreams.bearers().cloned());
    let gateway = gateway
        .with_upstreams(Arc::clone(&upstreams))
        .with_safety(Arc::clone(&safety))
        .with_guard(guard(config))
        .with_limits(limits.clone())
        .with_recorder(recorder.clone());
    let gateway = Arc::new(if known { gateway } else { gateway.unsettled() });
    upstreams.tend(&gateway);
    safety.tend();
    let mut inspect = inspect(config, traces, Some(&gateway));
    inspect.metrics = Some(metrics);
    inspect.exporter = Arc::downgrade(&exporter);
    let inspect = Arc::new(inspect);
    Ok(App { exporter, gateway, stores, safety, upstreams, limits, inspect })
}

/// What the Inspector's API is answered with.
fn inspect(config: &Checked, store: TraceStore, gateway: Option<&Arc<Gateway>>) -> Inspect {
    let mut servers = Configured::new(config);
    if let Some(gateway) = gateway.map(Arc::downgrade) {
        let running = gateway.clone();
        servers = servers.with_states(move || {
            let gateway = running.upgrade();
            gateway.and_then(|gateway| Some(gateway.upstreams()?.states())).unwrap_or_default()
        });
        servers = servers.with_tools(move || {
            let Some(surface) = gateway.upgrade().map(|gateway| gateway.surface()) else {
                return String::new();
            };
            let tools = surface.registry().tools().iter().map(|tool| {
                json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema})
            });
            serde_json::Value::from_iter(tools).to_string()
        });
    }
    let mut inspect = Inspect::new(store, config.inspector.server_id.as_str());
    inspect.servers = Arc::new(servers);
    inspect.recorder = gateway.and_then(|gateway| gateway.recorder().cloned());
    inspect
}

/// What writes calls down. Without it calls go on, so that its want is told and nothing else.
fn recorder(
    config: &Checked,
    traces: &TraceStore,
    told: Told,
    bearers: Option<Arc<Bearers>>,
) -> Option<Arc<Recorder>> {
    let mut levels = config.inspector.levels.clone();
    for upstream in &config.upstreams {
        levels.servers.extend(upstream.capture.map(|level| (upstream.name.clone(), level)));
    }
    if config.safety_only || levels.is_off() {
        return None;
    }
    let clock = jiff::Timestamp::now;
    let tags = config.inspector.tags.clone();
    let settings = Settings { bearers, tags, ..Settings::new(config.inspector.server_id.clone(), levels) };
    let kept = Kept::new(traces.appender(), clock);
    Recorder::start(settings, vec![Box::new(kept), Box::new(told)], clock)
        .inspect_err(|error| tracing::warn!(%error, "calls are not recorded"))
        .ok()
}

/// What was recorded in the data directory.
#[must_use]
pub fn traces(config: &Checked) -> TraceStore {
    let Inspector { keep_days, keep_bytes, .. } = config.inspector;
    let options = traces::Options { max_age_days: keep_days, max_bytes: keep_bytes, ..Default::default() };
    TraceStore::open(&config.store.data, options)
}

/// The operator's listener without a gateway: what other processes wrote to the data directory, and what waits there.
pub struct Watched {
    pub listener: Listener,
    store: SafetyStore,
}

/// Opens it, over a data directory that other processes may use.
pub async fn watch(config: &Checked, address: SocketAddr) -> Result<Watched, Error> {
    let options = store::Options { max_database_bytes: config.store.max_database_bytes };
    let store = SafetyStore::open(&config.store.data, options)?;
    let traces = traces(config);
    // What a process that is gone left running does not run. Who may not write is shown it as it stands.
    let _ = traces.appender().end_lost(crate::inspect::now());
    let listener =
        Listener::over_data(config, address, &store, Arc::new(inspect(config, traces, None))).await;
    Ok(Watched { listener, store })
}

impl Watched {
    pub async fn close(self) {
        self.listener.close().await;
        self.store.close().await;
    }
}

/// What is counted. The file is there where something is counted, or where a server may ask to be left alone.
fn limits(config: &Checked, upstreams: &Upstreams, safety: &Safety) -> Result<Option<Arc<Limits>>, Error> {
    let is_remote = |upstream: &crate::config::Upstream| matches!(upstream.link, Link::Http { .. });
    if config.quotas.is_empty() && !config.upstreams.iter().any(is_remote) {
        return Ok(None);
    }
    let options = store::Options { max_database_bytes: config.store.max_database_bytes };
    let counts = QuotaStore::open(&config.store.data, options)?;
    upstreams.remember(&counts, &counts.held(jiff::Timestamp::now())?);
    if config.quotas.is_empty() {
        return Ok(None);
    }
    let tokens = safety.store().clone();
    Ok(Some(Arc::new(Limits::new(Arc::new(config.quotas.clone()), counts, tokens))))
}

/// What no call may reach through another server.
fn guard(config: &Checked) -> guard::Guard {
    let adapters = config.upstreams.iter().filter_map(|upstream| upstream.adapter.clone());
    let servers = config.upstreams.iter().filter_map(|upstream| match &upstream.link {
        Link::Command { args, env, cwd, .. } => {
            let directory = cwd.clone().or_else(|| std::env::current_dir().ok())?;
            let texts = args.iter().chain(env.iter().map(|(_, value)| value));
            let texts = texts.map(|text| text.expose().to_owned()).collect();
            Some((upstream.name.clone(), guard::Started { directory, texts }))
        }
        Link::Http { .. } => None,
    });
    // A file that is not there yet would be read by the next start.
    let usual = config::usual_files(&Environment::capture());
    let places = Places {
        directories: vec![config.store.data.clone()],
        files: config
            .file
            .iter()
            .cloned()
            .chain(usual)
            .chain(adapters)
            .chain(trusted(&config.operator))
            .collect(),
        servers: servers.collect(),
    };
    guard::Guard::new(places, &[OPERATOR_ADDRESS, config.server.http])
}

/// The files that approvals rest on: secrets, and programs that ask or answer. What belongs to the system is left out: no
/// user can change it, and commands name it all the time.
fn trusted(operator: &config::Operator) -> Vec<PathBuf> {
    const OF_THE_SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/nix/store", "/System"];
    let mut files = Vec::new();
    let mut commands = Vec::new();
    for webhook in &operator.webhooks {
        match &webhook.secret {
            SecretSource::File(path) => files.push(path.clone()),
            SecretSource::Command(program, args) => commands.push((program, args)),
            SecretSource::Variable(_) => {}
        }
    }
    commands.extend(operator.command.iter().map(|hook| (&hook.program, &hook.args)));
    for (program, args) in commands {
        let scripts = args.iter().map(|arg| PathBuf::from(arg.expose()));
        let scripts = scripts.filter(|path| path.is_absolute() && path.is_file());
        let program = Some(program.clone()).filter(|program| program.components().count() > 1);
        let named = program.into_iter().chain(scripts);
        files.extend(named.filter(|path| !OF_THE_SYSTEM.iter().any(|system| path.starts_with(system))));
    }
    files
}

/// Where the operator is answered unless another address is bound. Denied in any case: another process of ours may
/// listen there.
const OPERATOR_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7172);

impl App {
    /// Opens the operator's own listener. On standard input and output only where the configuration names an address.
    pub async fn operator(&self, config: &Checked, on_stdio: bool) -> Listener {
        let wanted = config.operator.http.filter(|_| !on_stdio || config.operator.http_is_written);
        Listener::open(config, wanted, &self.safety, &self.gateway, Arc::clone(&self.inspect)).await
    }

    /// Opens where agents report what they did. Nothing is opened where nothing is recorded.
    pub async fn receivers(&self, config: &Checked, on_stdio: bool) -> Option<Receivers> {
        let recorder = self.gateway.recorder().cloned()?;
        let receivers = otlp::listen(config, on_stdio, recorder).await;
        for (what, address) in receivers.addresses() {
            self.gateway.guard().listens(address);
            self.inspect.listens(what, address.to_string());
        }
        Some(receivers)
    }

    /// What the Inspector is asked for.
    #[must_use]
    pub fn inspect(&self) -> &Arc<Inspect> {
        &self.inspect
    }

    /// Waits until everything that was acknowledged or asked for is on disk.
    pub async fn close(self) {
        self.upstreams.close().await;
        if let Some(limits) = self.limits {
            limits.close().await;
        }
        if let Some((entities, executions)) = self.stores {
            // Executions write entities, so they end first.
            executions.close().await;
            entities.close().await;
        }
        self.safety.close().await;
        if let Some(recorder) = self.gateway.recorder().cloned() {
            let _ = tokio::task::spawn_blocking(move || recorder.close()).await;
        }
        // Nobody else tells it anything once the recorder has ended.
        if let Some(exporter) = Arc::into_inner(self.exporter) {
            exporter.close().await;
        }
    }
}

/// The settings of the loop made ready, where there is one.
fn autonomy(config: &Checked) -> Result<Option<Autonomy>, Problems> {
    if config.safety_loop.mode == Mode::Disabled {
        return Ok(None);
    }
    config.safety_loop.autonomy().map(Some).map_err(|error| {
        let (subject, field) = ("the safety loop".to_owned(), "patterns".to_owned());
        Problems(vec![Problem { subject, field, message: error.to_string() }])
    })
}

fn builder(config: &Checked) -> Builder {
    Registry::builder(ADAPTER)
        .safety_loop(config.safety_loop.mode)
        .mode(config.server.mode)
        .profile(config.server.profile.clone())
        .prefix(config.server.prefix.clone())
        .pinned(config.server.pinned.clone())
        .limits(config.limits)
        .strictness(config.server.strictness)
        .policy(config.policy.clone())
        .quotas(config.quotas.quotas.clone())
        .max_concurrent_requests(config.server.max_concurrent_requests)
        // SQLite has one writer; readers go on beside it.
        .concurrency(Concurrency::ReadConcurrent)
}

/// What the HTTP side needs of the configuration.
#[must_use]
pub fn http_options(config: &Checked) -> Options {
    let server = &config.server;
    let tokens = config.auth.tokens.iter();
    let credentials =
        tokens.map(|token| Credential { principal: token.principal.clone(), sha256: token.sha256 }).collect();
    Options {
        guard: Guard::new(server.http, &server.allowed_hosts, &server.allowed_origins, credentials),
        session_idle: server.session_idle,
        grace: server.shutdown_grace,
        fast_path: server.fast_path,
    }
}
