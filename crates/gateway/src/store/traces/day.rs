//! Days by UTC, and the files that they are kept in.

use std::fmt;

use jiff::civil::{Date, date};

use crate::trace::Nanos;

const NANOS_A_DAY: Nanos = 86_400 * 1_000_000_000;

/// Days since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Day(pub(super) i64);

impl Day {
    pub(super) fn of(time: Nanos) -> Self {
        Self(time.div_euclid(NANOS_A_DAY))
    }

    /// The day on which a span is kept: that of its start, or today if that lies beyond what is kept or in the future.
    ///
    /// Whoever reports spans cannot make a file for every day since 1970, and what is imported late stays as long as
    /// anything else that came today.
    pub(super) fn to_keep(started: Nanos, now: Nanos, max_age_days: u32) -> Self {
        let (day, today) = (Self::of(started), Self::of(now));
        let oldest = today.0.saturating_sub(i64::from(max_age_days).saturating_sub(1));
        if (oldest..=today.0 + 1).contains(&day.0) { day } else { today }
    }
}

/// Who recorded what is kept in a file. What others say has files of its own, so that it takes room from itself alone and
/// changes nothing of what we recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Source {
    /// Whoever reports, and what is imported.
    Reported,
    Ours,
}

/// One file. The newest day is the greatest, and of one day what we recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Part {
    pub(super) day: Day,
    pub(super) source: Source,
}

const REPORTED: &str = "reported-";

impl Part {
    pub(super) fn is_reported(self) -> bool {
        self.source == Source::Reported
    }

    pub(super) fn file(self) -> String {
        let begin = if self.is_reported() { REPORTED } else { "" };
        format!("{begin}{}.db", self.day)
    }

    /// What a file is for; nothing if the file is none of ours.
    pub(super) fn of_file(name: &str) -> Option<Self> {
        let (source, rest) = match name.strip_prefix(REPORTED) {
            Some(rest) => (Source::Reported, rest),
            None => (Source::Ours, name),
        };
        let day: Date = rest.strip_suffix(".db")?.parse().ok()?;
        let day = Day(i64::from(day.since(date(1970, 1, 1)).ok()?.get_days()));
        let part = Self { day, source };
        // Dates can be written in several ways, files have one name.
        (part.file() == name).then_some(part)
    }

    /// As a number in the same order, for cursors.
    pub(super) fn number(self) -> i64 {
        self.day.0.saturating_mul(2).saturating_add(i64::from(self.source == Source::Ours))
    }

    pub(super) fn of_number(number: i64) -> Self {
        let source = if number.rem_euclid(2) == 1 { Source::Ours } else { Source::Reported };
        Self { day: Day(number.div_euclid(2)), source }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = jiff::Span::new().try_days(self.0).unwrap_or_default();
        let day = date(1970, 1, 1).checked_add(days).unwrap_or(date(1970, 1, 1));
        write!(f, "{day}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written_and_others_are_not() {
        let day = Day::of(1_794_787_200 * 1_000_000_000);
        let (ours, reported) = (Part { day, source: Source::Ours }, Part { day, source: Source::Reported });
        for (part, name) in [(ours, "2026-11-16.db"), (reported, "reported-2026-11-16.db")] {
            assert_eq!(part.file(), name);
            assert_eq!(Part::of_file(name), Some(part));
            assert_eq!(Part::of_number(part.number()), part);
        }
        assert!(reported < ours && reported.number() < ours.number());
        let early = Part { day: Day::of(-1), source: Source::Reported };
        assert_eq!(
            (early.file().as_str(), Part::of_number(early.number())),
            ("reported-1969-12-31.db", early)
        );
        for other in [
            "events.db",
            "2026-11-16.db-wal",
            "20261116.db",
            "2026-13-01.db",
            "x2026-11-16.db",
            "reported-reported-2026-11-16.db",
            "reported-.db",
            "",
        ] {
            assert_eq!(Part::of_file(other), None, "{other}");
        }
    }

    #[test]
    fn absurd_times_are_kept_today() {
        let now = 1_794_787_200 * 1_000_000_000 + 5;
        let today = Day::of(now);
        for absurd in [0, -1, i64::MIN, i64::MAX, now - 14 * NANOS_A_DAY, now + 2 * NANOS_A_DAY] {
            assert_eq!(Day::to_keep(absurd, now, 14), today, "{absurd}");
        }
        assert_eq!(Day::to_keep(now - NANOS_A_DAY, now, 14), Day(today.0 - 1));
        assert_eq!(Day::to_keep(now + NANOS_A_DAY, now, 14), Day(today.0 + 1));
        assert_eq!(Day::to_keep(now, now, 0), today);
    }
}
