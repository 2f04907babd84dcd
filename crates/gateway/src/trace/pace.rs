//! How much of a busy machine the recorder's thread takes.
//!
//! A low priority is not enough: calls are short and mostly wait for each other, so there is always a moment in which the
//! thread may run, and each time it is in the way of who comes next. So where it has to wait for a processor itself, it
//! stays away for a while after it has worked.

use std::time::Duration;

/// Where processors are short, it rests so many times as long as it worked.
const REST: u32 = 15;
/// No longer than this: who looks wants to see what happens now.
const REST_MAX: Duration = Duration::from_millis(500);
/// How much is worked on at a time then. What has begun is not given up for whoever wants the processor.
const ENTRIES_SHORT: usize = 256;
/// They are short where it waited for one a share of its time, one in so many parts.
const WAITED_PART: u64 = 8;

/// What the kernel says of a thread, in nanoseconds: how long it ran, and how long it waited for a processor.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    ran: u64,
    waited: u64,
}

/// Measures the thread that it is used on.
#[derive(Debug, Default)]
pub(super) struct Pace {
    before: Option<Spent>,
    /// Whether processors were there for everyone.
    is_free: bool,
}

impl Pace {
    /// How much to work on next, of so much at the most.
    pub(super) fn entries(&self, max: usize) -> usize {
        if self.is_free { max } else { max.min(ENTRIES_SHORT) }
    }

    /// How long to stay away after what was done since the last time. `share` of it was for calls, which must not be held up;
    /// whoever reports can wait.
    pub(super) fn rest(&mut self, share: f64) -> Duration {
        let now = read();
        let (Some(before), Some(now)) = (std::mem::replace(&mut self.before, now), now) else {
            return Duration::ZERO;
        };
        let rest = after(before, now);
        self.is_free = rest.is_zero();
        rest.mul_f64(share.clamp(0.0, 1.0))
    }
}

fn after(before: Spent, now: Spent) -> Duration {
    let (ran, waited) = (now.ran.saturating_sub(before.ran), now.waited.saturating_sub(before.waited));
    if waited <= ran / WAITED_PART {
        return Duration::ZERO;
    }
    Duration::from_nanos(ran).saturating_mul(REST).min(REST_MAX)
}

/// Nothing where the kernel does not say it.
fn read() -> Option<Spent> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let mut numbers = told.split_ascii_whitespace().map(|number| number.parse().ok());
    Some(Spent { ran: numbers.next()??, waited: numbers.next()?? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rests_only_where_processors_are_short() {
        let spent = |ran: u64, waited: u64| Spent { ran: ran * 1_000_000, waited: waited * 1_000_000 };
        assert_eq!(after(spent(10, 10), spent(18, 11)), Duration::ZERO, "nobody was in the way");
        assert_eq!(after(spent(10, 10), spent(18, 14)), Duration::from_millis(120));
        assert_eq!(after(spent(0, 0), spent(4000, 4000)), REST_MAX);
        assert_eq!(after(spent(10, 10), spent(0, 0)), Duration::ZERO, "numbers that make no sense");
    }

    #[test]
    fn reports_are_not_held_back() {
        let mut pace = Pace { before: Some(Spent::default()), is_free: false };
        assert_eq!(pace.rest(0.0), Duration::ZERO);
    }
}
