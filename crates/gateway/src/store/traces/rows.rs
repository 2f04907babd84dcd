//! What is read, in the shape in which it is told. Times are microseconds since 1970: browsers lose more.

mod words;

use rusqlite::Row;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    super::columns::json,
    day::Part,
    schema::{engine_of, kind_of, status_of},
};
use crate::trace::{Attributes, Engine, Happening, Link, Nanos, Span, SpanId, Status, TraceId};

/// A span, as much of it as lists and trees show.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SpanRow {
    pub trace_id: String,
    pub span_id: String,
    pub parent_id: Option<String>,
    pub session_id: String,
    /// Somebody else says so; otherwise we recorded it.
    pub reported: bool,
    #[schemars(schema_with = "words::engine")]
    pub engine: &'static str,
    pub name: String,
    #[schemars(schema_with = "words::kind")]
    pub kind: &'static str,
    #[schemars(schema_with = "words::status")]
    pub status: &'static str,
    pub started_us: i64,
    pub ended_us: Option<i64>,
    pub duration_us: Option<i64>,
    /// How much of its time it waited for somebody.
    pub waited_us: i64,
    pub method: Option<String>,
    pub tool: Option<String>,
    pub operation: Option<String>,
    pub peer: Option<String>,
    /// Who was called: the peer; in lists of operations and of what was found also the first server that was called within a request
    /// that was served.
    pub server: Option<String>,
    pub agent: Option<String>,
    /// The name that the calling client gives itself.
    pub client: Option<String>,
    pub request_id: Option<String>,
    pub error: Option<String>,
}

/// A span with everything that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SpanFull {
    #[serde(flatten)]
    pub row: SpanRow,
    pub attributes: Map<String, Value>,
    pub events: Vec<HappeningRow>,
    pub links: Vec<LinkRow>,
}

/// Something that happened within a span.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HappeningRow {
    pub name: String,
    pub at_us: i64,
    pub attributes: Map<String, Value>,
}

/// Another span that one has to do with.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LinkRow {
    pub trace_id: String,
    pub span_id: String,
    pub attributes: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SessionRow {
    pub session_id: String,
    /// Nothing of it was recorded by us. Of a session that both have something of, this tells what we recorded.
    pub reported: bool,
    #[schemars(schema_with = "words::engine")]
    pub engine: &'static str,
    #[schemars(schema_with = "words::status")]
    pub status: &'static str,
    pub title: String,
    pub agent: Option<String>,
    /// The name that the client gave itself with whose request it begins.
    pub client: Option<String>,
    pub connection: Option<String>,
    pub principal: Option<String>,
    pub transport: Option<String>,
    pub started_us: i64,
    pub ended_us: Option<i64>,
    pub duration_us: Option<i64>,
    pub span_count: i64,
    pub error_count: i64,
    pub tags: Vec<String>,
}

/// A live event, by its number.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    pub seq: i64,
    pub name: String,
    pub at: Nanos,
    pub session: String,
    pub trace: TraceId,
    pub span: SpanId,
    pub data: Value,
}

/// How much there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stats {
    pub bytes: u64,
    /// What others reported takes so much of them.
    pub reported_bytes: u64,
    /// Days that there is something of.
    pub days: u32,
    pub spans: u64,
    /// Days that are kept.
    pub keep_days: u32,
    /// What all files may take together.
    pub keep_bytes: u64,
    /// Spans that cannot be found by their words yet.
    pub index_lag: u64,
    /// Files of days that are damaged, newer than this program, or another one's.
    pub unreadable: u32,
}

pub(super) const SPAN_COLUMNS: &str = "s.trace, s.span, s.parent, t.session, s.engine, s.name, s.kind, s.status, s.started, s.ended, s.waited, \
     s.method, s.tool, s.operation, s.peer, s.agent, s.request, s.error, s.client";
/// The columns of [`SPAN_COLUMNS`]; what else is asked for follows.
pub(super) const SPAN_COLUMNS_COUNT: usize = 19;

pub(super) const SESSION_COLUMNS: &str = "session, engine, status, title, agent, connection, principal, transport, tags, started, ended, spans, errors, client";
/// The columns of [`SESSION_COLUMNS`]; what else is asked for follows.
pub(super) const SESSION_COLUMNS_COUNT: usize = 14;

pub(super) fn micros(time: Nanos) -> i64 {
    time.div_euclid(1000)
}

/// The time between, never less than nothing: clocks go backwards too.
pub(super) fn between(started: Nanos, ended: Nanos) -> i64 {
    ended.saturating_sub(started).max(0) / 1000
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    push_hex(&mut text, bytes);
    text
}

pub(super) fn push_hex(text: &mut String, bytes: &[u8]) {
    text.extend(bytes.iter().flat_map(|byte| hex_digits(*byte)).map(char::from));
}

pub(super) fn hex_digits(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    [byte >> 4, byte & 15].map(|nibble| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0'))
}

fn span_hex(number: i64) -> String {
    hex(&number.to_be_bytes())
}

pub(super) fn span_row(row: &Row<'_>, part: Part) -> rusqlite::Result<SpanRow> {
    let (started, ended): (Nanos, Option<Nanos>) = (row.get(8)?, row.get(9)?);
    Ok(SpanRow {
        trace_id: hex(row.get_ref(0)?.as_blob()?),
        span_id: span_hex(row.get(1)?),
        parent_id: row.get::<_, Option<i64>>(2)?.map(span_hex),
        session_id: row.get(3)?,
        reported: part.is_reported(),
        engine: engine_of(row.get(4)?).as_str(),
        name: row.get(5)?,
        kind: kind_of(row.get(6)?).as_str(),
        status: status_of(row.get(7)?).as_str(),
        started_us: micros(started),
        ended_us: ended.map(micros),
        duration_us: ended.map(|ended| between(started, ended)),
        waited_us: row.get::<_, i64>(10)?.max(0) / 1000,
        method: row.get(11)?,
        tool: row.get(12)?,
        operation: row.get(13)?,
        server: row.get(14)?,
        peer: row.get(14)?,
        agent: row.get(15)?,
        client: row.get(18)?,
        request_id: row.get(16)?,
        error: row.get(17)?,
    })
}

/// A span as it was recorded, from the columns of a row, with attributes, events and links behind them.
pub(super) fn whole_span(row: &Row<'_>) -> rusqlite::Result<Span> {
    Ok(Span {
        trace: TraceId(row.get(0)?),
        id: SpanId(row.get::<_, i64>(1)?.to_be_bytes()),
        parent: row.get::<_, Option<i64>>(2)?.map(|id| SpanId(id.to_be_bytes())),
        session: row.get(3)?,
        engine: engine_of(row.get(4)?),
        name: row.get(5)?,
        kind: kind_of(row.get(6)?),
        status: status_of(row.get(7)?),
        started: row.get(8)?,
        ended: row.get(9)?,
        waited: row.get(10)?,
        attributes: json::<Attributes>(row, SPAN_COLUMNS_COUNT)?.unwrap_or_default(),
        events: json::<Vec<Happening>>(row, SPAN_COLUMNS_COUNT + 1)?.unwrap_or_default(),
        links: json::<Vec<Link>>(row, SPAN_COLUMNS_COUNT + 2)?.unwrap_or_default(),
    })
}

pub(super) fn full_span(row: &Row<'_>, part: Part) -> rusqlite::Result<SpanFull> {
    let span = whole_span(row)?;
    let events = span.events.into_iter().map(|event| HappeningRow {
        name: event.name,
        at_us: micros(event.at),
        attributes: event.attributes.into_object(),
    });
    let links = span.links.into_iter().map(|link| LinkRow {
        trace_id: hex(&link.trace.0),
        span_id: hex(&link.span.0),
        attributes: link.attributes.into_object(),
    });
    Ok(SpanFull {
        row: span_row(row, part)?,
        attributes: span.attributes.into_object(),
        events: events.collect(),
        links: links.collect(),
    })
}

/// A session as one file knows it.
#[derive(Debug, Clone)]
pub(super) struct SessionPart {
    session: String,
    pub(super) is_reported: bool,
    engine: Engine,
    pub(super) status: Status,
    title: String,
    agent: Option<String>,
    client: Option<String>,
    connection: Option<String>,
    principal: Option<String>,
    transport: Option<String>,
    tags: Vec<String>,
    pub(super) started: Nanos,
    ended: Option<Nanos>,
    spans: i64,
    errors: i64,
}

pub(super) fn session_part(row: &Row<'_>, part: Part) -> rusqlite::Result<SessionPart> {
    Ok(SessionPart {
        session: row.get(0)?,
        is_reported: part.is_reported(),
        engine: engine_of(row.get(1)?),
        status: status_of(row.get(2)?),
        title: row.get(3)?,
        agent: row.get(4)?,
        connection: row.get(5)?,
        principal: row.get(6)?,
        transport: row.get(7)?,
        tags: json(row, 8)?.unwrap_or_default(),
        started: row.get(9)?,
        ended: row.get(10)?,
        spans: row.get(11)?,
        errors: row.get(12)?,
        client: row.get(13)?,
    })
}

impl SessionPart {
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// Puts two days of a session together. Who it is of is said by the day on which it began. What others report of a
    /// session of ours says nothing here.
    pub(super) fn join(self, other: Self) -> Self {
        match (self.is_reported, other.is_reported) {
            (false, true) => return self,
            (true, false) => return other,
            _ => {}
        }
        let (mut first, later) = if other.started < self.started { (other, self) } else { (self, other) };
        let goes_on = |status| matches!(status, Status::Running | Status::Waiting);
        if !goes_on(first.status) {
            first.status = later.status;
        } else if later.status == Status::Waiting {
            first.status = Status::Waiting;
        }
        first.ended = first.ended.max(later.ended);
        first.spans += later.spans;
        first.errors += later.errors;
        first.agent = first.agent.or(later.agent);
        first.client = first.client.or(later.client);
        first
    }

    pub(super) fn row(self) -> SessionRow {
        let goes_on = matches!(self.status, Status::Running | Status::Waiting);
        let ended = self.ended.filter(|_| !goes_on);
        SessionRow {
            session_id: self.session,
            reported: self.is_reported,
            engine: self.engine.as_str(),
            status: self.status.as_str(),
            title: self.title,
            agent: self.agent,
            client: self.client,
            connection: self.connection,
            principal: self.principal,
            transport: self.transport,
            started_us: micros(self.started),
            ended_us: ended.map(micros),
            duration_us: ended.map(|ended| between(self.started, ended)),
            span_count: self.spans,
            error_count: self.errors,
            tags: self.tags,
        }
    }
}
