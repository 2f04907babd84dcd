//! Lists, the newest first, page by page over all days.

pub(super) mod called;

use std::{fmt, str::FromStr};

use rusqlite::{Connection, OptionalExtension, ToSql, types::Value};

use super::{
    super::Error,
    TraceStore,
    day::Part,
    members,
    readers::Days,
    rows::{
        SESSION_COLUMNS, SESSION_COLUMNS_COUNT, SPAN_COLUMNS, SPAN_COLUMNS_COUNT, SessionPart, SessionRow,
        SpanRow, session_part, span_row,
    },
    schema::{engine_code, status_code},
};
use crate::trace::{Engine, Nanos, Status};

/// The last of a page, after which the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    started: Nanos,
    part: i64,
    row: i64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.started, self.part, self.row)
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let numbers: Vec<i64> = text.split('.').map(str::parse).collect::<Result<_, _>>().map_err(|_| ())?;
        let &[started, part, row] = numbers.as_slice() else { return Err(()) };
        Ok(Self { started, part, row })
    }
}

impl Cursor {
    pub(super) fn new(started: Nanos, part: Part, row: i64) -> Self {
        Self { started, part: part.number(), row }
    }

    pub(super) fn part(self) -> Part {
        Part::of_number(self.part)
    }

    pub(super) fn row(self) -> i64 {
        self.row
    }

    /// Start and row that everything left of a file is before.
    fn bound(cursor: Option<Self>, part: Part) -> (Nanos, i64) {
        match cursor {
            None => (Nanos::MAX, i64::MAX),
            Some(cursor) => match part.number().cmp(&cursor.part) {
                std::cmp::Ordering::Less => (cursor.started, i64::MAX),
                std::cmp::Ordering::Equal => (cursor.started, cursor.row),
                std::cmp::Ordering::Greater => (cursor.started, i64::MIN),
            },
        }
    }
}

/// Which part of a list is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    pub limit: u32,
    pub after: Option<Cursor>,
}

#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    pub engine: Option<Engine>,
    pub status: Option<Status>,
    /// The agent, or the client that called it.
    pub agent: Option<String>,
    /// A server that was called.
    pub server: Option<String>,
    /// Part of the title, the id, the agent, the client, the connection or a tag.
    pub text: Option<String>,
    pub since: Option<Nanos>,
    pub until: Option<Nanos>,
}

#[derive(Debug, Clone, Default)]
pub struct OperationFilter {
    pub status: Option<Status>,
    pub method: Option<String>,
    pub tool: Option<String>,
    /// Also of the server, where one is given.
    pub operation: Option<String>,
    /// A server that was called for it.
    pub server: Option<String>,
    /// The agent, or the client that called it.
    pub agent: Option<String>,
    pub engine: Option<Engine>,
    pub min_duration: Option<Nanos>,
    pub since: Option<Nanos>,
    pub until: Option<Nanos>,
}

/// Conditions of a statement with their values.
#[derive(Clone, Default)]
pub(super) struct Conditions {
    text: String,
    values: Vec<Value>,
}

impl Conditions {
    /// `?` stands for the value.
    pub(super) fn add(&mut self, condition: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            let value = self.value(value);
            self.require(&condition.replace('?', &value));
        }
    }

    /// What stands for a value.
    fn value(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    fn require(&mut self, condition: &str) {
        self.text.push_str(" AND ");
        self.text.push_str(condition);
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The values, and others behind them.
    pub(super) fn with<'a>(&'a self, more: &'a [i64]) -> Vec<&'a dyn ToSql> {
        let values = self.values.iter().map(|value| value as &dyn ToSql);
        values.chain(more.iter().map(|value| value as &dyn ToSql)).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.values.len()
    }
}

impl SessionFilter {
    fn conditions(&self) -> Conditions {
        let mut conditions = Conditions::default();
        conditions.add("engine = ?", self.engine.map(engine_code));
        conditions.add("status = ?", self.status.map(status_code));
        conditions.add("(agent = ? OR client = ?)", self.agent.clone());
        conditions.add(
            &format!(
                "EXISTS (SELECT 1 FROM {} WHERE r.session = sessions.id AND s.peer = ?)",
                members::OF_SESSION
            ),
            self.server.clone(),
        );
        let text =
            self.text.as_ref().filter(|text| !text.trim().is_empty()).map(|text| text.trim().to_lowercase());
        conditions.add(
            "(instr(lower(title), ?) OR instr(lower(session), ?) OR instr(lower(coalesce(agent, '')), ?)
              OR instr(lower(coalesce(connection, '')), ?) OR instr(lower(coalesce(tags, '')), ?)
              OR instr(lower(coalesce(client, '')), ?))",
            text,
        );
        conditions.add("started >= ?", self.since);
        conditions.add("started <= ?", self.until);
        conditions
    }
}

impl OperationFilter {
    fn conditions(&self) -> Conditions {
        let mut conditions = Conditions::default();
        conditions.add("s.status = ?", self.status.map(status_code));
        conditions.add("s.method = ?", self.method.clone());
        conditions.add("s.tool = ?", self.tool.clone());
        match (&self.server, &self.operation) {
            // A server's own operations are not called what ours are that call them.
            (Some(server), Some(operation)) => {
                let (server, operation) =
                    (conditions.value(server.clone()), conditions.value(operation.clone()));
                conditions.require(&format!(
                    "(s.operation = {operation} OR EXISTS (
                         SELECT 1 FROM session_runs r CROSS JOIN spans c ON c.id BETWEEN r.first AND r.last
                         WHERE r.session = s.session AND c.trace = s.trace AND c.kind = 2 AND c.peer = {server}
                           AND coalesce(c.operation, c.tool, c.method, c.name) = {operation}))",
                ));
            }
            _ => conditions.add("s.operation = ?", self.operation.clone()),
        }
        conditions.add(
            "(s.peer = ? OR EXISTS (SELECT 1 FROM session_runs r CROSS JOIN spans c ON c.id BETWEEN r.first AND r.last
                               WHERE r.session = s.session AND c.trace = s.trace AND c.peer = ?))",
            self.server.clone(),
        );
        conditions.add("(s.agent = ? OR s.client = ?)", self.agent.clone());
        conditions.add("s.engine = ?", self.engine.map(engine_code));
        conditions.add("s.ended - s.started >= ?", self.min_duration);
        conditions.add("s.started >= ?", self.since);
        conditions.add("s.started <= ?", self.until);
        conditions
    }
}

impl TraceStore {
    pub async fn sessions(
        &self,
        filter: SessionFilter,
        page: Page,
    ) -> Result<(Vec<SessionRow>, Option<Cursor>), Error> {
        self.shared
            .readers
            .run(move |days| {
                let conditions = filter.conditions();
                let bound = conditions.count();
                let statement = format!(
                    "SELECT {SESSION_COLUMNS}, id FROM sessions WHERE (started, id) < (?{}, ?{}){} ORDER BY started DESC, id DESC LIMIT ?{}",
                    bound + 1, bound + 2, conditions.text(), bound + 3,
                );
                let (found, cursor) = gather(days, &statement, &conditions, page, |row, part| {
                    Ok((session_part(row, part)?, row.get(9)?, row.get(SESSION_COLUMNS_COUNT)?))
                })?;
                Ok((joined(days, found)?, cursor))
            })
            .await
    }

    /// Requests that were served, and where reports begin.
    pub async fn operations(
        &self,
        filter: OperationFilter,
        page: Page,
    ) -> Result<(Vec<SpanRow>, Option<Cursor>), Error> {
        self.shared
            .readers
            .run(move |days| {
                let conditions = filter.conditions();
                let bound = conditions.count();
                let statement = format!(
                    "SELECT {SPAN_COLUMNS}, s.id FROM spans s INDEXED BY spans_roots JOIN sessions t ON t.id = s.session
                     WHERE s.root AND (s.started, s.id) < (?{}, ?{}){} ORDER BY s.started DESC, s.id DESC LIMIT ?{}",
                    bound + 1, bound + 2, conditions.text(), bound + 3,
                );
                let (mut found, cursor) = gather(days, &statement, &conditions, page, |row, part| {
                    Ok((span_row(row, part)?, row.get(8)?, row.get(SPAN_COLUMNS_COUNT)?))
                })?;
                // Imported twice, on two days, or reported under the ids of what we recorded.
                members::once_each(&mut found, |(_, row)| row);
                called::name_servers(days, &mut found)?;
                Ok((found.into_iter().map(|(_, row)| row).collect(), cursor))
            })
            .await
    }
}

type Found<T> = (Vec<(Cursor, T)>, Option<Cursor>);

/// Asks every file for the rest of it and takes the newest of all.
fn gather<T>(
    days: &Days<'_>,
    statement: &str,
    conditions: &Conditions,
    page: Page,
    record: impl Fn(&rusqlite::Row<'_>, Part) -> rusqlite::Result<(T, Nanos, i64)>,
) -> Result<Found<T>, Error> {
    let limit = page.limit as usize;
    let mut found: Vec<(Cursor, T)> = Vec::new();
    days.each(|part, connection| {
        let (started, row) = Cursor::bound(page.after, part);
        let more = [started, row, i64::from(page.limit) + 1];
        let mut statement = connection.prepare_cached(statement)?;
        let mut rows = statement.query(conditions.with(&more).as_slice())?;
        while let Some(row) = rows.next()? {
            let (value, started, id) = record(row, part)?;
            found.push((Cursor::new(started, part, id), value));
        }
        Ok(())
    })?;
    found.sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
    let is_more = found.len() > limit;
    found.truncate(limit);
    let cursor = found.last().map(|(cursor, _)| *cursor).filter(|_| is_more);
    Ok((found, cursor))
}

/// Sessions that went on over midnight are listed once, where they began. What was reported of one of ours is not listed.
fn joined(days: &Days<'_>, found: Vec<(Cursor, SessionPart)>) -> Result<Vec<SessionRow>, Error> {
    let mut sessions: Vec<(Part, Option<SessionPart>)> =
        found.into_iter().map(|(cursor, part)| (cursor.part(), Some(part))).collect();
    days.each(|file, connection| {
        let others = |own: Part| own != file && (own.is_reported() || !file.is_reported());
        for (own, slot) in sessions.iter_mut().filter(|(own, _)| others(*own)) {
            let Some(part) = slot.as_ref() else { continue };
            let Some(other) = one(connection, part.session(), file)? else { continue };
            let began_there =
                (other.is_reported, other.started, file) < (part.is_reported, part.started, *own);
            *slot = slot.take().filter(|_| !began_there).map(|part| part.join(other));
        }
        Ok(())
    })?;
    Ok(sessions.into_iter().filter_map(|(_, part)| Some(part?.row())).collect())
}

/// What a file knows of a session.
pub(super) fn one(connection: &Connection, session: &str, part: Part) -> Result<Option<SessionPart>, Error> {
    let statement = format!("SELECT {SESSION_COLUMNS} FROM sessions WHERE session = ?1");
    let mut statement = connection.prepare_cached(&statement)?;
    Ok(statement.query_row([session], |row| session_part(row, part)).optional()?)
}
