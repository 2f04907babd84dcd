//! How long, and how much, is kept.

use rusqlite::{Connection, TransactionBehavior};

use super::{
    super::{Error, writer::Cap},
    Retained,
    appender::Appender,
    day::{Day, Part, Source},
    files, index,
    schema::EVENTS_FILE,
};
use crate::trace::Nanos;

/// Once there is too much, such a part of the room is left free, or the next batch would be too much again.
const LEFT_FREE: u64 = 16;
/// Spans that are removed together, at the most, where one day is more than may be kept.
const SPANS_TOGETHER: u32 = 2000;
/// What a span takes beside its texts, about.
const ROW_BYTES: u64 = 300;
/// What may be used meanwhile beyond what a file may take.
const RESERVE_BYTES: u64 = 16 * 1024 * 1024;
/// Such steps in one go; the rest waits for the next one.
const STEPS_MAX: u32 = 60;

impl Appender {
    /// Removes what is too old, then the oldest of what is too much. Called now and then, and while much is written.
    ///
    /// What was reported has half of the room at the most, and what we recorded has the rest. A day goes whole where most of
    /// it has to, and else loses its oldest spans: as many as there is no room for, and a few more for what comes next.
    /// A file that cannot be made smaller keeps no other from it, and the first error is returned.
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
        self.fit(&mut done)?;
        Ok(done)
    }

    /// Removes the oldest of what is too much.
    pub(super) fn fit(&mut self, done: &mut Retained) -> Result<(), Error> {
        let shared = self.shared().clone();
        let (dir, options) = (&shared.dir, shared.options);
        let parts = files::parts(dir)?;
        let mut failed = self.shrink_events().err();
        for &part in &parts {
            failed = failed.or(self.cut_log(part).err());
        }
        let (reported, ours): (Vec<Part>, Vec<Part>) =
            parts.iter().copied().partition(|part| part.is_reported());
        let taken = |parts: &[Part]| parts.iter().map(|part| files::length(dir, &part.file())).sum::<u64>();
        failed = failed.or(self.shrink(reported, 0, options.of(Source::Reported), done).err());
        let reported: Vec<Part> = files::parts(dir)?.into_iter().filter(|part| part.is_reported()).collect();
        let room = options.of(Source::Ours);
        let rest = room.saturating_sub(taken(&reported)).max(room / 2);
        // Events that cannot be made fewer here take nothing from spans.
        let events = files::length(dir, EVENTS_FILE).min(options.of_events());
        failed = failed.or(self.shrink(ours, events, rest, done).err());
        failed.map_or(Ok(()), Err)
    }

    /// Removes the oldest of some files if they take too much. `beside` is there in any case.
    fn shrink(
        &mut self,
        mut parts: Vec<Part>,
        beside: u64,
        bytes_max: u64,
        done: &mut Retained,
    ) -> Result<(), Error> {
        let shared = self.shared().clone();
        let length = |part: &Part| files::length(&shared.dir, &part.file());
        let mut total = parts.iter().map(length).sum::<u64>() + beside;
        let wanted = bytes_max - bytes_max / LEFT_FREE;
        while let Some(oldest) = parts.last().copied().filter(|_| total > bytes_max) {
            let (bytes, excess) = (length(&oldest), total - wanted);
            let newer = total - bytes;
            if parts.len() > 1 && (excess >= bytes / 2 || !self.can_shrink(oldest)) {
                self.remove(&mut parts, done)?;
                total = newer;
            } else {
                let left = wanted.saturating_sub(newer);
                done.spans += self.trim(oldest, left, bytes_max.saturating_sub(newer))?;
                break;
            }
        }
        Ok(())
    }

    /// Makes room for something in a file that is full by its own limit; whether there is some now. A full disk is not ours
    /// to empty.
    pub(super) fn make_room(&mut self, part: Part, bytes: u64) -> Result<bool, Error> {
        let cap = self.shared().options.cap(part.source);
        let used = used(self.file(part)?)?;
        if used < cap / 4 * 3 {
            return Ok(false);
        }
        Ok(self.trim(part, used.min(cap).saturating_sub(bytes), cap)? > 0)
    }

    /// Whether a file can become smaller. Those of earlier versions cannot, nor those that are damaged. One that only cannot be
    /// opened now is not given up for it.
    fn can_shrink(&mut self, part: Part) -> bool {
        match self.file(part).and_then(|file| files::gives_back(file)) {
            Ok(gives_back) => gives_back,
            Err(error) => matches!(error, Error::Busy | Error::Io),
        }
    }

    /// Removes the oldest spans of a file until so much of it is used, and makes the file no larger than it may be. How many
    /// spans it were.
    fn trim(&mut self, part: Part, used_max: u64, bytes_max: u64) -> Result<u64, Error> {
        let cap = self.shared().options.cap(part.source);
        let file = self.file(part)?;
        let spans = with_reserve(file, cap, RESERVE_BYTES, |file| {
            let mut spans = 0;
            for _ in 0..STEPS_MAX {
                let excess = used(file)?.saturating_sub(used_max);
                let removed = if excess > 0 { remove_oldest(file, excess)? } else { 0 };
                spans += removed;
                if removed == 0 {
                    break;
                }
            }
            files::give_back(file, bytes_max)?;
            Ok(spans)
        })?;
        files::settle(file)?;
        Ok(spans)
    }

    fn remove(&mut self, parts: &mut Vec<Part>, done: &mut Retained) -> Result<(), Error> {
        let Some(part) = parts.pop() else { return Ok(()) };
        self.forget(part);
        self.lagging.remove(&part);
        done.days += u32::from(files::remove(&self.shared().dir, &part.file())?);
        Ok(())
    }
}

/// Does something that takes some room to free more of it, or that goes on beside what is written, in a file that is full.
pub(super) fn with_reserve<T>(
    file: &mut Connection,
    cap: u64,
    reserve: u64,
    work: impl FnOnce(&mut Connection) -> Result<T, Error>,
) -> Result<T, Error> {
    // What the limit was is not asked for: a file that is larger has its size for it, and would grow each time.
    Cap::new(file, cap.saturating_add(reserve))?;
    let done = work(file);
    Cap::new(file, cap)?;
    done
}

/// What is in use of a file. What was freed within it is used again before it grows.
pub(super) fn used(connection: &Connection) -> Result<u64, Error> {
    let pages = files::number(connection, "page_count")?;
    Ok(pages.saturating_sub(files::number(connection, "freelist_count")?)
        * files::number(connection, "page_size")?)
}

/// The first row that stays if rows from the first one on that take half of so many bytes go, and at least one does.
///
/// Half, since what else goes with them is not counted, and it is looked again how much is used then.
fn first_that_stays(connection: &Connection, first: i64, excess: u64) -> Result<i64, Error> {
    let mut oldest = connection.prepare_cached(
        "SELECT id, octet_length(attributes) + coalesce(octet_length(events), 0) + coalesce(octet_length(links), 0)
         FROM details WHERE id >= ?1 ORDER BY id LIMIT ?2",
    )?;
    let mut rows = oldest.query((first, SPANS_TOGETHER))?;
    let (mut bytes, mut last) = (0_u64, first);
    while let Some(row) = rows.next()?.filter(|_| bytes <= excess / 2) {
        last = row.get(0)?;
        bytes += ROW_BYTES + u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
    }
    Ok(last.saturating_add(1))
}

/// Removes the spans that came first, so many that about this becomes free or less, and the sessions that have none left.
fn remove_oldest(connection: &mut Connection, excess: u64) -> Result<u64, Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (first, newest): (Option<i64>, Option<i64>) = transaction.query_row(
        "SELECT (SELECT min(id) FROM spans), (SELECT max(id) FROM spans)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let (Some(first), Some(newest)) = (first, newest) else { return Ok(0) };
    // The newest one stays, or SQLite would give out its number again.
    let last = first_that_stays(&transaction, first, excess)?.min(newest);
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
