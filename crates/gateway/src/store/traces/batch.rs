//! One batch of spans, written to one file in one transaction.

use rusqlite::{CachedStatement, Connection, OptionalExtension, TransactionBehavior, params};

use super::{
    super::Error,
    Appended,
    appender::number,
    index,
    members::{Lookups, Members, Memory},
    packed::{Packed, Text},
    schema::{engine_code, kind_code, status_code, status_of},
    sessions::Changes,
};
use crate::trace::Nanos;

const INSERT: &str = "
INSERT INTO spans (trace, span, parent, session, engine, kind, status, root, started, ended, waited, name,
                   method, tool, operation, peer, agent, client, request, parent_request, error, tokens)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)";

const DETAIL: &str = "INSERT INTO details (id, attributes, events, links) VALUES (?1, ?2, ?3, ?4)";

const UPDATE: &str = "
UPDATE spans SET status = ?2, ended = ?3, waited = ?4, name = ?5, method = ?6, tool = ?7, operation = ?8, peer = ?9,
                 agent = ?10, client = ?11, request = ?12, parent_request = ?13, error = ?14, tokens = ?15
WHERE id = ?1";

/// What was known of a span before.
struct Known {
    session: i64,
    status: i64,
    started: Nanos,
    has_ended: bool,
}

/// Who says it.
#[derive(Clone, Copy)]
pub(super) enum By<'a> {
    /// Ourselves, with who runs what has not ended.
    Us {
        owner: Option<&'a str>,
    },
    Others,
}

/// Writes spans, of which none is there twice.
pub(super) fn write(
    connection: &mut Connection,
    memory: &mut Memory,
    spans: &[&Packed],
    by: By<'_>,
) -> Result<Appended, Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = write_within(&transaction, memory, spans, by)?;
    transaction.commit()?;
    Ok(done)
}

fn write_within(
    transaction: &Connection,
    memory: &mut Memory,
    spans: &[&Packed],
    by: By<'_>,
) -> Result<Appended, Error> {
    let (mut changes, owner) = match by {
        By::Us { owner } => (Changes::new(transaction)?, owner),
        By::Others => (Changes::of_reports(transaction, spans)?, None),
    };
    let mut placed = Vec::with_capacity(spans.len());
    for &span in spans {
        placed.push((changes.session(span)?, span));
    }
    // What belongs together stands together, so that ranges of rows say it.
    placed.sort_by_key(|(session, span)| (*session, span.trace));
    let mut writing = Writing {
        transaction,
        insert: transaction.prepare_cached(INSERT)?,
        detail: transaction.prepare_cached(DETAIL)?,
        lookups: Lookups::new(transaction)?,
        owner,
        changes,
        done: Appended::default(),
        indexed: None,
    };
    let mut trace_run = transaction.prepare_cached("INSERT INTO trace_runs VALUES (?1, ?2, ?3)")?;
    let mut session_run = transaction.prepare_cached("INSERT INTO session_runs VALUES (?1, ?2, ?3)")?;
    for of_session in placed.chunk_by(|(one, _), (other, _)| one == other) {
        let mut range = Range::default();
        for of_trace in of_session.chunk_by(|(_, one), (_, other)| one.trace == other.trace) {
            let added = writing.trace(memory, of_trace)?;
            added.write(&mut trace_run, of_trace.first().map(|(_, span)| span.trace.0))?;
            range.join(&added);
        }
        range.write(&mut session_run, of_session.first().map(|(session, _)| *session))?;
    }
    writing.changes.write()?;
    Ok(writing.done)
}

/// Rows one behind the other.
#[derive(Default)]
struct Range(Option<(i64, i64)>);

impl Range {
    fn add(&mut self, row: i64) {
        self.0 = Some(self.0.map_or((row, row), |(first, _)| (first, row)));
    }

    fn join(&mut self, other: &Self) {
        if let Some((first, last)) = other.0 {
            self.add(first);
            self.add(last);
        }
    }

    fn write(&self, insert: &mut CachedStatement<'_>, of: Option<impl rusqlite::ToSql>) -> Result<(), Error> {
        if let Some((first, last)) = self.0 {
            insert.execute(params![of, first, last])?;
        }
        Ok(())
    }
}

struct Writing<'a, 't> {
    transaction: &'t Connection,
    insert: CachedStatement<'t>,
    detail: CachedStatement<'t>,
    lookups: Lookups<'t>,
    owner: Option<&'t str>,
    changes: Changes<'a, 't>,
    done: Appended,
    /// Up to which row there is a text index, once that was asked for.
    indexed: Option<i64>,
}

impl<'a> Writing<'a, '_> {
    /// Writes spans of one trace and session; the rows that are new.
    fn trace(&mut self, memory: &mut Memory, spans: &[(i64, &'a Packed)]) -> Result<Range, Error> {
        let mut range = Range::default();
        let Some(trace) = spans.first().map(|(_, span)| span.trace) else { return Ok(range) };
        let members = if self.changes.is_new(trace) {
            Members::default()
        } else {
            memory.take(&mut self.lookups, trace)?
        };
        for &(session, span) in spans {
            let known = match members.row(number(span.id)) {
                Some(row) => known(self.transaction, row)?.map(|known| (row, known)),
                None => None,
            };
            match known {
                Some((row, known)) => self.again(row, &known, session, span)?,
                None if members.is_full() => self.done.ignored += 1,
                None => range.add(self.insert(session, span)?),
            }
        }
        memory.keep(trace, members);
        Ok(range)
    }

    fn insert(&mut self, session: i64, span: &'a Packed) -> Result<i64, Error> {
        self.insert.execute(params![
            span.trace.0,
            number(span.id),
            span.parent.map(number),
            session,
            engine_code(span.engine),
            kind_code(span.kind),
            status_code(span.status),
            span.is_listed(),
            span.started,
            span.ended,
            span.waited,
            span.text(Text::Name),
            span.text(Text::Method),
            span.text(Text::Tool),
            span.text(Text::Operation),
            span.text(Text::Peer),
            span.text(Text::Agent),
            span.text(Text::Client),
            span.text(Text::Request),
            span.text(Text::ParentRequest),
            span.text(Text::Error),
            span.tokens,
        ])?;
        let row = self.transaction.last_insert_rowid();
        self.detail.execute(params![
            row,
            span.text(Text::Attributes),
            span.text(Text::Events),
            span.text(Text::Links)
        ])?;
        if let (Some(owner), None) = (self.owner, span.ended) {
            self.transaction.prepare_cached("INSERT INTO running VALUES (?1, ?2)")?.execute((row, owner))?;
        }
        self.changes.add(session, span, None);
        self.done.spans += 1;
        Ok(row)
    }

    /// A span that is there already.
    fn again(&mut self, row: i64, known: &Known, session: i64, span: &'a Packed) -> Result<(), Error> {
        let session = if self.changes.takes_any(span) { known.session } else { session };
        if known.has_ended || known.started != span.started || known.session != session {
            self.done.ignored += 1;
            return Ok(());
        }
        update(self.transaction, row, span)?;
        if span.ended.is_some() {
            self.transaction.prepare_cached("DELETE FROM running WHERE id = ?1")?.execute([row])?;
        }
        let indexed = match self.indexed {
            Some(indexed) => indexed,
            None => *self.indexed.insert(index::progress(self.transaction)?),
        };
        if row <= indexed {
            self.transaction.prepare_cached("INSERT OR IGNORE INTO stale VALUES (?1)")?.execute([row])?;
        }
        self.changes.add(session, span, Some(status_of(known.status)));
        self.done.updated += 1;
        Ok(())
    }
}

fn known(connection: &Connection, row: i64) -> Result<Option<Known>, Error> {
    let known = connection
        .prepare_cached("SELECT session, status, started, ended IS NOT NULL FROM spans WHERE id = ?1")?
        .query_row([row], |row| {
            Ok(Known {
                session: row.get(0)?,
                status: row.get(1)?,
                started: row.get(2)?,
                has_ended: row.get(3)?,
            })
        })
        .optional()?;
    Ok(known)
}

fn update(connection: &Connection, row: i64, span: &Packed) -> Result<(), Error> {
    connection.prepare_cached(UPDATE)?.execute(params![
        row,
        status_code(span.status),
        span.ended,
        span.waited,
        span.text(Text::Name),
        span.text(Text::Method),
        span.text(Text::Tool),
        span.text(Text::Operation),
        span.text(Text::Peer),
        span.text(Text::Agent),
        span.text(Text::Client),
        span.text(Text::Request),
        span.text(Text::ParentRequest),
        span.text(Text::Error),
        span.tokens,
    ])?;
    connection
        .prepare_cached("UPDATE details SET attributes = ?2, events = ?3, links = ?4 WHERE id = ?1")?
        .execute(params![row, span.text(Text::Attributes), span.text(Text::Events), span.text(Text::Links)])?;
    Ok(())
}
