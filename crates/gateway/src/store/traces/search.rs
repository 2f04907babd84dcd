//! Looking for words, or for an id.

use rusqlite::Connection;

use super::{
    super::Error,
    TraceStore,
    appender::number,
    day::Part,
    index::{self, Question, question},
    lists::{Conditions, Cursor, Page, called},
    members,
    readers::Days,
    rows::{SPAN_COLUMNS, SPAN_COLUMNS_COUNT, SpanRow, span_row},
    sift::{self, Sieve},
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
    /// No more of the index is read than the page needs, a table of it after the other. Where few rows have the whole words,
    /// the beginnings are looked for in those.
    ///
    /// A trace's or a span's id finds what has it. A text without any word in it finds nothing.
    pub async fn search(
        &self,
        text: &str,
        filter: SearchFilter,
        page: Page,
    ) -> Result<(Vec<SpanRow>, Option<Cursor>), Error> {
        let by = if let Ok(trace) = text.trim().parse::<TraceId>() {
            By::Trace(trace)
        } else if let Ok(span) = text.trim().parse::<SpanId>() {
            By::Span(span)
        } else {
            let Some(question) = question(text) else { return Ok((Vec::new(), None)) };
            By::Words(question, Sieve::default())
        };
        self.shared.readers.run(move |days| search(days, by, &filter, page)).await
    }
}

/// What is looked for.
enum By {
    Trace(TraceId),
    Span(SpanId),
    Words(Question, Sieve),
}

impl By {
    /// Asks a file for rows before one, the newest first.
    fn ask(
        &mut self,
        file: &File<'_>,
        filter: &SearchFilter,
        before: i64,
        wanted: usize,
    ) -> Result<Vec<(Cursor, SpanRow)>, Error> {
        let mut conditions = Conditions::default();
        conditions.add("s.started >= ?", filter.since);
        conditions.add("s.started <= ?", filter.until);
        match self {
            Self::Trace(trace) => {
                conditions.add("r.trace = ?", Some(trace.0.to_vec()));
                file.rows(members::OF_TRACE, "s.id", &conditions, before, wanted)
            }
            Self::Span(span) => {
                conditions.add("s.span = ?", Some(number(*span)));
                file.rows("spans s", "s.id", &conditions, before, wanted)
            }
            Self::Words(question, sieve) => {
                let mut found = Vec::new();
                for table in index::tables(file.connection)? {
                    if *index::rows(table).start() >= before {
                        continue;
                    }
                    let more = wanted - found.len();
                    found.extend(file.words(table, question, sieve, &conditions, before, more)?);
                    if found.len() >= wanted {
                        break;
                    }
                }
                Ok(found)
            }
        }
    }
}

/// A file that is asked.
struct File<'a> {
    connection: &'a Connection,
    part: Part,
}

impl File<'_> {
    /// Rows of one table of the index.
    fn words(
        &self,
        table: i64,
        question: &Question,
        sieve: &mut Sieve,
        conditions: &Conditions,
        before: i64,
        wanted: usize,
    ) -> Result<Vec<(Cursor, SpanRow)>, Error> {
        let mut conditions = conditions.clone();
        if let Some(whole) = &question.whole {
            let rows = index::having(self.connection, table, whole, before, sift::ROWS_MAX + 1)?;
            if rows.is_empty() {
                return Ok(Vec::new());
            }
            if rows.len() <= sift::ROWS_MAX
                && let Some(fitting) = sieve.sift(self.connection, &question.all, &rows)?
            {
                let fitting = serde_json::json!(fitting).to_string();
                conditions.add("s.id IN (SELECT value FROM json_each(?))", Some(fitting));
                return self.rows("spans s", "s.id", &conditions, before, wanted);
            }
        }
        let name = index::name(table);
        conditions.add(&format!("{name} MATCH ?"), Some(question.all.clone()));
        let from = format!("{name} CROSS JOIN spans s ON s.id = {name}.rowid");
        self.rows(&from, &format!("{name}.rowid"), &conditions, before, wanted)
    }

    fn rows(
        &self,
        from: &str,
        order: &str,
        conditions: &Conditions,
        before: i64,
        wanted: usize,
    ) -> Result<Vec<(Cursor, SpanRow)>, Error> {
        let bound = conditions.count();
        let statement = format!(
            "SELECT {SPAN_COLUMNS}, s.id FROM {from} JOIN sessions t ON t.id = s.session
             WHERE {order} < ?{}{} ORDER BY {order} DESC LIMIT ?{}",
            bound + 1,
            conditions.text(),
            bound + 2,
        );
        let mut statement = self.connection.prepare_cached(&statement)?;
        let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
        let rows = statement.query_map(conditions.with(&[before, wanted]).as_slice(), |row| {
            Ok((Cursor::new(0, self.part, row.get(SPAN_COLUMNS_COUNT)?), span_row(row, self.part)?))
        })?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?)
    }
}

fn search(
    days: &Days<'_>,
    mut by: By,
    filter: &SearchFilter,
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
        let rows = days.with(part, |connection| by.ask(&File { connection, part }, filter, before, wanted));
        found.extend(words_or_none(rows, part)?.unwrap_or_default());
        if found.len() > limit {
            break;
        }
    }
    let is_more = found.len() > limit;
    found.truncate(limit);
    let cursor = found.last().map(|(cursor, _)| *cursor).filter(|_| is_more);
    members::once_each(&mut found, |(_, row)| row);
    called::name_servers(days, &mut found)?;
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
