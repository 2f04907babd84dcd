//! What may be called, and what a person is asked before: a pure decision from an operation, the operator's settings
//! and the facts of one call.
//!
//! Everything that holds for every call of an operation is settled when a registry is published (`table`); a call only
//! meets the rules that depend on its caller or its parameters. The strictest voice wins: deny before confirm before
//! allow. `introspect` is always allowed, since without it a caller could not even learn what is.

pub mod condition;
pub mod explain;
pub mod facts;
mod glob;
pub mod matrix;
mod message;
pub mod minimums;
mod reason;
pub mod rule;
pub(crate) mod table;

pub use self::{
    condition::{Condition, Test},
    explain::Explanation,
    facts::{Block, Blocks, Executing, Facts},
    matrix::{Behaviour, Matrix},
    message::message,
    minimums::Minimums,
    reason::Reason,
    rule::{Rule, Then},
};
use crate::danger::DangerLevel;

/// What the operator decided about calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policy {
    /// Patterns of whole names; empty allows every operation.
    pub allow: Vec<String>,
    /// Patterns of names, with and without the server's prefix.
    pub deny: Vec<String>,
    /// Operations above this level are denied.
    pub max_danger: Option<DangerLevel>,
    /// How many calls a principal may make in a minute.
    pub calls_per_minute: Option<u32>,
    /// Whether anybody is asked because of an operation's level. Switched off, destructive operations run at once; what
    /// is denied stays denied, and rules that ask still do.
    pub gating: bool,
    /// Whether callers who are asked get a token to call again with, so that operations take one.
    pub tokens: bool,
    pub matrix: Matrix,
    pub want_of_trust: WantOfTrust,
    /// Where given, an operation's server must be trusted this far whatever else is said.
    pub minimums: Option<Minimums>,
    /// Names that make an operation dangerous, beside those that are known to.
    pub danger_patterns: Vec<(String, DangerLevel)>,
    pub rules: Vec<Rule>,
}

/// What becomes of a call that the matrix denies although it would not for a server that is trusted more. What is
/// untested stays denied either way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WantOfTrust {
    #[default]
    Deny,
    Confirm,
}

/// What is decided about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// A person has to agree first, for these reasons.
    Confirm(Vec<String>),
    Deny(Reason),
}

impl Decision {
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Allow => Verdict::Allow,
            Self::Confirm(_) => Verdict::Confirm,
            Self::Deny(_) => Verdict::Deny,
        }
    }
}

/// A decision without its reasons. The greater is the stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Confirm,
    Deny,
}

impl Verdict {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Confirm => "confirm",
            Self::Deny => "deny",
        }
    }
}

/// What holds for every caller of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It runs, unless its caller is blocked.
    Allow,
    /// The caller or the parameters decide.
    Depends,
    /// A person has to agree to each call, whoever calls and however; to a dry run not.
    Confirm,
    Deny(Reason),
}

impl Standing {
    /// Whether the operation is neither listed nor found. What cannot be called for want of trust in its server is shown:
    /// whoever looks for it learns from the refusal what is missing, and the operator can give it.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        matches!(self, Self::Deny(reason) if !reason.is_want_of_trust())
    }

    #[must_use]
    pub fn denied(&self) -> Option<&Reason> {
        match self {
            Self::Deny(reason) => Some(reason),
            Self::Allow | Self::Depends | Self::Confirm => None,
        }
    }
}
