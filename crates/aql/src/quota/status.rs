//! What `introspect` answers to `quota_status`.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    amount::Amount,
    decide::{Counts, full_until, held},
    rules::{ApiCount, Plan, QuotaCount, Unit},
};

/// The state of everything in a plan. Where several servers have limits, each limit's name begins with its server's.
#[must_use]
pub fn status(adapter: &str, plan: &Plan, counts: &Counts, now: Timestamp) -> Value {
    let mut resets = Vec::new();
    let several =
        plan.api.windows(2).any(|pair| matches!(pair, [a, b] if a.limit.upstream != b.limit.upstream));
    let mut api = Map::new();
    for (counted, parts) in plan.api.iter().zip(&counts.api) {
        let ApiCount { limit, .. } = counted;
        let calls: u64 = held(limit.window, parts, now).map(|(_, count)| count).sum();
        let full = full_until(limit, parts, now);
        let resets_at = full.or_else(|| held(limit.window, parts, now).next().map(|(slot, _)| slot.ends_at));
        resets.extend(resets_at);
        let shown = json!({
            "limit": limit.limit,
            "remaining": limit.limit.saturating_sub(calls),
            "window": limit.window.as_str(),
            "resets_at": resets_at.map(|at| at.to_string()),
        });
        let scope = limit.scope.to_string();
        let mut name = if several { format!("{}.{scope}", limit.upstream) } else { scope };
        if api.contains_key(&name) {
            name = format!("{name}/{}", limit.window.as_str());
        }
        api.insert(name, shown);
    }
    let quotas: Vec<Value> = plan
        .quotas
        .iter()
        .zip(&counts.quotas)
        .map(|(counted, current)| {
            resets.push(counted.quota.metric.window.of_calendar(now).ends_at);
            quota(counted, *current, now)
        })
        .collect();
    let next = resets.into_iter().min().map(|at| at.to_string());
    json!({"adapter": adapter, "api_limits": api, "quotas": quotas, "next_reset": next})
}

fn quota(counted: &QuotaCount, current: Amount, now: Timestamp) -> Value {
    let quota = &counted.quota;
    let state = match current {
        _ if quota.hard_stop.is_some_and(|stop| current >= stop) => "exhausted",
        _ if current >= quota.pause => "paused",
        _ if current >= quota.warn => "warn",
        _ => "ok",
    };
    let mut shown = Map::new();
    let mut put = |key: &str, value: Value| drop(shown.insert(key.to_owned(), value));
    put("metric", quota.metric.as_str().into());
    put("current", current.into());
    put("warn", quota.warn.into());
    put("pause", quota.pause.into());
    if let Some(stop) = quota.hard_stop {
        put("hard_stop", stop.into());
    }
    put("status", state.into());
    put("resets_at", quota.metric.window.of_calendar(now).ends_at.to_string().into());
    if quota.metric.unit == Unit::Cost {
        put("currency", quota.currency.as_str().into());
    }
    if let Some(upstream) = &quota.upstream {
        put("upstream", upstream.as_str().into());
    }
    if let Some(category) = quota.category {
        put("category", category.as_str().into());
    }
    if let Some(caller) = &quota.caller {
        put("caller", caller.as_str().into());
    }
    if !quota.operations.is_empty() {
        put("operations", quota.operations.clone().into());
    }
    Value::Object(shown)
}
