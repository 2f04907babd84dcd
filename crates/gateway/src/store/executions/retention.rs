//! Forgetting what is long over.

use jiff::Timestamp;
use rusqlite::Connection;

use super::{ExecutionStore, points};
use crate::failpoint;
use crate::store::Error;
use crate::store::writer::Effect;

/// The most executions one transaction deletes, so that other writes get their turn.
const PURGED_TOGETHER_MAX: u32 = 100;

impl ExecutionStore {
    /// Deletes executions that were over before `older_than`, and of each principal's others that are over all but the `keep_max`
    /// that ended last. Whatever is not over stays. Returns how many went.
    pub async fn purge(&self, older_than: Timestamp, keep_max: usize) -> Result<u64, Error> {
        let older_than = older_than.as_microsecond();
        let keep_max = i64::try_from(keep_max).unwrap_or(i64::MAX);
        let mut purged = 0_u64;
        loop {
            let together = self
                .database
                .write(Effect { frees_space: true, ..Effect::default() }, move |connection| {
                    let gone = delete(connection, older_than, keep_max)?;
                    if gone > 0 {
                        failpoint::hit(points::PURGE.before);
                    }
                    Ok(gone)
                })
                .await?;
            if together == 0 {
                return Ok(purged);
            }
            failpoint::hit(points::PURGE.after);
            purged = purged.saturating_add(together);
        }
    }
}

/// Deletes a few of them; their documents go with them.
fn delete(connection: &Connection, older_than: i64, keep_max: i64) -> Result<u64, Error> {
    let old = connection
        .prepare_cached(
            "DELETE FROM executions WHERE row IN (
                 SELECT row FROM executions WHERE finished_at < ?1 ORDER BY finished_at LIMIT ?2)",
        )?
        .execute((older_than, PURGED_TOGETHER_MAX))?;
    let beyond = connection
        .prepare_cached(
            "DELETE FROM executions WHERE row IN (
                 SELECT row FROM (
                     SELECT row, row_number() OVER
                         (PARTITION BY principal ORDER BY finished_at DESC, row DESC) AS place
                     FROM executions WHERE finished_at IS NOT NULL)
                 WHERE place > ?1 LIMIT ?2)",
        )?
        .execute((keep_max, PURGED_TOGETHER_MAX))?;
    Ok(u64::try_from(old.saturating_add(beyond)).unwrap_or(u64::MAX))
}
