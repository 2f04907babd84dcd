//! What is known of the servers behind us besides how they did.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{adapters::upstream::catalogue::Catalogues, config, operator::shown::line};

/// Who knows the servers. Its answers may take a moment; they are asked for on a thread that may wait.
pub trait Servers: Send + Sync {
    fn list(&self) -> Vec<ServerInfo>;
    /// The tools of a server that have changed since they were accepted.
    fn drift(&self, server: &str) -> Vec<Drift>;
    fn tokens(&self) -> TokenCosts;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    pub name: String,
    pub state: String,
    /// Why it failed last.
    pub error: Option<String>,
    pub tools: Option<u32>,
    pub held: u32,
}

/// A tool that is not what was accepted any more.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Drift {
    pub tool: String,
    pub changes: Vec<Changed>,
}

/// One field that is not what it was. A field that came or went has only one of the two.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Changed {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is: Option<Value>,
}

/// What tools cost a model before anything is called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TokenCosts {
    pub servers: Vec<ServerCost>,
    pub ours: OwnCost,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ServerCost {
    pub server: String,
    /// What all its tools would cost in a model's context; null where this program cannot count.
    pub eager_tokens: Option<u64>,
    pub tools: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OwnCost {
    /// What our own list of tools costs; null where this program cannot count.
    pub tools_list_tokens: Option<u64>,
}

/// Servers by the configuration and by what was kept of them, which is there whether or not anything runs.
#[derive(Default)]
pub struct Configured {
    upstreams: Vec<config::Upstream>,
    catalogues: Option<Catalogues>,
    /// Our own tools, as JSON.
    tools: Option<Box<dyn Fn() -> String + Send + Sync>>,
    /// How servers are in this process.
    states: Option<Box<dyn Fn() -> States + Send + Sync>>,
}

/// By the server's name: a word, and why it failed.
pub type States = HashMap<String, (&'static str, Option<String>)>;

/// The longest reason, in characters.
const ERROR_CHARS_MAX: usize = 500;

impl Configured {
    #[must_use]
    pub fn new(config: &config::Checked) -> Self {
        let catalogues = Some(Catalogues::new(&config.store.data));
        Self { upstreams: config.upstreams.clone(), catalogues, tools: None, states: None }
    }

    /// Says how our own list of tools is written.
    #[must_use]
    pub fn with_tools(self, tools: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self { tools: Some(Box::new(tools)), ..self }
    }

    /// Says how servers are that this process runs or is connected to.
    #[must_use]
    pub fn with_states(self, states: impl Fn() -> States + Send + Sync + 'static) -> Self {
        Self { states: Some(Box::new(states)), ..self }
    }

    fn kept(
        &self,
    ) -> impl Iterator<Item = (&config::Upstream, Option<crate::adapters::upstream::catalogue::Kept>)> {
        let load = |settings| self.catalogues.as_ref().and_then(|catalogues| catalogues.load(settings));
        self.upstreams.iter().map(move |settings| (settings, load(settings)))
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Servers for Configured {
    fn list(&self) -> Vec<ServerInfo> {
        let mut states = self.states.as_ref().map(|states| states()).unwrap_or_default();
        let mut state = |name: &str, is_known: bool| {
            states.remove(name).unwrap_or((if is_known { "known" } else { "unknown" }, None))
        };
        let infos =
            self.kept().map(|(settings, kept)| (state(&settings.name, kept.is_some()), settings, kept));
        let infos = infos.map(|((state, error), settings, kept)| ServerInfo {
            name: settings.name.clone(),
            state: state.to_owned(),
            error: error.map(|error| line(&error, ERROR_CHARS_MAX)),
            tools: kept.as_ref().map(|kept| count(kept.tools.iter().filter(|tool| !tool.gone).count())),
            held: kept.as_ref().map_or(0, |kept| count(kept.held().count())),
        });
        infos.collect()
    }

    fn drift(&self, server: &str) -> Vec<Drift> {
        let found = self.kept().find(|(settings, _)| settings.name == server);
        let Some((_, Some(kept))) = found else { return Vec::new() };
        let drift = kept.held().map(|tool| {
            let changes = tool.changes().into_iter();
            let changes = changes.map(|change| Changed { path: change.path, was: change.was, is: change.is });
            Drift { tool: tool.name().to_owned(), changes: changes.collect() }
        });
        drift.collect()
    }

    fn tokens(&self) -> TokenCosts {
        let counter = Counter::new();
        let servers = self.kept().filter_map(|(settings, kept)| {
            let tools: Vec<Value> =
                kept?.tools.into_iter().filter(|tool| !tool.gone).map(|tool| tool.definition).collect();
            let eager_tokens =
                tools.iter().map(|tool| counter.tokens(&tool.to_string())).sum::<Option<u64>>();
            Some(ServerCost { server: settings.name.clone(), eager_tokens, tools: count(tools.len()) })
        });
        let ours =
            OwnCost { tools_list_tokens: self.tools.as_ref().and_then(|tools| counter.tokens(&tools())) };
        TokenCosts { servers: servers.collect(), ours }
    }
}

#[cfg(feature = "tokens")]
struct Counter(Option<crate::tokens::Counter>);

#[cfg(feature = "tokens")]
impl Counter {
    fn new() -> Self {
        Self(crate::tokens::Counter::new().ok())
    }

    fn tokens(&self, text: &str) -> Option<u64> {
        self.0.as_ref().map(|counter| counter.text(text) as u64)
    }
}

#[cfg(not(feature = "tokens"))]
struct Counter;

#[cfg(not(feature = "tokens"))]
impl Counter {
    fn new() -> Self {
        Self
    }

    fn tokens(&self, _text: &str) -> Option<u64> {
        None
    }
}
