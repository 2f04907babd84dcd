//! One execution as it stands.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Core, Lifecycle, Progress, Status};
use crate::{error::Error, query::compute::time_text};

/// Why an execution failed, in the shape of any other failure. The code may be one of another server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    pub code: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { code: error.code.as_str().to_owned(), message: error.message, details: error.details }
    }
}

impl Failure {
    fn view(&self) -> Value {
        let mut members = Map::new();
        members.insert("code".to_owned(), self.code.as_str().into());
        members.insert("message".to_owned(), self.message.as_str().into());
        if !self.details.is_empty() {
            members.insert("details".to_owned(), Value::Object(self.details.clone()));
        }
        Value::Object(members)
    }
}

/// What is known of an execution: plain data, to be kept and read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub execution_id: String,
    pub operation: String,
    /// What the operation declared when the execution was created.
    pub lifecycle: Arc<Lifecycle>,
    pub status: Status,
    /// 1, and one more with every retry.
    pub attempt: u32,
    pub created_at: Timestamp,
    /// When the present attempt began.
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub progress: Option<Progress>,
    pub error: Option<Failure>,
    /// Only of a completed one, and there only if it was read along.
    pub result: Option<Value>,
}

/// A record that no sequence of commands leads to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the execution's record contradicts itself: {0}")]
pub struct Inconsistent(&'static str);

/// A record whose parts fit together. Only [`Execution::apply`] makes the next one of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution(Box<Record>);

impl Execution {
    /// A new one, which waits to be started.
    #[must_use]
    pub fn new(execution_id: String, operation: String, lifecycle: Arc<Lifecycle>, now: Timestamp) -> Self {
        Self::of(Record {
            execution_id,
            operation,
            lifecycle,
            status: Core::Pending.into(),
            attempt: 1,
            created_at: now,
            started_at: None,
            finished_at: None,
            progress: None,
            error: None,
            result: None,
        })
    }

    /// An execution that was kept. The record may come from a file that someone else wrote to.
    pub fn restore(record: Record) -> Result<Self, Inconsistent> {
        let core = record.status.core();
        if record.lifecycle.status(record.status.as_str()).as_ref() != Some(&record.status) {
            return Err(Inconsistent("its state is not declared"));
        }
        if record.attempt == 0 {
            return Err(Inconsistent("it has no attempt"));
        }
        if record.finished_at.is_some() != core.is_terminal() {
            return Err(Inconsistent("its end does not fit its state"));
        }
        let may_have_started = core != Core::Pending;
        let must_have_started = may_have_started && core != Core::Cancelled;
        let started = record.started_at.is_some();
        if (started && !may_have_started) || (!started && must_have_started) {
            return Err(Inconsistent("its start does not fit its state"));
        }
        if let (Some(started), Some(finished)) = (record.started_at, record.finished_at)
            && finished < started
        {
            return Err(Inconsistent("it ends before it starts"));
        }
        if record.error.is_some() != (core == Core::Failed) {
            return Err(Inconsistent("its error does not fit its state"));
        }
        if record.result.is_some() && core != Core::Completed {
            return Err(Inconsistent("its result does not fit its state"));
        }
        Ok(Self::of(record))
    }

    /// For those who know that the parts fit.
    pub(super) fn of(record: Record) -> Self {
        Self(Box::new(record))
    }

    #[must_use]
    pub fn record(&self) -> &Record {
        &self.0
    }

    #[must_use]
    pub fn into_record(self) -> Record {
        *self.0
    }

    #[must_use]
    pub fn core(&self) -> Core {
        self.0.status.core()
    }

    /// As answers show it: a key is there where it applies, and never null for want of anything to say.
    #[must_use]
    pub fn view(&self) -> Value {
        let record = &self.0;
        let mut view = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                view.insert(key.to_owned(), value);
            }
        };
        // In one precision, so that the order of the texts is that of the times.
        let time = |time: Timestamp| Value::from(time_text(time));
        put("execution_id", Some(record.execution_id.as_str().into()));
        put("operation", Some(record.operation.as_str().into()));
        put("status", Some(record.status.as_str().into()));
        put("attempt", Some(record.attempt.into()));
        put("created_at", Some(time(record.created_at)));
        put("started_at", record.started_at.map(time));
        put("finished_at", record.finished_at.map(time));
        put("progress", record.progress.as_ref().map(Progress::view));
        put("error", record.error.as_ref().map(Failure::view));
        put("result", record.result.clone());
        Value::Object(view)
    }
}
