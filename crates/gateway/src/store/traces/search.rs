//! Looking for words, or for an id.

use std::collections::HashSet;

use super::{
    super::Error,
    TraceStore,
    day::Day,
    index::question,
    lists::{Conditions, Cursor, Page},
    readers::Days,
    rows::{SPAN_COLUMNS, SPAN_COLUMNS_COUNT, SpanRow, span_row},
};
use crate::trace::{Nanos, SpanId, TraceId};

#[derive(Debug, Clone, Default)]
pub struct SearchFilter {
    pub since: Option<Nanos>,
    pub until: Option<Nanos>,
}

impl TraceStore {
    /// Spans in which all words occur, a word with `*` behind it also as the beginning of one. Those that came last are
    /// first, and running ones are among them.
    ///
    /// A trace's or a span's id finds what has it. A text without any word in it finds nothing.
    pub async fn search(
        &self,
        text: &str,
        filter: SearchFilter,
        page: Page,
    ) -> Result<(Vec<SpanRow>, Option<Cursor>), Error> {
        let mut conditions = Conditions::default();
        let (from, order) = if let Ok(trace) = text.trim().parse::<TraceId>() {
            conditions.add("s.trace = ?", Some(trace.0.to_vec()));
            ("spans s", "s.id")
        } else if let Ok(span) = text.trim().parse::<SpanId>() {
            conditions.add("s.span = ?", Some(super::appender::number(span)));
            ("spans s", "s.id")
        } else {
            let Some(question) = question(text) else { return Ok((Vec::new(), None)) };
            conditions.add("words MATCH ?", Some(question));
            ("words CROSS JOIN spans s ON s.id = words.rowid", "words.rowid")
        };
        conditions.add("s.started >= ?", filter.since);
        conditions.add("s.started <= ?", filter.until);
        let bound = conditions.count();
        let statement = format!(
            "SELECT {SPAN_COLUMNS}, s.id FROM {from} JOIN sessions t ON t.id = s.session
             WHERE {order} < ?{}{} ORDER BY {order} DESC LIMIT ?{}",
            bound + 1,
            conditions.text(),
            bound + 2,
        );
        self.shared.readers.run(move |days| search(days, &statement, &conditions, page)).await
    }
}

fn search(
    days: &Days<'_>,
    statement: &str,
    conditions: &Conditions,
    page: Page,
) -> Result<(Vec<SpanRow>, Option<Cursor>), Error> {
    let limit = page.limit as usize;
    let mut found: Vec<(Cursor, SpanRow)> = Vec::new();
    for &day in days.list() {
        let before = match page.after.map(|cursor| (cursor.day(), cursor.row())) {
            Some((reached, _)) if day > reached => continue,
            Some((reached, row)) if day == reached => row,
            _ => i64::MAX,
        };
        let wanted = i64::try_from(limit + 1 - found.len()).unwrap_or(1);
        let rows = days.with(day, |connection| {
            let mut statement = connection.prepare_cached(statement)?;
            let rows = statement.query_map(conditions.with(&[before, wanted]).as_slice(), |row| {
                Ok((Cursor::new(0, day, row.get(SPAN_COLUMNS_COUNT)?), span_row(row)?))
            })?;
            Ok(rows.collect::<Result<Vec<_>, _>>()?)
        });
        found.extend(words_or_none(rows, day)?.unwrap_or_default());
        if found.len() > limit {
            break;
        }
    }
    let is_more = found.len() > limit;
    found.truncate(limit);
    let cursor = found.last().map(|(cursor, _)| *cursor).filter(|_| is_more);
    let mut seen = HashSet::new();
    found.retain(|(_, row)| seen.insert((row.trace_id.clone(), row.span_id.clone())));
    Ok((found.into_iter().map(|(_, row)| row).collect(), cursor))
}

/// Some writing systems have words that the index takes apart where we do not, and it cannot look for such ones.
fn words_or_none<T>(rows: Result<Option<T>, Error>, day: Day) -> Result<Option<T>, Error> {
    match rows {
        Err(Error::Io) => {
            tracing::debug!(%day, "the text index could not be asked");
            Ok(None)
        }
        rows => rows,
    }
}
