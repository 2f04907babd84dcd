//! How many calls a caller may make: a pure decision from the calls counted so far and the time.

use jiff::{SignedDuration, Timestamp};

use crate::error::{Code, Error};

/// The calls of one caller in the minute that began with the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    began: Timestamp,
    calls: u32,
}

const MINUTE: SignedDuration = SignedDuration::from_secs(60);

impl Window {
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self { began: now, calls: 0 }
    }

    /// Whether the minute is over, so that nothing of it has to be remembered.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        now.duration_since(self.began) >= MINUTE
    }

    /// Counts one more call, or refuses it.
    pub fn admit(&mut self, per_minute: u32, now: Timestamp) -> Result<(), Error> {
        if self.is_over(now) {
            *self = Self::new(now);
        }
        if self.calls < per_minute {
            self.calls += 1;
            return Ok(());
        }
        let resets_at = self.began + MINUTE;
        let wait = resets_at.duration_since(now).as_millis().max(0).div_euclid(1000) + 1;
        Err(Error::new(Code::RateLimitExceeded, "API rate limit exceeded")
            .with("limit", per_minute)
            .with("remaining", 0)
            .with("window", "minute")
            .with("resets_at", resets_at.to_string())
            .with("retry_after_seconds", wait as u64)
            .hint(format!("Wait {wait} seconds, then repeat the call.")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// REQ-ERR-04 LREQ-ERR-17
    #[test]
    fn a_minute_has_so_many_calls_and_the_next_one_begins_anew() {
        let start: Timestamp = "2026-02-04T10:30:00Z".parse().unwrap();
        let mut window = Window::new(start);
        for second in 0..5 {
            assert!(window.admit(5, start + SignedDuration::from_secs(second)).is_ok());
        }
        let error = window.admit(5, start + SignedDuration::from_secs(20)).unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (Code::RateLimitExceeded, "API rate limit exceeded")
        );
        assert_eq!(error.details["resets_at"], "2026-02-04T10:31:00Z");
        assert_eq!((&error.details["limit"], &error.details["remaining"]), (&5.into(), &0.into()));
        let wait = error.details["retry_after_seconds"].as_u64().unwrap();
        assert!((1..=60).contains(&wait) && wait >= 40, "{wait}");
        assert!(window.admit(5, start + SignedDuration::from_secs(60)).is_ok());
    }
}
