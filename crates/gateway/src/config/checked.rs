//! The configuration as used, and the one function that makes it.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use aql::{
    limits::Limits,
    name::{TOOL_PREFIX_CHARS_ADVISED, ToolPrefix},
    policy::Policy,
    profile::{Mode, Profile},
    validate::Strictness,
};

use super::{
    address, auth, autonomy, bounds, clients, confirmation,
    endpoints::{self, Asked},
    entities,
    environment::{self, Environment},
    error::Error,
    file::{self, File},
    given::Given,
    inspector::{self, Inspector},
    load::Overrides,
    operator::{self, Operator},
    paths, quota, safety,
    upstream::{self, LeftOut, Settled, Upstream},
    wrapped,
};

use crate::{adapters::safety_loop, executions, safety::Confirmation};

/// Everything the operator may set, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    pub server: Server,
    pub limits: Limits,
    pub store: Store,
    pub entities: Entities,
    pub executions: executions::Options,
    /// What a list that was returned as a whole is cut to.
    pub page_bytes: usize,
    pub policy: Policy,
    /// How a person answers what waits for them.
    pub operator: Operator,
    /// Where agents report, and which collectors are told.
    pub inspector: Inspector,
    /// Who is asked before a dangerous call.
    pub confirmation: crate::safety::Settings,
    /// Quotas, and what other servers allow.
    pub quotas: aql::quota::Limits,
    pub safety_loop: safety_loop::Options,
    /// Whether the loop is all that is served.
    pub safety_only: bool,
    pub auth: Auth,
    /// The other servers that are used, in the order of the file.
    pub upstreams: Vec<Upstream>,
    /// Those that would be used if their variables were set.
    pub left_out: Vec<LeftOut>,
    /// The file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// What works but is better known, one sentence each.
    pub warnings: Vec<String>,
}

/// How agents reach the server, and which tools they see.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// Loopback, unless the operator allowed more and configured tokens.
    pub http: SocketAddr,
    pub mode: Mode,
    pub profile: Profile,
    pub prefix: ToolPrefix,
    pub strictness: Strictness,
    pub max_concurrent_requests: usize,
    pub session_idle: Duration,
    pub shutdown_grace: Duration,
    /// `Host` headers besides those of this machine, in lowercase.
    pub allowed_hosts: Vec<String>,
    /// `Origin` headers besides those of this machine, in lowercase.
    pub allowed_origins: Vec<String>,
    /// Names of operations for the tools' descriptions, none twice.
    pub pinned: Vec<String>,
    pub fast_path: bool,
}

/// Where data is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// May be relative to the working directory, and need not exist yet.
    pub data: PathBuf,
    pub max_database_bytes: Option<u64>,
}

/// The built-in workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entities {
    pub enabled: bool,
    /// Whole paths within `metadata` to be indexed, no two of them the same.
    pub index: Vec<String>,
}

/// Who may call over HTTP. No token is one's own machine only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Auth {
    /// No two have the same principal or the same hash.
    pub tokens: Vec<Token>,
}

/// A bearer token by its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub principal: String,
    pub sha256: [u8; 32],
}

impl File {
    /// What would be left out as things are, or what keeps this file from being used.
    pub(crate) fn outlook(&self, base: &Path, environment: &Environment) -> Result<Vec<LeftOut>, Error> {
        let flags = Overrides { allow_remote: true, ..Overrides::default() };
        check(self, base, environment, &flags).map(|checked| checked.left_out)
    }

    /// What its upstreams are called there.
    pub(crate) fn upstream_names(&self) -> Vec<String> {
        self.upstream.keys().map(|name| name.get().clone()).collect()
    }

    /// A file with this one upstream.
    pub(crate) fn of_entry(entry: &clients::Entry) -> Self {
        let upstream = [(entry.name.clone(), entry.clone().into())].into();
        Self { upstream, ..Self::default() }
    }
}

/// Settles the sources, strongest first. `base` is the directory that relative paths in the file start at.
pub(super) fn check(
    file: &File,
    base: &Path,
    environment: &Environment,
    flags: &Overrides,
) -> Result<Checked, Error> {
    let auth = auth::auth(&file.auth)?;
    let remote = address::Remote { allowed: flags.allow_remote, has_tokens: !auth.tokens.is_empty() };
    let server = server(file, environment, flags, remote)?;
    // Those of the file are checked for their form in any case.
    let used = flags.wrapped.is_none() && !flags.safety_only;
    let mut settled = upstream::upstreams(&file.upstream, &file.notation, base, environment, used)?;
    if let Some(wrapped) = &flags.wrapped {
        settled = wrapped::wrapped(wrapped, environment)?;
    }
    let Settled { upstreams, left_out, warnings: about_upstreams } = settled;
    if auth.tokens.is_empty() {
        upstream::no_forwarding(&file.upstream)?;
    }
    let confirmation = confirmation::settings(&file.safety, environment)?;
    let safety_loop = autonomy::options(&file.safety, environment, flags.safety_only)?;
    let policy = Policy {
        gating: confirmation.confirmation != Confirmation::Off,
        tokens: confirmation.confirmation == Confirmation::Token,
        ..with_loop(safety::policy(&file.safety)?, &safety_loop)
    };
    autonomy::served(&file.safety, &policy, &safety_loop)?;
    let about_safety = confirmation::warnings(&confirmation);
    let warnings = [warnings(&server), about_safety, file.notes.clone(), about_upstreams].concat();
    let max_database_bytes = &file.store.max_database_bytes;
    Ok(Checked {
        limits: bounds::limits(&file.limits)?,
        store: Store {
            data: paths::data(flags, environment, file.store.data.as_ref(), base)?,
            max_database_bytes: max_database_bytes
                .as_ref()
                .map(|given| bounds::DATABASE_BYTES.check(given))
                .transpose()?,
        },
        entities: entities::entities(&file.entities, used)?,
        executions: executions(&file.executions)?,
        page_bytes: whole(bounds::PAGE_BYTES.check_or_default(file.limits.page_bytes.as_ref())?),
        inspector: inspector::inspector(&file.inspector, environment, remote)?,
        operator: operator::operator(&file.operator, base, environment, flags.allow_remote)?,
        policy,
        confirmation,
        quotas: quota::limits(file, &upstreams)?,
        safety_loop,
        safety_only: flags.safety_only,
        auth,
        upstreams,
        left_out,
        file: None,
        warnings,
        server,
    })
}

/// An execution of an agent begins with a person's word.
fn with_loop(mut policy: Policy, safety_loop: &safety_loop::Options) -> Policy {
    policy.rules.extend(safety_loop.rule());
    policy
}

fn executions(written: &file::Executions) -> Result<executions::Options, Error> {
    let days = bounds::KEEP_DAYS.check_or_default(written.keep_days.as_ref())?;
    Ok(executions::Options {
        max_running: whole(bounds::RUNNING_EXECUTIONS.check_or_default(written.max_running.as_ref())?),
        lease: Duration::from_secs(bounds::LEASE_SECONDS.check_or_default(written.lease_seconds.as_ref())?),
        keep: Duration::from_hours(days.saturating_mul(24)),
    })
}

fn whole(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn server(
    file: &File,
    environment: &Environment,
    flags: &Overrides,
    remote: address::Remote,
) -> Result<Server, Error> {
    let written: &file::Server = &file.server;
    let sources = [
        Asked { mode: Given::flag("--mode", &flags.mode), profile: Given::flag("--profile", &flags.profile) },
        Asked {
            mode: Given::variable(environment::MODE, environment)?,
            profile: Given::variable(environment::PROFILE, environment)?,
        },
        Asked { mode: Given::written(&written.mode), profile: Given::written(&written.profile) },
    ];
    let (mode, profile) = endpoints::endpoints(sources, &file.profile)?;
    let requests = bounds::CONCURRENT_REQUESTS.check_or_default(written.max_concurrent_requests.as_ref())?;
    let idle = bounds::SESSION_IDLE_MINUTES.check_or_default(written.session_idle_minutes.as_ref())?;
    let grace = bounds::SHUTDOWN_GRACE_SECONDS.check_or_default(written.shutdown_grace_seconds.as_ref())?;
    let http = [
        Given::flag("--http", &flags.http),
        Given::variable(environment::HTTP, environment)?,
        Given::written(&written.http),
    ];
    let prefix = [
        Given::flag("--prefix", &flags.prefix),
        Given::variable(environment::PREFIX, environment)?,
        Given::written(&written.prefix),
    ];
    Ok(Server {
        http: address::http(http, remote)?,
        mode,
        profile,
        prefix: endpoints::prefix(prefix)?,
        strictness: if written.strict_mode.unwrap_or(true) { Strictness::Reject } else { Strictness::Warn },
        max_concurrent_requests: whole(requests),
        session_idle: Duration::from_mins(idle),
        shutdown_grace: Duration::from_secs(grace),
        allowed_hosts: address::hosts(written.allowed_hosts.as_ref())?,
        allowed_origins: address::origins(written.allowed_origins.as_ref())?,
        pinned: upstream::pinned(written.pinned.as_ref())?,
        fast_path: written.fast_path.unwrap_or(true),
    })
}

fn warnings(server: &Server) -> Vec<String> {
    let mut warnings = Vec::new();
    let prefix = server.prefix.as_str();
    if server.prefix.is_long() {
        warnings.push(format!(
            "tool prefix '{prefix}' has {} characters; with more than {TOOL_PREFIX_CHARS_ADVISED}, some clients cut or refuse tool names",
            prefix.len()
        ));
    }
    if server.strictness == Strictness::Warn {
        warnings.push(
            "'server.strict_mode' is off, so misspelt parameters are dropped; use it for development only"
                .to_owned(),
        );
    }
    warnings
}
