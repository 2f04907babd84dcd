//! One session, one trace, one span. A trace is sent while it is read, however many spans it has.

use std::{
    io::Write,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    body::Body,
    extract::{RawQuery, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use futures_util::stream;
use http::{HeaderMap, header};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::mpsc;

use super::{
    Inspect,
    query::{NoQuery, Place, Query},
};
use crate::{
    operator::listener::reply::{Problem, ok},
    store::traces::{Piece, SESSION_SPANS_MAX, SessionRow, SpanBlock, SpanFull, SpanRow},
    trace::{SpanId, TraceId},
};

/// A trace with more spans is cut off, and says so.
const SPANS_MAX: u64 = 500_000;
/// So much is sent together.
const CHUNK_BYTES: usize = 64 * 1024;
/// Chunks that wait for a slow reader; then reading waits too.
const CHUNKS_MAX: usize = 8;

/// JSON, a line after the other.
pub(super) const LINES: &str = "application/jsonl";

pub(super) const TRACE: &[&str] = &["full", "as"];

#[derive(Serialize, JsonSchema)]
pub(super) struct Session {
    session: SessionRow,
    /// At the most 10,000 of them, by their starts.
    spans: Vec<SpanRow>,
    /// Whether there are more.
    truncated: bool,
}

/// What is streamed, for its schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it describes what is written piece by piece")]
pub(super) struct Trace {
    trace_id: String,
    /// With `full=1` each has its attributes, events and links too.
    spans: Vec<TraceSpan>,
    truncated: bool,
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes what is written piece by piece")]
enum TraceSpan {
    Full(SpanFull),
    Row(SpanRow),
}

/// A line of a trace in columns.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Line {
    Spans(Box<SpanBlock>),
    /// The last one. Without it the answer is not whole.
    End {
        trace_id: String,
        truncated: bool,
    },
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Span {
    span: SpanFull,
}

pub(super) async fn session(
    State(inspect): State<Arc<Inspect>>,
    Place(id): Place<String>,
    _: NoQuery,
) -> Result<Response, Problem> {
    let found = inspect.store.session(&id).await?;
    let missing = || Problem::missing("there is no such session; GET /api/v1/sessions lists them");
    let (session, spans) = found.ok_or_else(missing)?;
    let truncated = spans.len() >= SESSION_SPANS_MAX && session.span_count > SESSION_SPANS_MAX as i64;
    Ok(ok(&Session { session, spans, truncated }))
}

pub(super) async fn span(
    State(inspect): State<Arc<Inspect>>,
    Place((trace, span)): Place<(String, String)>,
    _: NoQuery,
) -> Result<Response, Problem> {
    let found = inspect.store.span(trace_id(&trace)?, span_id(&span)?).await?;
    let missing = || Problem::missing("there is no such span in that trace, or it was removed since");
    Ok(ok(&Span { span: found.ok_or_else(missing)? }))
}

pub(super) fn span_id(text: &str) -> Result<SpanId, Problem> {
    text.parse().map_err(|_| Problem::wrong("a span's id has 16 hexadecimal digits"))
}

fn trace_id(text: &str) -> Result<TraceId, Problem> {
    text.parse().map_err(|_| Problem::wrong("a trace's id has 32 hexadecimal digits"))
}

pub(super) async fn trace(
    State(inspect): State<Arc<Inspect>>,
    Place(id): Place<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::read(query.as_deref(), TRACE)?;
    let form = form(&query)?;
    let id = trace_id(&id)?;
    if !inspect.store.has_trace(id).await? {
        return Err(Problem::missing("there is no such trace, or it was removed since"));
    }
    let zipped = headers.get_all(header::ACCEPT_ENCODING).iter().any(|value| {
        value.to_str().is_ok_and(|value| value.split([',', ';']).any(|word| word.trim() == "gzip"))
    });
    let (sender, receiver) = mpsc::channel(CHUNKS_MAX);
    let sink = Arc::new(Mutex::new(Sink::new(zipped)));
    tokio::spawn(write(Arc::clone(&inspect), id, form, sink, sender));
    let chunks = stream::unfold(receiver, async |mut receiver: mpsc::Receiver<Chunk>| {
        Some((receiver.recv().await?, receiver))
    });
    let content_type = if matches!(form, Form::Columns) { LINES } else { "application/json" };
    let content_type = (header::CONTENT_TYPE, content_type);
    let body = Body::from_stream(Box::pin(chunks));
    let vary = (header::VARY, "accept-encoding");
    Ok(if zipped {
        ([content_type, vary, (header::CONTENT_ENCODING, "gzip")], body).into_response()
    } else {
        ([content_type, vary], body).into_response()
    })
}

/// How a trace is told.
#[derive(Clone, Copy)]
enum Form {
    Rows { full: bool },
    Columns,
}

fn form(query: &Query) -> Result<Form, Problem> {
    let full = match query.text("full").as_deref() {
        None | Some("0") => false,
        Some("1") => true,
        Some(_) => return Err(Problem::wrong("'full' must be 0 or 1")),
    };
    match query.text("as").as_deref() {
        None | Some("rows") => Ok(Form::Rows { full }),
        Some("columns") if full => Err(Problem::wrong("columns have no details; leave out 'full' or 'as'")),
        Some("columns") => Ok(Form::Columns),
        Some(_) => Err(Problem::wrong("'as' must be rows or columns")),
    }
}

type Chunk = Result<Bytes, std::io::Error>;

async fn write(
    inspect: Arc<Inspect>,
    id: TraceId,
    form: Form,
    sink: Arc<Mutex<Sink>>,
    sender: mpsc::Sender<Chunk>,
) {
    let (pieces, chunks) = (Arc::clone(&sink), sender.clone());
    // Who went away needs no more.
    let send =
        move |sink: &mut Sink| sink.chunk().is_none_or(|chunk| chunks.blocking_send(Ok(chunk)).is_ok());
    let read = match form {
        Form::Rows { full } => {
            lock(&sink).put(format!("{{\"trace_id\":\"{id}\",\"spans\":[").as_bytes());
            let take = move |piece| {
                let mut sink = lock(&pieces);
                sink.has_room() && {
                    sink.row(piece);
                    send(&mut sink)
                }
            };
            inspect.store.trace(id, full, take).await
        }
        Form::Columns => {
            let take = move |block| {
                let mut sink = lock(&pieces);
                sink.has_room() && {
                    sink.block(block);
                    send(&mut sink)
                }
            };
            inspect.store.trace_blocks(id, take).await
        }
    };
    let last = match read {
        Ok(_) => {
            let mut sink = lock(&sink);
            let truncated = sink.truncated;
            match form {
                Form::Rows { .. } => sink.put(format!("],\"truncated\":{truncated}}}").as_bytes()),
                Form::Columns => sink.line(&Line::End { trace_id: id.to_string(), truncated }),
            }
            Ok(sink.rest())
        }
        // An answer that breaks off is known not to be whole.
        Err(error) => Err(std::io::Error::other(error)),
    };
    let _ = sender.send(last).await;
}

fn lock(sink: &Mutex<Sink>) -> std::sync::MutexGuard<'_, Sink> {
    sink.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is written, packed if that was asked for.
struct Sink {
    plain: Vec<u8>,
    zipped: Option<GzEncoder<Vec<u8>>>,
    spans: u64,
    truncated: bool,
}

impl Sink {
    fn new(zipped: bool) -> Self {
        let zipped = zipped.then(|| GzEncoder::new(Vec::new(), Compression::fast()));
        Self { plain: Vec::new(), zipped, spans: 0, truncated: false }
    }

    fn put(&mut self, bytes: &[u8]) {
        // Writing to memory does not fail.
        match &mut self.zipped {
            Some(zipped) => drop(zipped.write_all(bytes)),
            None => self.plain.extend_from_slice(bytes),
        }
    }

    /// Whether one more may be written; otherwise the answer says that there were more.
    fn has_room(&mut self) -> bool {
        self.truncated |= self.spans >= SPANS_MAX;
        !self.truncated
    }

    fn row(&mut self, piece: Piece) {
        let json = match piece {
            Piece::Row(row) => serde_json::to_vec(&row),
            Piece::Full(span) => serde_json::to_vec(&span),
        };
        if let Ok(json) = json {
            if self.spans > 0 {
                self.put(b",");
            }
            self.put(&json);
            self.spans += 1;
        }
    }

    fn block(&mut self, block: SpanBlock) {
        self.spans += block.spans() as u64;
        self.line(&Line::Spans(Box::new(block)));
    }

    fn line(&mut self, line: &Line) {
        if let Ok(json) = serde_json::to_vec(line) {
            self.put(&json);
            self.put(b"\n");
        }
    }

    /// What is to be sent by now.
    fn chunk(&mut self) -> Option<Bytes> {
        let written = self.zipped.as_mut().map_or(&mut self.plain, |zipped| zipped.get_mut());
        (written.len() >= CHUNK_BYTES).then(|| Bytes::from(std::mem::take(written)))
    }

    fn rest(&mut self) -> Bytes {
        let written = match self.zipped.take() {
            Some(zipped) => zipped.finish().unwrap_or_default(),
            None => std::mem::take(&mut self.plain),
        };
        Bytes::from(written)
    }
}
