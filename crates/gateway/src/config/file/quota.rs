//! `[[safety.quota]]`, and the limits and costs of an upstream, as written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Number, Placed, Text};
use crate::config::bounds;

/// A number that may have a fraction.
pub(in crate::config) type Fraction = Placed<f64>;

/// A budget.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Quota {
    /// What is counted, and for how long. Minutes, hours, days and months are those of the calendar in UTC. A token is
    /// four bytes of an answer.
    #[schemars(extend("enum" = ["requests_per_minute", "requests_per_hour", "requests_per_day", "tokens_per_minute",
        "tokens_per_hour", "tokens_per_day", "cost_per_hour", "cost_per_day", "cost_per_month"]))]
    pub(in crate::config) metric: Text,
    /// Count only calls of this upstream's operations. `*` counts those of each upstream on their own.
    pub(in crate::config) upstream: Option<Text>,
    /// Count only operations of this category.
    #[schemars(extend("enum" = ["CREATE", "READ", "UPDATE", "DELETE", "EXECUTE"]))]
    pub(in crate::config) category: Option<Text>,
    /// Count only calls of this principal. `*` counts those of each on their own.
    pub(in crate::config) caller: Option<Text>,
    /// Count only operations whose names fit one of these patterns, `*` standing for any run of characters.
    #[schemars(extend("default" = []))]
    pub(in crate::config) operations: Option<Vec<Text>>,
    /// Beyond this, answers carry a warning. Those of a batch do not, since the protocol's batch has no place for any; `introspect`
    /// with `quota_status` tells it, and so does the next single call.
    pub(in crate::config) warn: Fraction,
    /// Beyond this, every call is answered with a token, and made when it is repeated with it.
    pub(in crate::config) pause: Fraction,
    /// Beyond this, no call is made. Left out, there is no end.
    pub(in crate::config) hard_stop: Option<Fraction>,
    /// What costs are in, for the metrics of costs.
    #[schemars(extend("default" = "USD"))]
    pub(in crate::config) currency: Option<Text>,
    /// Whether it is counted and held.
    #[schemars(extend("default" = true))]
    pub(in crate::config) enabled: Option<bool>,
}

/// What a server allows.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct ApiLimit {
    /// Which calls it is for: all of the server's (`global`), those of `endpoint`, or those of `category`.
    #[schemars(extend("enum" = ["global", "endpoint", "category"]))]
    pub(in crate::config) scope: Text,
    /// A pattern of operation names, for the scope `endpoint`.
    pub(in crate::config) endpoint: Option<Text>,
    /// A category, for the scope of that name.
    #[schemars(extend("enum" = ["CREATE", "READ", "UPDATE", "DELETE", "EXECUTE"]))]
    pub(in crate::config) category: Option<Text>,
    /// How many calls there may be in any window of that length.
    #[schemars(transform = bounds::API_LIMIT.into_schema())]
    pub(in crate::config) limit: Number,
    /// How long a window is.
    #[schemars(extend("enum" = ["second", "minute", "hour", "day"]))]
    pub(in crate::config) window: Text,
    /// The HTTP header that says how many calls are left, besides the usual ones.
    pub(in crate::config) remaining_header: Option<Text>,
    /// The HTTP header that says when there are more, besides the usual ones.
    pub(in crate::config) reset_header: Option<Text>,
}

/// What calls cost.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Cost {
    /// Patterns of operation names. Empty is every operation of the server. The last cost that fits a call counts.
    #[schemars(extend("default" = []))]
    pub(in crate::config) operations: Option<Vec<Text>>,
    /// What one call costs.
    pub(in crate::config) cost_per_call: Fraction,
    /// What it is in.
    #[schemars(extend("default" = "USD"))]
    pub(in crate::config) currency: Option<Text>,
}
