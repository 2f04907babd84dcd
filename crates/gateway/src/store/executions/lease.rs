//! Who runs what, and what becomes of it when they do no more.

use std::time::Duration;

use aql::execution::{Command, Execution};
use jiff::Timestamp;
use rusqlite::{Connection, Row};

use super::change::write;
use super::read::all_alive;
use super::records::kept;
use super::{Alive, ExecutionStore, points};
use crate::failpoint;
use crate::store::Error;
use crate::store::columns::{all, storable};
use crate::store::writer::Effect;

/// The most executions one transaction ends, so that other writes get their turn.
const ENDED_TOGETHER_MAX: u32 = 64;

impl ExecutionStore {
    /// Renews the lease of everything this owner has that is not over, in one statement, and tells what that is.
    ///
    /// What is missing from the answer, or there in another attempt, is no longer this owner's to run. To be compared
    /// with the runs known before the call: one created meanwhile may be missing as well.
    pub async fn renew(&self, owner: &str, now: Timestamp, lease: Duration) -> Result<Vec<Alive>, Error> {
        let (owner, until) = (owner.to_owned(), until(now, lease));
        // A time takes the room of the one before it, so this works in a full store, too.
        let renewed = self
            .database
            .write(Effect::default(), move |connection| {
                let statement = connection.prepare_cached(
                    "UPDATE executions SET lease_until = ?2 WHERE owner = ?1 AND finished_at IS NULL
                     RETURNING id, attempt, status",
                )?;
                let renewed = all_alive(statement, (&owner, until))?;
                failpoint::hit(points::RENEW.before);
                Ok(renewed)
            })
            .await?;
        failpoint::hit(points::RENEW.after);
        Ok(renewed)
    }

    /// Ends every execution whose lease has run out, whoever had it, and returns those. What another process ends at
    /// the same moment is in its answer and not in this one.
    ///
    /// After the machine slept, every lease has run out, those of living processes too: renew one's own first, and
    /// leave the others the time of a renewal.
    pub async fn expire(&self, now: Timestamp) -> Result<Vec<Execution>, Error> {
        let which = Which::Expired { now: now.as_microsecond() };
        self.end(which, &Command::OwnerLost, now).await
    }

    /// Whether there is anything for [`ExecutionStore::expire`] to end.
    pub async fn has_expired(&self, now: Timestamp) -> Result<bool, Error> {
        let now = now.as_microsecond();
        self.database
            .read(move |connection| {
                let found = connection
                    .prepare_cached(
                        "SELECT 1 FROM executions WHERE finished_at IS NULL AND lease_until < ?1",
                    )?
                    .exists([now])?;
                Ok(found)
            })
            .await
    }

    /// Ends what is not over of a session in this owner's process, and returns it.
    pub async fn end_session(
        &self,
        owner: &str,
        session_id: &str,
        now: Timestamp,
    ) -> Result<Vec<Execution>, Error> {
        let which = Which::OfSession { owner: owner.to_owned(), session_id: session_id.to_owned() };
        self.end(which, &Command::SessionEnded, now).await
    }

    async fn end(&self, which: Which, command: &Command, now: Timestamp) -> Result<Vec<Execution>, Error> {
        let (now, points) = (storable(now), points::around(command));
        let (mut ended, mut after) = (Vec::new(), i64::MIN);
        loop {
            let (which, command, before) = (which.clone(), command.clone(), points.before);
            // May go beyond the cap: what cannot be ended can never be purged either.
            let effect = Effect { frees_space: true, ..Effect::default() };
            let found = self.database.write(effect, move |connection| {
                let found = which.after(connection, after)?;
                let last = found.last().map(|(row, _)| *row);
                let mut together = Vec::new();
                for (row, id) in found {
                    together.extend(end_one(connection, row, &id, command.clone(), now)?);
                }
                if !together.is_empty() {
                    failpoint::hit(before);
                }
                Ok((last, together))
            });
            let (last, mut together) = found.await?;
            if !together.is_empty() {
                failpoint::hit(points.after);
            }
            ended.append(&mut together);
            match last {
                Some(last) => after = last,
                None => return Ok(ended),
            }
        }
    }
}

/// Ends one execution. One whose row is damaged is left alone, lest it keep all others from their end.
fn end_one(
    connection: &Connection,
    row: i64,
    id: &str,
    command: Command,
    now: Timestamp,
) -> Result<Option<Execution>, Error> {
    let kept = match kept(connection, id) {
        Err(Error::Damaged) => {
            tracing::error!(id, "a damaged execution cannot be ended");
            return Ok(None);
        }
        kept => kept?,
    };
    let ended = kept.and_then(|kept| kept.execution.apply(command, now).ok());
    if let Some(ended) = &ended {
        write(connection, row, ended)?;
    }
    Ok(ended)
}

/// Executions that are to end together.
#[derive(Clone)]
enum Which {
    Expired { now: i64 },
    OfSession { owner: String, session_id: String },
}

impl Which {
    /// The first few of them in rows after this one.
    fn after(&self, connection: &Connection, row: i64) -> Result<Vec<(i64, String)>, Error> {
        let found = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        match self {
            Self::Expired { now } => all(
                connection.prepare_cached(
                    "SELECT row, id FROM executions
                     WHERE finished_at IS NULL AND lease_until < ?3 AND row > ?1 ORDER BY row LIMIT ?2",
                )?,
                (row, ENDED_TOGETHER_MAX, now),
                found,
            ),
            Self::OfSession { owner, session_id } => all(
                connection.prepare_cached(
                    "SELECT row, id FROM executions
                     WHERE finished_at IS NULL AND owner = ?3 AND session_id = ?4 AND row > ?1
                     ORDER BY row LIMIT ?2",
                )?,
                (row, ENDED_TOGETHER_MAX, owner, session_id),
                found,
            ),
        }
    }
}

/// When a lease runs out, as it is kept.
pub(super) fn until(now: Timestamp, lease: Duration) -> i64 {
    now.checked_add(lease).unwrap_or(Timestamp::MAX).as_microsecond()
}
