//! Why something cannot happen to an execution, and what can.

use super::{Core, Execution};
use crate::error::{Code, Error};

/// What stands against a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The execution is not in a state that allows it.
    State,
    CancelUnsupported,
    RetryUnsupported,
    ProgressUnsupported,
    /// The state asked for is not within the present core state, or is none of the operation's at all.
    NotWithin {
        name: String,
        undeclared: bool,
    },
    /// Another attempt or another process has it now.
    Superseded,
}

/// A command that was refused. The execution is as it was.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", self.message())]
pub struct Illegal {
    execution: Execution,
    participle: &'static str,
    reason: Reason,
}

impl Illegal {
    pub(super) fn new(execution: &Execution, participle: &'static str, reason: Reason) -> Self {
        Self { execution: execution.clone(), participle, reason }
    }

    /// For whoever still believes to run an execution that has gone on without them.
    #[must_use]
    pub fn superseded(execution: &Execution) -> Self {
        Self::new(execution, "changed by an earlier run", Reason::Superseded)
    }

    /// As it stands, unchanged.
    #[must_use]
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// Names stand in quotes, so that none of them can end in an "at" before the next word.
    fn message(&self) -> String {
        let record = self.execution.record();
        let (id, operation, status) = (&record.execution_id, &record.operation, &record.status);
        match &self.reason {
            Reason::State => format!("Execution '{id}' is '{status}' and cannot be {}", self.participle),
            Reason::CancelUnsupported | Reason::RetryUnsupported => {
                format!("Executions of '{operation}' cannot be {}; '{id}' is '{status}'", self.participle)
            }
            Reason::ProgressUnsupported => {
                format!("Executions of '{operation}' do not report progress; '{id}' is '{status}'")
            }
            Reason::NotWithin { name, undeclared: true } => {
                format!("Executions of '{operation}' have no state '{name}'; '{id}' is '{status}'")
            }
            Reason::NotWithin { name, undeclared: false } => {
                format!("Execution '{id}' is '{status}' and cannot become '{name}'")
            }
            Reason::Superseded => {
                format!("Execution '{id}' is '{status}' in attempt {} of another run", record.attempt)
            }
        }
    }

    /// The next step. It depends on the state alone, so it holds for every reason.
    fn hint(&self) -> String {
        let record = self.execution.record();
        let (operation, lifecycle) = (&record.operation, &record.lifecycle);
        match self.execution.core() {
            Core::Completed => format!("Use its result, or call '{operation}' for a new execution."),
            Core::Failed if lifecycle.supports_retry() => {
                format!("Retry it, or call '{operation}' for a new execution.")
            }
            Core::Failed | Core::Cancelled => format!("Call '{operation}' for a new execution."),
            core @ (Core::Pending | Core::Running) => {
                let mut next = match core {
                    Core::Pending => "Wait until it runs".to_owned(),
                    _ => "Wait until it is done".to_owned(),
                };
                if lifecycle.supports_cancel() {
                    next.push_str(", or cancel it");
                }
                let others: Vec<_> = lifecycle
                    .within(core)
                    .into_iter()
                    .filter(|name| *name != record.status.as_str())
                    .collect();
                if !others.is_empty() {
                    next.push_str(&format!(". While {core}, it can become: {}", others.join(", ")));
                }
                next.push('.');
                next
            }
        }
    }
}

impl From<Illegal> for Error {
    fn from(illegal: Illegal) -> Self {
        let record = illegal.execution.record();
        Self::new(Code::InvalidState, illegal.message())
            .with("execution_id", record.execution_id.as_str())
            .with("status", record.status.as_str())
            .with_operation(&record.operation)
            .hint(illegal.hint())
    }
}
