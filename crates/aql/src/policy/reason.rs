//! Why a call is denied, as a sentence for people and as an error for callers.

use std::fmt;

use crate::{
    danger::DangerLevel,
    error::{Code, Error, unlike_a_frame},
    trust::TrustLevel,
};

/// Why an operation, or one call of it, is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    DenyRule(String),
    NotAllowed,
    TooDangerous {
        level: DangerLevel,
        max: DangerLevel,
    },
    /// The matrix denies the level to a server that is trusted no further.
    Matrix {
        level: DangerLevel,
        trust: TrustLevel,
        /// The trust that would do, if any does.
        required: Option<TrustLevel>,
        /// Why the operation has its level.
        reasons: Vec<String>,
        server: Option<String>,
    },
    /// Nothing of the server may be called yet.
    IntrospectOnly {
        level: DangerLevel,
        trust: TrustLevel,
        required: Option<TrustLevel>,
        server: Option<String>,
    },
    BelowMinimum {
        level: DangerLevel,
        trust: TrustLevel,
        required: TrustLevel,
        server: Option<String>,
    },
    /// A rule of the operator's; what it says is theirs.
    Rule(String),
    /// An agent of the caller is blocked.
    Blocked {
        agent: String,
        verification_id: String,
        reason: String,
    },
    NothingReported {
        agent: String,
    },
    Paused {
        agent: String,
        reason: String,
    },
    /// Nothing is known that could decide.
    Undecided,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DenyRule(pattern) => write!(f, "the operator's rule '{pattern}' denies this operation"),
            Self::NotAllowed => f.write_str("the operator's rules do not allow this operation"),
            Self::TooDangerous { level, max } => {
                write!(f, "this operation is {level}, and the operator allows {max} ones and below")
            }
            Self::Matrix { level, trust, .. } => {
                write!(f, "this operation is {level}, and its adapter is trusted only as '{trust}'")
            }
            Self::IntrospectOnly { trust, .. } => {
                write!(f, "its adapter is '{trust}', so its operations can be looked up and nothing else")
            }
            Self::BelowMinimum { trust, required, .. } => {
                write!(
                    f,
                    "this operation needs an adapter trusted as '{required}', and this one is '{trust}'"
                )
            }
            Self::Rule(says) => f.write_str(&unlike_a_frame(says)),
            Self::Blocked { agent, verification_id, reason } => write!(
                f,
                "the agent '{}' is blocked until a person verifies it (verification '{verification_id}'): {}",
                unlike_a_frame(agent),
                unlike_a_frame(reason)
            ),
            Self::NothingReported { agent } => write!(
                f,
                "the agent '{}' is executing under supervision and has not reported this step",
                unlike_a_frame(agent)
            ),
            Self::Paused { agent, reason } => write!(
                f,
                "the agent '{}' is paused until a person answers: {}",
                unlike_a_frame(agent),
                unlike_a_frame(reason)
            ),
            Self::Undecided => f.write_str("no decision could be made"),
        }
    }
}

impl Reason {
    /// The error that a caller of the operation gets.
    #[must_use]
    pub fn error(&self, operation: &str) -> Error {
        match self {
            Self::Matrix { level, trust, required, reasons, server } => {
                let message = format!(
                    "Operation '{operation}' (danger: {level}) denied for adapter trust level '{trust}'"
                );
                let error = Error::new(Code::DangerDenied, message)
                    .with_operation(operation)
                    .with("danger_level", level.as_str())
                    .with("adapter_trust", trust.as_str());
                let error = match required {
                    Some(required) => error.with("minimum_trust_required", required.as_str()),
                    None => error,
                };
                let reasons: Vec<String> = reasons.iter().map(|reason| unlike_a_frame(reason)).collect();
                error.with("reasons", reasons).hint(raise(*required, server.as_deref()))
            }
            Self::IntrospectOnly { level, trust, required, server } => {
                let needed = required.unwrap_or(TrustLevel::Generated);
                insufficient(operation, *level, *trust, needed).hint(raise(Some(needed), server.as_deref()))
            }
            Self::BelowMinimum { level, trust, required, server } => {
                insufficient(operation, *level, *trust, *required)
                    .hint(raise(Some(*required), server.as_deref()))
            }
            Self::Blocked { verification_id, .. } => Error::permission_denied(operation, &self.to_string())
                .with("verification_id", verification_id.as_str())
                .hint("A person has to release the agent. Reading still works."),
            Self::NothingReported { .. } => Error::permission_denied(operation, &self.to_string())
                .hint("Report the step with 'record_execution_step' first, and go on as its answer says."),
            Self::Paused { .. } => Error::permission_denied(operation, &self.to_string())
                .hint("Wait for the answer. Reading still works."),
            Self::DenyRule(_)
            | Self::NotAllowed
            | Self::TooDangerous { .. }
            | Self::Rule(_)
            | Self::Undecided => Error::permission_denied(operation, &self.to_string()),
        }
    }
}

fn insufficient(operation: &str, level: DangerLevel, trust: TrustLevel, required: TrustLevel) -> Error {
    let message = format!("Operation '{operation}' requires trust level '{required}', adapter has '{trust}'");
    Error::new(Code::TrustInsufficient, message)
        .with_operation(operation)
        .with("required_trust", required.as_str())
        .with("actual_trust", trust.as_str())
        .with("danger_level", level.number())
}

/// What helps against too little trust. Callers cannot do it themselves.
fn raise(required: Option<TrustLevel>, server: Option<&str>) -> String {
    match (required, server) {
        (Some(required), Some(server)) => {
            format!("The operator can trust the server '{server}' further: '{required}' would do.")
        }
        (Some(required), None) => {
            format!("The operator can trust the adapter further: '{required}' would do.")
        }
        (None, _) => "The operator's settings deny this level altogether; use another operation.".to_owned(),
    }
}
