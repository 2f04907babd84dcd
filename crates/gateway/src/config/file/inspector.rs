//! `[inspector]` as written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hidden, Number, Text};
use crate::config::{
    bounds,
    inspector::{GRPC_DEFAULT, HTTP_DEFAULT},
};

/// What is recorded, and who reports.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Inspector {
    /// How much is recorded of calls: `off` nothing, `metadata` that they were made, by whom, how long they took and how they
    /// came out, `preview` the beginnings of arguments and results as well, without what is secret. A server's own `capture`
    /// and the patterns in `operations` go before it.
    #[schemars(extend("enum" = ["off", "metadata", "preview"], "default" = "preview"))]
    pub(in crate::config) capture: Option<Text>,
    /// The same for operations, by patterns of their names, as in `operations = { "mail_*" = "metadata" }`. Where several fit, the
    /// longest counts.
    pub(in crate::config) operations: Option<BTreeMap<Text, Text>>,
    /// What we are called in what is recorded. `MCP_SERVER_ID` goes before it.
    #[schemars(extend("default" = "aqueduct"))]
    pub(in crate::config) server_id: Option<Text>,
    /// Words that every session recorded here is found by, as in `tags = ["production", "team-a"]`; 16 at the most.
    pub(in crate::config) tags: Option<Vec<Text>>,
    /// For how many days traces are kept, today among them.
    #[schemars(transform = bounds::TRACE_DAYS.into_schema())]
    pub(in crate::config) keep_days: Option<Number>,
    /// What all traces may take together; the oldest go first. What others report takes half of it at the most.
    #[schemars(transform = bounds::TRACE_BYTES.into_schema())]
    pub(in crate::config) keep_bytes: Option<Number>,
    /// Where agents report their own traces by OTLP over HTTP, at `/v1/traces`; port 0 takes a free one, `off` opens none.
    /// On standard input and output none is opened unless this is set. Where `[auth]` has tokens, one of them is asked for.
    #[schemars(extend("default" = HTTP_DEFAULT.to_string()))]
    pub(in crate::config) otlp_http: Option<Text>,
    /// Where agents report their own traces by OTLP over gRPC; all else as for `otlp_http`.
    #[schemars(extend("default" = GRPC_DEFAULT.to_string()))]
    pub(in crate::config) otlp_grpc: Option<Text>,
    /// Collectors that get every finished span by OTLP over HTTP, as in `[inspector.export.jaeger]`.
    pub(in crate::config) export: Option<BTreeMap<Text, Export>>,
}

/// A collector to send spans to.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Export {
    /// Its address, `http` or `https`. Without a path, `/v1/traces` is added. `${VAR}` is taken from the environment.
    pub(in crate::config) url: Hidden,
    /// HTTP headers to send along, `${VAR}` in their values as in `url`.
    pub(in crate::config) headers: Option<BTreeMap<Text, Hidden>>,
}
