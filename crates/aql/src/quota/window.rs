//! Windows of time that things are counted in.

use std::str::FromStr;

use jiff::{Timestamp, ToSpan, Unit, ZonedRound, tz::TimeZone};

/// A sliding window is counted in so many parts; it is that much longer than it says.
const PARTS: i64 = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Window {
    Second,
    Minute,
    Hour,
    Day,
    Month,
}

/// A stretch of time that is counted as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    pub begins_at: Timestamp,
    /// From then on its count matters no more.
    pub ends_at: Timestamp,
}

impl Window {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    fn micros(self) -> i64 {
        let seconds = match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 60 * 60,
            Self::Day => 24 * 60 * 60,
            Self::Month => 31 * 24 * 60 * 60,
        };
        seconds * 1_000_000
    }

    /// The window of the calendar that this moment is in.
    #[must_use]
    pub fn of_calendar(self, now: Timestamp) -> Slot {
        let unit = match self {
            Self::Second => Unit::Second,
            Self::Minute => Unit::Minute,
            Self::Hour => Unit::Hour,
            Self::Day | Self::Month => Unit::Day,
        };
        let zoned = now.to_zoned(TimeZone::UTC);
        let begins = zoned.round(ZonedRound::new().smallest(unit).mode(jiff::RoundMode::Floor));
        let begins = begins.unwrap_or_else(|_| zoned.clone());
        let begins = if self == Self::Month { begins.first_of_month().unwrap_or(begins) } else { begins };
        let length = match self {
            Self::Second => 1.second(),
            Self::Minute => 1.minute(),
            Self::Hour => 1.hour(),
            Self::Day => 1.day(),
            Self::Month => 1.month(),
        };
        let ends_at = begins.checked_add(length).map_or(Timestamp::MAX, |ends| ends.timestamp());
        Slot { begins_at: begins.timestamp(), ends_at }
    }

    /// The part of a sliding window that this moment is in, and when the last window that holds it is over.
    #[must_use]
    pub fn sliding(self, now: Timestamp) -> Slot {
        let part = self.part();
        let begins = now.as_microsecond().div_euclid(part) * part;
        self.slot_of(begins)
    }

    /// The slot that begins there.
    #[must_use]
    pub fn slot_of(self, begins: i64) -> Slot {
        let at = |micros: i64| Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX);
        Slot { begins_at: at(begins), ends_at: at(begins + self.part() + self.micros()) }
    }

    /// Whether a part that was counted is in a window that holds this moment. What lies further ahead than a window was
    /// counted by a clock that was wrong.
    #[must_use]
    pub fn holds(self, slot: Slot, now: Timestamp) -> bool {
        slot.ends_at > now && slot.begins_at.as_microsecond() <= now.as_microsecond() + self.micros()
    }

    fn part(self) -> i64 {
        self.micros() / PARTS
    }
}

/// Why a text is no window.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("window '{0}' is none of second, minute, hour, day")]
pub struct Unknown(String);

impl FromStr for Window {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        let known = [Self::Second, Self::Minute, Self::Hour, Self::Day];
        known.into_iter().find(|window| window.as_str() == text).ok_or_else(|| Unknown(text.to_owned()))
    }
}
