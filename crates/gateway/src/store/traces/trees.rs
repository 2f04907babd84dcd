//! Everything of one session, of one trace, or of one span.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Row};

use super::{
    super::Error,
    TraceStore,
    appender::number,
    day::Part,
    lists::one,
    members,
    packed::session_id,
    readers::Days,
    rows::{
        SPAN_COLUMNS, SPAN_COLUMNS_COUNT, SessionRow, SpanFull, SpanRow, full_span, span_row, whole_span,
    },
};
use crate::trace::{Nanos, Span, SpanId, TraceId};

/// Spans of a session that are told with it.
pub const SESSION_SPANS_MAX: usize = 10_000;

const DETAILS: &str = "d.attributes, d.events, d.links";

/// Spans of a trace as they are read: what we recorded, then what was reported, the oldest day first and in the order of
/// their starts within each.
#[derive(Debug)]
pub enum Piece {
    Row(Box<SpanRow>),
    Full(Box<SpanFull>),
}

impl TraceStore {
    pub async fn session(&self, session: &str) -> Result<Option<(SessionRow, Vec<SpanRow>)>, Error> {
        let session = session_id(session).to_owned();
        let read = move |days: &Days<'_>| {
            let mut whole = None;
            let mut spans: Vec<SpanRow> = Vec::new();
            days.each(|file, connection| {
                let Some(part) = one(connection, &session, file)? else { return Ok(()) };
                whole = Some(match whole.take() {
                    None => part,
                    Some(known) => super::rows::SessionPart::join(known, part),
                });
                let statement = format!(
                    "SELECT {SPAN_COLUMNS} FROM {} JOIN sessions t ON t.id = s.session
                     WHERE r.session = (SELECT id FROM sessions WHERE session = ?1) ORDER BY s.started, s.id LIMIT ?2",
                    members::OF_SESSION,
                );
                let mut statement = connection.prepare_cached(&statement)?;
                let rows = statement
                    .query_map((&session, SESSION_SPANS_MAX as i64), |row| span_row(row, file))?;
                spans.extend(rows.collect::<Result<Vec<_>, _>>()?);
                Ok(())
            })?;
            members::once_each(&mut spans, |span| span);
            spans.sort_by_key(|span| span.started_us);
            spans.truncate(SESSION_SPANS_MAX);
            Ok(whole.map(|part| (part.row(), spans)))
        };
        self.shared.readers.run(read).await
    }

    /// Hands every span of a trace to `take`, until that wants no more. How many there were.
    ///
    /// `take` runs on a thread of its own and may wait.
    pub async fn trace(
        &self,
        trace: TraceId,
        full: bool,
        take: impl FnMut(Piece) -> bool + Send + 'static,
    ) -> Result<u64, Error> {
        let mut take = take;
        let read = move |days: &Days<'_>| {
            let (more, join) = if full {
                (format!(", {DETAILS}"), "JOIN details d ON d.id = s.id")
            } else {
                (String::new(), "")
            };
            let statement = format!(
                "SELECT {SPAN_COLUMNS}{more} FROM {} JOIN sessions t ON t.id = s.session {join}
                 WHERE r.trace = ?1 ORDER BY s.started, s.id",
                members::OF_TRACE,
            );
            each_member(days, trace, &statement, |row, part| {
                let piece = if full {
                    Piece::Full(Box::new(full_span(row, part)?))
                } else {
                    Piece::Row(Box::new(span_row(row, part)?))
                };
                Ok(take(piece))
            })
        };
        self.shared.readers.run(read).await
    }

    /// Whether there is any span of a trace.
    pub async fn has_trace(&self, trace: TraceId) -> Result<bool, Error> {
        let read = move |days: &Days<'_>| {
            let statement = format!("SELECT 1, s.span FROM {} WHERE r.trace = ?1 LIMIT 1", members::OF_TRACE);
            Ok(each_member(days, trace, &statement, |_, _| Ok(false))? > 0)
        };
        self.shared.readers.run(read).await
    }

    pub async fn span(&self, trace: TraceId, span: SpanId) -> Result<Option<SpanFull>, Error> {
        let read = move |days: &Days<'_>| {
            let mut found: Option<SpanFull> = None;
            for part in days.ours_first() {
                // What has ended says all, and what was reported under its id says nothing of what we recorded.
                let is_enough = |known: &SpanFull| {
                    known.row.ended_us.is_some() || part.is_reported() != known.row.reported
                };
                if found.as_ref().is_some_and(is_enough) {
                    break;
                }
                let read = days.with(part, |connection| {
                    let statement = format!(
                        "SELECT {SPAN_COLUMNS}, {DETAILS} FROM {} JOIN sessions t ON t.id = s.session
                         JOIN details d ON d.id = s.id WHERE r.trace = ?1 AND s.span = ?2",
                        members::OF_TRACE,
                    );
                    let mut statement = connection.prepare_cached(&statement)?;
                    let read = |row: &rusqlite::Row<'_>| full_span(row, part);
                    Ok(statement.query_row((trace.0, number(span)), read).optional()?)
                })?;
                found = read.flatten().or(found.take());
            }
            Ok(found)
        };
        self.shared.readers.run(read).await
    }

    /// Spans as they were recorded, in the order in which they came, for who takes them elsewhere. The second value is
    /// where the next ones begin; nothing means that these were the last.
    pub async fn export(
        &self,
        since: Option<Nanos>,
        until: Option<Nanos>,
        after: Option<ExportCursor>,
        limit: u32,
    ) -> Result<(Vec<Span>, Option<ExportCursor>), Error> {
        let read = move |days: &Days<'_>| {
            let (since, until) = (since.unwrap_or(Nanos::MIN), until.unwrap_or(Nanos::MAX));
            let mut spans = Vec::new();
            for &part in days.list().iter().rev() {
                let from = match after {
                    Some(cursor) if part < cursor.part => continue,
                    Some(cursor) if part == cursor.part => cursor.row,
                    _ => 0,
                };
                let wanted = i64::from(limit);
                let last = days
                    .with(part, |connection| exported(connection, from, since, until, wanted, &mut spans))?;
                if let Some(Some(row)) = last {
                    return Ok((spans, Some(ExportCursor { part, row })));
                }
            }
            Ok((spans, None))
        };
        self.shared.readers.run(read).await
    }
}

/// Hands rows of a trace's spans to `take`, until that wants no more: what we recorded first, and each span once. How many there
/// were. The second column of the statement is the span's id.
pub(super) fn each_member(
    days: &Days<'_>,
    trace: TraceId,
    statement: &str,
    mut take: impl FnMut(&Row<'_>, Part) -> rusqlite::Result<bool>,
) -> Result<u64, Error> {
    let mut seen: HashSet<i64, foldhash::fast::RandomState> = HashSet::default();
    let mut wanted = true;
    for part in days.ours_first() {
        if !wanted {
            break;
        }
        days.with(part, |connection| {
            let mut statement = connection.prepare_cached(statement)?;
            let mut rows = statement.query([trace.0])?;
            while let Some(row) = rows.next()?.filter(|_| wanted) {
                if seen.insert(row.get(1)?) {
                    wanted = take(row, part)?;
                }
            }
            Ok(())
        })?;
    }
    Ok(seen.len() as u64)
}

/// Where an export goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportCursor {
    part: Part,
    row: i64,
}

/// Adds spans until there are enough; the last row that was read if so.
fn exported(
    connection: &Connection,
    from: i64,
    since: Nanos,
    until: Nanos,
    wanted: i64,
    spans: &mut Vec<Span>,
) -> Result<Option<i64>, Error> {
    let statement = format!(
        "SELECT {SPAN_COLUMNS}, {DETAILS}, s.id FROM spans s JOIN sessions t ON t.id = s.session JOIN details d ON d.id = s.id
         WHERE s.id > ?1 AND s.started >= ?2 AND s.started <= ?3 ORDER BY s.id"
    );
    let mut statement = connection.prepare_cached(&statement)?;
    let mut rows = statement.query((from, since, until))?;
    while let Some(row) = rows.next()? {
        spans.push(whole_span(row)?);
        if spans.len() as i64 >= wanted {
            return Ok(Some(row.get(SPAN_COLUMNS_COUNT + 3)?));
        }
    }
    Ok(None)
}
