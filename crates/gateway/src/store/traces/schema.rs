//! What the files look like inside.

use super::super::migrations::Schema;
use crate::trace::{Engine, Kind, Status};

/// What lists, trees and sums read is narrow and stands in `spans`; what is only looked at one by one is in `details`.
///
/// `words` has no copy of the text. It follows behind: `progress` says up to which row, and `stale` names rows that have
/// changed since. Positions in the text are not kept, which makes it a third as large; words are looked for, not phrases.
const DAY: &str = "
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL UNIQUE,
    engine INTEGER NOT NULL,
    status INTEGER NOT NULL,
    title TEXT NOT NULL,
    agent TEXT,
    connection TEXT,
    principal TEXT,
    transport TEXT,
    tags TEXT,
    started INTEGER NOT NULL,
    ended INTEGER,
    spans INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    running INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    first_root INTEGER,
    last_root INTEGER,
    root_status INTEGER
) STRICT;
CREATE INDEX sessions_started ON sessions (started);
CREATE TABLE spans (
    id INTEGER PRIMARY KEY,
    trace BLOB NOT NULL,
    span INTEGER NOT NULL,
    parent INTEGER,
    session INTEGER NOT NULL,
    engine INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    status INTEGER NOT NULL,
    root INTEGER NOT NULL,
    started INTEGER NOT NULL,
    ended INTEGER,
    waited INTEGER NOT NULL,
    name TEXT NOT NULL,
    method TEXT,
    tool TEXT,
    operation TEXT,
    peer TEXT,
    agent TEXT,
    client TEXT,
    request TEXT,
    parent_request TEXT,
    error TEXT,
    tokens INTEGER
) STRICT;
CREATE UNIQUE INDEX spans_ids ON spans (trace, span);
CREATE INDEX spans_session ON spans (session);
CREATE INDEX spans_roots ON spans (started) WHERE root;
CREATE INDEX spans_calls ON spans (started) WHERE peer IS NOT NULL;
CREATE TABLE details (
    id INTEGER PRIMARY KEY,
    attributes TEXT NOT NULL,
    events TEXT,
    links TEXT
) STRICT;
CREATE TABLE progress (indexed INTEGER NOT NULL) STRICT;
INSERT INTO progress VALUES (0);
CREATE TABLE stale (id INTEGER PRIMARY KEY) STRICT;
CREATE VIRTUAL TABLE words USING fts5 (
    text, content='', contentless_delete=1, detail=none, tokenize='unicode61 remove_diacritics 2'
);
";

/// Rows are written in the order of their sessions and traces, so a few ranges of rows say what belongs to either. An index
/// with an entry for every span cost more than the spans themselves. A range may name rows that are gone, and no others.
///
/// `running` has the rows that a process of ours wrote and has not ended, by the name of its lock. The text index is one
/// table for every few spans (see `index.rs`), made when it is needed.
const RUNS: &str = "
DROP INDEX spans_ids;
DROP INDEX spans_session;
DROP INDEX spans_calls;
CREATE INDEX spans_calls ON spans (started) WHERE peer IS NOT NULL AND kind = 2;
CREATE TABLE trace_runs (
    trace BLOB NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (trace, first)
) STRICT, WITHOUT ROWID;
CREATE TABLE session_runs (
    session INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (session, first)
) STRICT, WITHOUT ROWID;
INSERT INTO trace_runs SELECT trace, id, id FROM spans;
INSERT INTO session_runs SELECT session, id, id FROM spans;
CREATE TABLE running (id INTEGER PRIMARY KEY, owner TEXT NOT NULL) STRICT;
INSERT INTO running SELECT id, '' FROM spans WHERE ended IS NULL;
DROP TABLE words;
DELETE FROM stale;
UPDATE progress SET indexed = 0;
";

/// Whose request a session began with, to be found by.
const CLIENT: &str = "
ALTER TABLE sessions ADD COLUMN client TEXT;
UPDATE sessions SET client = (
    SELECT s.client FROM session_runs r CROSS JOIN spans s ON s.id BETWEEN r.first AND r.last
    WHERE r.session = sessions.id LIMIT 1
);
";

pub(super) const DAY_SCHEMA: Schema =
    Schema { application_id: i32::from_be_bytes(*b"AqTr"), steps: &[DAY, RUNS, CLIENT] };

/// One file for all days: its numbers go on over midnight, and a stream that was cut off goes on by them.
const EVENTS: &str = "
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    at INTEGER NOT NULL,
    session TEXT NOT NULL,
    trace BLOB NOT NULL,
    span INTEGER NOT NULL,
    data TEXT NOT NULL
) STRICT;
";

/// Several events in a row, by the number of the last one (see `events.rs`). The numbers go on.
const TOLD: &str = "
CREATE TABLE told (last INTEGER PRIMARY KEY, events TEXT NOT NULL) STRICT;
INSERT INTO told SELECT seq, json_array(json_array(
    name, at, session, lower(hex(trace)), printf('%016x', span), json(iif(json_valid(data), data, 'null'))
)) FROM events;
DROP TABLE events;
";

/// What is to be stopped by whoever runs it (see `wishes.rs`). Numbers are never given out twice.
const WISHES: &str = "
CREATE TABLE wishes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, span INTEGER, session TEXT, at INTEGER NOT NULL, stopped INTEGER NOT NULL DEFAULT 0
) STRICT;
";

pub(super) const EVENTS_SCHEMA: Schema =
    Schema { application_id: i32::from_be_bytes(*b"AqEv"), steps: &[EVENTS, TOLD, WISHES] };

pub(super) const EVENTS_FILE: &str = "events.db";

/// The numbers stay as they are: files hold them.
pub(super) fn status_code(status: Status) -> i64 {
    match status {
        Status::Running => 0,
        Status::Waiting => 1,
        Status::Ok => 2,
        Status::Error => 3,
        Status::Cancelled => 4,
    }
}

pub(super) fn kind_code(kind: Kind) -> i64 {
    match kind {
        Kind::Internal => 0,
        Kind::Server => 1,
        Kind::Client => 2,
        Kind::Producer => 3,
        Kind::Consumer => 4,
    }
}

pub(super) fn engine_code(engine: Engine) -> i64 {
    match engine {
        Engine::Inbound => 0,
        Engine::Asyncio => 1,
        Engine::Temporal => 2,
    }
}

pub(super) fn status_of(code: i64) -> Status {
    let found = Status::ALL.iter().copied().find(|status| status_code(*status) == code);
    found.unwrap_or(Status::Error)
}

pub(super) fn kind_of(code: i64) -> Kind {
    Kind::ALL.iter().copied().find(|kind| kind_code(*kind) == code).unwrap_or(Kind::Internal)
}

pub(super) fn engine_of(code: i64) -> Engine {
    Engine::ALL.iter().copied().find(|engine| engine_code(*engine) == code).unwrap_or(Engine::Inbound)
}
