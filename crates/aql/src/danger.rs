//! How much harm an operation can do.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Ordered: a higher level is more dangerous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DangerLevel {
    Safe = 0,
    Reversible = 1,
    Destructive = 2,
    Dangerous = 3,
    Forbidden = 4,
}

impl DangerLevel {
    pub const ALL: [Self; 5] =
        [Self::Safe, Self::Reversible, Self::Destructive, Self::Dangerous, Self::Forbidden];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Reversible => "reversible",
            Self::Destructive => "destructive",
            Self::Dangerous => "dangerous",
            Self::Forbidden => "forbidden",
        }
    }

    #[must_use]
    pub fn number(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for DangerLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a string is no danger level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("danger level '{0}' is none of safe, reversible, destructive, dangerous, forbidden")]
pub struct Error(String);

impl FromStr for DangerLevel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|level| level.as_str() == text).ok_or_else(|| Error(text.to_owned()))
    }
}

/// What an operation's author says of its danger. Absent means the category's default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Danger {
    pub level: DangerLevel,
    pub reasons: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LREQ-DANGER-01
    #[test]
    fn levels_round_trip_by_name_and_are_numbered_in_order() {
        for (number, level) in DangerLevel::ALL.into_iter().enumerate() {
            assert_eq!(level.as_str().parse(), Ok(level));
            assert_eq!(usize::from(level.number()), number);
        }
        assert!("harmless".parse::<DangerLevel>().is_err());
    }
}
