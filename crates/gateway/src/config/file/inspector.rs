//! `[inspector]` as written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hidden, Text};
use crate::config::inspector::{GRPC_DEFAULT, HTTP_DEFAULT};

/// What is recorded, and who reports.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Inspector {
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
