//! Everything of one session, of one trace, or of one span.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension};

use super::{
    super::Error,
    TraceStore,
    appender::number,
    hot::session_id,
    lists::one,
    readers::Days,
    rows::{
        SPAN_COLUMNS, SPAN_COLUMNS_COUNT, SessionRow, SpanFull, SpanRow, full_span, span_row, whole_span,
    },
};
use crate::trace::{Nanos, Span, SpanId, TraceId};

/// Spans of a session that are told with it.
const SESSION_SPANS_MAX: usize = 10_000;

const DETAILS: &str = "d.attributes, d.events, d.links";

/// Spans of a trace as they are read, oldest day first and in the order of their starts within each.
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
            days.each(|_, connection| {
                let Some(part) = one(connection, &session)? else { return Ok(()) };
                whole = Some(match whole.take() {
                    None => part,
                    Some(known) => super::rows::SessionPart::join(known, part),
                });
                let statement = format!(
                    "SELECT {SPAN_COLUMNS} FROM spans s JOIN sessions t ON t.id = s.session
                     WHERE s.session = (SELECT id FROM sessions WHERE session = ?1) ORDER BY s.started, s.id LIMIT ?2"
                );
                let mut statement = connection.prepare_cached(&statement)?;
                let rows = statement.query_map((&session, SESSION_SPANS_MAX as i64), span_row)?;
                spans.extend(rows.collect::<Result<Vec<_>, _>>()?);
                Ok(())
            })?;
            let mut seen = HashSet::new();
            spans.retain(|span| seen.insert((span.trace_id.clone(), span.span_id.clone())));
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
            let mut count = 0;
            let mut seen: HashSet<i64> = HashSet::new();
            let mut wanted = true;
            let list: Vec<_> = days.list().iter().rev().copied().collect();
            for day in list {
                if !wanted {
                    break;
                }
                days.with(day, |connection| {
                    let (more, join) = if full {
                        (format!(", {DETAILS}"), "JOIN details d ON d.id = s.id")
                    } else {
                        (String::new(), "")
                    };
                    let statement = format!(
                        "SELECT {SPAN_COLUMNS}{more} FROM spans s JOIN sessions t ON t.id = s.session {join}
                         WHERE s.trace = ?1 ORDER BY s.started, s.id"
                    );
                    let mut statement = connection.prepare_cached(&statement)?;
                    let mut rows = statement.query([trace.0])?;
                    while let Some(row) = rows.next()? {
                        if !seen.insert(row.get(1)?) {
                            continue;
                        }
                        count += 1;
                        let piece = if full {
                            Piece::Full(Box::new(full_span(row)?))
                        } else {
                            Piece::Row(Box::new(span_row(row)?))
                        };
                        wanted = take(piece);
                        if !wanted {
                            break;
                        }
                    }
                    Ok(())
                })?;
            }
            Ok(count)
        };
        self.shared.readers.run(read).await
    }

    pub async fn span(&self, trace: TraceId, span: SpanId) -> Result<Option<SpanFull>, Error> {
        let read = move |days: &Days<'_>| {
            let mut found: Option<SpanFull> = None;
            days.each(|_, connection| {
                if found.as_ref().is_none_or(|span| span.row.ended_us.is_none()) {
                    let statement = format!(
                        "SELECT {SPAN_COLUMNS}, {DETAILS} FROM spans s JOIN sessions t ON t.id = s.session
                         JOIN details d ON d.id = s.id WHERE s.trace = ?1 AND s.span = ?2"
                    );
                    let mut statement = connection.prepare_cached(&statement)?;
                    let known = statement.query_row((trace.0, number(span)), full_span).optional()?;
                    found = known.or(found.take());
                }
                Ok(())
            })?;
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
            for &day in days.list().iter().rev() {
                let from = match after {
                    Some(cursor) if day.0 < cursor.day => continue,
                    Some(cursor) if day.0 == cursor.day => cursor.row,
                    _ => 0,
                };
                let wanted = i64::from(limit);
                let last = days
                    .with(day, |connection| exported(connection, from, since, until, wanted, &mut spans))?;
                if let Some(Some(row)) = last {
                    return Ok((spans, Some(ExportCursor { day: day.0, row })));
                }
            }
            Ok((spans, None))
        };
        self.shared.readers.run(read).await
    }
}

/// Where an export goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportCursor {
    day: i64,
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
