//! How long, and how much, is kept.

use rusqlite::{Connection, TransactionBehavior};

use super::{
    super::Error,
    Retained,
    appender::Appender,
    day::{Day, Part, Source},
    files, index,
    schema::EVENTS_FILE,
};
use crate::trace::Nanos;

/// Once there is too much, so much is left: a tenth less, or the next batch would be too much again.
const LEFT: (u64, u64) = (9, 10);
/// Spans that are removed together, where one day is more than may be kept.
const SPANS_TOGETHER: i64 = 5000;
/// What may be used meanwhile beyond what a file may take.
const RESERVE_PAGES: i64 = 4096;
/// Such steps in one go; the rest waits for the next one.
const STEPS_MAX: u32 = 40;

impl Appender {
    /// Removes what is too old, then the oldest of what is too much. Called now and then, and when the store is full.
    ///
    /// What was reported has half of the room at the most, and what we recorded has the rest. Whole days go. Only where a
    /// single day is more than may be kept, the oldest spans of it do.
    pub fn retain(&mut self, now: Nanos) -> Result<Retained, Error> {
        let shared = self.shared().clone();
        let (dir, options) = (&shared.dir, shared.options);
        let mut done = Retained::default();
        let mut parts = files::parts(dir)?;
        let today = Day::of(now);
        let oldest = today.0.saturating_sub(i64::from(options.max_age_days).saturating_sub(1));
        // A clock that ran ahead for a while left files of days to come; they age like any others.
        while parts.last().is_some_and(|part| part.day.0 < oldest) {
            self.remove(&mut parts, &mut done)?;
        }
        let (reported, ours): (Vec<Part>, Vec<Part>) =
            parts.iter().copied().partition(|part| part.is_reported());
        let taken = self.shrink(reported, 0, options.of(Source::Reported), &mut done)?;
        let rest = options.max_bytes.saturating_sub(taken).max(options.max_bytes / 2);
        self.shrink(ours, files::bytes(dir, EVENTS_FILE), rest, &mut done)?;
        Ok(done)
    }

    /// Removes the oldest of some files if they take too much; what they take then. `beside` is there in any case.
    fn shrink(
        &mut self,
        mut parts: Vec<Part>,
        beside: u64,
        bytes_max: u64,
        done: &mut Retained,
    ) -> Result<u64, Error> {
        let shared = self.shared().clone();
        let total = |parts: &[Part]| -> u64 {
            parts.iter().map(|part| files::bytes(&shared.dir, &part.file())).sum::<u64>() + beside
        };
        if total(&parts) <= bytes_max {
            return Ok(total(&parts));
        }
        let wanted = bytes_max / LEFT.1 * LEFT.0;
        while parts.len() > 1 && total(&parts) > wanted {
            self.remove(&mut parts, done)?;
        }
        if let (&[part], true) = (parts.as_slice(), total(&parts) > wanted) {
            let file = self.file(part)?;
            done.spans += with_reserve(file, |file| {
                let mut spans = 0;
                for _ in 0..STEPS_MAX {
                    let removed = if used(file)? > wanted { remove_oldest(file)? } else { 0 };
                    spans += removed;
                    if removed == 0 {
                        break;
                    }
                }
                Ok(spans)
            })?;
        }
        Ok(total(&parts))
    }

    fn remove(&mut self, parts: &mut Vec<Part>, done: &mut Retained) -> Result<(), Error> {
        let Some(part) = parts.pop() else { return Ok(()) };
        self.forget(part);
        self.lagging.remove(&part);
        files::remove(&self.shared().dir, &part.file())?;
        done.days += 1;
        Ok(())
    }
}

/// Removing takes some room itself, which a full file has not.
fn with_reserve<T>(
    file: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<T, Error>,
) -> Result<T, Error> {
    let pages = |file: &Connection, pages: i64| -> Result<i64, Error> {
        Ok(file.pragma_update_and_check(None, "max_page_count", pages, |row| row.get(0))?)
    };
    let most: i64 = file.pragma_query_value(None, "max_page_count", |row| row.get(0))?;
    pages(file, most.saturating_add(RESERVE_PAGES))?;
    let done = work(file);
    pages(file, most)?;
    done
}

/// What is in use of a file. What was freed within it is used again before it grows.
fn used(connection: &Connection) -> Result<u64, Error> {
    let number = |name| -> Result<u64, Error> {
        let number: i64 = connection.pragma_query_value(None, name, |row| row.get(0))?;
        Ok(u64::try_from(number).unwrap_or_default())
    };
    Ok(number("page_count")?.saturating_sub(number("freelist_count")?) * number("page_size")?)
}

/// Removes the spans that came first, and the sessions that have none left.
fn remove_oldest(connection: &mut Connection) -> Result<u64, Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (first, newest): (Option<i64>, Option<i64>) = transaction.query_row(
        "SELECT (SELECT min(id) FROM spans), (SELECT max(id) FROM spans)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let (Some(first), Some(newest)) = (first, newest) else { return Ok(0) };
    // The newest one stays, or SQLite would give out its number again.
    let last = first.saturating_add(SPANS_TOGETHER).min(newest);
    let sessions: Vec<i64> = {
        let mut sessions = transaction.prepare_cached("SELECT DISTINCT session FROM spans WHERE id < ?1")?;
        sessions.query_map([last], |row| row.get(0))?.collect::<Result<_, _>>()?
    };
    let traces: Vec<[u8; 16]> = {
        let mut traces = transaction.prepare_cached("SELECT DISTINCT trace FROM spans WHERE id < ?1")?;
        traces.query_map([last], |row| row.get(0))?.collect::<Result<_, _>>()?
    };
    index::remove_before(&transaction, last)?;
    for table in ["stale", "running", "details"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE id < ?1"), [last])?;
    }
    let removed = transaction.execute("DELETE FROM spans WHERE id < ?1", [last])?;
    // What was never indexed is not counted as waiting for it any more.
    transaction.execute("UPDATE progress SET indexed = max(indexed, ?1)", [last.saturating_sub(1)])?;
    {
        let mut remove =
            transaction.prepare_cached("DELETE FROM trace_runs WHERE trace = ?1 AND last < ?2")?;
        for trace in traces {
            remove.execute((trace, last))?;
        }
        let mut remove =
            transaction.prepare_cached("DELETE FROM session_runs WHERE session = ?1 AND last < ?2")?;
        let mut forget = transaction.prepare_cached(
            "DELETE FROM sessions WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM session_runs WHERE session = ?1)",
        )?;
        for session in sessions {
            remove.execute((session, last))?;
            forget.execute([session])?;
        }
    }
    transaction.commit()?;
    Ok(removed as u64)
}
