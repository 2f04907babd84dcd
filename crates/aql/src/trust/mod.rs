//! How far a server's operations are believed to be what they say: [`TrustLevel`], and the [`Block`] of an adapter file
//! that tells how the level came about and changes only as the levels allow.

mod block;
mod change;

pub use self::{
    block::{Block, Certification, Change, Report},
    change::{Evidence, REVIEWS_DEFAULT, Refused},
};

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Ordered: a higher level is trusted more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustLevel {
    #[default]
    Untested,
    Generated,
    Validated,
    CommunityReviewed,
    Certified,
}

impl TrustLevel {
    pub const ALL: [Self; 5] =
        [Self::Untested, Self::Generated, Self::Validated, Self::CommunityReviewed, Self::Certified];

    /// The level above, if there is one.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        Self::ALL.into_iter().find(|level| *level > self)
    }

    /// A level by the name that an older list of five has for it.
    #[must_use]
    pub fn of_older_name(name: &str) -> Option<Self> {
        let names = ["untrusted", "low", "medium", "high", "verified"];
        names.into_iter().zip(Self::ALL).find(|(older, _)| *older == name).map(|(_, level)| level)
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Untested => "untested",
            Self::Generated => "generated",
            Self::Validated => "validated",
            Self::CommunityReviewed => "community_reviewed",
            Self::Certified => "certified",
        }
    }
}

impl fmt::Display for TrustLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a string is no trust level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("trust level '{0}' is none of untested, generated, validated, community_reviewed, certified")]
pub struct Error(String);

impl FromStr for TrustLevel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|level| level.as_str() == text).ok_or_else(|| Error(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LREQ-TRUST-01
    #[test]
    fn the_five_levels_are_read_and_ordered() {
        let names = ["untested", "generated", "validated", "community_reviewed", "certified"];
        let levels: Vec<TrustLevel> = names.iter().map(|name| name.parse().unwrap()).collect();
        assert!(levels.is_sorted_by(|lower, higher| lower < higher));
        for (name, level) in names.iter().zip(levels) {
            assert_eq!(serde_json::to_value(level).unwrap(), *name);
        }
        for bad in ["", "Certified", "community-reviewed", "trusted"] {
            assert!(bad.parse::<TrustLevel>().unwrap_err().to_string().contains(&format!("'{bad}'")));
        }
    }
}
