//! What happens to one execution: read, asked of [`aql::execution`] and written in one transaction.

use aql::execution::{Command, Core, Execution, Illegal};
use jiff::Timestamp;
use rusqlite::Connection;
use serde_json::Value;

use super::lease::until;
use super::records::{Document, Kept, kept, replace};
use super::{Changed, Claim, ExecutionStore, NewExecution, Run, Taken, points};
use crate::failpoint;
use crate::store::Error;
use crate::store::columns::{storable, to_json};
use crate::store::writer::Effect;

impl ExecutionStore {
    /// Stores a pending execution, whose first attempt belongs to the claim's owner.
    pub async fn create(&self, new: NewExecution, claim: Claim, now: Timestamp) -> Result<Execution, Error> {
        let now = storable(now);
        let NewExecution { id, operation, lifecycle, principal, params } = new;
        let declared = to_json(Some(lifecycle.as_ref()))?;
        let params = to_json(Some(&params))?.unwrap_or_default();
        let execution = Execution::new(id, operation, lifecycle, now);
        let created = self
            .database
            .write(Effect::default(), move |connection| {
                let record = execution.record();
                let row = connection
                    .prepare_cached(
                        "INSERT INTO executions (id, principal, session_id, operation, status, attempt, owner,
                             lease_until, created_at, lifecycle)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                    )?
                    .insert((
                        &record.execution_id,
                        &principal,
                        &claim.session_id,
                        &record.operation,
                        record.status.as_str(),
                        record.attempt,
                        &claim.owner,
                        until(now, claim.lease),
                        now.as_microsecond(),
                        &declared,
                    ))?;
                Document::Params.put(connection, row, &params)?;
                failpoint::hit(points::CREATE.before);
                Ok(execution.clone())
            })
            .await?;
        failpoint::hit(points::CREATE.after);
        Ok(created)
    }

    /// What the run does or tells: starting, reporting, changing its state, completing, failing.
    ///
    /// A run that has been superseded by another attempt, or whose execution was ended by someone else, is refused.
    ///
    /// Each call waits for the disk, together with whatever else is being written. So **progress is to be coalesced by
    /// the caller**: write the latest report about once a second and leave out those in between. The row that is
    /// written is small, whatever the execution's parameters.
    ///
    /// [`Error::Full`] when there is no room for a result or report. Failing and cancelling still work then.
    pub async fn advance(&self, run: &Run, command: Command, now: Timestamp) -> Result<Changed, Error> {
        let document = match &command {
            // Written out here and not on the writer thread, which everyone waits for.
            Command::Complete(result) => to_json(Some(result))?.map(|json| (Document::Result, json)),
            _ => None,
        };
        self.change(run.id.clone(), By::Run(run.clone()), command, document, now).await
    }

    /// Keeps what a retry can go on from, in place of what was kept before, as long as this run is the one running.
    pub async fn checkpoint(&self, run: &Run, value: &Value, now: Timestamp) -> Result<Changed, Error> {
        let document = to_json(Some(value))?.map(|json| (Document::Checkpoint, json));
        self.change(run.id.clone(), By::Run(run.clone()), Command::Checkpoint, document, now).await
    }

    /// Cancels the principal's execution, whichever process runs it. See [`ExecutionStore::statuses`] for how that one
    /// learns of it.
    pub async fn cancel(
        &self,
        id: &str,
        principal: &str,
        reason: Option<String>,
        now: Timestamp,
    ) -> Result<Changed, Error> {
        let by = By::Principal(principal.to_owned());
        self.change(id.to_owned(), by, Command::Cancel { reason }, None, now).await
    }

    /// Moves the principal's execution into or out of a state of its own, as pausing does, whichever process runs it.
    pub async fn enter(
        &self,
        id: &str,
        principal: &str,
        state: &str,
        now: Timestamp,
    ) -> Result<Changed, Error> {
        let by = By::Principal(principal.to_owned());
        self.change(id.to_owned(), by, Command::Enter(state.to_owned()), None, now).await
    }

    /// Retries the principal's failed execution in the process and session of the claim. Of several who try, one gets it.
    pub async fn take_over(
        &self,
        id: &str,
        principal: &str,
        claim: Claim,
        now: Timestamp,
    ) -> Result<Taken, Error> {
        let (id, by, now) = (id.to_owned(), By::Principal(principal.to_owned()), storable(now));
        let taken = self
            .database
            .write(Effect::default(), move |connection| {
                let Some(kept) = kept(connection, &id)?.filter(|kept| by.sees(kept)) else {
                    return Ok(Taken::Missing);
                };
                let execution = match kept.execution.apply(Command::Retry, now) {
                    Ok(execution) => execution,
                    Err(illegal) => return Ok(Taken::Illegal(illegal)),
                };
                let params = Document::Params.get(connection, kept.row)?.ok_or(Error::Damaged)?;
                let checkpoint = Document::Checkpoint.get(connection, kept.row)?;
                replace(connection, kept.row, &execution)?;
                connection
                    .prepare_cached(
                        "UPDATE executions SET owner = ?2, session_id = ?3, lease_until = ?4 WHERE row = ?1",
                    )?
                    .execute((kept.row, &claim.owner, &claim.session_id, until(now, claim.lease)))?;
                failpoint::hit(points::RETRY.before);
                Ok(Taken::Over { execution, params, checkpoint })
            })
            .await?;
        if matches!(taken, Taken::Over { .. }) {
            failpoint::hit(points::RETRY.after);
        }
        Ok(taken)
    }

    async fn change(
        &self,
        id: String,
        by: By,
        command: Command,
        document: Option<(Document, String)>,
        now: Timestamp,
    ) -> Result<Changed, Error> {
        let (now, points) = (storable(now), points::around(&command));
        // An execution that cannot be ended can never be purged either.
        let frees_space = matches!(command, Command::Fail(_) | Command::Cancel { .. });
        let changed = self
            .database
            .write(Effect { frees_space, ..Effect::default() }, move |connection| {
                let Some(kept) = kept(connection, &id)?.filter(|kept| by.sees(kept)) else {
                    return Ok(Changed::Missing);
                };
                if by.is_superseded(&kept) {
                    return Ok(Changed::Illegal(Illegal::superseded(&kept.execution)));
                }
                let changed = match kept.execution.apply(command.clone(), now) {
                    Ok(changed) => changed,
                    Err(illegal) => return Ok(Changed::Illegal(illegal)),
                };
                if changed != kept.execution {
                    write(connection, kept.row, &changed)?;
                }
                if let Some((document, json)) = &document {
                    document.put(connection, kept.row, json)?;
                }
                failpoint::hit(points.before);
                Ok(Changed::Changed(changed))
            })
            .await?;
        if matches!(changed, Changed::Changed(_)) {
            failpoint::hit(points.after);
        }
        Ok(changed)
    }
}

/// Writes an execution as it has become, and drops what only a retry would need once there can be none.
pub(super) fn write(connection: &Connection, row: i64, execution: &Execution) -> Result<(), Error> {
    replace(connection, row, execution)?;
    let runs_again = match execution.core() {
        Core::Pending | Core::Running => true,
        Core::Failed => execution.record().lifecycle.supports_retry(),
        Core::Completed | Core::Cancelled => false,
    };
    if !runs_again {
        Document::Params.drop(connection, row)?;
        Document::Checkpoint.drop(connection, row)?;
    }
    Ok(())
}

/// Who wants to change an execution.
enum By {
    Run(Run),
    Principal(String),
}

impl By {
    fn sees(&self, kept: &Kept) -> bool {
        match self {
            Self::Run(_) => true,
            Self::Principal(principal) => *principal == kept.principal,
        }
    }

    fn is_superseded(&self, kept: &Kept) -> bool {
        match self {
            Self::Run(run) => run.owner != kept.owner || run.attempt != kept.execution.record().attempt,
            Self::Principal(_) => false,
        }
    }
}
