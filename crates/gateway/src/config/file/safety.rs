//! The tables of `[safety]` as written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Placed, Text};

/// What each level of trust comes to for one level of danger.
pub(in crate::config) type Matrix = BTreeMap<Text, BTreeMap<Text, Text>>;

/// The least trust in a server for what an operation does.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct MinimumTrust {
    /// For READ.
    #[schemars(extend("default" = "generated",
        "enum" = ["untested", "generated", "validated", "community_reviewed", "certified"]))]
    pub(in crate::config) read: Option<Text>,
    /// For CREATE.
    #[schemars(extend("default" = "validated",
        "enum" = ["untested", "generated", "validated", "community_reviewed", "certified"]))]
    pub(in crate::config) create: Option<Text>,
    /// For UPDATE.
    #[schemars(extend("default" = "validated",
        "enum" = ["untested", "generated", "validated", "community_reviewed", "certified"]))]
    pub(in crate::config) update: Option<Text>,
    /// For DELETE.
    #[schemars(extend("default" = "community_reviewed",
        "enum" = ["untested", "generated", "validated", "community_reviewed", "certified"]))]
    pub(in crate::config) delete: Option<Text>,
    /// For EXECUTE.
    #[schemars(extend("default" = "validated",
        "enum" = ["untested", "generated", "validated", "community_reviewed", "certified"]))]
    pub(in crate::config) execute: Option<Text>,
    /// For whatever is dangerous or forbidden.
    #[schemars(extend("default" = "certified",
        "enum" = ["untested", "generated", "validated", "community_reviewed", "certified"]))]
    pub(in crate::config) dangerous: Option<Text>,
}

/// A rule about calls. What it leaves out it does not ask about; all that it says has to fit. Of all rules that fit, and of
/// everything else that is decided about a call, the strictest counts.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Rule {
    /// Patterns of operation names. A rule that asks or denies also meets names without their server's prefix; one that
    /// allows meets whole names, unless `servers` says whose they are.
    pub(in crate::config) operations: Option<Vec<Text>>,
    /// Patterns of principals, as `[auth]` names them. Whoever calls on standard input is `local`.
    pub(in crate::config) callers: Option<Vec<Text>>,
    /// Patterns of server names, as `[upstream.NAME]` has them. What needs no server is met by `built_in`.
    pub(in crate::config) servers: Option<Vec<Text>>,
    /// What the operation does.
    #[schemars(extend("items" = {"type": "string", "enum": ["CREATE", "READ", "UPDATE", "DELETE", "EXECUTE"]}))]
    pub(in crate::config) categories: Option<Vec<Text>>,
    /// Operations of this level and above.
    #[schemars(extend("enum" = ["safe", "reversible", "destructive", "dangerous", "forbidden"]))]
    pub(in crate::config) danger: Option<Text>,
    /// Operations of servers that are trusted no further than this.
    #[schemars(extend("enum" = ["untested", "generated", "validated", "community_reviewed", "certified"]))]
    pub(in crate::config) trust: Option<Text>,
    /// Conditions on parameters, every one of which has to hold.
    pub(in crate::config) when: Option<Vec<Condition>>,
    /// What then: `deny` refuses the call, `confirm` asks a person first, `allow` has nothing against it. `allow_unasked`
    /// also says that the operation's danger is no reason to ask; what other rules ask and what is denied stays.
    #[schemars(extend("enum" = ["allow", "allow_unasked", "confirm", "deny"]))]
    pub(in crate::config) then: Text,
    /// Why, in a sentence for callers and for whoever is asked.
    pub(in crate::config) reason: Option<Text>,
}

/// A condition on one parameter: `param` and exactly one test. A rule that asks or denies is met if any value fits, one that
/// allows only if every value does.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Condition {
    /// The parameter's name as introspection shows it; steps into objects are joined by dots. Lists are looked into, and
    /// so is the `input` of an UPDATE.
    pub(in crate::config) param: Text,
    /// It is this value.
    #[schemars(extend("type" = ["string", "number", "boolean"]))]
    pub(in crate::config) equals: Option<Value>,
    /// It is one of these values.
    #[schemars(extend("items" = {"type": ["string", "number", "boolean"]}))]
    pub(in crate::config) one_of: Option<Vec<Value>>,
    /// It looks like this, `*` standing for any run of characters.
    pub(in crate::config) pattern: Option<Text>,
    /// This regular expression is found in it.
    pub(in crate::config) regex: Option<Text>,
    /// It is a number above this one.
    pub(in crate::config) greater: Option<Placed<f64>>,
    /// It is a number below this one.
    pub(in crate::config) less: Option<Placed<f64>>,
    /// Whether it is given at all.
    pub(in crate::config) present: Option<bool>,
    /// Turns the test around. A value that is missing then counts as not fitting for rules that ask or deny.
    #[schemars(extend("default" = false))]
    pub(in crate::config) not: Option<bool>,
}
