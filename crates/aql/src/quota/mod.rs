//! Quotas and the limits of other servers: a pure decision from what was counted so far and the time.
//!
//! - A [`Quota`] is the operator's budget. It warns, then pauses until somebody says to go on, then stops. Its windows are
//!   those of the calendar in UTC: a day begins with midnight.
//! - An [`ApiLimit`] is what the server behind an upstream allows. Nobody knows when its windows begin, so no window of
//!   that length holds more calls, wherever it begins.
//! - Calls are counted before they are made. Tokens are known only afterwards, so those of calls under way are missing
//!   from the count.

mod amount;
mod decide;
mod headers;
mod rules;
mod status;
#[cfg(test)]
mod tests;
mod window;

pub use self::{
    amount::Amount,
    decide::{Counts, Paused, Verdict, decide},
    headers::{HeaderNames, held_until},
    rules::{ApiCount, ApiLimit, ApiScope, Called, Cost, Limits, Metric, Plan, Quota, QuotaCount, Unit},
    status::status,
    window::{Slot, Window},
};

use jiff::Timestamp;

/// What the warning is called.
pub const WARNING: &str = "RATE_LIMIT_QUOTA_WARNING";

/// So many bytes of an answer count as one token, which is about right for English and JSON.
pub const BYTES_A_TOKEN: usize = 4;

/// Whole seconds until then, rounded up.
#[must_use]
pub fn seconds_until(then: Timestamp, now: Timestamp) -> u64 {
    let millis = then.duration_since(now).as_millis().max(0);
    u64::try_from((millis + 999) / 1000).unwrap_or_default()
}
