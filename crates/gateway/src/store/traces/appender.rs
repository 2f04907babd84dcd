//! Writing: one thread of a process hands in batches, and each is there whole or not at all.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    sync::Arc,
};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::{
    super::Error,
    Appended, Batch, Shared,
    day::Day,
    files,
    hot::{Hot, NAME_BYTES_MAX, cut, is_root, session_id},
    index,
    schema::{DAY_SCHEMA, EVENTS_FILE, EVENTS_SCHEMA, engine_code, kind_code, status_code, status_of},
    sessions::Changes,
};
use crate::trace::{Event, Nanos, Span, SpanId, TraceId};

/// Files of days that are kept open. Today is one, and around midnight or while something is imported there are others.
const OPEN_MAX: usize = 3;
/// The file may grow a little beyond what all may take together: retention comes later than a batch.
const SLACK: u64 = 16;
/// Events are counted out so seldom, since each time costs a look at the first and the last one.
const EVENTS_BETWEEN_TRIMS: u64 = 1000;

const INSERT: &str = "
INSERT INTO spans (trace, span, parent, session, engine, kind, status, root, started, ended, waited, name,
                   method, tool, operation, peer, agent, client, request, parent_request, error, tokens)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)
ON CONFLICT DO NOTHING";

const UPDATE: &str = "
UPDATE spans SET status = ?2, ended = ?3, waited = ?4, name = ?5, method = ?6, tool = ?7, operation = ?8, peer = ?9,
                 agent = ?10, client = ?11, request = ?12, parent_request = ?13, error = ?14, tokens = ?15
WHERE id = ?1";

/// The one writer of a process. Several processes may write to the same directory.
pub struct Appender {
    shared: Arc<Shared>,
    open: Vec<File>,
    events: Option<Connection>,
    events_since_trim: u64,
    /// Days whose text index may be behind.
    pub(super) lagging: BTreeSet<Day>,
}

struct File {
    day: Day,
    identity: Option<(u64, u64)>,
    connection: Connection,
}

impl Appender {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let lagging = files::days(&shared.dir).unwrap_or_default().into_iter().collect();
        Self { shared, open: Vec::new(), events: None, events_since_trim: EVENTS_BETWEEN_TRIMS, lagging }
    }

    /// Writes a batch. Spans that are known are brought up to date as long as they have not ended; what has ended is
    /// never rewritten, so that a batch may be handed in again after a failure.
    ///
    /// The spans of one day are there whole or not at all. If a day's file cannot be written, those of other days still
    /// are, and the first error is returned.
    pub fn append(&mut self, batch: &Batch, now: Nanos) -> Result<Appended, Error> {
        let mut days: BTreeMap<Day, Vec<&Span>> = BTreeMap::new();
        for span in newest_of_each(&batch.spans) {
            let day = Day::to_keep(span.started, now, self.shared.options.max_age_days);
            days.entry(day).or_default().push(span);
        }
        let mut done = Appended::default();
        let mut failed = None;
        for (day, spans) in days {
            match self.append_to(day, &spans, now) {
                Ok(appended) => done.add(&appended),
                Err(error) => {
                    self.forget(day);
                    failed.get_or_insert(error);
                }
            }
        }
        if !batch.events.is_empty() {
            match self.append_events(&batch.events) {
                Ok(()) => self.shared.news.notify_waiters(),
                Err(error) => {
                    self.events = None;
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or(Ok(done), Err)
    }

    fn append_to(&mut self, day: Day, spans: &[&Span], now: Nanos) -> Result<Appended, Error> {
        match write(self.file(day)?, spans) {
            // What is full by its own limit makes room for what is newer; a full disk is not ours to empty.
            Err(Error::Full) if self.retain(now)?.freed_any() => write(self.file(day)?, spans),
            outcome => outcome,
        }
        .inspect(|_| {
            self.lagging.insert(day);
        })
    }

    fn append_events(&mut self, events: &[Event]) -> Result<(), Error> {
        if self.events.is_none() {
            self.events = Some(files::open(&self.shared.dir, EVENTS_FILE, &EVENTS_SCHEMA, None)?);
        }
        let Some(connection) = &mut self.events else { return Ok(()) };
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO events (name, at, session, trace, span, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            for event in events {
                insert.execute(params![
                    event.name,
                    event.at,
                    session_id(&event.session),
                    event.trace.0,
                    number(event.span),
                    event.data.to_string(),
                ])?;
            }
        }
        self.events_since_trim += events.len() as u64;
        if self.events_since_trim >= EVENTS_BETWEEN_TRIMS {
            transaction.execute(
                "DELETE FROM events WHERE seq <= (SELECT max(seq) FROM events) - ?1",
                [self.shared.options.max_events],
            )?;
            self.events_since_trim = 0;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Brings the text index forward by so many spans at the most; how many it were. Called between batches.
    pub fn index_some(&mut self, max_rows: u32) -> Result<u32, Error> {
        while let Some(day) = self.lagging.last().copied() {
            let known = self.path(day).exists();
            let indexed =
                if known { self.file(day).and_then(|file| index::advance(file, max_rows)) } else { Ok(0) };
            match indexed {
                Ok(0) => {}
                Ok(rows) => return Ok(rows),
                Err(Error::Busy) => return Err(Error::Busy),
                Err(error) => {
                    // It is tried again once something is written to that day.
                    self.lagging.remove(&day);
                    self.forget(day);
                    return Err(error);
                }
            }
            self.lagging.remove(&day);
        }
        Ok(0)
    }

    /// Spans that cannot be found by their words yet, in the files that this process writes.
    pub fn index_lag(&mut self) -> Result<u64, Error> {
        let mut lag = 0;
        for day in self.lagging.clone() {
            lag += if self.path(day).exists() { index::lag(self.file(day)?)? } else { 0 };
        }
        Ok(lag)
    }

    /// The connection to a day's file. One that was removed or replaced meanwhile is opened anew.
    pub(super) fn file(&mut self, day: Day) -> Result<&mut Connection, Error> {
        let identity = files::identity(&self.path(day));
        self.open.retain(|file| file.day != day || (identity.is_some() && file.identity == identity));
        if let Some(place) = self.open.iter().position(|file| file.day == day) {
            let file = self.open.remove(place);
            self.open.push(file);
        } else {
            if self.open.len() >= OPEN_MAX {
                self.open.remove(0);
            }
            let cap = self.shared.options.max_bytes;
            let cap = cap + cap / SLACK;
            let connection = files::open(&self.shared.dir, &day.file(), &DAY_SCHEMA, Some(cap))?;
            let identity = files::identity(&self.path(day));
            self.open.push(File { day, identity, connection });
        }
        self.open.last_mut().map(|file| &mut file.connection).ok_or(Error::Io)
    }

    /// Closes a file, so that whatever was wrong with the connection is not kept.
    pub(super) fn forget(&mut self, day: Day) {
        self.open.retain(|file| file.day != day);
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn path(&self, day: Day) -> PathBuf {
        self.shared.dir.join(day.file())
    }
}

pub(super) fn number(id: SpanId) -> i64 {
    i64::from_be_bytes(id.0)
}

/// Of a span that is there several times, what is known last: its end, or else what came last.
fn newest_of_each(spans: &[Span]) -> impl Iterator<Item = &Span> {
    let mut newest: HashMap<(TraceId, SpanId), usize, foldhash::fast::RandomState> = HashMap::default();
    newest.reserve(spans.len());
    for (place, span) in spans.iter().enumerate() {
        let known = newest.entry((span.trace, span.id)).or_insert(place);
        let has_ended = spans.get(*known).is_some_and(|span| span.ended.is_some());
        if !has_ended {
            *known = place;
        }
    }
    let is_newest = move |(place, span): &(usize, &Span)| newest.get(&(span.trace, span.id)) == Some(place);
    spans.iter().enumerate().filter(is_newest).map(|(_, span)| span)
}

/// What was known of a span before.
struct Known {
    row: i64,
    session: i64,
    status: i64,
    started: Nanos,
    has_ended: bool,
}

fn write(connection: &mut Connection, spans: &[&Span]) -> Result<Appended, Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut done = Appended::default();
    let mut changes = Changes::default();
    let mut indexed = None;
    {
        let mut insert = transaction.prepare_cached(INSERT)?;
        let mut details = transaction
            .prepare_cached("INSERT INTO details (id, attributes, events, links) VALUES (?1, ?2, ?3, ?4)")?;
        for &span in spans {
            let session = changes.session(&transaction, span)?;
            let hot = Hot::of(span);
            let new = insert.execute(params![
                span.trace.0,
                number(span.id),
                span.parent.map(number),
                session,
                engine_code(span.engine),
                kind_code(span.kind),
                status_code(span.status),
                is_root(span),
                span.started,
                span.ended,
                span.waited,
                cut(&span.name, NAME_BYTES_MAX),
                hot.method,
                hot.tool,
                hot.operation,
                hot.peer,
                hot.agent,
                hot.client,
                hot.request,
                hot.parent_request,
                hot.error,
                hot.tokens,
            ])? > 0;
            if new {
                let (attributes, events, links) = written(span)?;
                details.execute(params![transaction.last_insert_rowid(), attributes, events, links])?;
                changes.add(session, span, None);
                done.spans += 1;
                continue;
            }
            let known = known(&transaction, span)?;
            if known.has_ended || known.started != span.started || known.session != session {
                done.ignored += 1;
                continue;
            }
            update(&transaction, known.row, span, &hot)?;
            let indexed = match indexed {
                Some(indexed) => indexed,
                None => *indexed.insert(index::progress(&transaction)?),
            };
            if known.row <= indexed {
                transaction
                    .prepare_cached("INSERT OR IGNORE INTO stale VALUES (?1)")?
                    .execute([known.row])?;
            }
            changes.add(session, span, Some(status_of(known.status)));
            done.updated += 1;
        }
    }
    changes.write(&transaction)?;
    transaction.commit()?;
    Ok(done)
}

fn known(connection: &Connection, span: &Span) -> Result<Known, Error> {
    let known = connection
        .prepare_cached(
            "SELECT id, session, status, started, ended IS NOT NULL FROM spans WHERE trace = ?1 AND span = ?2",
        )?
        .query_row(params![span.trace.0, number(span.id)], |row| {
            Ok(Known {
                row: row.get(0)?,
                session: row.get(1)?,
                status: row.get(2)?,
                started: row.get(3)?,
                has_ended: row.get(4)?,
            })
        })
        .optional()?;
    known.ok_or(Error::Io)
}

fn update(connection: &Connection, row: i64, span: &Span, hot: &Hot<'_>) -> Result<(), Error> {
    connection.prepare_cached(UPDATE)?.execute(params![
        row,
        status_code(span.status),
        span.ended,
        span.waited,
        cut(&span.name, NAME_BYTES_MAX),
        hot.method,
        hot.tool,
        hot.operation,
        hot.peer,
        hot.agent,
        hot.client,
        hot.request,
        hot.parent_request,
        hot.error,
        hot.tokens,
    ])?;
    let (attributes, events, links) = written(span)?;
    connection
        .prepare_cached("UPDATE details SET attributes = ?2, events = ?3, links = ?4 WHERE id = ?1")?
        .execute(params![row, attributes, events, links])?;
    Ok(())
}

type Written = (String, Option<String>, Option<String>);

fn written(span: &Span) -> Result<Written, Error> {
    let failed = |cause: serde_json::Error| {
        tracing::error!(%cause, "a span could not be written as JSON");
        Error::Io
    };
    let attributes = serde_json::to_string(&span.attributes).map_err(failed)?;
    let events = (!span.events.is_empty()).then(|| serde_json::to_string(&span.events)).transpose();
    let links = (!span.links.is_empty()).then(|| serde_json::to_string(&span.links)).transpose();
    Ok((attributes, events.map_err(failed)?, links.map_err(failed)?))
}
