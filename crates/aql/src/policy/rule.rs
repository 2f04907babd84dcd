//! The operator's rules: which calls, and what then.

use std::{fmt, str::FromStr};

use super::condition::{Compiled, Condition, Fault};
use crate::{
    category::Category, danger::DangerLevel, operation::Operation, profile::matches_pattern,
    trust::TrustLevel,
};

/// What a rule says of the calls it meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Nothing is held against the call here; what others say stands.
    Allow,
    /// The same, and the operation's level is no reason to ask. What other rules ask or deny stands.
    AllowUnasked,
    Confirm,
    Deny,
}

impl Then {
    pub const ALL: [Self; 4] = [Self::Allow, Self::AllowUnasked, Self::Confirm, Self::Deny];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::AllowUnasked => "allow_unasked",
            Self::Confirm => "confirm",
            Self::Deny => "deny",
        }
    }

    /// Whether it takes something away from the caller.
    #[must_use]
    pub fn tightens(self) -> bool {
        matches!(self, Self::Confirm | Self::Deny)
    }
}

impl fmt::Display for Then {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a string is no such word.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is none of allow, allow_unasked, confirm, deny")]
pub struct Error(String);

impl FromStr for Then {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|known| known.as_str() == text).ok_or_else(|| Error(text.to_owned()))
    }
}

/// One rule. What it leaves empty it does not ask about; everything else has to fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Patterns of names. One that tightens also meets a name without its server's prefix; one that loosens meets whole
    /// names only, unless it says whose they are, so that no server gets a freedom by calling its tool like another's.
    pub operations: Vec<String>,
    /// Patterns of principals.
    pub callers: Vec<String>,
    /// Patterns of servers. Operations of our own have none and are met by `built_in`.
    pub servers: Vec<String>,
    pub categories: Vec<Category>,
    /// This level and above.
    pub danger: Option<DangerLevel>,
    /// This trust and below.
    pub trust: Option<TrustLevel>,
    /// Every one must hold.
    pub when: Vec<Condition>,
    pub then: Then,
    /// What people are told.
    pub reason: Option<String>,
}

/// What operations without a server are met by.
pub const BUILT_IN: &str = "built_in";

impl Rule {
    /// A rule for every call.
    #[must_use]
    pub fn new(then: Then) -> Self {
        Self {
            operations: Vec::new(),
            callers: Vec::new(),
            servers: Vec::new(),
            categories: Vec::new(),
            danger: None,
            trust: None,
            when: Vec::new(),
            then,
            reason: None,
        }
    }

    /// Whether the rule can meet calls of an operation that is taken for one of this category and level.
    #[must_use]
    pub fn meets(&self, operation: &Operation, category: Category, danger: DangerLevel) -> bool {
        (self.categories.is_empty() || self.categories.contains(&category))
            && self.danger.is_none_or(|least| danger >= least)
            && self.trust.is_none_or(|most| operation.trust() <= most)
            && any(&self.servers, operation.server().unwrap_or(BUILT_IN))
            && self.names(operation)
    }

    fn names(&self, operation: &Operation) -> bool {
        any(&self.operations, operation.name().as_str())
            || ((self.then.tightens() || !self.servers.is_empty())
                && any(&self.operations, operation.bare_name()))
    }

    /// Whether it takes more than the operation to know whether the rule meets a call.
    #[must_use]
    pub fn depends_on_the_call(&self) -> bool {
        !self.callers.is_empty() || !self.when.is_empty()
    }

    pub(crate) fn meets_caller(&self, principal: &str) -> bool {
        any(&self.callers, principal)
    }

    /// The sentence for people.
    #[must_use]
    pub fn says(&self) -> String {
        match (&self.reason, self.then) {
            (Some(reason), _) => reason.clone(),
            (None, Then::Deny) => "a rule of the operator denies this call".to_owned(),
            (None, Then::Confirm) => "a rule of the operator asks before this call".to_owned(),
            (None, Then::Allow) => "a rule of the operator has nothing against this call".to_owned(),
            (None, Then::AllowUnasked) => "a rule of the operator allows this call without asking".to_owned(),
        }
    }

    pub(crate) fn compiled(&self) -> Result<Vec<Compiled>, Fault> {
        self.when.iter().map(Condition::compiled).collect()
    }
}

fn any(patterns: &[String], text: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| matches_pattern(pattern, text))
}
