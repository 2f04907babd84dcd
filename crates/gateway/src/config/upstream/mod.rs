//! `[upstream.NAME]`: other MCP servers behind this one, and `[server] pinned`.

mod http;
mod left_out;
mod link;
mod name;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::{Path, PathBuf},
    time::Duration,
};

use aql::{
    classify::{Override, Overrides},
    danger::Words,
    name::OperationName,
    profile::matches_pattern,
    quota::HeaderNames,
    trust::TrustLevel,
};

pub(crate) use self::name::normal;
pub use self::{
    left_out::LeftOut,
    link::{Bearer, Link},
};
use super::{
    bounds, clients,
    environment::Environment,
    error::{Error, Place},
    file::{self, Placed},
    inspector,
    notation::Notation,
    paths, quota,
    variables::Expansion,
};
use crate::trace::Level;

/// Each is in the descriptions of the tools, which every client keeps in its context.
pub(super) const PINNED_MAX: usize = 16;

/// Another MCP server, whose tools become operations here.
#[derive(Debug, Clone, PartialEq)]
pub struct Upstream {
    /// In snake_case, no two of them the same.
    pub name: String,
    pub link: Link,
    /// What the names of its operations begin with; empty, or snake_case with an underscore at its end.
    pub prefix: String,
    /// How far the operator trusts it, where they say so.
    pub trust: Option<TrustLevel>,
    /// How long a call may take.
    pub call_timeout: Duration,
    /// How long starting and listing the tools may take.
    pub start_timeout: Duration,
    pub max_concurrent_calls: usize,
    /// Whether every session gets a process or connection of its own.
    pub per_session: bool,
    /// Whether it gets the token that a caller shows us.
    pub forward_auth: bool,
    /// When it is stopped for want of calls; `None` is never.
    pub idle: Option<Duration>,
    /// How often it is asked for its tools again; `None` is never.
    pub recheck: Option<Duration>,
    pub definitions: Definitions,
    /// How much is recorded of its calls, where it says so itself.
    pub capture: Option<Level>,
    pub tools: ToolRules,
    pub overrides: Overrides,
    /// The adapter file that says which operations its tools become.
    pub adapter: Option<PathBuf>,
    /// Where its values stand, in the words of the file, and where those would that only our own file knows.
    pub section: String,
    pub own_section: String,
    /// Whether it was given on the command line: nothing in the file bears its name.
    pub wrapped: bool,
    /// Headers of its own that say how much is left.
    pub limit_headers: Vec<HeaderNames>,
}

impl Upstream {
    /// How far it is trusted without an adapter file to say. Whoever put it into the configuration knows what it is.
    #[must_use]
    pub fn trust(&self) -> TrustLevel {
        self.trust.unwrap_or(TrustLevel::Validated)
    }

    /// A server that is only looked at: everything but its link by default.
    #[must_use]
    pub(crate) fn of_link(name: &str, link: Link, start_timeout: Duration) -> Self {
        Self {
            name: name.to_owned(),
            link,
            prefix: String::new(),
            trust: None,
            call_timeout: start_timeout,
            start_timeout,
            max_concurrent_calls: 1,
            per_session: false,
            forward_auth: false,
            idle: None,
            recheck: None,
            definitions: Definitions::Pin,
            capture: None,
            tools: ToolRules::default(),
            overrides: Overrides::default(),
            adapter: None,
            section: COMMAND_LINE.to_owned(),
            own_section: COMMAND_LINE.to_owned(),
            wrapped: true,
            limit_headers: Vec::new(),
        }
    }
}

/// Where a server is written that no file names.
const COMMAND_LINE: &str = "the command line";

/// What happens when the definition of a tool changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Definitions {
    /// The tool is held back until the operator accepts the change.
    #[default]
    Pin,
    /// The change is taken as it comes.
    Follow,
}

/// Which of a server's tools are offered, by its own names for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolRules {
    /// Patterns; empty allows every tool.
    pub allow: Vec<String>,
    /// Patterns that beat those of `allow`.
    pub deny: Vec<String>,
}

impl ToolRules {
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches_pattern(pattern, tool));
        !any(&self.deny) && (self.allow.is_empty() || any(&self.allow))
    }
}

/// What became of the upstreams of a file, each kind in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Settled {
    pub(super) upstreams: Vec<Upstream>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) warnings: Vec<String>,
}

/// Settles the upstreams. `base` is the file's directory. Where they are not `used`, only their form is checked. One
/// whose variables are not set is left out: the others have nothing to do with it.
pub(super) fn upstreams(
    written: &BTreeMap<Placed<String>, file::Upstream>,
    notation: &Notation,
    base: &Path,
    environment: &Environment,
    used: bool,
) -> Result<Settled, Error> {
    let mut written: Vec<_> = written.iter().collect();
    written.sort_by_key(|(name, _)| name.span().start);
    let mut settled = Settled::default();
    let mut names: BTreeMap<String, &str> = BTreeMap::new();
    for (given, upstream) in written {
        let name = name::checked(given)?;
        match names.entry(name.clone()) {
            Entry::Vacant(free) => drop(free.insert(given.get())),
            Entry::Occupied(taken) => {
                let message = format!(
                    "upstreams '{}' and '{}' would both be called '{name}'",
                    taken.get(),
                    given.get()
                );
                return Err(Error::at(given.span(), message).help_with("give one of them another name"));
            }
        }
        let wanted = used && upstream.enabled.unwrap_or(true);
        let left_out = wanted.then(|| LeftOut::of(&name, upstream, notation, environment)).flatten();
        let in_use = wanted && left_out.is_none();
        settled.left_out.extend(left_out);
        let expansion = Expansion { environment, in_use };
        let mut about = Vec::new();
        let link = link::link(given, upstream, notation, base, expansion, &mut about)?;
        let checked = self::upstream(given.get(), name, upstream)?;
        // A link that is not complete belongs to an upstream that is not used.
        if let (Some(link), true) = (link, in_use) {
            let adapter = adapter(upstream, base, environment)?;
            let (section, own_section) = (notation.section(given.get()), notation.own_section(given.get()));
            settled.upstreams.push(Upstream { link, adapter, section, own_section, ..checked });
            settled.warnings.append(&mut about);
        }
    }
    Ok(settled)
}

/// Everything but the link.
fn upstream(given: &str, name: String, written: &file::Upstream) -> Result<Upstream, Error> {
    let seconds = |bounds: bounds::Bounds, number: &Option<Placed<i64>>| {
        bounds.of_named(given, number.as_ref()).map(Duration::from_secs)
    };
    let minutes = |bounds: bounds::Bounds, number: &Option<Placed<i64>>| {
        let minutes = bounds.of_named(given, number.as_ref())?;
        Ok::<_, Error>((minutes > 0).then(|| Duration::from_mins(minutes)))
    };
    let forward_auth = forward_auth(given, written)?;
    let calls = bounds::CONCURRENT_CALLS.of_named(given, written.max_concurrent_calls.as_ref())?;
    Ok(Upstream {
        prefix: prefix(&name, written.prefix.as_ref())?,
        trust: match &written.trust {
            Some(level) => Some(level.get().parse().map_err(|error| Error::at(level.span(), error))?),
            None => None,
        },
        call_timeout: seconds(bounds::CALL_TIMEOUT_SECONDS, &written.timeout_seconds)?,
        start_timeout: seconds(bounds::START_TIMEOUT_SECONDS, &written.start_timeout_seconds)?,
        max_concurrent_calls: usize::try_from(calls).unwrap_or(usize::MAX),
        // What one caller's token opened is nobody else's.
        per_session: written.per_session.unwrap_or(forward_auth),
        forward_auth,
        idle: minutes(bounds::UPSTREAM_IDLE_MINUTES, &written.idle_minutes)?,
        recheck: minutes(bounds::CHECK_MINUTES, &written.check_minutes)?,
        definitions: definitions(written.definitions.as_ref())?,
        capture: written.capture.as_ref().map(inspector::level).transpose()?,
        tools: ToolRules { allow: patterns(written.allow.as_ref())?, deny: patterns(written.deny.as_ref())? },
        overrides: overrides(written.tools.as_ref())?,
        link: Link::default(),
        adapter: None,
        section: String::new(),
        own_section: String::new(),
        wrapped: false,
        limit_headers: quota::headers(written.api_limits.as_ref())?,
        name,
    })
}

/// Refuses to pass on what nobody has checked.
pub(super) fn no_forwarding(written: &BTreeMap<Placed<String>, file::Upstream>) -> Result<(), Error> {
    let forwards =
        |upstream: &file::Upstream| upstream.forward_auth.clone().filter(|forwards| *forwards.get());
    match written.iter().find_map(|(name, upstream)| Some((name, forwards(upstream)?))) {
        None => Ok(()),
        Some((name, forwards)) => {
            let message = format!(
                "'upstream.{}' has 'forward_auth', and '[auth]' has no tokens that callers could show",
                name.get()
            );
            Err(Error::at(forwards.span(), message)
                .help_with("add a '[[auth.tokens]]' for each caller, with the hash of their token"))
        }
    }
}

fn forward_auth(given: &str, written: &file::Upstream) -> Result<bool, Error> {
    let Some(forwards) = written.forward_auth.as_ref().filter(|forwards| *forwards.get()) else {
        return Ok(false);
    };
    if written.url.is_none() {
        let message = format!("'upstream.{given}' has 'forward_auth', and no 'url' to forward anything to");
        return Err(Error::at(forwards.span(), message)
            .help_with("a program that is started here gets its credentials by 'env'"));
    }
    if written.per_session == Some(false) {
        let message = format!("'upstream.{given}' has 'forward_auth' with 'per_session = false'");
        return Err(Error::at(forwards.span(), message)
            .help_with("leave 'per_session' out: what one caller's token opened is nobody else's"));
    }
    Ok(true)
}

/// A relative path starts where the file is.
fn adapter(
    written: &file::Upstream,
    base: &Path,
    environment: &Environment,
) -> Result<Option<PathBuf>, Error> {
    let Some(given) = &written.adapter else { return Ok(None) };
    let path = paths::expand(Path::new(given.get()), Place::File(Some(given.span())), environment)?;
    Ok(Some(base.join(path)))
}

fn prefix(name: &str, written: Option<&Placed<String>>) -> Result<String, Error> {
    let Some(given) = written else { return Ok(format!("{name}_")) };
    let text = given.get();
    if text.is_empty() || (text.ends_with('_') && text.parse::<OperationName>().is_ok()) {
        return Ok(text.clone());
    }
    let message = format!("prefix '{text}' must be snake_case and end with an underscore, or be empty");
    Err(Error::at(given.span(), message).help_with(format!("write it as in '{name}_'")))
}

fn definitions(written: Option<&Placed<String>>) -> Result<Definitions, Error> {
    match written.map(|given| (given, given.get().as_str())) {
        None | Some((_, "pin")) => Ok(Definitions::Pin),
        Some((_, "follow")) => Ok(Definitions::Follow),
        Some((given, other)) => {
            Err(Error::at(given.span(), format!("definitions '{other}' is none of pin, follow")))
        }
    }
}

/// The server's own names follow no rule of ours, so any pattern but an empty one may match.
fn patterns(written: Option<&Vec<Placed<String>>>) -> Result<Vec<String>, Error> {
    let pattern = |given: &Placed<String>| match given.get().as_str() {
        "" => Err(Error::at(given.span(), "the pattern is empty")
            .help_with("write a tool's name, with '*' for any run of characters, as in 'delete_*'")),
        pattern => Ok(pattern.to_owned()),
    };
    written.into_iter().flatten().map(pattern).collect()
}

fn overrides(written: Option<&BTreeMap<Placed<String>, file::Tool>>) -> Result<Overrides, Error> {
    let mut overrides = BTreeMap::new();
    for (tool, said) in written.into_iter().flatten() {
        let category = match &said.category {
            Some(given) => Some(given.get().parse().map_err(|error| Error::at(given.span(), error))?),
            None => None,
        };
        let danger = match &said.danger {
            Some(given) => Some(given.get().parse().map_err(|error| Error::at(given.span(), error))?),
            None => None,
        };
        let words = words(said)?;
        if category.is_none() && danger.is_none() && words.is_empty() {
            let error = Error::at(tool.span(), format!("nothing is said of the tool '{}'", tool.get()));
            return Err(error.help_with("set its 'category', its 'danger' or another key of a tool"));
        }
        overrides.insert(tool.get().clone(), Override { category, danger, words });
    }
    Ok(Overrides(overrides))
}

/// What the operator says of a tool's danger beside its level.
fn words(said: &file::Tool) -> Result<Words, Error> {
    let texts = |given: &Option<Vec<Placed<String>>>| {
        given.iter().flatten().map(|text| text.get().clone()).collect::<Vec<String>>()
    };
    let cooldown = said.cooldown_seconds.as_ref().map(|given| bounds::COOLDOWN_SECONDS.check(given));
    Ok(Words {
        reasons: texts(&said.reasons),
        confirmation_message: said.confirmation_message.as_ref().map(|text| text.get().clone()),
        cooldown_seconds: cooldown.transpose()?.and_then(|seconds| u32::try_from(seconds).ok()),
        requires_reauth: said.requires_reauth,
        audit_context: texts(&said.audit_context),
    })
}

/// `[server] pinned`.
pub(super) fn pinned(written: Option<&Vec<Placed<String>>>) -> Result<Vec<String>, Error> {
    let mut pinned: Vec<String> = Vec::new();
    for given in written.into_iter().flatten() {
        let name: OperationName = given.get().parse().map_err(|error| Error::at(given.span(), error))?;
        if pinned.iter().any(|earlier| earlier == name.as_str()) {
            let error = Error::at(given.span(), format!("'{name}' is listed twice"));
            return Err(error.help_with("list each operation once"));
        }
        if pinned.len() == PINNED_MAX {
            let error = Error::at(given.span(), format!("more than {PINNED_MAX} operations are pinned"));
            return Err(error.help_with("keep those called most; the others are found by 'introspect'"));
        }
        pinned.push(name.as_str().to_owned());
    }
    Ok(pinned)
}

/// Whether an upstream that a client's file gives could be used as it is, variables and its name aside. `path` is where
/// the client's servers stand.
pub(crate) fn check_form(entry: &clients::Entry, path: &str, environment: &Environment) -> Result<(), Error> {
    let upstream = file::Upstream { enabled: Some(false), ..entry.clone().into() };
    let name = normal(entry.name.get()).filter(|name| name.len() <= name::NAME_CHARS_MAX);
    let name = Placed::new(entry.name.span(), name.unwrap_or_else(|| "server".to_owned()));
    let alone = BTreeMap::from([(name, upstream)]);
    let notation = Notation::Json { servers: path.to_owned() };
    upstreams(&alone, &notation, Path::new(""), environment, false).map(drop)
}
