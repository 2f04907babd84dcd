//! What the operator wants to be over in another process than the one that was asked: whoever runs it finds it here, and says that
//! it was done.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use super::{
    super::Error,
    TraceStore,
    appender::number,
    files,
    schema::{EVENTS_FILE, EVENTS_SCHEMA},
};
use crate::trace::{Nanos, SpanId, Wish};

/// Somebody who does what is wished looks for it several times in this time.
const PATIENCE: Duration = Duration::from_millis(1500);
const LOOK: Duration = Duration::from_millis(25);
/// Nobody waits for what is older.
const KEPT: Nanos = 60_000_000_000;

/// Wishes after a number, and what they are.
pub(super) fn after(connection: &Connection, number: i64) -> Result<Vec<(i64, Wish)>, Error> {
    let mut rows =
        connection.prepare_cached("SELECT id, span, session FROM wishes WHERE id > ?1 ORDER BY id")?;
    let rows = rows.query_map([number], |row| {
        let (id, span, session): (i64, Option<i64>, Option<String>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let wish = match span {
            Some(span) => Wish::Operation(SpanId(span.to_be_bytes())),
            None => Wish::Session(session.unwrap_or_default()),
        };
        Ok((id, wish))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The number of the last one that was ever made.
pub(super) fn last(connection: &Connection) -> Result<i64, Error> {
    let last = connection
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'wishes'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(last.unwrap_or_default())
}

/// Says that so many requests were stopped for it.
pub(super) fn fulfil(connection: &Connection, number: i64, stopped: usize) -> Result<(), Error> {
    connection
        .prepare_cached("UPDATE wishes SET stopped = stopped + ?2 WHERE id = ?1")?
        .execute((number, i64::try_from(stopped).unwrap_or(i64::MAX)))?;
    Ok(())
}

fn make(connection: &Connection, wish: &Wish, now: Nanos) -> Result<i64, Error> {
    connection.execute("DELETE FROM wishes WHERE at < ?1", [now - KEPT])?;
    let (span, session) = match wish {
        Wish::Operation(span) => (Some(number(*span)), None),
        Wish::Session(session) => (None, Some(session.as_str())),
    };
    connection.execute("INSERT INTO wishes (span, session, at) VALUES (?1, ?2, ?3)", (span, session, now))?;
    Ok(connection.last_insert_rowid())
}

fn stopped(connection: &Connection, number: i64) -> Result<usize, Error> {
    let stopped: Option<i64> = connection
        .prepare_cached("SELECT stopped FROM wishes WHERE id = ?1")?
        .query_row([number], |row| row.get(0))
        .optional()?;
    Ok(usize::try_from(stopped.unwrap_or_default()).unwrap_or_default())
}

impl TraceStore {
    /// Has other processes stop what they run. How many requests were, once somebody did, if that is waited for; none if nobody
    /// does for a while.
    pub async fn wish(&self, wish: Wish, now: Nanos, waits: bool) -> Result<usize, Error> {
        let dir = self.shared.dir.clone();
        let made = tokio::task::spawn_blocking(move || {
            let connection = files::open(&dir, EVENTS_FILE, &EVENTS_SCHEMA, None)?;
            make(&connection, &wish, now)
        });
        let number = made.await.unwrap_or(Err(Error::Io))?;
        let until = tokio::time::Instant::now() + if waits { PATIENCE } else { Duration::ZERO };
        loop {
            let readers = &self.shared.readers;
            let done = readers.run_events(move |readers| readers.events(|events| stopped(events, number)));
            let done = done.await?.unwrap_or_default();
            if done > 0 || tokio::time::Instant::now() >= until {
                return Ok(done);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
