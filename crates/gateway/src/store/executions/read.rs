//! Looking executions up.

use std::ops::ControlFlow;

use aql::execution::Execution;
use rusqlite::{CachedStatement, OptionalExtension, Params, Row};

use super::records::{MORE, execution, select_executions};
use super::{Alive, ExecutionStore};
use crate::store::Error;
use crate::store::columns::json;

/// The most executions [`ExecutionStore::list`] returns.
pub const LIST_EXECUTIONS_MAX: usize = 1000;

/// Which of a principal's executions to look through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Narrow {
    /// Only those whose state has this very name.
    pub status: Option<String>,
    pub operation: Option<String>,
}

impl ExecutionStore {
    /// The principal's execution, with its result if it has one.
    pub async fn get(&self, id: &str, principal: &str) -> Result<Option<Execution>, Error> {
        let (id, principal) = (id.to_owned(), principal.to_owned());
        self.database
            .read(move |connection| {
                let found = connection
                    .prepare_cached(select_executions!(
                        "LEFT JOIN documents d ON d.execution = x.row AND d.kind = 'result'
                         WHERE x.id = ?1 AND x.principal = ?2",
                        with "d.json"
                    ))?
                    .query_row((id, principal), |row| execution(row, json(row, MORE)?))
                    .optional()?;
                Ok(found)
            })
            .await
    }

    /// The principal's newest executions first, without their results, at most [`LIST_EXECUTIONS_MAX`].
    pub async fn list(&self, principal: &str, narrow: Narrow, first: usize) -> Result<Vec<Execution>, Error> {
        let first = first.min(LIST_EXECUTIONS_MAX);
        let take = move |found: &mut Vec<Execution>, execution| {
            if found.len() < first {
                found.push(execution);
            }
            if found.len() < first { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        self.fold(principal, narrow, Vec::new(), take).await
    }

    /// Shows `step` the principal's executions, newest first and without their results, until it has seen enough, and
    /// returns what it made of them. All of them are of one moment; none but the present one is in memory.
    pub async fn fold<T, S>(
        &self,
        principal: &str,
        narrow: Narrow,
        initial: T,
        mut step: S,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        S: FnMut(&mut T, Execution) -> ControlFlow<()> + Send + 'static,
    {
        let principal = principal.to_owned();
        self.database
            .read(move |connection| {
                let mut statement = connection.prepare_cached(select_executions!(
                    "WHERE x.principal = ?1 AND (?2 IS NULL OR x.status = ?2)
                         AND (?3 IS NULL OR x.operation = ?3)
                     ORDER BY x.id DESC"
                ))?;
                let mut rows = statement.query((principal, narrow.status, narrow.operation))?;
                let mut made = initial;
                while let Some(row) = rows.next()? {
                    if step(&mut made, execution(row, None)?).is_break() {
                        break;
                    }
                }
                Ok(made)
            })
            .await
    }

    /// Every execution of this owner that is not over. Only reads, from the few that are not over.
    ///
    /// This is how an owner learns what others did: a run that it began before it asked and does not find here, in
    /// this attempt, has been cancelled or ended by another process and is to stop. [`ExecutionStore::renew`] tells
    /// the same; this one may be asked more often.
    pub async fn statuses(&self, owner: &str) -> Result<Vec<Alive>, Error> {
        let owner = owner.to_owned();
        self.database
            .read(move |connection| {
                let statement = connection.prepare_cached(
                    "SELECT id, attempt, status FROM executions WHERE owner = ?1 AND finished_at IS NULL",
                )?;
                all_alive(statement, [owner])
            })
            .await
    }
}

/// Runs a statement that gives id, attempt and status. A damaged row is left out rather than fail them all: its run
/// stops, and the others keep their lease.
pub(super) fn all_alive(
    mut statement: CachedStatement<'_>,
    parameters: impl Params,
) -> Result<Vec<Alive>, Error> {
    let alive = |row: &Row<'_>| -> rusqlite::Result<Alive> {
        Ok(Alive { id: row.get(0)?, attempt: row.get(1)?, status: row.get(2)? })
    };
    let rows = statement.query_map(parameters, |row| Ok(alive(row).ok()))?;
    Ok(rows.filter_map(Result::transpose).collect::<Result<_, _>>()?)
}
