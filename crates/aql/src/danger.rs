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

/// What is said of an operation's danger. Where nothing is, the level is its category's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Danger {
    pub level: DangerLevel,
    /// Whether somebody said the level. One that was only worked out may be raised by a name.
    pub explicit: bool,
    pub reasons: Vec<String>,
    /// What a person is asked, parameters standing in braces.
    pub confirmation_message: Option<String>,
    /// How long after it was agreed to a call has to wait.
    pub cooldown_seconds: Option<u32>,
    /// Whether whoever agrees has to show once more who they are.
    pub requires_reauth: bool,
    /// What else is written into the audit log.
    pub audit_context: Vec<String>,
}

/// No cooldown is longer than a day.
pub const COOLDOWN_SECONDS_MAX: u32 = 86_400;

/// What an operator or an adapter file says of an operation's danger beside its level. What is left empty changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    pub reasons: Vec<String>,
    pub confirmation_message: Option<String>,
    pub cooldown_seconds: Option<u32>,
    pub requires_reauth: Option<bool>,
    pub audit_context: Vec<String>,
}

impl Words {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These words, and where they say nothing those of another.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        if self.reasons.is_empty() {
            self.reasons.clone_from(&other.reasons);
        }
        if self.audit_context.is_empty() {
            self.audit_context.clone_from(&other.audit_context);
        }
        self.confirmation_message = self.confirmation_message.or_else(|| other.confirmation_message.clone());
        self.cooldown_seconds = self.cooldown_seconds.or(other.cooldown_seconds);
        self.requires_reauth = self.requires_reauth.or(other.requires_reauth);
        self
    }
}

impl Danger {
    /// A level that was worked out, with nothing said about it.
    #[must_use]
    pub fn worked_out(level: DangerLevel, reasons: Vec<String>) -> Self {
        Self {
            level,
            explicit: false,
            reasons,
            confirmation_message: None,
            cooldown_seconds: None,
            requires_reauth: false,
            audit_context: Vec::new(),
        }
    }

    /// A level that somebody said.
    #[must_use]
    pub fn said(level: DangerLevel, reasons: Vec<String>) -> Self {
        Self { explicit: true, ..Self::worked_out(level, reasons) }
    }

    /// Takes in what somebody says. Reasons of theirs replace those that were only found.
    pub fn follow(&mut self, words: &Words) {
        if !words.reasons.is_empty() {
            self.reasons.clone_from(&words.reasons);
        }
        if words.confirmation_message.is_some() {
            self.confirmation_message.clone_from(&words.confirmation_message);
        }
        self.cooldown_seconds = words.cooldown_seconds.or(self.cooldown_seconds);
        self.requires_reauth = words.requires_reauth.unwrap_or(self.requires_reauth);
        self.audit_context.extend(words.audit_context.iter().cloned());
    }

    /// Raises the level, telling why, unless it is that high already.
    pub fn raise(&mut self, level: DangerLevel, why: String) {
        if self.level < level {
            self.level = level;
            self.reasons.push(why);
        }
    }
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
