//! What the operator says: quotas, limits of servers, costs; and what of it a call counts for.

use std::{fmt, str::FromStr};

use super::{amount::Amount, window::Window};
use crate::{category::Category, profile::matches_pattern};

/// What a metric counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    Requests,
    Tokens,
    Cost,
}

/// What a quota limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Metric {
    pub unit: Unit,
    pub window: Window,
}

impl Metric {
    /// Every metric there is, with its name.
    pub const ALL: [(&'static str, Self); 9] = [
        ("requests_per_minute", Self { unit: Unit::Requests, window: Window::Minute }),
        ("requests_per_hour", Self { unit: Unit::Requests, window: Window::Hour }),
        ("requests_per_day", Self { unit: Unit::Requests, window: Window::Day }),
        ("tokens_per_minute", Self { unit: Unit::Tokens, window: Window::Minute }),
        ("tokens_per_hour", Self { unit: Unit::Tokens, window: Window::Hour }),
        ("tokens_per_day", Self { unit: Unit::Tokens, window: Window::Day }),
        ("cost_per_hour", Self { unit: Unit::Cost, window: Window::Hour }),
        ("cost_per_day", Self { unit: Unit::Cost, window: Window::Day }),
        ("cost_per_month", Self { unit: Unit::Cost, window: Window::Month }),
    ];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, metric)| *metric == self).map_or("", |(name, _)| name)
    }
}

/// Why a text is no metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownMetric(String);

impl fmt::Display for UnknownMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "metric '{}' is none of {}", self.0, Metric::ALL.map(|(name, _)| name).join(", "))
    }
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, metric)| *metric).ok_or_else(|| UnknownMetric(text.to_owned()))
    }
}

/// One call, as far as quotas look at it.
#[derive(Debug, Clone, Copy)]
pub struct Called<'a> {
    pub operation: &'a str,
    pub category: Category,
    pub server: Option<&'a str>,
    pub principal: &'a str,
}

/// Stands for each on its own.
const EACH: &str = "*";

fn fits(rule: &Option<String>, value: Option<&str>) -> bool {
    match rule.as_deref() {
        None => true,
        Some(EACH) => value.is_some(),
        Some(name) => value == Some(name),
    }
}

/// A budget of the operator's.
#[derive(Debug, Clone, PartialEq)]
pub struct Quota {
    pub metric: Metric,
    /// Only calls of this server's operations; `*` counts those of each server on their own.
    pub upstream: Option<String>,
    pub category: Option<Category>,
    /// Only calls of this principal; `*` counts those of each on their own.
    pub caller: Option<String>,
    /// Patterns of names; empty counts every operation.
    pub operations: Vec<String>,
    pub warn: Amount,
    pub pause: Amount,
    /// Without one it pauses, but never stops.
    pub hard_stop: Option<Amount>,
    /// What costs are in.
    pub currency: String,
}

impl Quota {
    pub(super) fn counts(&self, called: &Called<'_>) -> bool {
        self.concerns(called.operation, called.category, called.server)
            && fits(&self.caller, Some(called.principal))
    }

    /// Whether calls of an operation count, some callers' if not everybody's.
    pub(crate) fn concerns(&self, operation: &str, category: Category, server: Option<&str>) -> bool {
        fits(&self.upstream, server)
            && self.category.is_none_or(|own| own == category)
            && named(&self.operations, operation)
    }

    /// What tells it from others. Two quotas with the same would count together.
    #[must_use]
    pub fn identity(&self) -> String {
        self.key(None, None)
    }

    /// What its count is kept under. Thresholds are no part of it: changing one forgets nothing.
    pub(super) fn key(&self, server: Option<&str>, principal: Option<&str>) -> String {
        fn part<'a>(rule: &'a Option<String>, value: Option<&'a str>) -> &'a str {
            match rule.as_deref() {
                Some(EACH) => value.unwrap_or(EACH),
                other => other.unwrap_or_default(),
            }
        }
        let currency = if self.metric.unit == Unit::Cost { self.currency.as_str() } else { "" };
        let parts = [
            "quota",
            self.metric.as_str(),
            part(&self.upstream, server),
            self.category.map_or("", Category::as_str),
            part(&self.caller, principal),
            &self.operations.join(","),
            currency,
        ];
        parts.join("\n")
    }
}

/// Which calls a limit of a server is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiScope {
    Global,
    /// Operations whose names fit the pattern.
    Endpoint(String),
    Category(Category),
}

impl fmt::Display for ApiScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::Endpoint(pattern) => write!(f, "endpoint:{pattern}"),
            Self::Category(category) => write!(f, "category:{}", category.as_str()),
        }
    }
}

/// What a server allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiLimit {
    pub upstream: String,
    pub scope: ApiScope,
    pub limit: u64,
    pub window: Window,
}

impl ApiLimit {
    pub(super) fn counts(&self, called: &Called<'_>) -> bool {
        called.server == Some(self.upstream.as_str())
            && match &self.scope {
                ApiScope::Global => true,
                ApiScope::Endpoint(pattern) => matches_pattern(pattern, called.operation),
                ApiScope::Category(category) => *category == called.category,
            }
    }

    #[must_use]
    pub fn key(&self) -> String {
        ["api", &self.upstream, &self.scope.to_string(), self.window.as_str()].join("\n")
    }
}

/// What a call of some operations costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    pub upstream: String,
    pub operations: Vec<String>,
    pub per_call: Amount,
    pub currency: String,
}

/// Everything that the operator says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    pub quotas: Vec<Quota>,
    pub api: Vec<ApiLimit>,
    /// The last that fits is what a call costs.
    pub costs: Vec<Cost>,
    /// The servers there are.
    pub upstreams: Vec<String>,
}

/// A limit of a server that a call counts for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiCount {
    pub limit: ApiLimit,
    pub key: String,
}

/// A quota that a call counts for.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaCount {
    pub quota: Quota,
    pub key: String,
    /// What is counted before the call; tokens are counted after it.
    pub amount: Amount,
}

/// What a call counts for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    pub api: Vec<ApiCount>,
    pub quotas: Vec<QuotaCount>,
}

impl Plan {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.api.is_empty() && self.quotas.is_empty()
    }
}

impl Limits {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.quotas.is_empty() && self.api.is_empty()
    }

    #[must_use]
    pub fn plan(&self, called: &Called<'_>) -> Plan {
        let api = self.api.iter().filter(|limit| limit.counts(called));
        let api = api.map(|limit| ApiCount { limit: limit.clone(), key: limit.key() });
        let quotas = self.quotas.iter().filter(|quota| quota.counts(called)).filter_map(|quota| {
            let amount = match quota.metric.unit {
                Unit::Requests => Amount::ONE,
                Unit::Tokens => Amount::ZERO,
                // What costs nothing is no matter of money.
                Unit::Cost => self.cost(called, &quota.currency).filter(|cost| *cost > Amount::ZERO)?,
            };
            let key = quota.key(called.server, Some(called.principal));
            Some(QuotaCount { quota: quota.clone(), key, amount })
        });
        Plan { api: api.collect(), quotas: quotas.collect() }
    }

    /// Everything that calls of a principal count for, of one server or of all.
    #[must_use]
    pub fn overview(&self, server: Option<&str>, principal: &str) -> Plan {
        let of_server = |upstream: &str| server.is_none_or(|server| server == upstream);
        let api = self.api.iter().filter(|limit| of_server(&limit.upstream));
        let api = api.map(|limit| ApiCount { limit: limit.clone(), key: limit.key() });
        let mut quotas: Vec<QuotaCount> = Vec::new();
        for quota in &self.quotas {
            let others = |rule: &Option<String>, value: Option<&str>| match (rule.as_deref(), value) {
                (None | Some(EACH), _) | (_, None) => false,
                (Some(rule), Some(value)) => rule != value,
            };
            if others(&quota.upstream, server) || others(&quota.caller, Some(principal)) {
                continue;
            }
            let each = quota.upstream.as_deref() == Some(EACH) && server.is_none();
            let all = self.upstreams.iter().map(|name| Some(name.as_str()));
            let servers: Vec<Option<&str>> = if each { all.collect() } else { vec![server] };
            for server in servers {
                let mut quota = quota.clone();
                let key = quota.key(server, Some(principal));
                if each {
                    quota.upstream = server.map(str::to_owned);
                }
                quotas.push(QuotaCount { quota, key, amount: Amount::ZERO });
            }
        }
        Plan { api: api.collect(), quotas }
    }

    fn cost(&self, called: &Called<'_>, currency: &str) -> Option<Amount> {
        let fits = |cost: &&Cost| {
            called.server == Some(cost.upstream.as_str()) && named(&cost.operations, called.operation)
        };
        let cost = self.costs.iter().rev().find(fits)?;
        (cost.currency == currency).then_some(cost.per_call)
    }
}

fn named(patterns: &[String], operation: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches_pattern(pattern, operation))
}
