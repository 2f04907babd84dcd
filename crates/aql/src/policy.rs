//! What may be called at all: a pure decision from an operation and the operator's rules.

use crate::{danger::DangerLevel, operation::Operation, profile::matches_pattern, registry::INTROSPECT};

/// The operator's static rules. A deny rule beats an allow rule; `introspect` is always allowed, since without it
/// a caller could not even learn what is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Name patterns; empty allows every operation.
    pub allow: Vec<String>,
    pub deny: Vec<String>,
    /// Operations above this level are denied.
    pub max_danger: Option<DangerLevel>,
    /// How many calls a principal may make in a minute.
    pub calls_per_minute: Option<u32>,
}

/// What the rules say of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Deny(Reason),
}

/// Why an operation is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    DenyRule(String),
    NotAllowed,
    TooDangerous { level: DangerLevel, max: DangerLevel },
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::DenyRule(pattern) => write!(f, "the operator's rule '{pattern}' denies this operation"),
            Self::NotAllowed => f.write_str("the operator's rules do not allow this operation"),
            Self::TooDangerous { level, max } => {
                write!(f, "this operation is {level}, and the operator allows {max} ones and below")
            }
        }
    }
}

impl Policy {
    #[must_use]
    pub fn decide(&self, operation: &Operation) -> Decision {
        let name = operation.name().as_str();
        if name == INTROSPECT {
            return Decision::Allow;
        }
        if let Some(rule) = self.deny.iter().find(|pattern| matches_pattern(pattern, name)) {
            return Decision::Deny(Reason::DenyRule(rule.clone()));
        }
        if !self.allow.is_empty() && !self.allow.iter().any(|pattern| matches_pattern(pattern, name)) {
            return Decision::Deny(Reason::NotAllowed);
        }
        let level = operation.danger().level;
        match self.max_danger {
            Some(max) if level > max => Decision::Deny(Reason::TooDangerous { level, max }),
            _ => Decision::Allow,
        }
    }
}
