//! Refusals in words: what is in the way, and who can do something about it.

use aql::error::{Code, Error};

use crate::store::{
    self,
    safety::agents::{Confirmed, Refused, WaitingCall},
};

/// Why an operation of an agent is refused.
pub(super) fn refused(operation: &str, agent: &str, why: Refused) -> Error {
    match why {
        Refused::NotExecuting => Error::new(
            Code::InvalidState,
            format!("Agent '{agent}' has no running execution in this session"),
        )
        .with("element_name", agent)
        .with_operation(operation)
        .hint("Start one with execute_agent; one of another session cannot be continued."),
        Refused::BlockedForAnother { reason } => {
            Error::permission_denied(operation, &format!("agent '{agent}' is blocked: {reason}"))
                .with("element_name", agent)
                .with("blocked", true)
                .hint("It was blocked for another principal. The operator can unblock the agent.")
        }
        Refused::Paused { reason } => {
            Error::new(Code::InvalidState, format!("Agent '{agent}' is paused: {reason}"))
                .with("element_name", agent)
                .with_operation(operation)
                .hint("Wait for the person's answer. abort_execution ends the execution, but not the pause.")
        }
        Refused::Blocked { block, challenge, retry_after_seconds } => {
            let reason = format!("agent '{agent}' is blocked: {}", block.reason);
            let error = Error::permission_denied(operation, &reason)
                .with("element_name", agent)
                .with("blocked", true)
                .with("challenge_id", block.challenge_id.as_str());
            match (challenge, retry_after_seconds) {
                (Some(challenge), _) => {
                    error.with("expires_at", challenge.expires_at.to_string()).hint(format!(
                        "Cease all actions. A person has to read the code of challenge {} from the operator's side and give it \
                         with verify_challenge, or the operator has to unblock the agent.",
                        challenge.id
                    ))
                }
                (None, seconds) => error.with("retry_after_seconds", seconds.unwrap_or(60)).hint(
                    "Too many challenges went unanswered, so no new one is issued for now. The operator can unblock the agent.",
                ),
            }
        }
    }
}

/// A call of an agent that has another one waiting.
pub(super) fn held(operation: &str, agent: &str, waiting: &WaitingCall) -> Error {
    let WaitingCall { approval_id, operation: other, .. } = waiting;
    let reason = format!("agent '{agent}' is paused until a person answers '{other}' ({approval_id})");
    Error::permission_denied(operation, &reason)
        .with("element_name", agent)
        .with("approval_id", approval_id.as_str())
        .hint("Wait for the answer. Reading still works.")
}

/// A code that was not accepted. Whether it was wrong, late or for nothing is not told.
pub(super) fn not_verified(challenge_id: &str, locked_seconds: Option<u64>) -> Error {
    let error =
        Error::permission_denied("verify_challenge", "the code was not accepted, and the challenge is spent")
            .with("challenge_id", challenge_id);
    let error = match locked_seconds {
        Some(seconds) => error.with("retry_after_seconds", seconds),
        None => error,
    };
    error.hint(
        "A challenge takes one attempt. The agent's next report is told of a new challenge, whose code a person has to read \
         from the operator's side.",
    )
}

pub(super) fn locked(operation: &str, retry_after_seconds: u64) -> Error {
    Error::new(Code::RateLimitExceeded, "Too many failed attempts")
        .with_operation(operation)
        .with("retry_after_seconds", retry_after_seconds)
        .hint(format!("Wait {retry_after_seconds} seconds. Nothing was looked into."))
}

/// A token that confirmed nothing.
pub(super) fn not_confirmed(operation: &str, why: Confirmed) -> Error {
    let (code, message) = match why {
        Confirmed::Locked { retry_after_seconds } => return locked("confirm_operation", retry_after_seconds),
        Confirmed::Self_ => {
            return Error::permission_denied(
                "confirm_operation",
                "whoever caused an operation to wait cannot confirm it",
            )
            .with("blocked_operation", operation)
            .hint("A person has to confirm it on the operator's side, or another principal with the token.");
        }
        Confirmed::Expired => (Code::TokenExpired, "The confirmation token has expired"),
        Confirmed::AlreadyUsed => (Code::TokenAlreadyUsed, "The confirmation token has been used"),
        Confirmed::OtherOperation => {
            (Code::TokenScopeMismatch, "The confirmation token is for another operation")
        }
        Confirmed::Invalid | Confirmed::Done(_) => {
            (Code::TokenInvalid, "The confirmation token is not valid")
        }
    };
    Error::new(code, message)
        .with("blocked_operation", operation)
        .with_operation("confirm_operation")
        .hint("Ask the operator for a token of what waits now.")
}

/// No store, no decision.
pub(super) fn undecided(operation: &str, error: store::Error) -> Error {
    tracing::error!(%error, operation, "the safety store failed");
    let code = if error.is_retryable() { Code::Unavailable } else { Code::Internal };
    Error::new(code, format!("Nothing was decided: {error}"))
        .with_operation(operation)
        .hint("Take no action. Repeat the call in a moment.")
}
