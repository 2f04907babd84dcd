//! The failpoints around each commit.

use aql::execution::Command;

/// Names of the places before and after a commit.
pub(super) struct Points {
    pub before: &'static str,
    pub after: &'static str,
}

macro_rules! points {
    ($before:literal, $after:literal) => {
        Points { before: concat!("execution.", $before), after: concat!("execution.", $after) }
    };
}

pub(super) const CREATE: Points = points!("creating", "created");
pub(super) const RETRY: Points = points!("retrying", "retried");
pub(super) const RENEW: Points = points!("renewing", "renewed");
pub(super) const END_SESSION: Points = points!("ending_session", "session_ended");
pub(super) const EXPIRE: Points = points!("expiring", "expired");
pub(super) const PURGE: Points = points!("purging", "purged");

pub(super) fn around(command: &Command) -> Points {
    match command {
        Command::Start => points!("starting", "started"),
        Command::Progress(_) => points!("reporting", "reported"),
        Command::Enter(_) => points!("entering", "entered"),
        Command::Checkpoint => points!("checkpointing", "checkpointed"),
        Command::Complete(_) => points!("completing", "completed"),
        Command::Fail(_) => points!("failing", "failed"),
        Command::Cancel { .. } => points!("cancelling", "cancelled"),
        Command::Retry => RETRY,
        Command::SessionEnded => END_SESSION,
        Command::OwnerLost => EXPIRE,
    }
}
