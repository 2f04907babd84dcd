//! From rows to executions and back.

use std::sync::Arc;

use aql::execution::{Execution, Lifecycle, Record};
use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::store::Error;
use crate::store::columns::{json, time, time_if_any, to_json, unreadable};

/// `SELECT` of whole executions, for [`execution`] and [`kept`], and of one more column after theirs if given.
macro_rules! select_executions {
    ($rest:literal $(, with $more:literal)?) => {
        concat!(
            "SELECT x.id, x.operation, x.status, x.attempt, x.created_at, x.started_at, x.finished_at, ",
            "x.lifecycle, x.progress, x.error, x.row, x.principal, x.owner",
            $(", ", $more,)?
            " FROM executions x ",
            $rest
        )
    };
}

pub(super) use select_executions;

/// Where the one more column stands.
pub(super) const MORE: usize = 13;

/// An execution with what decides about who may change it.
pub(super) struct Kept {
    pub row: i64,
    pub principal: String,
    pub owner: String,
    pub execution: Execution,
}

pub(super) fn execution(row: &Row<'_>, result: Option<Value>) -> rusqlite::Result<Execution> {
    const STATUS: usize = 2;
    let lifecycle: Lifecycle = required(row, 7)?;
    let status: String = row.get(STATUS)?;
    let attempt: i64 = row.get(3)?;
    let record = Record {
        execution_id: row.get(0)?,
        operation: row.get(1)?,
        status: lifecycle.status(&status).ok_or(rusqlite::Error::InvalidColumnType(
            STATUS,
            status,
            Type::Text,
        ))?,
        lifecycle: Arc::new(lifecycle),
        attempt: u32::try_from(attempt).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(3, attempt))?,
        created_at: time(row, 4)?,
        started_at: time_if_any(row, 5)?,
        finished_at: time_if_any(row, 6)?,
        progress: json(row, 8)?,
        error: json(row, 9)?,
        result,
    };
    Execution::restore(record).map_err(|cause| unreadable(STATUS, cause))
}

fn required<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let value = json(row, column)?;
    value.ok_or_else(|| rusqlite::Error::InvalidColumnType(column, String::new(), Type::Null))
}

pub(super) fn kept(connection: &Connection, id: &str) -> Result<Option<Kept>, Error> {
    let kept = connection
        .prepare_cached(select_executions!("WHERE x.id = ?1"))?
        .query_row([id], |row| {
            Ok(Kept {
                row: row.get(10)?,
                principal: row.get(11)?,
                owner: row.get(12)?,
                execution: execution(row, None)?,
            })
        })
        .optional()?;
    Ok(kept)
}

/// Writes what can change of an execution, documents excepted.
pub(super) fn replace(connection: &Connection, row: i64, execution: &Execution) -> Result<(), Error> {
    let record = execution.record();
    connection
        .prepare_cached(
            "UPDATE executions SET status = ?2, attempt = ?3, started_at = ?4, finished_at = ?5, progress = ?6,
                 error = ?7
             WHERE row = ?1",
        )?
        .execute((
            row,
            record.status.as_str(),
            record.attempt,
            record.started_at.map(Timestamp::as_microsecond),
            record.finished_at.map(Timestamp::as_microsecond),
            to_json(record.progress.as_ref())?,
            to_json(record.error.as_ref())?,
        ))?;
    Ok(())
}

/// What may be large, and is not needed to decide anything.
#[derive(Debug, Clone, Copy)]
pub(super) enum Document {
    Params,
    Checkpoint,
    Result,
}

impl Document {
    fn as_str(self) -> &'static str {
        match self {
            Self::Params => "params",
            Self::Checkpoint => "checkpoint",
            Self::Result => "result",
        }
    }

    pub(super) fn put(self, connection: &Connection, row: i64, json: &str) -> Result<(), Error> {
        connection
            .prepare_cached(
                "INSERT INTO documents (execution, kind, json) VALUES (?1, ?2, ?3)
                 ON CONFLICT (execution, kind) DO UPDATE SET json = excluded.json",
            )?
            .execute((row, self.as_str(), json))?;
        Ok(())
    }

    pub(super) fn get(self, connection: &Connection, row: i64) -> Result<Option<Value>, Error> {
        let found = connection
            .prepare_cached("SELECT json FROM documents WHERE execution = ?1 AND kind = ?2")?
            .query_row((row, self.as_str()), |row| required(row, 0))
            .optional()?;
        Ok(found)
    }

    pub(super) fn drop(self, connection: &Connection, row: i64) -> Result<(), Error> {
        connection
            .prepare_cached("DELETE FROM documents WHERE execution = ?1 AND kind = ?2")?
            .execute((row, self.as_str()))?;
        Ok(())
    }
}
