//! What can happen to an execution, and what becomes of it.

use jiff::Timestamp;
use serde_json::Value;

use super::{Core, Execution, Failure, Illegal, Progress, Reason, Record, Status};
use crate::error::{Code, Error};

/// Stands in a cancelled execution whose caller gave no reason.
const CANCELLED: &str = "Cancelled on request";
const CANCELLED_WITH_SESSION: &str = "Cancelled because its session ended before it was started";
const CANCELLED_WITH_OWNER: &str =
    "Cancelled because the server process that kept it ended before it was started";

/// What happens to an execution.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// pending → running.
    Start,
    /// The run tells how far it is. The state stays.
    Progress(Progress),
    /// Into a declared state of the same core state, or out of one by the core state's own name.
    Enter(String),
    /// The run kept something that a retry can go on from. Nothing of the record changes.
    Checkpoint,
    /// running → completed.
    Complete(Value),
    /// running → failed.
    Fail(Failure),
    /// pending or running → cancelled.
    Cancel { reason: Option<String> },
    /// failed → running, as the next attempt.
    Retry,
    /// Its session is over, and nobody is left to ask about it: pending → cancelled, running → failed.
    SessionEnded,
    /// The process that kept it is gone: pending → cancelled, running → failed.
    OwnerLost,
}

impl Command {
    /// Completes "cannot be …".
    pub(super) fn participle(&self) -> &'static str {
        match self {
            Self::Start => "started",
            Self::Progress(_) => "reported on",
            Self::Enter(_) => "moved to another state",
            Self::Checkpoint => "checkpointed",
            Self::Complete(_) => "completed",
            Self::Fail(_) | Self::OwnerLost => "failed",
            Self::Cancel { .. } => "cancelled",
            Self::Retry => "retried",
            Self::SessionEnded => "ended with its session",
        }
    }
}

impl Execution {
    /// The execution after `command`, or why it cannot happen in its present state.
    ///
    /// A clock that was set back does not make an execution end before it started: the later of the two times counts.
    pub fn apply(&self, command: Command, now: Timestamp) -> Result<Self, Illegal> {
        let refused = |command: &Command, reason| Err(Illegal::new(self, command.participle(), reason));
        let record = self.record();
        let (core, lifecycle) = (self.core(), &record.lifecycle);
        match (core, command) {
            (_, command @ Command::Progress(_)) if !lifecycle.progress_reporting() => {
                refused(&command, Reason::ProgressUnsupported)
            }
            (_, command @ Command::Cancel { .. }) if !lifecycle.supports_cancel() => {
                refused(&command, Reason::CancelUnsupported)
            }
            (_, command @ Command::Retry) if !lifecycle.supports_retry() => {
                refused(&command, Reason::RetryUnsupported)
            }
            (Core::Pending, Command::Start) => Ok(self.started(record.attempt, now)),
            (Core::Failed, Command::Retry) => Ok(self.started(record.attempt.saturating_add(1), now)),
            (Core::Running, Command::Progress(report)) => {
                let progress = Some(report.after(record.progress.as_ref()));
                Ok(Self::of(Record { progress, ..record.clone() }))
            }
            (Core::Running, Command::Checkpoint) => Ok(self.clone()),
            (Core::Pending | Core::Running, Command::Enter(name)) => match lifecycle.status(&name) {
                Some(status) if status.core() == core => Ok(Self::of(Record { status, ..record.clone() })),
                found => {
                    let undeclared = found.is_none();
                    refused(&Command::Enter(name.clone()), Reason::NotWithin { name, undeclared })
                }
            },
            (Core::Running, Command::Complete(result)) => {
                Ok(Self::of(Record { result: Some(result), ..self.finished(Core::Completed, now) }))
            }
            (Core::Running, Command::Fail(error)) => Ok(self.failed(error, now)),
            (Core::Running, Command::SessionEnded) => Ok(self.failed(session_ended(), now)),
            (Core::Running, Command::OwnerLost) => Ok(self.failed(owner_lost(), now)),
            (Core::Pending | Core::Running, Command::Cancel { reason }) => {
                let reason = reason.filter(|reason| !reason.trim().is_empty());
                Ok(self.cancelled(reason.unwrap_or_else(|| CANCELLED.to_owned()), now))
            }
            (Core::Pending, Command::SessionEnded) => {
                Ok(self.cancelled(CANCELLED_WITH_SESSION.to_owned(), now))
            }
            (Core::Pending, Command::OwnerLost) => Ok(self.cancelled(CANCELLED_WITH_OWNER.to_owned(), now)),
            (_, command) => refused(&command, Reason::State),
        }
    }

    /// A run of the work, with nothing left of an earlier one.
    fn started(&self, attempt: u32, now: Timestamp) -> Self {
        Self::of(Record {
            status: Core::Running.into(),
            attempt,
            started_at: Some(now.max(self.record().created_at)),
            finished_at: None,
            progress: None,
            error: None,
            result: None,
            ..self.record().clone()
        })
    }

    fn finished(&self, core: Core, now: Timestamp) -> Record {
        let began = self.record().started_at.unwrap_or(self.record().created_at);
        Record { status: Status::from(core), finished_at: Some(now.max(began)), ..self.record().clone() }
    }

    fn failed(&self, error: Failure, now: Timestamp) -> Self {
        Self::of(Record { error: Some(error), ..self.finished(Core::Failed, now) })
    }

    fn cancelled(&self, message: String, now: Timestamp) -> Self {
        let progress = Some(Progress::ending(self.record().progress.as_ref(), message));
        Self::of(Record { progress, ..self.finished(Core::Cancelled, now) })
    }
}

fn session_ended() -> Failure {
    Error::new(Code::Unavailable, "The session ended before this execution was done")
        .with("reason", "session_ended")
        .into()
}

fn owner_lost() -> Failure {
    Error::new(Code::Unavailable, "The server process that ran this execution ended before it was done")
        .with("reason", "owner_lost")
        .into()
}
