//! How far agents may go by themselves, as the operator says: for all of them, and for some by name.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::Serialize;

use super::pattern::{self, Fit, Patterns};

/// After so many steps a person has to look, unless the operator says otherwise.
pub const MAX_AUTONOMOUS_STEPS_DEFAULT: u32 = 25;
/// From so many times the same deed counts as more dangerous.
pub const ESCALATE_AFTER_DEFAULT: u32 = 20;
pub const DENY_DEFAULT: [&str; 4] = ["drop_*", "delete_all*", "rm -rf*", "rm -fr*"];
pub const REQUIRES_APPROVAL_DEFAULT: [&str; 4] = ["delete_*", "deploy_*", "git push*", "*--force*"];

/// What the loop does with reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// They are evaluated, and what is said holds.
    Enforcing,
    /// They are evaluated, and nobody is held up.
    Monitoring,
    /// They are written down.
    Logging,
    /// There is no loop.
    #[default]
    Disabled,
}

impl Mode {
    pub const ALL: [Self; 4] = [Self::Enforcing, Self::Monitoring, Self::Logging, Self::Disabled];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforcing => "enforcing",
            Self::Monitoring => "monitoring",
            Self::Logging => "logging",
            Self::Disabled => "disabled",
        }
    }
}

/// How much risk an agent may take unasked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tolerance {
    Conservative,
    #[default]
    Moderate,
    Aggressive,
}

impl Tolerance {
    pub const ALL: [Self; 3] = [Self::Conservative, Self::Moderate, Self::Aggressive];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conservative => "conservative",
            Self::Moderate => "moderate",
            Self::Aggressive => "aggressive",
        }
    }

    /// The highest score that needs nobody. It only tightens: a tier that pauses pauses in any case.
    #[must_use]
    pub fn threshold(self) -> u8 {
        match self {
            Self::Conservative => 25,
            Self::Moderate => 50,
            Self::Aggressive => 75,
        }
    }
}

macro_rules! words {
    ($type:ident, $what:literal) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $type {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                Self::ALL.into_iter().find(|known| known.as_str() == text).ok_or_else(|| {
                    let known = Self::ALL.map(|one| one.as_str()).join(", ");
                    UnknownWord { what: $what, given: text.to_owned(), known }
                })
            }
        }
    };
}
words!(Mode, "the mode of the safety loop");
words!(Tolerance, "the risk tolerance");

/// A word that none of the settings knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} '{given}' is none of {known}")]
pub struct UnknownWord {
    what: &'static str,
    given: String,
    known: String,
}

/// Which stages run. The step limit always does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stages {
    pub outcome: bool,
    pub patterns: bool,
    pub risk: bool,
    /// Needs the score, so it is off where `risk` is.
    pub tolerance: bool,
}

impl Default for Stages {
    fn default() -> Self {
        Self { outcome: true, patterns: true, risk: true, tolerance: true }
    }
}

/// Settings as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// At least one.
    pub max_autonomous_steps: u32,
    pub risk_tolerance: Tolerance,
    pub deny: Vec<String>,
    pub requires_approval: Vec<String>,
    pub auto_approve: Vec<String>,
    pub stages: Stages,
    /// At least one.
    pub escalate_after: u32,
}

impl Default for Rules {
    fn default() -> Self {
        let list = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Self {
            max_autonomous_steps: MAX_AUTONOMOUS_STEPS_DEFAULT,
            risk_tolerance: Tolerance::default(),
            deny: list(&DENY_DEFAULT),
            requires_approval: list(&REQUIRES_APPROVAL_DEFAULT),
            // Whatever is approved here is looked at by nobody, so that is for the operator to say.
            auto_approve: Vec::new(),
            stages: Stages::default(),
            escalate_after: ESCALATE_AFTER_DEFAULT,
        }
    }
}

/// Settings made ready.
#[derive(Debug, Clone)]
pub struct Settings {
    pub rules: Rules,
    pub(super) deny: Patterns,
    pub(super) requires_approval: Patterns,
    pub(super) auto_approve: Patterns,
}

impl Settings {
    pub fn new(rules: Rules) -> Result<Self, pattern::Error> {
        Ok(Self {
            deny: Patterns::new(&rules.deny, Fit::Words)?,
            requires_approval: Patterns::new(&rules.requires_approval, Fit::Words)?,
            auto_approve: Patterns::new(&rules.auto_approve, Fit::Whole)?,
            rules,
        })
    }
}

/// The settings of all agents.
#[derive(Debug, Clone)]
pub struct Autonomy {
    pub mode: Mode,
    pub all: Settings,
    /// Those with settings of their own, by name.
    pub agents: BTreeMap<String, Settings>,
}

impl Autonomy {
    #[must_use]
    pub fn of(&self, agent: &str) -> &Settings {
        self.agents.get(agent).unwrap_or(&self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// REQ-AUTO-19 REQ-AUTO-21
    #[test]
    fn tolerances_have_their_thresholds_and_no_other_word_is_one() {
        assert_eq!(Tolerance::ALL.map(Tolerance::threshold), [25, 50, 75]);
        assert_eq!(Rules::default().risk_tolerance, Tolerance::Moderate);
        let error = "reckless".parse::<Tolerance>().unwrap_err().to_string();
        assert_eq!(error, "the risk tolerance 'reckless' is none of conservative, moderate, aggressive");
        assert!("Enforcing".parse::<Mode>().is_err() && "enforcing".parse() == Ok(Mode::Enforcing));
    }
}
