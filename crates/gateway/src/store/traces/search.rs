//! Looking for words, or for an id.

use rusqlite::Connection;

use super::{
    super::Error,
    TraceStore,
    day::Part,
    index::{self, question},
    lists::{Conditions, Cursor, Page},
    members,
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
    /// first, and running ones are among them; of one day what we recorded stands before what was reported.
    ///
    /// No more of the index is read than the page needs, a table of it after the other.
    ///
    /// A trace's or a span's id finds what has it. A text without any word in it finds nothing.
    pub async fn search(
        &self,
        text: &str,
        filter: SearchFilter,
        page: Page,
    ) -> Result<(Vec<SpanRow>, Option<Cursor>), Error> {
        let mut conditions = Conditions::default();
        let by = if let Ok(trace) = text.trim().parse::<TraceId>() {
            conditions.add("r.trace = ?", Some(trace.0.to_vec()));
            By::Trace
        } else if let Ok(span) = text.trim().parse::<SpanId>() {
            conditions.add("s.span = ?", Some(super::appender::number(span)));
            By::Span
        } else {
            let Some(question) = question(text) else { return Ok((Vec::new(), None)) };
            conditions.add("w.words MATCH ?", Some(question.all));
            By::Words { whole: question.whole }
        };
        conditions.add("s.started >= ?", filter.since);
        conditions.add("s.started <= ?", filter.until);
        self.shared.readers.run(move |days| search(days, &by, &conditions, page)).await
    }
}

/// What is looked for.
enum By {
    Trace,
    Span,
    Words { whole: Option<String> },
}

impl By {
    /// Asks a file for rows before one, the newest first.
    fn ask(
        &self,
        connection: &Connection,
        part: Part,
        conditions: &Conditions,
        before: i64,
        wanted: usize,
    ) -> Result<Vec<(Cursor, SpanRow)>, Error> {
        let ask = |from: &str, order: &str, conditions_text: &str, wanted: usize| -> Result<Vec<_>, Error> {
            let bound = conditions.count();
            let statement = format!(
                "SELECT {SPAN_COLUMNS}, s.id FROM {from} JOIN sessions t ON t.id = s.session
                 WHERE {order} < ?{}{conditions_text} ORDER BY {order} DESC LIMIT ?{}",
                bound + 1,
                bound + 2,
            );
            let mut statement = connection.prepare_cached(&statement)?;
            let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
            let rows = statement.query_map(conditions.with(&[before, wanted]).as_slice(), |row| {
                Ok((Cursor::new(0, part, row.get(SPAN_COLUMNS_COUNT)?), span_row(row, part)?))
            })?;
            Ok(rows.collect::<Result<Vec<_>, _>>()?)
        };
        match self {
            Self::Trace => ask(members::OF_TRACE, "s.id", conditions.text(), wanted),
            Self::Span => ask("spans s", "s.id", conditions.text(), wanted),
            Self::Words { whole } => {
                let mut found = Vec::new();
                for table in index::tables(connection)? {
                    if *index::rows(table).start() >= before {
                        continue;
                    }
                    if let Some(whole) = whole
                        && !index::has(connection, table, whole)?
                    {
                        continue;
                    }
                    let name = index::name(table);
                    let from = format!("{name} CROSS JOIN spans s ON s.id = {name}.rowid");
                    let text = conditions.text().replace("w.words", &name);
                    found.extend(ask(&from, &format!("{name}.rowid"), &text, wanted - found.len())?);
                    if found.len() >= wanted {
                        break;
                    }
                }
                Ok(found)
            }
        }
    }
}

fn search(
    days: &Days<'_>,
    by: &By,
    conditions: &Conditions,
    page: Page,
) -> Result<(Vec<SpanRow>, Option<Cursor>), Error> {
    let limit = page.limit as usize;
    let mut found: Vec<(Cursor, SpanRow)> = Vec::new();
    for &part in days.list() {
        let before = match page.after.map(|cursor| (cursor.part(), cursor.row())) {
            Some((reached, _)) if part > reached => continue,
            Some((reached, row)) if part == reached => row,
            _ => i64::MAX,
        };
        let wanted = limit + 1 - found.len();
        let rows = days.with(part, |connection| by.ask(connection, part, conditions, before, wanted));
        found.extend(words_or_none(rows, part)?.unwrap_or_default());
        if found.len() > limit {
            break;
        }
    }
    let is_more = found.len() > limit;
    found.truncate(limit);
    let cursor = found.last().map(|(cursor, _)| *cursor).filter(|_| is_more);
    members::once_each(&mut found, |(_, row)| row);
    Ok((found.into_iter().map(|(_, row)| row).collect(), cursor))
}

/// Some writing systems have words that the index takes apart where we do not, and it cannot look for such ones.
fn words_or_none<T>(rows: Result<Option<T>, Error>, part: Part) -> Result<Option<T>, Error> {
    match rows {
        Err(Error::Io) => {
            tracing::debug!(day = %part.day, "the text index could not be asked");
            Ok(None)
        }
        rows => rows,
    }
}
