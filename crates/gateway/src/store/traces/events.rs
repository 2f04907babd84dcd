//! Live events in their file, several in a row: a row for each cost more than the calls that they tell of.

use std::borrow::Cow;

use rusqlite::Connection;
use serde_json::Value;

use super::{super::Error, packed::session_id, retention::used, rows::EventRow};
use crate::trace::{Event, Nanos, SpanId, TraceId, json};

/// Events of one row. Whoever wants the next one only reads so many.
pub(super) const TOGETHER: usize = 64;

/// One event as it is written. Their numbers follow from that of the last in their row.
type Written<'a> = (Cow<'a, str>, Nanos, Cow<'a, str>, TraceId, SpanId, Value);

/// Writes events behind those that are there.
pub(super) fn write(connection: &Connection, events: &[Event]) -> Result<(), Error> {
    let mut last = last(connection)?;
    let mut insert = connection.prepare_cached("INSERT INTO told (last, events) VALUES (?1, ?2)")?;
    for together in events.chunks(TOGETHER) {
        last += i64::try_from(together.len()).unwrap_or_default();
        insert.execute((last, text(together)))?;
    }
    Ok(())
}

/// Written by hand, since what is told is JSON already.
fn text(events: &[Event]) -> String {
    let mut text = String::with_capacity(events.len() * 384);
    for event in events {
        text.push_str(if text.is_empty() { "[[\"" } else { ",[\"" });
        text.push_str(event.name);
        text.push_str("\",");
        text.push_str(&event.at.to_string());
        text.push(',');
        json::push_text(&mut text, session_id(&event.session));
        text.push_str(",\"");
        event.trace.push_to(&mut text);
        text.push_str("\",\"");
        event.span.push_to(&mut text);
        text.push_str("\",");
        text.push_str(&event.data);
        text.push(']');
    }
    text.push(']');
    text
}

/// The number of the last event; 0 if there never was any.
pub(super) fn last(connection: &Connection) -> Result<i64, Error> {
    let mut last = connection.prepare_cached("SELECT coalesce(max(last), 0) FROM told")?;
    Ok(last.query_row([], |row| row.get(0))?)
}

/// Events after a number, the oldest first.
pub(super) fn after(connection: &Connection, seq: i64, limit: u32) -> Result<Vec<EventRow>, Error> {
    let limit = limit as usize;
    let mut found = Vec::new();
    let mut rows =
        connection.prepare_cached("SELECT last, events FROM told WHERE last > ?1 ORDER BY last")?;
    let mut rows = rows.query([seq])?;
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        let last: i64 = row.get(0)?;
        // What somebody else put there tells nothing.
        let events: Vec<Written<'_>> =
            serde_json::from_str(row.get_ref(1)?.as_str().unwrap_or_default()).unwrap_or_default();
        let first = last - i64::try_from(events.len()).unwrap_or_default() + 1;
        let numbered = (first..).zip(events).filter(|(number, _)| *number > seq);
        found.extend(numbered.take(limit - found.len()).map(|(seq, event)| {
            let (name, at, session, trace, span, data) = event;
            EventRow { seq, name: name.into_owned(), at, session: session.into_owned(), trace, span, data }
        }));
    }
    Ok(found)
}

/// Takes out what is older than the last so many, as far as whole rows are, and the oldest of what takes more than this.
pub(super) fn trim(connection: &Connection, max_events: u32, bytes_max: u64) -> Result<(), Error> {
    connection
        .prepare_cached("DELETE FROM told WHERE last <= (SELECT max(last) FROM told) - ?1")?
        .execute([max_events])?;
    let used = used(connection)?;
    if used > bytes_max {
        let rows: i64 = connection.query_row("SELECT count(*) FROM told", [], |row| row.get(0))?;
        // A few more, so that this is not done each time. The last row stays, or its number would be given out again.
        let left = bytes_max as f64 / used as f64 * 0.9;
        let excess = (rows - (rows as f64 * left) as i64).min(rows - 1);
        connection.execute(
            "DELETE FROM told WHERE last < (SELECT last FROM told ORDER BY last LIMIT 1 OFFSET ?1)",
            [excess],
        )?;
    }
    Ok(())
}
