//! Whether a call may be made, by what was counted.

use jiff::Timestamp;

use super::{
    WARNING,
    amount::Amount,
    rules::{ApiLimit, Plan, QuotaCount, Unit},
    seconds_until,
    window::{Slot, Window},
};
use crate::{
    error::{Code, Error},
    warning::{Severity, Warning},
};

/// What was counted so far, in the order of the plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    /// The calls in each part of the sliding windows, oldest first.
    pub api: Vec<Vec<(Slot, u64)>>,
    pub quotas: Vec<Amount>,
}

/// What comes of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It is made, and counted.
    Admitted(Vec<Warning>),
    /// It waits for somebody to say that it is to go on.
    Paused(Paused),
    Refused(Error),
}

/// Why a call waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Paused(Error);

impl Paused {
    /// What the caller is told, with the token that lets the same call through.
    #[must_use]
    pub fn error(self, token: &str, expires_at: Timestamp) -> Error {
        self.0.with("confirmation_token", token).with("expires_at", expires_at.to_string()).hint(
            "Ask whether to go on. To do so, repeat the same call with this token as '_quota_continue'.",
        )
    }
}

/// Decides. `continued` says that the caller has brought a token for exactly this call.
#[must_use]
pub fn decide(plan: &Plan, counts: &Counts, continued: bool, now: Timestamp) -> Verdict {
    for (counted, parts) in plan.api.iter().zip(&counts.api) {
        if let Some(resets_at) = full_until(&counted.limit, parts, now) {
            return Verdict::Refused(exceeded(&counted.limit, resets_at, now));
        }
    }
    let quotas = || plan.quotas.iter().zip(counts.quotas.iter().copied());
    for (counted, current) in quotas() {
        let stop = counted.quota.hard_stop;
        if let Some(stop) = stop.filter(|stop| is_beyond(counted, current, *stop)) {
            let error = told(counted, current, now, Code::QuotaExhausted, "Quota exhausted");
            let wait = seconds_until(counted.quota.metric.window.of_calendar(now).ends_at, now);
            let error = error.with("hard_stop_threshold", stop);
            return Verdict::Refused(
                error.hint(format!("Wait {wait} seconds, or ask the operator for more.")),
            );
        }
    }
    for (counted, current) in quotas().filter(|_| !continued) {
        if is_beyond(counted, current, counted.quota.pause) {
            let error = told(counted, current, now, Code::QuotaPause, "Quota pause threshold reached");
            let error = error.with("pause_threshold", counted.quota.pause);
            return Verdict::Paused(Paused(match counted.quota.hard_stop {
                Some(stop) => error.with("hard_stop_threshold", stop),
                None => error,
            }));
        }
    }
    let beyond = quotas().filter(|(counted, current)| is_beyond(counted, *current, counted.quota.warn));
    Verdict::Admitted(beyond.map(|(counted, current)| warning(counted, current)).collect())
}

/// Whether the call would go beyond a threshold. Tokens are known only afterwards, so there it is enough to have reached
/// it.
fn is_beyond(counted: &QuotaCount, current: Amount, threshold: Amount) -> bool {
    match counted.quota.metric.unit {
        Unit::Tokens => current >= threshold,
        Unit::Requests | Unit::Cost => current.plus(counted.amount) > threshold,
    }
}

/// Until when one more call would be too many, if it would be.
pub(super) fn full_until(limit: &ApiLimit, parts: &[(Slot, u64)], now: Timestamp) -> Option<Timestamp> {
    let held = held(limit.window, parts, now);
    let total: u64 = held.clone().map(|(_, count)| count).sum();
    let mut too_many = (total + 1).checked_sub(limit.limit).filter(|too_many| *too_many > 0)?;
    for (slot, count) in held {
        match too_many.checked_sub(count).filter(|left| *left > 0) {
            Some(left) => too_many = left,
            None => return Some(slot.ends_at),
        }
    }
    None
}

pub(super) fn held(
    window: Window,
    parts: &[(Slot, u64)],
    now: Timestamp,
) -> impl Iterator<Item = (Slot, u64)> + Clone {
    parts.iter().copied().filter(move |(slot, _)| window.holds(*slot, now))
}

fn exceeded(limit: &ApiLimit, resets_at: Timestamp, now: Timestamp) -> Error {
    let wait = seconds_until(resets_at, now);
    Error::new(Code::RateLimitExceeded, "API rate limit exceeded")
        .with("server", limit.upstream.as_str())
        .with("scope", limit.scope.to_string())
        .with("limit", limit.limit)
        .with("remaining", 0)
        .with("window", limit.window.as_str())
        .with("resets_at", resets_at.to_string())
        .with("retry_after_seconds", wait)
        .hint(format!("Wait {wait} seconds, then repeat the call."))
}

fn told(counted: &QuotaCount, current: Amount, now: Timestamp, code: Code, message: &str) -> Error {
    let quota = &counted.quota;
    let resets_at = quota.metric.window.of_calendar(now).ends_at;
    let error = Error::new(code, message)
        .with("metric", quota.metric.as_str())
        .with("current", current)
        .with("window", quota.metric.window.as_str())
        .with("resets_at", resets_at.to_string())
        .with("retry_after_seconds", seconds_until(resets_at, now));
    if quota.metric.unit == Unit::Cost { error.with("currency", quota.currency.as_str()) } else { error }
}

fn warning(counted: &QuotaCount, current: Amount) -> Warning {
    let quota = &counted.quota;
    let current = current.plus(counted.amount);
    let severity = if current >= quota.pause { Severity::High } else { Severity::Medium };
    let warning = Warning::new(WARNING, "Approaching quota limit", severity)
        .with("metric", quota.metric.as_str())
        .with("current", current)
        .with("warn_threshold", quota.warn)
        .with("pause_threshold", quota.pause);
    match quota.hard_stop {
        Some(stop) => warning.with("hard_stop_threshold", stop),
        None => warning,
    }
}
