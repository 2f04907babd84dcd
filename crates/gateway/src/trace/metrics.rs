//! How long operations take and how they end, as Prometheus reads it.
//!
//! Names and buckets are those of OpenTelemetry's conventions for MCP. Labels come from what callers send, so there is a
//! limit to how many of them are told apart; the rest is counted together.

use std::{
    borrow::Cow,
    collections::HashMap,
    fmt::Write,
    hash::BuildHasher,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

use super::{Kind, Span, Status, names};

/// What `Content-Type` an answer with it has.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The upper ends of the buckets, in seconds.
const BUCKETS: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// The same in nanoseconds.
const BUCKET_NANOS: [i64; 14] = [
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
    120_000_000_000,
    300_000_000_000,
];
/// How many combinations of labels each side tells apart.
const SERIES_MAX: usize = 1000;
/// The longest value of a label.
const LABEL_BYTES_MAX: usize = 128;
/// What those that are not told apart are called.
const OTHER: &str = "_other";

/// The names of the labels, in the order of [`Labels`].
const LABELS: [&str; 4] = ["mcp_method_name", "gen_ai_tool_name", "mcp_peer_server_id", "error_type"];
type Labels<T> = [T; 4];

/// What the recorder counts itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub recorded: u64,
    pub dropped: u64,
    /// Could not be written.
    pub failed: u64,
    /// Operations that run now.
    pub running: u64,
    /// Spans that wait to be written.
    pub queued: u64,
}

/// Histograms of both sides.
#[derive(Debug, Default)]
pub struct Metrics {
    server: Mutex<Side>,
    client: Mutex<Side>,
}

#[derive(Debug, Default)]
struct Side {
    hasher: foldhash::fast::RandomState,
    /// By the hash of the labels; the labels are looked at too.
    series: HashMap<u64, Series, foldhash::fast::RandomState>,
    /// For what found no place of its own.
    others: Option<Series>,
}

#[derive(Debug)]
struct Series {
    labels: Labels<Box<str>>,
    /// How many fell into each bucket, and behind the last.
    buckets: [u64; 15],
    nanos: u128,
}

impl Metrics {
    /// Counts a finished span. Others, and what is no request of MCP, say nothing here.
    pub fn observe(&self, span: &Span) {
        let side = match span.kind {
            Kind::Server => &self.server,
            Kind::Client => &self.client,
            Kind::Internal | Kind::Producer | Kind::Consumer => return,
        };
        let (Some(ended), Some(method)) = (span.ended, text(span, names::METHOD)) else { return };
        let error = match span.status {
            Status::Error => error(span),
            Status::Cancelled => "cancelled",
            Status::Running | Status::Waiting | Status::Ok => "",
        };
        let peer = text(span, names::PEER).unwrap_or_default();
        let labels = [method, text(span, names::TOOL).unwrap_or_default(), peer, error].map(short);
        // Where work goes on behind the answer, it is the answer that a caller waited for.
        let answered = span.attributes.get(names::ANSWERED_MS).and_then(Value::as_f64);
        let nanos =
            answered.map_or_else(|| ended.saturating_sub(span.started), |ms| (ms * 1e6) as i64).max(0);
        side.lock().unwrap_or_else(PoisonError::into_inner).observe(labels, nanos);
    }

    /// The page that is scraped.
    #[must_use]
    pub fn render(&self, totals: &Totals) -> String {
        let mut page = String::with_capacity(16 * 1024);
        let sides = [
            (
                "mcp_server_operation_duration_seconds",
                "How long requests took that were served.",
                &self.server,
            ),
            ("mcp_client_operation_duration_seconds", "How long requests took that were made.", &self.client),
        ];
        for (name, help, side) in sides {
            head(&mut page, name, help, "histogram");
            side.lock().unwrap_or_else(PoisonError::into_inner).render(name, &mut page);
        }
        let counts = [
            ("mcp_inspector_spans_recorded_total", "Spans that were recorded.", "counter", totals.recorded),
            (
                "mcp_inspector_spans_dropped_total",
                "Spans without room in the queue.",
                "counter",
                totals.dropped,
            ),
            (
                "mcp_inspector_spans_failed_total",
                "Spans that could not be written.",
                "counter",
                totals.failed,
            ),
            ("mcp_inspector_spans_queued", "Spans that wait to be written.", "gauge", totals.queued),
            ("mcp_operations_running", "Operations that run now.", "gauge", totals.running),
        ];
        for (name, help, kind, count) in counts {
            head(&mut page, name, help, kind);
            // INVARIANT: writing to a string cannot fail, here and below.
            let _ = writeln!(page, "{name} {count}");
        }
        page
    }
}

impl Side {
    fn observe(&mut self, labels: Labels<&str>, nanos: i64) {
        let key = self.hasher.hash_one(labels);
        let has_room = self.series.len() < SERIES_MAX;
        let series = match self.series.get_mut(&key) {
            Some(series) if series.is_of(labels) => series,
            None if has_room => self.series.entry(key).or_insert_with(|| Series::new(labels)),
            Some(_) | None => self.others.get_or_insert_with(|| Series::new([OTHER; 4])),
        };
        series.observe(nanos);
    }

    /// In the order of the labels, so that two pages can be compared.
    fn render(&self, name: &str, page: &mut String) {
        let mut series: Vec<_> = self.series.values().chain(&self.others).collect();
        series.sort_by(|one, other| one.labels.cmp(&other.labels));
        for series in series {
            series.render(name, page);
        }
    }
}

impl Series {
    fn new(labels: Labels<&str>) -> Self {
        Self { labels: labels.map(Box::from), buckets: [0; 15], nanos: 0 }
    }

    fn is_of(&self, labels: Labels<&str>) -> bool {
        self.labels.iter().zip(labels).all(|(known, given)| **known == *given)
    }

    fn observe(&mut self, nanos: i64) {
        let bucket = BUCKET_NANOS.partition_point(|end| *end < nanos);
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
        self.nanos += u128::from(nanos.unsigned_abs());
    }

    /// Each bucket counts what fell into those before it too.
    fn render(&self, name: &str, page: &mut String) {
        let mut labels = String::new();
        for (label, value) in LABELS.iter().zip(&self.labels).filter(|(_, value)| !value.is_empty()) {
            let _ = write!(labels, "{label}=\"{}\",", escape(value));
        }
        let mut sum = 0;
        let ends = BUCKETS.iter().map(|end| Cow::Owned(end.to_string())).chain([Cow::Borrowed("+Inf")]);
        for (count, end) in self.buckets.iter().zip(ends) {
            sum += count;
            let _ = writeln!(page, "{name}_bucket{{{labels}le=\"{end}\"}} {sum}");
        }
        let labels = labels.trim_end_matches(',');
        let (seconds, nanos) = (self.nanos / 1_000_000_000, self.nanos % 1_000_000_000);
        let _ = writeln!(page, "{name}_sum{{{labels}}} {seconds}.{nanos:09}");
        let _ = writeln!(page, "{name}_count{{{labels}}} {sum}");
    }
}

fn head(page: &mut String, name: &str, help: &str, kind: &str) {
    let _ = write!(page, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

fn text<'a>(span: &'a Span, name: &str) -> Option<&'a str> {
    span.attributes.get(name).and_then(Value::as_str)
}

/// The kind of an error, never its message.
fn error(span: &Span) -> &str {
    text(span, names::ERROR_TYPE).or_else(|| text(span, names::ERROR_CODE)).unwrap_or(OTHER)
}

fn short(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LABEL_BYTES_MAX)).unwrap_or_default()
}

/// Inside of quotation marks these three mean something.
fn escape(value: &str) -> Cow<'_, str> {
    if !value.contains(['\\', '"', '\n']) {
        return Cow::Borrowed(value);
    }
    Cow::Owned(value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests;
