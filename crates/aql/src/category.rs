//! The five semantic categories, and what each of them says about an operation.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::danger::DangerLevel;

/// What an operation does to stored state. Every operation has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Category {
    Create,
    Read,
    Update,
    Delete,
    Execute,
}

/// What introspection says of an operation's effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    pub read_only: bool,
    pub destructive: bool,
}

impl Category {
    pub const ALL: [Self; 5] = [Self::Create, Self::Read, Self::Update, Self::Delete, Self::Execute];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Read => "READ",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Execute => "EXECUTE",
        }
    }

    #[must_use]
    pub fn permissions(self) -> Permissions {
        match self {
            Self::Create => Permissions { read_only: false, destructive: false },
            Self::Read => Permissions { read_only: true, destructive: false },
            Self::Update | Self::Delete | Self::Execute => {
                Permissions { read_only: false, destructive: true }
            }
        }
    }

    /// The level of an operation that declares none. Only READ may count as safe.
    #[must_use]
    pub fn default_danger(self) -> DangerLevel {
        match self {
            Self::Read => DangerLevel::Safe,
            Self::Create | Self::Update | Self::Execute => DangerLevel::Reversible,
            Self::Delete => DangerLevel::Destructive,
        }
    }

    #[must_use]
    pub fn is_mutating(self) -> bool {
        self != Self::Read
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a string is no category.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("semantic category '{0}' is none of CREATE, READ, UPDATE, DELETE, EXECUTE")]
pub struct Error(String);

impl FromStr for Category {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|category| category.as_str().eq_ignore_ascii_case(text))
            .ok_or_else(|| Error(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LREQ-DANGER-05 LREQ-DANGER-06
    #[test]
    fn an_undeclared_level_follows_the_category_and_only_read_is_safe() {
        let levels: Vec<_> = Category::ALL.map(|c| c.default_danger().as_str()).to_vec();
        assert_eq!(levels, ["reversible", "safe", "reversible", "destructive", "reversible"]);
        for category in Category::ALL {
            assert_eq!(category.default_danger() == DangerLevel::Safe, !category.is_mutating());
        }
    }

    /// REQ-INTRO-09 LREQ-GATE-03
    #[test]
    fn permissions_follow_the_category() {
        let flags = Category::ALL.map(|c| (c.permissions().read_only, c.permissions().destructive));
        assert_eq!(flags, [(false, false), (true, false), (false, true), (false, true), (false, true)]);
    }

    #[test]
    fn any_case_is_read_and_only_the_five_are() {
        assert_eq!("read".parse(), Ok(Category::Read));
        assert!("QUERY".parse::<Category>().is_err());
    }
}
