//! The configuration file as written. Keys and types only: what the values mean is checked further in.
//!
//! The comments on the keys are the reference and the schema that operators read, so they are written for them.

use std::{collections::BTreeMap, ops::Range};

use aql::limits;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use toml::Spanned;

use super::{bounds, notation::Notation};

mod autonomy;
mod inspector;
mod operator;
mod quota;
mod safety;
mod upstream;
pub(super) use autonomy::{Autonomy, SafetyLoop};
pub(super) use inspector::{Export, Inspector};
pub(super) use operator::{Operator, Webhook};
pub(super) use quota::{ApiLimit, Cost, Fraction, Quota};
pub(super) use safety::{Condition, Matrix, MinimumTrust, Rule};
pub(crate) use upstream::Hidden;
pub(super) use upstream::{Tool, Upstream};

/// A value and the place it stands in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(transparent)]
pub(crate) struct Placed<T>(Spanned<T>);

impl<T> Placed<T> {
    /// For values that did not come from TOML.
    pub(crate) fn new(span: Range<usize>, value: T) -> Self {
        Self(Spanned::new(span, value))
    }

    pub(crate) fn get(&self) -> &T {
        self.0.get_ref()
    }

    pub(crate) fn span(&self) -> Range<usize> {
        self.0.span()
    }
}

/// The place is no part of the schema.
impl<T: JsonSchema> JsonSchema for Placed<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

pub(crate) type Text = Placed<String>;
pub(super) type Number = Placed<i64>;

/// The configuration of Aqueduct, `aqueduct.toml`. Every section and every key may be left out.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "aqueduct.toml")]
pub struct File {
    /// How agents reach the server, and which tools they see.
    #[serde(default)]
    pub(super) server: Server,
    /// How large a request and a response may be.
    #[serde(default)]
    pub(super) limits: Limits,
    /// Where data is kept.
    #[serde(default)]
    pub(super) store: Store,
    /// The built-in workspace of entities.
    #[serde(default)]
    pub(super) entities: Entities,
    /// Work that goes on after the call that started it.
    #[serde(default)]
    pub(super) executions: Executions,
    /// Which operations may be called at all. `introspect` always may.
    #[serde(default)]
    pub(super) safety: Safety,
    /// How a person answers what waits for them. All channels are used side by side, and the first answer counts.
    #[serde(default)]
    pub(super) operator: Operator,
    /// What is recorded, who may report to it, and where it is sent.
    #[serde(default)]
    pub(super) inspector: Inspector,
    /// Who may call over HTTP.
    #[serde(default)]
    pub(super) auth: Auth,
    /// Profiles of your own: which tools stand before the operations in the modes `semantic` and `all`.
    #[serde(default)]
    pub(super) profile: BTreeMap<Text, Profile>,
    /// Other MCP servers, whose tools become operations here. The name is yours; what is not snake_case becomes it.
    #[serde(default)]
    pub(super) upstream: BTreeMap<Text, Upstream>,
    /// What was noticed while reading that the operator should know; no part of the file.
    #[serde(skip)]
    pub(super) notes: Vec<String>,
    /// How it is written; no part of the file either.
    #[serde(skip)]
    pub(super) notation: Notation,
}

/// How agents reach the server, and which tools they see.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Server {
    /// The address and port to serve HTTP at. One that other machines can reach needs `--allow-remote` and a token in
    /// `[auth]`.
    #[schemars(extend("default" = super::address::HTTP_DEFAULT.to_string()))]
    pub(super) http: Option<Text>,
    /// How many tools are shown: one for each family of the profile (`semantic`), one for everything (`single`), or
    /// both (`all`). `crude` means `semantic` with the profile `crude`. `discrete` gives every operation a tool of its
    /// own, for clients that search tools themselves.
    #[schemars(extend("default" = "semantic", "enum" = ["semantic", "single", "all", "crude", "discrete"]))]
    pub(super) mode: Option<Text>,
    /// The profile in use: `crude`, `discover`, or one of your own under `[profile.NAME]`.
    #[schemars(extend("default" = "crude"))]
    pub(super) profile: Option<Text>,
    /// What every tool's name begins with, as in `github_`, so that several servers fit into one client. Lowercase
    /// letters, digits and underscores, the last an underscore.
    #[schemars(extend("default" = "", "pattern" = "^([a-z0-9_]*_)?$"))]
    pub(super) prefix: Option<Text>,
    /// Whether unknown parameters are refused. Switched off, which is for development only, they are dropped with a
    /// warning.
    #[schemars(extend("default" = true))]
    pub(super) strict_mode: Option<bool>,
    /// How many requests are worked on at once.
    #[schemars(transform = bounds::CONCURRENT_REQUESTS.into_schema())]
    pub(super) max_concurrent_requests: Option<Number>,
    /// After how many minutes without a request a session ends.
    #[schemars(transform = bounds::SESSION_IDLE_MINUTES.into_schema())]
    pub(super) session_idle_minutes: Option<Number>,
    /// How many seconds running requests get to finish when the server stops.
    #[schemars(transform = bounds::SHUTDOWN_GRACE_SECONDS.into_schema())]
    pub(super) shutdown_grace_seconds: Option<Number>,
    /// `Host` headers to accept besides those of this machine, as in `aqueduct.example.com`.
    #[schemars(extend("default" = []))]
    pub(super) allowed_hosts: Option<Vec<Text>>,
    /// `Origin` headers to accept besides those of this machine, as in `https://app.example.com`.
    #[schemars(extend("default" = []))]
    pub(super) allowed_origins: Option<Vec<Text>>,
    /// Operations to be named in the tools' descriptions, so that they are called without being looked for. Up to 16.
    #[schemars(extend("default" = [], "maxItems" = super::upstream::PINNED_MAX))]
    pub(super) pinned: Option<Vec<Text>>,
    /// Whether plain calls take the short way through the server. Answers are the same either way.
    #[schemars(extend("default" = true))]
    pub(super) fast_path: Option<bool>,
}

/// How large a request and a response may be.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    /// The largest request, in bytes.
    #[schemars(transform = bounds::of(&limits::REQUEST_SIZE).into_schema())]
    pub(super) max_request_size: Option<Number>,
    /// The largest response, in bytes.
    #[schemars(transform = bounds::of(&limits::RESPONSE_SIZE).into_schema())]
    pub(super) max_response_size: Option<Number>,
    /// The longest string in a request, in bytes.
    #[schemars(transform = bounds::of(&limits::STRING_LENGTH).into_schema())]
    pub(super) max_string_length: Option<Number>,
    /// The longest array in a request, in elements.
    #[schemars(transform = bounds::of(&limits::ARRAY_ELEMENTS).into_schema())]
    pub(super) max_array_elements: Option<Number>,
    /// How deep objects and arrays may be nested in a request, in levels.
    #[schemars(transform = bounds::of(&limits::NESTING_DEPTH).into_schema())]
    pub(super) max_nesting_depth: Option<Number>,
    /// Lists that an operation returns as a whole are cut to pages of this size, in bytes; the rest waits in the
    /// session.
    #[schemars(transform = bounds::PAGE_BYTES.into_schema())]
    pub(super) page_bytes: Option<Number>,
}

/// Where data is kept.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Store {
    /// The directory for databases. A relative one starts at this file's directory, `~/` at your home. Left out, it is
    /// `$XDG_DATA_HOME/aqueduct`, or `~/.local/share/aqueduct`.
    pub(super) data: Option<Text>,
    /// How large each database may grow, in bytes. Left out, the disk is the limit.
    #[schemars(transform = bounds::DATABASE_BYTES.into_schema())]
    pub(super) max_database_bytes: Option<Number>,
}

/// The built-in workspace of entities.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Entities {
    /// Whether the workspace is offered.
    #[schemars(extend("default" = true))]
    pub(super) enabled: Option<bool>,
    /// Paths within `metadata` that filters, sorting and aggregations are to be fast on, as in `metadata.owner.team`. Up to
    /// 16; every one makes writes a little slower. Changing them rebuilds indexes when the server starts and loses
    /// nothing.
    #[schemars(extend("default" = [], "maxItems" = super::entities::INDEXES_MAX))]
    pub(super) index: Option<Vec<Text>>,
}

/// Work that goes on after the call that started it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Executions {
    /// How many run at once in this process; the others wait.
    #[schemars(transform = bounds::RUNNING_EXECUTIONS.into_schema())]
    pub(super) max_running: Option<Number>,
    /// After how many seconds without a sign of its process an execution counts as failed.
    #[schemars(transform = bounds::LEASE_SECONDS.into_schema())]
    pub(super) lease_seconds: Option<Number>,
    /// How many days finished executions are kept.
    #[schemars(transform = bounds::KEEP_DAYS.into_schema())]
    pub(super) keep_days: Option<Number>,
}

/// Which operations may be called at all.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Safety {
    /// Patterns of operation names, `*` standing for any run of characters. Empty allows every operation.
    #[schemars(extend("default" = []))]
    pub(super) allow: Option<Vec<Text>>,
    /// Patterns of operation names to refuse. A deny rule beats an allow rule.
    #[schemars(extend("default" = []))]
    pub(super) deny: Option<Vec<Text>>,
    /// The most dangerous level that may be called. Left out, every level may.
    #[schemars(extend("enum" = ["safe", "reversible", "destructive", "dangerous", "forbidden"]))]
    pub(super) max_danger: Option<Text>,
    /// How many calls each principal may make in a minute. Left out, there is no limit.
    #[schemars(transform = bounds::CALLS_PER_MINUTE.into_schema())]
    pub(super) max_calls_per_minute: Option<Number>,
    /// Who is asked before a call that needs a person: the `operator`, by ways that no agent has a part in; the caller by a
    /// `token`, as the specification has it, which is weaker, since an agent can then confirm for itself; or nobody (`off`).
    #[schemars(extend("default" = "operator", "enum" = ["operator", "token", "off"]))]
    pub(super) confirmation: Option<Text>,
    /// How many seconds a call is held while the operator is asked. After that its caller is told to come again.
    #[schemars(transform = bounds::HOLD_SECONDS.into_schema())]
    pub(super) hold_seconds: Option<Number>,
    /// How many minutes a question to the operator waits for its answer.
    #[schemars(transform = bounds::APPROVAL_MINUTES.into_schema())]
    pub(super) approval_minutes: Option<Number>,
    /// How many seconds a token or an approval can be used, once given.
    #[schemars(transform = bounds::TOKEN_SECONDS.into_schema())]
    pub(super) token_seconds: Option<Number>,
    /// The same for operations that are `forbidden`.
    #[schemars(transform = bounds::FORBIDDEN_TOKEN_SECONDS.into_schema())]
    pub(super) forbidden_token_seconds: Option<Number>,
    /// How many seconds after its end a token is still taken, because clocks differ.
    #[schemars(transform = bounds::CLOCK_SKEW_SECONDS.into_schema())]
    pub(super) clock_skew_tolerance_seconds: Option<Number>,
    /// How many times a token can be used.
    #[schemars(transform = bounds::TOKEN_USES.into_schema())]
    pub(super) token_uses: Option<Number>,
    /// Whether tokens can be used by another session of the same principal, as after a restart.
    #[schemars(extend("default" = false))]
    pub(super) persist_tokens: Option<bool>,
    /// Whether the user of the client may answer in the operator's place, for operations that are `destructive` and no
    /// worse. A hostile client answers for itself, so this is off.
    #[schemars(extend("default" = false))]
    pub(super) elicitation: Option<bool>,
    /// What becomes of a call that is denied only because its server is not trusted enough for the operation's danger:
    /// `deny`, or `confirm` to ask a person. What is `untested` stays denied.
    #[schemars(extend("default" = "deny", "enum" = ["deny", "confirm"]))]
    pub(super) want_of_trust: Option<Text>,
    /// Single cells of the table that decides by danger and trust, as in `[safety.matrix.destructive]` with
    /// `certified = "allow"`. `allow`, `confirm`, `deny`, or `introspect_only`, which lets operations be looked up and nothing
    /// else. A cell that is set is the last word about the level: what destroys is then asked about only if it says so.
    pub(super) matrix: Option<Matrix>,
    /// Whether a server must be trusted this far for what an operation does, whatever its danger: reading takes
    /// `generated`, creating, updating and executing `validated`, deleting `community_reviewed`, anything dangerous
    /// `certified`.
    #[schemars(extend("default" = false))]
    pub(super) trust_minimums: Option<bool>,
    /// Other minimums than those. Setting one switches them on.
    pub(super) minimum_trust: Option<MinimumTrust>,
    /// Patterns of operation names, with and without the server's prefix, that make an operation at least this dangerous,
    /// by level, as in `dangerous = ["rotate_*"]`. They come on top of those that are known; a level that somebody
    /// set for the operation stands.
    pub(super) danger_patterns: Option<BTreeMap<Text, Vec<Text>>>,
    /// Rules about calls.
    pub(super) rule: Option<Vec<Rule>>,
    /// Budgets: how much may be used before answers warn, before calls wait for a word, and before they end.
    #[serde(default)]
    pub(super) quota: Vec<Quota>,
    /// The execution safety loop: agents report what they are about to do, and are told whether they may.
    #[serde(rename = "loop")]
    pub(super) supervision: Option<SafetyLoop>,
    /// Agents with settings of their own, by name. What is left out is as in `[safety.loop]`.
    pub(super) agent: Option<BTreeMap<Text, Autonomy>>,
}

/// Who may call over HTTP.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Auth {
    /// The bearer tokens that are accepted, each by its hash. With none, everyone who can reach the address may call.
    #[serde(default)]
    pub(super) tokens: Vec<Token>,
}

/// A bearer token.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Token {
    /// Whom the token stands for. Each principal has one token.
    #[schemars(extend("minLength" = 1))]
    pub(super) principal: Text,
    /// The SHA-256 of the token in 64 hexadecimal digits, as `printf %s TOKEN | sha256sum` prints it.
    #[schemars(extend("pattern" = "^[0-9A-Fa-f]{64}$"))]
    pub(super) sha256: Text,
}

/// A profile of your own.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    /// The families, each of which becomes one tool.
    #[schemars(extend("minItems" = 1))]
    pub(super) families: Placed<Vec<Family>>,
}

/// A family of operations, which becomes one tool.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Family {
    /// The family's name in snake_case. The tool is called `mcp_aql_NAME`.
    #[schemars(extend("pattern" = "^[a-z][a-z0-9_]*$"))]
    pub(super) name: Text,
    /// One sentence for the tool's description.
    #[schemars(extend("minLength" = 1))]
    pub(super) purpose: Text,
    /// Operations of these categories belong here, unless another family names them: `CREATE`, `READ`, `UPDATE`,
    /// `DELETE`, `EXECUTE`. A category belongs to one family.
    #[schemars(extend("default" = []))]
    pub(super) categories: Option<Vec<Text>>,
    /// Patterns of operation names that belong here whatever their category, `*` standing for any run of characters.
    #[schemars(extend("default" = []))]
    pub(super) operations: Option<Vec<Text>>,
}
