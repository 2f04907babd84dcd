//! The yardstick: the same rows into the same tables by SQLite alone, with the same settings, and with no index but the
//! primary key. The rows are ready before the time begins.

use std::path::Path;

use gateway::trace::{Kind, Span, Status, names};
use rusqlite::{Connection, params};

use super::TOGETHER;
use crate::Result;

const TABLES: &str = "
CREATE TABLE spans (
    id INTEGER PRIMARY KEY, trace BLOB NOT NULL, span INTEGER NOT NULL, parent INTEGER, session INTEGER NOT NULL,
    engine INTEGER NOT NULL, kind INTEGER NOT NULL, status INTEGER NOT NULL, root INTEGER NOT NULL,
    started INTEGER NOT NULL, ended INTEGER, waited INTEGER NOT NULL, name TEXT NOT NULL, method TEXT, tool TEXT,
    operation TEXT, peer TEXT, agent TEXT, client TEXT, request TEXT, parent_request TEXT, error TEXT, tokens INTEGER
) STRICT;
CREATE TABLE details (id INTEGER PRIMARY KEY, attributes TEXT NOT NULL, events TEXT, links TEXT) STRICT;
";

const SPAN: &str = "
INSERT INTO spans (trace, span, parent, session, engine, kind, status, root, started, ended, waited, name,
                   method, tool, operation, peer, agent, client, request, parent_request, error, tokens)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)";
const DETAILS: &str = "INSERT INTO details (id, attributes, events, links) VALUES (?1, ?2, ?3, ?4)";

/// One row of each table.
pub(super) struct Row {
    trace: [u8; 16],
    span: i64,
    parent: Option<i64>,
    session: i64,
    kind: i64,
    status: i64,
    started: i64,
    ended: Option<i64>,
    name: String,
    method: Option<String>,
    tool: Option<String>,
    peer: Option<String>,
    agent: Option<String>,
    error: Option<&'static str>,
    attributes: String,
}

pub(super) fn rows(spans: &[Span]) -> Vec<Row> {
    let text = |span: &Span, name: &str| span.attributes.get(name)?.as_str().map(str::to_owned);
    let number = |id: gateway::trace::SpanId| i64::from_be_bytes(id.0);
    let mut session = 0;
    let row = |span: &Span| {
        session += i64::from(span.parent.is_none());
        Row {
            trace: span.trace.0,
            span: number(span.id),
            parent: span.parent.map(number),
            session,
            kind: if span.kind == Kind::Client { 2 } else { 0 },
            status: if span.status == Status::Error { 3 } else { 2 },
            started: span.started,
            ended: span.ended,
            name: span.name.clone(),
            method: text(span, names::METHOD),
            tool: text(span, names::TOOL),
            peer: text(span, names::PEER),
            agent: text(span, names::AGENT),
            error: (span.status == Status::Error).then_some("error"),
            attributes: serde_json::to_string(&span.attributes).unwrap_or_default(),
        }
    };
    spans.iter().map(row).collect()
}

pub(super) struct Bare(Connection);

impl Bare {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "cache_size", -24 * 1024)?;
        connection.pragma_update_and_check(None, "wal_autocheckpoint", 12 * 1024, |_| Ok(()))?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.execute_batch(TABLES)?;
        Ok(Self(connection))
    }

    pub(super) fn insert(&mut self, rows: &[Row]) -> Result<()> {
        let none: Option<&str> = None;
        for batch in rows.chunks(TOGETHER) {
            let transaction = self.0.transaction()?;
            {
                let mut span = transaction.prepare_cached(SPAN)?;
                let mut details = transaction.prepare_cached(DETAILS)?;
                for row in batch {
                    span.execute(params![
                        row.trace,
                        row.span,
                        row.parent,
                        row.session,
                        1,
                        row.kind,
                        row.status,
                        row.parent.is_none(),
                        row.started,
                        row.ended,
                        0,
                        row.name,
                        row.method,
                        row.tool,
                        none,
                        row.peer,
                        row.agent,
                        none,
                        none,
                        none,
                        row.error,
                        none,
                    ])?;
                    details.execute(params![transaction.last_insert_rowid(), row.attributes, none, none])?;
                }
            }
            transaction.commit()?;
        }
        Ok(())
    }
}
