//! How the time of a plot is divided.

use crate::trace::Nanos;

/// Points of a plot, about.
const POINTS: i64 = 60;
const SECOND: Nanos = 1_000_000_000;
const DAY_SECONDS: i64 = 86_400;
/// How wide a point may be, in seconds, so that points begin at times that people would choose.
const WIDTHS: [i64; 13] = [10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, DAY_SECONDS];

/// The points of a plot, by their places since 1970.
pub(super) struct Points {
    pub(super) width: Nanos,
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Points {
    /// From the first call on: a few minutes of calls are not one point of a day in which nothing else was.
    pub(super) fn new(first: Nanos, until: Nanos) -> Self {
        let least = (until / SECOND - first / SECOND).max(0) / POINTS + 1;
        let days = || least.div_euclid(DAY_SECONDS).saturating_add(1).saturating_mul(DAY_SECONDS);
        let width = WIDTHS.into_iter().find(|width| *width >= least).unwrap_or_else(days);
        let width = width.saturating_mul(SECOND);
        let first = first.min(until).div_euclid(width);
        Self { width, first, last: until.div_euclid(width) }
    }

    /// What begins later than now, by another clock, is of the last.
    pub(super) fn of(&self, started: Nanos) -> i64 {
        started.div_euclid(self.width).clamp(self.first, self.last)
    }
}
