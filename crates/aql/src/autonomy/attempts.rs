//! How often something may go wrong before nobody is listened to for a while.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// So many failures within the window are taken.
pub const FAILURES_MAX: usize = 10;
/// The window, and the first lockout.
pub const WINDOW_SECONDS: i64 = 60;
/// No lockout is longer.
pub const LOCKOUT_SECONDS_MAX: i64 = 3600;
/// After so long without a failure, former lockouts are forgotten.
const FORGIVEN_SECONDS: i64 = 24 * 3600;

/// Failures of late, and the lockout they led to. Each further lockout is twice as long as the one before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Attempts {
    /// Times are microseconds since 1970, as they are kept.
    failures: Vec<i64>,
    lockouts: u32,
    locked_until: Option<i64>,
}

const MICROSECONDS: i64 = 1_000_000;

impl Attempts {
    /// How many seconds nobody is listened to, or none.
    #[must_use]
    pub fn locked_for(&self, now: Timestamp) -> Option<u64> {
        let left = u64::try_from(self.locked_until?.saturating_sub(now.as_microsecond())).ok()?;
        // A part of a second counts as one: whoever waits as long as told is let through.
        Some(left.div_ceil(MICROSECONDS.unsigned_abs())).filter(|&seconds| seconds > 0)
    }

    /// Counts a failure. Says for how many seconds it locks, if it does.
    pub fn failed(&mut self, now: Timestamp) -> Option<u64> {
        let now = now.as_microsecond();
        let past = |at: i64, seconds: i64| now.saturating_sub(at) >= seconds * MICROSECONDS;
        let last = self.failures.last().copied().max(self.locked_until);
        if last.is_none_or(|last| past(last, FORGIVEN_SECONDS)) {
            self.lockouts = 0;
        }
        self.failures.retain(|&at| !past(at, WINDOW_SECONDS));
        self.failures.push(now);
        if self.failures.len() < FAILURES_MAX {
            return None;
        }
        let doubled = WINDOW_SECONDS.saturating_mul(1 << self.lockouts.min(16));
        let seconds = doubled.min(LOCKOUT_SECONDS_MAX);
        self.lockouts = self.lockouts.saturating_add(1);
        self.failures.clear();
        self.locked_until = Some(now.saturating_add(seconds * MICROSECONDS));
        u64::try_from(seconds).ok()
    }

    /// Forgets everything: a person has shown that it is they.
    pub fn forgive(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + seconds).unwrap()
    }

    fn fail(attempts: &mut Attempts, times: usize, seconds: i64) -> Option<u64> {
        (0..times).filter_map(|_| attempts.failed(at(seconds))).last()
    }

    /// REQ-OOB-22 REQ-OOB-23
    #[test]
    fn ten_failures_in_a_minute_lock_and_each_time_for_twice_as_long() {
        let mut attempts = Attempts::default();
        assert_eq!(fail(&mut attempts, 9, 0), None);
        assert_eq!(attempts.locked_for(at(0)), None);
        assert_eq!(fail(&mut attempts, 1, 5), Some(60));
        assert_eq!(attempts.locked_for(at(5)), Some(60));
        assert_eq!(attempts.locked_for(at(64)), Some(1));
        assert_eq!(attempts.locked_for(at(65)), None, "after the window it is listened to again");
        assert_eq!(fail(&mut attempts, 10, 70), Some(120));
        assert_eq!(fail(&mut attempts, 10, 300), Some(240));
        attempts.forgive();
        assert_eq!(fail(&mut attempts, 10, 900), Some(60));
    }

    #[test]
    fn slow_failures_do_not_lock_and_a_quiet_day_forgives() {
        let mut attempts = Attempts::default();
        let slow = (0..40).filter_map(|n| attempts.failed(at(n * 7))).count();
        assert_eq!(slow, 0, "nine in any minute are fine");
        assert_eq!(fail(&mut attempts, 10, 1000), Some(60));
        assert_eq!(fail(&mut attempts, 10, 1000 + 2 * FORGIVEN_SECONDS), Some(60));
    }

    #[test]
    fn lockouts_have_a_longest_one() {
        let mut attempts = Attempts::default();
        let longest = (0..40).filter_map(|n| fail(&mut attempts, 10, n * 4000)).max();
        assert_eq!(longest, Some(LOCKOUT_SECONDS_MAX as u64));
    }
}
