//! The rows of sessions, kept up in the transaction that writes their spans.

use std::collections::{HashMap, HashSet, hash_map::Entry};

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::{
    super::Error,
    packed::{Packed, Text, cut, session_id},
    rows::hex_digits,
    schema::{engine_code, status_code},
};
use crate::trace::{Engine, Nanos, Status, TraceId};

const TITLE_BYTES_MAX: usize = 256;

/// Who a session is of is taken from its first root, or from whatever came first until there is one. Its outcome is that of
/// its last root, once nothing of it goes on. Whoever names the id of something of another kind says nothing of how that
/// came out.
const UPDATE: &str = "
UPDATE sessions SET
    spans = spans + ?2,
    errors = errors + ?3,
    running = running + ?4,
    waiting = waiting + ?5,
    started = min(started, ?6),
    ended = max(coalesce(ended, ?7), coalesce(?7, ended)),
    root_status = CASE WHEN engine = ?10 AND ?8 >= coalesce(last_root, ?8) THEN ?9 ELSE root_status END,
    last_root = CASE WHEN engine = ?10 THEN max(coalesce(last_root, ?8), ?8) ELSE last_root END,
    status = CASE
        WHEN waiting + ?5 > 0 THEN 1
        WHEN running + ?4 > 0 THEN 0
        WHEN engine = ?10 AND ?8 >= coalesce(last_root, ?8) THEN ?9
        WHEN root_status IS NOT NULL THEN root_status
        WHEN errors + ?3 > 0 THEN 3
        ELSE 2 END
WHERE id = ?1";

const DESCRIBE: &str = "
UPDATE sessions SET
    title = ?3,
    agent = coalesce(?4, agent),
    connection = coalesce(?5, connection),
    principal = coalesce(?6, principal),
    transport = coalesce(?7, transport),
    tags = coalesce(?8, tags),
    client = coalesce(?9, client),
    first_root = ?2
WHERE id = ?1 AND ?2 <= coalesce(first_root, ?2)";

/// A session that begins with this batch is written once, when all of the batch is known.
const INSERT: &str = "
INSERT INTO sessions (id, session, engine, status, title, agent, connection, principal, transport, tags, started, ended,
                      spans, errors, running, waiting, first_root, last_root, root_status, client)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)";

/// What was reported of a trace before anybody named its session, put to that session.
const JOIN: &str = "
UPDATE sessions SET
    spans = sessions.spans + other.spans,
    errors = sessions.errors + other.errors,
    running = sessions.running + other.running,
    waiting = sessions.waiting + other.waiting,
    started = min(sessions.started, other.started),
    ended = max(coalesce(sessions.ended, other.ended), coalesce(other.ended, sessions.ended)),
    root_status = CASE WHEN other.last_root >= coalesce(sessions.last_root, other.last_root)
        THEN other.root_status ELSE sessions.root_status END,
    last_root = max(coalesce(sessions.last_root, other.last_root), coalesce(other.last_root, sessions.last_root))
FROM (SELECT * FROM sessions WHERE id = ?1) AS other
WHERE sessions.id = ?2";

const JOIN_SPANS: &str = "
UPDATE spans SET session = ?2 WHERE id IN (
    SELECT s.id FROM session_runs r CROSS JOIN spans s ON s.id BETWEEN r.first AND r.last WHERE r.session = ?1
)";

/// The session that something else of a trace is of.
const OF_TRACE: &str = "
SELECT s.session FROM trace_runs r CROSS JOIN spans s ON s.id BETWEEN r.first AND r.last WHERE r.trace = ?1 LIMIT 1";

const ROW: &str = "SELECT id FROM sessions WHERE session = ?1";

/// What a batch changes about sessions, by the rows of them.
pub(super) struct Changes<'a, 't> {
    connection: &'t Connection,
    row: CachedStatement<'t>,
    of_trace: CachedStatement<'t>,
    /// The sessions that spans of this batch name, by their traces. Whoever names none is of such a one.
    named: Option<HashMap<TraceId, &'a Packed, foldhash::fast::RandomState>>,
    /// Traces that the file has nothing of.
    new_traces: HashSet<TraceId, foldhash::fast::RandomState>,

    rows: HashMap<&'a str, i64, foldhash::fast::RandomState>,
    /// What sessions are called that are not in the file yet.
    names: HashMap<i64, &'a str, foldhash::fast::RandomState>,
    changes: HashMap<i64, Change<'a>, foldhash::fast::RandomState>,
    /// The first row that is not in the file yet, and the next one to give out. Nobody else writes meanwhile.
    new: Option<(i64, i64)>,
}

struct Change<'a> {
    spans: i64,
    errors: i64,
    running: i64,
    waiting: i64,
    /// The span that came first.
    any: &'a Packed,
    first: Nanos,
    last: Option<Nanos>,
    first_root: Option<&'a Packed>,
    last_root: Option<&'a Packed>,
}

impl<'a, 't> Changes<'a, 't> {
    pub(super) fn new(connection: &'t Connection) -> Result<Self, Error> {
        Ok(Self {
            connection,
            row: connection.prepare_cached(ROW)?,
            of_trace: connection.prepare_cached(OF_TRACE)?,
            named: None,
            new_traces: HashSet::default(),
            rows: HashMap::default(),
            names: HashMap::default(),
            changes: HashMap::default(),
            new: None,
        })
    }

    /// Those of what others report: the spans of a trace come in no order, and often only the first of them names the session.
    pub(super) fn of_reports(connection: &'t Connection, spans: &[&'a Packed]) -> Result<Self, Error> {
        let mut named: HashMap<_, &Packed, foldhash::fast::RandomState> = HashMap::default();
        for span in spans.iter().filter(|span| !is_of_trace(span)) {
            if let Entry::Vacant(first) = named.entry(span.trace) {
                first.insert(span);
                join(connection, span)?;
            }
        }
        Ok(Self { named: Some(named), ..Self::new(connection)? })
    }

    /// The row of a span's session, or the one that it will have.
    pub(super) fn session(&mut self, span: &'a Packed) -> Result<i64, Error> {
        let session = session_id(&span.session);
        if let Some(row) = self.rows.get(session) {
            return Ok(*row);
        }
        if self.takes_any(span) {
            // What is there of its trace counts more than what comes with it, so that its end finds its beginning.
            let mut found = self.of_trace.query_row([span.trace.0], |row| row.get(0)).optional()?;
            if found.is_none() {
                self.new_traces.insert(span.trace);
                let named = self.named.as_ref().and_then(|named| named.get(&span.trace)).copied();
                found = named.map(|named| self.session(named)).transpose()?;
            }
            if let Some(row) = found {
                self.rows.insert(session, row);
                return Ok(row);
            }
        }
        let row = match self.row.query_row([session], |row| row.get(0)).optional()? {
            Some(row) => row,
            None => {
                let (first, next) = match self.new {
                    Some(new) => new,
                    None => {
                        let next: i64 = self
                            .connection
                            .prepare_cached("SELECT coalesce(max(id), 0) + 1 FROM sessions")?
                            .query_row([], |row| row.get(0))?;
                        (next, next)
                    }
                };
                self.new = Some((first, next + 1));
                self.names.insert(next, session);
                next
            }
        };
        self.rows.insert(session, row);
        Ok(row)
    }

    /// Whether the file had nothing of a trace when this batch began, as far as that is known.
    pub(super) fn is_new(&self, trace: TraceId) -> bool {
        self.new_traces.contains(&trace)
    }

    /// Whether a span was reported that names no session, and so is of whichever its trace is of.
    pub(super) fn takes_any(&self, span: &Packed) -> bool {
        self.named.is_some() && is_of_trace(span)
    }

    /// Counts a span that is new, or one that was known with another status.
    pub(super) fn add(&mut self, session: i64, span: &'a Packed, before: Option<Status>) {
        let change = self.changes.entry(session).or_insert(Change {
            spans: 0,
            errors: 0,
            running: 0,
            waiting: 0,
            any: span,
            first: span.started,
            last: None,
            first_root: None,
            last_root: None,
        });
        change.spans += i64::from(before.is_none());
        change.errors += difference(before, span.status, Status::Error);
        change.running += difference(before, span.status, Status::Running);
        change.waiting += difference(before, span.status, Status::Waiting);
        change.first = change.first.min(span.started);
        change.last = change.last.max(span.ended);
        if span.is_root() {
            if change.first_root.is_none_or(|known| span.started < known.started) {
                change.first_root = Some(span);
            }
            // What runs by itself says more of its session than who named it.
            let weight = |root: &Packed| (root.engine != Engine::Inbound, root.started);
            if change.last_root.is_none_or(|known| weight(span) >= weight(known)) {
                change.last_root = Some(span);
            }
        }
    }

    pub(super) fn write(&self) -> Result<(), Error> {
        let mut update = self.connection.prepare_cached(UPDATE)?;
        let mut describe = self.connection.prepare_cached(DESCRIBE)?;
        let mut insert = self.connection.prepare_cached(INSERT)?;
        // In the order of their rows, which is the cheapest to write.
        let mut changes: Vec<_> = self.changes.iter().collect();
        changes.sort_unstable_by_key(|(row, _)| **row);
        for (row, change) in changes {
            let last_root = change.last_root.map(|span| (span.started, status_code(span.status)));
            let said = change.first_root.unwrap_or(change.any);
            if self.new.is_some_and(|(first, _)| *row >= first) {
                insert.execute(params![
                    row,
                    self.names.get(row).copied().unwrap_or_else(|| session_id(&said.session)),
                    engine_code(said.engine),
                    status_code(change.status()),
                    cut(said.name(), TITLE_BYTES_MAX),
                    said.text(Text::Agent),
                    said.text(Text::Connection),
                    said.text(Text::Principal),
                    said.text(Text::Transport),
                    said.text(Text::Tags),
                    change.first,
                    change.last,
                    change.spans,
                    change.errors,
                    change.running,
                    change.waiting,
                    change.first_root.map(|span| span.started),
                    last_root.map(|(started, _)| started),
                    last_root.map(|(_, status)| status),
                    said.text(Text::Client),
                ])?;
                continue;
            }
            update.execute(params![
                row,
                change.spans,
                change.errors,
                change.running,
                change.waiting,
                change.first,
                change.last,
                last_root.map(|(started, _)| started),
                last_root.map(|(_, status)| status),
                change.last_root.map(|span| engine_code(span.engine)),
            ])?;
            if let Some(root) = change.first_root {
                describe.execute(params![
                    row,
                    root.started,
                    cut(said.name(), TITLE_BYTES_MAX),
                    said.text(Text::Agent),
                    said.text(Text::Connection),
                    said.text(Text::Principal),
                    said.text(Text::Transport),
                    said.text(Text::Tags),
                    said.text(Text::Client),
                ])?;
            }
        }
        Ok(())
    }
}

impl Change<'_> {
    /// How a session stands that has nothing but this batch, as [`UPDATE`] says it of others.
    fn status(&self) -> Status {
        match self.last_root {
            _ if self.waiting > 0 => Status::Waiting,
            _ if self.running > 0 => Status::Running,
            Some(root) => root.status,
            None if self.errors > 0 => Status::Error,
            None => Status::Ok,
        }
    }
}

/// Whether nobody named its session.
fn is_of_trace(span: &Packed) -> bool {
    let digits = span.session.as_bytes().chunks_exact(2);
    let is_byte = |(digits, byte): (&[u8], &u8)| digits == hex_digits(*byte);
    span.session.len() == 2 * span.trace.0.len() && digits.zip(&span.trace.0).all(is_byte)
}

fn row_of(connection: &Connection, session: &str) -> Result<Option<i64>, Error> {
    let mut row = connection.prepare_cached(ROW)?;
    Ok(row.query_row([session], |row| row.get(0)).optional()?)
}

/// Puts what is there of a span's trace, and of no session that anybody named, to the span's own session.
fn join(connection: &Connection, span: &Packed) -> Result<(), Error> {
    let session = session_id(&span.session);
    let Some(unnamed) = row_of(connection, &span.trace.to_string())? else { return Ok(()) };
    let Some(named) = row_of(connection, session)? else {
        connection
            .prepare_cached("UPDATE sessions SET session = ?2 WHERE id = ?1")?
            .execute((unnamed, session))?;
        return Ok(());
    };
    let both = (unnamed, named);
    connection.prepare_cached(JOIN)?.execute(both)?;
    connection.prepare_cached(JOIN_SPANS)?.execute(both)?;
    connection.prepare_cached("UPDATE session_runs SET session = ?2 WHERE session = ?1")?.execute(both)?;
    connection.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([unnamed])?;
    Ok(())
}

fn difference(before: Option<Status>, after: Status, of: Status) -> i64 {
    i64::from(after == of) - i64::from(before == Some(of))
}
