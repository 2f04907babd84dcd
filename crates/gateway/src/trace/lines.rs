//! Spans as lines of JSON, to be kept, sent along and read again.
//!
//! One span a line, in this shape, ids in hexadecimal and times in nanoseconds since 1970:
//!
//! ```json
//! {"trace_id": "…", "span_id": "…", "parent_id": "…", "session_id": "…", "engine": "inbound", "name": "tools/call x",
//!  "kind": "server", "status": "ok", "started_ns": 1, "ended_ns": 2, "waited_ns": 0, "attributes": {}, "events": [], "links": []}
//! ```
//!
//! `parent_id`, `ended_ns` and what is empty is left out. Files of OTLP/JSON are read too, whole or a request a line, and
//! so are spans as OpenTelemetry's Python library writes them, which the original Inspector keeps; all of these may be
//! packed with gzip.

mod python;

use std::io::{self, BufRead, BufReader, Read, Write};

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::{
    Attributes, Engine, Happening, Kind, Link, Nanos, Span, SpanId, Status, TraceId,
    otlp::{self, UNPACKED_BYTES_MAX},
};
use crate::store::traces::Packed;

/// What a line is told to be that has none of the known shapes.
const UNKNOWN: &str =
    "it is neither a span of ours, nor OTLP, nor a span as OpenTelemetry's Python library writes it";

#[derive(Serialize)]
struct Written<'a> {
    trace_id: TraceId,
    span_id: SpanId,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<SpanId>,
    session_id: &'a str,
    engine: Engine,
    name: &'a str,
    kind: Kind,
    status: Status,
    started_ns: Nanos,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_ns: Option<Nanos>,
    waited_ns: Nanos,
    #[serde(skip_serializing_if = "Attributes::is_empty")]
    attributes: &'a Attributes,
    #[serde(skip_serializing_if = "is_empty")]
    events: &'a [Happening],
    #[serde(skip_serializing_if = "is_empty")]
    links: &'a [Link],
}

fn is_empty<T>(list: &&[T]) -> bool {
    list.is_empty()
}

#[derive(Deserialize)]
struct Line {
    trace_id: TraceId,
    span_id: SpanId,
    parent_id: Option<SpanId>,
    session_id: String,
    engine: Engine,
    name: String,
    kind: Kind,
    status: Status,
    started_ns: Nanos,
    ended_ns: Option<Nanos>,
    #[serde(default)]
    waited_ns: Nanos,
    #[serde(default)]
    attributes: Attributes,
    #[serde(default)]
    events: Vec<Happening>,
    #[serde(default)]
    links: Vec<Link>,
}

/// Writes one span and the end of its line.
pub fn write(span: &Span, out: &mut impl Write) -> io::Result<()> {
    let line = Written {
        trace_id: span.trace,
        span_id: span.id,
        parent_id: span.parent,
        session_id: &span.session,
        engine: span.engine,
        name: &span.name,
        kind: span.kind,
        status: span.status,
        started_ns: span.started,
        ended_ns: span.ended,
        waited_ns: span.waited,
        attributes: &span.attributes,
        events: &span.events,
        links: &span.links,
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}

/// A line that could not be read, counted from one.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct Mistake {
    pub line: usize,
    pub why: String,
}

/// What one line brought.
#[derive(Debug, Default, PartialEq)]
pub struct Brought {
    pub spans: Vec<Packed>,
    /// Spans of it that were not taken.
    pub rejected: usize,
}

/// The lines of a file, one after another. After a mistake the next line is read.
pub struct Lines {
    input: Box<dyn BufRead + Send>,
    now: Nanos,
    line: usize,
    text: Vec<u8>,
    ended: bool,
}

/// Reads lines, packed or not.
pub fn read(input: impl Read + Send + 'static, now: Nanos) -> io::Result<Lines> {
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let is_packed = input.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let input: Box<dyn BufRead + Send> =
        if is_packed { Box::new(BufReader::new(MultiGzDecoder::new(input))) } else { Box::new(input) };
    Ok(Lines { input, now, line: 0, text: Vec::new(), ended: false })
}

impl Iterator for Lines {
    type Item = Result<Brought, Mistake>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            self.text.clear();
            self.line += 1;
            if let Err(why) = self.more(false) {
                return Some(Err(self.mistake(why)));
            }
            let text = self.text.trim_ascii();
            if text.is_empty() {
                continue;
            }
            let first = self.line == 1;
            let mut brought = span(text, self.now);
            // A file that is one document over many lines.
            if first && matches!(brought, Err(Why::Unfinished)) {
                if let Err(why) = self.more(true) {
                    return Some(Err(self.mistake(why)));
                }
                brought = span(self.text.trim_ascii(), self.now);
            }
            return Some(brought.map_err(|why| self.mistake(why.to_string())));
        }
        None
    }
}

impl Lines {
    /// Reads the next line, or everything that is left, up to what may be.
    fn more(&mut self, all: bool) -> Result<(), String> {
        let limit = u64::try_from(UNPACKED_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
        let mut input = (&mut self.input).take(limit);
        let read =
            if all { input.read_to_end(&mut self.text) } else { input.read_until(b'\n', &mut self.text) };
        let read =
            read.inspect_err(|_| self.ended = true).map_err(|error| format!("it cannot be read: {error}"))?;
        self.ended = all || read == 0;
        if self.text.len() > UNPACKED_BYTES_MAX {
            self.ended = true;
            return Err(format!("it is longer than {UNPACKED_BYTES_MAX} bytes"));
        }
        Ok(())
    }

    fn mistake(&self, why: String) -> Mistake {
        Mistake { line: self.line, why }
    }
}

#[derive(Debug, thiserror::Error)]
enum Why {
    #[error("the JSON does not come to its end")]
    Unfinished,
    #[error("{0}")]
    Other(String),
}

/// What tells the shapes apart.
#[derive(Deserialize)]
struct Shape {
    #[serde(alias = "resource_spans", rename = "resourceSpans")]
    otlp: Option<IgnoredAny>,
    #[serde(rename = "started_ns")]
    ours: Option<IgnoredAny>,
    #[serde(rename = "context")]
    python: Option<IgnoredAny>,
}

fn span(text: &[u8], now: Nanos) -> Result<Brought, Why> {
    let wrong = |error: serde_json::Error| {
        if error.is_eof() { Why::Unfinished } else { Why::Other(error.to_string().replace(" at ", ", ")) }
    };
    let shape: Shape = serde_json::from_slice(text).map_err(wrong)?;
    let received = match shape {
        Shape { otlp: Some(_), .. } => otlp::read::json(text, now),
        Shape { ours: Some(_), .. } => {
            let line: Line = serde_json::from_slice(text).map_err(wrong)?;
            return ours(line, now).map(|span| Brought { spans: vec![Packed::of(&span)], rejected: 0 });
        }
        Shape { python: Some(_), .. } => {
            return python::read(text, now).map_err(|why| Why::Other(why.to_owned()));
        }
        Shape { .. } => return Err(Why::Other(UNKNOWN.to_owned())),
    };
    let received = received.map_err(|error| Why::Other(error.to_string()))?;
    Ok(Brought { spans: received.spans, rejected: received.rejected })
}

/// The file may be anybody's, so it is held to what holds for reports.
fn ours(line: Line, now: Nanos) -> Result<Span, Why> {
    if line.trace_id.is_none() || line.span_id.is_none() || line.session_id.is_empty() {
        return Err(Why::Other("its trace_id, span_id or session_id is zero or empty".to_owned()));
    }
    if !otlp::is_likely(line.started_ns, now) {
        return Err(Why::Other("it starts before the year 2000 or more than a day ahead".to_owned()));
    }
    if line.ended_ns.is_some_and(|ended| !otlp::is_likely(ended, now)) {
        return Err(Why::Other("it ends before the year 2000 or more than a day ahead".to_owned()));
    }
    let mut span = Span {
        trace: line.trace_id,
        id: line.span_id,
        parent: line.parent_id,
        session: String::new(),
        engine: line.engine,
        name: line.name,
        kind: line.kind,
        status: line.status,
        started: line.started_ns,
        // Clocks are set back now and then; nothing ends before it begins.
        ended: line.ended_ns.map(|ended| ended.max(line.started_ns)),
        waited: line.waited_ns,
        attributes: line.attributes,
        events: line.events,
        links: line.links,
    };
    // The session's id is a text like the names of what happened, and is cleared as these are.
    let session = Happening { name: line.session_id, at: line.started_ns, attributes: Attributes::new() };
    span.events.push(session);
    otlp::tidy(&mut span);
    span.session = span.events.pop().map(|session| session.name).unwrap_or_default();
    Ok(span)
}

#[cfg(test)]
mod tests;
