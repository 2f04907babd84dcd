//! Where a registry is put together before it is checked.

use serde::{Deserialize, Serialize};

use super::{Problems, Registry, check};
use crate::{
    autonomy, define,
    introspect::AdapterInfo,
    limits::Limits,
    name::ToolPrefix,
    policy::Policy,
    profile::{Mode, Profile},
    quota::Quota,
    validate::Strictness,
};

/// What a caller may expect of requests sent side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Concurrency {
    Serialized,
    ReadConcurrent,
    FullyConcurrent,
    ResourceLocked,
}

/// More calls than this wait their turn.
const CONCURRENT_REQUESTS_DEFAULT: usize = 256;

/// Collects definitions; [`Builder::build`] checks them all and freezes them.
#[derive(Debug, Clone)]
pub struct Builder {
    pub(super) adapter: String,
    pub(super) mode: Mode,
    pub(super) profile: Profile,
    pub(super) prefix: ToolPrefix,
    pub(super) limits: Limits,
    pub(super) concurrency: Concurrency,
    pub(super) max_concurrent_requests: usize,
    pub(super) strictness: Strictness,
    pub(super) policy: Policy,
    pub(super) safety_loop: autonomy::Mode,
    pub(super) quotas: Vec<Quota>,
    pub(super) operations: Vec<define::Operation>,
    pub(super) types: Vec<define::Type>,
    pub(super) pinned: Vec<String>,
    pub(super) version: String,
    pub(super) servers: Vec<AdapterInfo>,
}

impl Builder {
    pub(super) fn new(adapter: &str) -> Self {
        Self {
            adapter: adapter.to_owned(),
            mode: Mode::default(),
            profile: Profile::crude(),
            prefix: ToolPrefix::default(),
            limits: Limits::default(),
            concurrency: Concurrency::FullyConcurrent,
            max_concurrent_requests: CONCURRENT_REQUESTS_DEFAULT,
            strictness: Strictness::default(),
            policy: Policy::default(),
            safety_loop: autonomy::Mode::default(),
            quotas: Vec::new(),
            operations: Vec::new(),
            types: Vec::new(),
            pinned: Vec::new(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            servers: Vec::new(),
        }
    }

    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    #[must_use]
    pub fn prefix(mut self, prefix: ToolPrefix) -> Self {
        self.prefix = prefix;
        self
    }

    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    #[must_use]
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.concurrency = concurrency;
        self
    }

    #[must_use]
    pub fn max_concurrent_requests(mut self, most: usize) -> Self {
        self.max_concurrent_requests = most.max(1);
        self
    }

    #[must_use]
    pub fn strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Says what the execution safety loop does, which introspection tells.
    #[must_use]
    pub fn safety_loop(mut self, mode: autonomy::Mode) -> Self {
        self.safety_loop = mode;
        self
    }

    /// Says which calls quotas may pause, so that those operations take the token that goes on.
    #[must_use]
    pub fn quotas(mut self, quotas: Vec<Quota>) -> Self {
        self.quotas = quotas;
        self
    }

    #[must_use]
    pub fn operation(mut self, operation: define::Operation) -> Self {
        self.operations.push(operation);
        self
    }

    #[must_use]
    pub fn operations(mut self, operations: impl IntoIterator<Item = define::Operation>) -> Self {
        self.operations.extend(operations);
        self
    }

    #[must_use]
    pub fn types(mut self, types: impl IntoIterator<Item = define::Type>) -> Self {
        self.types.extend(types);
        self
    }

    /// Operations that the tool descriptions name with their signatures. What is not there is passed over: a server may
    /// come later.
    #[must_use]
    pub fn pinned(mut self, names: Vec<String>) -> Self {
        self.pinned = names;
        self
    }

    /// The adapter's own version, as introspection tells it. Left out, it is this program's.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        version.clone_into(&mut self.version);
        self
    }

    /// What is told of the servers behind the adapter.
    #[must_use]
    pub fn servers(mut self, servers: impl IntoIterator<Item = AdapterInfo>) -> Self {
        self.servers.extend(servers);
        self
    }

    /// Checks everything and freezes it, or says everything that is wrong.
    pub fn build(self) -> Result<Registry, Problems> {
        check::freeze(self)
    }
}
