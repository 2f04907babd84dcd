//! `[upstream.NAME]` as written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ApiLimit, Cost, Number, Placed, Text};
use crate::config::{bounds, secret::Secret};

/// Text that may hold a secret.
pub(crate) type Hidden = Placed<Secret>;

/// Another MCP server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Upstream {
    /// The program to run, which speaks MCP on its standard input and output. A name is looked for in `PATH`, `~/` is
    /// your home, and a relative path with a slash starts at this file's directory. Either this or `url`.
    pub(in crate::config) command: Option<Text>,
    /// The program's arguments. `${VAR}` and `${VAR:-default}` are taken from the environment, `$$` is a dollar. As long
    /// as a variable without a default is not set, the server is left out with a warning.
    #[schemars(extend("default" = []))]
    pub(in crate::config) args: Option<Vec<Hidden>>,
    /// Environment variables for the program, besides those it needs anyway. Values as in `args`.
    pub(in crate::config) env: Option<BTreeMap<Text, Hidden>>,
    /// The directory to run the program in, as in `args`. A relative one starts at this file's directory.
    pub(in crate::config) cwd: Option<Hidden>,
    /// The address of a server that speaks streamable HTTP, `http` or `https`. Variables as in `args`. Either this or
    /// `command`.
    pub(in crate::config) url: Option<Hidden>,
    /// HTTP headers to send along. Values as in `args`.
    pub(in crate::config) headers: Option<BTreeMap<Text, Hidden>>,
    /// The name of an environment variable that holds the bearer token for `url`.
    pub(in crate::config) bearer_env: Option<Text>,
    /// A program and its arguments that print the bearer token for `url`.
    #[schemars(extend("minItems" = 1))]
    pub(in crate::config) bearer_command: Option<Placed<Vec<Hidden>>>,
    /// Whether the server is used. Variables of one that is not need not be set.
    #[schemars(extend("default" = true))]
    pub(in crate::config) enabled: Option<bool>,
    /// What the names of its operations begin with. Left out, it is the server's name and an underscore; empty turns it
    /// off.
    #[schemars(extend("pattern" = "^([a-z][a-z0-9_]*_)?$"))]
    pub(in crate::config) prefix: Option<Text>,
    /// How far the server is trusted, which decides with the danger of an operation whether it is called at once, after
    /// a person agreed, or not at all. Left out, it is `validated`, or what the adapter file says; a file that says nothing
    /// is `untested`.
    #[schemars(extend("enum" = ["untested", "generated", "validated", "community_reviewed", "certified"]))]
    pub(in crate::config) trust: Option<Text>,
    /// How many seconds a call may take.
    #[schemars(transform = bounds::CALL_TIMEOUT_SECONDS.into_schema())]
    pub(in crate::config) timeout_seconds: Option<Number>,
    /// How many seconds the server may take to start and to list its tools.
    #[schemars(transform = bounds::START_TIMEOUT_SECONDS.into_schema())]
    pub(in crate::config) start_timeout_seconds: Option<Number>,
    /// How many calls it gets at once; the others wait.
    #[schemars(transform = bounds::CONCURRENT_CALLS.into_schema())]
    pub(in crate::config) max_concurrent_calls: Option<Number>,
    /// Whether the server at `url` gets the bearer token that a caller shows us, instead of one of ours. The token is
    /// checked here first, so `[auth]` has to know it; every session gets a connection of its own.
    #[schemars(extend("default" = false))]
    pub(in crate::config) forward_auth: Option<Placed<bool>>,
    /// Whether every session gets a process or connection of its own, for servers that keep state.
    #[schemars(extend("default" = false))]
    pub(in crate::config) per_session: Option<bool>,
    /// After how many minutes without a call it is stopped until it is needed again. 0 keeps it running.
    #[schemars(transform = bounds::UPSTREAM_IDLE_MINUTES.into_schema())]
    pub(in crate::config) idle_minutes: Option<Number>,
    /// After how many minutes it is asked again which tools it has. 0 asks only when it starts or says that they changed.
    #[schemars(transform = bounds::CHECK_MINUTES.into_schema())]
    pub(in crate::config) check_minutes: Option<Number>,
    /// What happens when the definition of a tool changes: `pin` holds the tool back until you accept the change,
    /// `follow` takes it as it comes.
    #[schemars(extend("default" = "pin", "enum" = ["pin", "follow"]))]
    pub(in crate::config) definitions: Option<Text>,
    /// How much the Inspector records of its calls, as `[inspector] capture` for all.
    #[schemars(extend("enum" = ["off", "metadata", "preview"]))]
    pub(in crate::config) capture: Option<Text>,
    /// Patterns of the server's own tool names to offer, `*` standing for any run of characters. Empty offers every tool.
    #[schemars(extend("default" = []))]
    pub(in crate::config) allow: Option<Vec<Text>>,
    /// Patterns of the server's own tool names to leave out. A deny rule beats an allow rule.
    #[schemars(extend("default" = []))]
    pub(in crate::config) deny: Option<Vec<Text>>,
    /// An adapter file that says which operations the server's tools become, their names, categories and danger. Made
    /// by `aqueduct adapt`. A relative path starts at this file's directory.
    pub(in crate::config) adapter: Option<Text>,
    /// What you know better about a tool than its definition says, by the server's own name for it, or by that of an
    /// operation that it was split into.
    pub(in crate::config) tools: Option<BTreeMap<Text, Tool>>,
    /// What the server, or what is behind it, allows. A call beyond it is not sent.
    pub(in crate::config) api_limits: Option<Vec<ApiLimit>>,
    /// What calls of its operations cost, for quotas of costs.
    pub(in crate::config) cost: Option<Vec<Cost>>,
}

/// What the operator says of one tool.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Tool {
    /// What it does: `CREATE`, `READ`, `UPDATE`, `DELETE` or `EXECUTE`.
    #[schemars(extend("enum" = ["CREATE", "READ", "UPDATE", "DELETE", "EXECUTE"]))]
    pub(in crate::config) category: Option<Text>,
    /// How dangerous it is.
    #[schemars(extend("enum" = ["safe", "reversible", "destructive", "dangerous", "forbidden"]))]
    pub(in crate::config) danger: Option<Text>,
    /// Why it is dangerous, in sentences for whoever is asked before a call.
    #[schemars(extend("default" = []))]
    pub(in crate::config) reasons: Option<Vec<Text>>,
    /// What is asked before a call. Parameters stand in braces, as in `Delete the repository '{owner}/{repo}'?`.
    pub(in crate::config) confirmation_message: Option<Text>,
    /// How many seconds a call waits after it was agreed to.
    #[schemars(transform = bounds::COOLDOWN_SECONDS.into_schema())]
    pub(in crate::config) cooldown_seconds: Option<Number>,
    /// Whether whoever agrees has to show once more who they are.
    #[schemars(extend("default" = false))]
    pub(in crate::config) requires_reauth: Option<bool>,
    /// What is written into the audit log with each call.
    #[schemars(extend("default" = []))]
    pub(in crate::config) audit_context: Option<Vec<Text>>,
}
