//! Spans of the kind that agents report, as OpenTelemetry's libraries send them: traces of ten, a request that was served,
//! calls that it made, and what it did between.

use gateway::{
    store::traces::Packed,
    trace::{Nanos, Span, TraceId, otlp::read},
};
use serde_json::json;

use crate::Result;

/// Spans of a trace.
const IN_A_TRACE: usize = 10;

/// Makes spans one behind the other.
pub(super) struct Made {
    random: fastrand::Rng,
    now: Nanos,
    count: usize,
    trace: [u8; 16],
    root: [u8; 8],
    bytes: (usize, usize),
}

impl Default for Made {
    fn default() -> Self {
        let now = i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or_default();
        let random = fastrand::Rng::with_seed(7);
        Self { random, now, count: 0, trace: [1; 16], root: [1; 8], bytes: (0, 0) }
    }
}

impl Made {
    pub(super) fn now(&self) -> Nanos {
        self.now
    }

    /// Spans as they are stored.
    pub(super) fn spans(&mut self, count: usize) -> Result<Vec<Span>> {
        let spans: Vec<Span> =
            read::protobuf(&self.body(count), self.now)?.spans.iter().map(Packed::span).collect();
        self.bytes.0 += spans.iter().map(|span| json!(span.attributes).to_string().len()).sum::<usize>();
        self.bytes.1 += spans.len();
        Ok(spans)
    }

    pub(super) fn bodies(&mut self, bodies: usize, count: usize) -> Vec<Vec<u8>> {
        (0..bodies).map(|_| self.body(count)).collect()
    }

    /// A trace with as many spans as are wanted.
    pub(super) fn trace(&mut self, count: usize) -> Result<(TraceId, Vec<Span>)> {
        let mut spans = self.spans(count)?;
        let trace = TraceId([9; 16]);
        for span in &mut spans {
            (span.trace, span.session) = (trace, "long".to_owned());
        }
        Ok((trace, spans))
    }

    /// What attributes take as JSON in the mean.
    pub(super) fn attribute_bytes(&self) -> usize {
        self.bytes.0 / self.bytes.1.max(1)
    }

    /// A request with so many spans.
    pub(super) fn body(&mut self, count: usize) -> Vec<u8> {
        let mut resource = Vec::new();
        for (name, value) in [
            ("service.name", "bench-agent"),
            ("telemetry.sdk.language", "python"),
            ("telemetry.sdk.name", "opentelemetry"),
            ("telemetry.sdk.version", "1.38.0"),
        ] {
            message(&mut resource, 1, &attribute(name, value));
        }
        let mut scope = Vec::new();
        message(&mut scope, 1, b"agent.loop");
        let mut scope_spans = Vec::new();
        message(&mut scope_spans, 1, &scope);
        for _ in 0..count {
            let span = self.span();
            message(&mut scope_spans, 2, &span);
        }
        let mut resource_spans = Vec::new();
        message(&mut resource_spans, 1, &resource);
        message(&mut resource_spans, 2, &scope_spans);
        let mut request = Vec::new();
        message(&mut request, 1, &resource_spans);
        request
    }

    /// One of many words, some of them often.
    fn word(&mut self) -> String {
        let number = self.random.u32(0..3000).min(self.random.u32(0..3000));
        let begin = ["sea", "con", "pro", "re", "in", "tra", "mo", "qui"];
        format!("{}{number}", begin.get(number as usize % begin.len()).copied().unwrap_or_default())
    }

    fn text(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words).map(|_| self.word()).collect();
        words.join(" ")
    }

    fn span(&mut self) -> Vec<u8> {
        let place = self.count % IN_A_TRACE;
        self.count += 1;
        let id = self.random.u64(1..).to_be_bytes();
        if place == 0 {
            self.trace = self.random.u128(1..).to_be_bytes();
            self.root = id;
        }
        let tool = self.word();
        let (kind, name, attributes) = match place {
            0 => (
                2,
                format!("tools/call {tool}"),
                vec![("mcp.method.name", "tools/call".to_owned()), ("gen_ai.tool.name", tool)],
            ),
            1..=4 => {
                let input = json!({"query": self.text(8), "limit": place}).to_string();
                let output = json!({"items": [self.text(16)]}).to_string();
                let attributes = vec![
                    ("mcp.method.name", "tools/call".to_owned()),
                    ("gen_ai.tool.name", tool.clone()),
                    ("peer.service", if place.is_multiple_of(2) { "github" } else { "files" }.to_owned()),
                    ("mcp.tool.input_json", input),
                    ("mcp.tool.output_json", output),
                ];
                (3, format!("tools/call {tool}"), attributes)
            }
            _ => {
                let attributes = vec![
                    ("gen_ai.request.model", "model-7".to_owned()),
                    ("gen_ai.operation.name", "chat".to_owned()),
                    ("step.note", self.text(12)),
                ];
                (1, format!("step {tool}"), attributes)
            }
        };
        // Times that go on, within the last hours.
        let started = (self.now - 7_200_000_000_000 + self.count as i64 * 1000).unsigned_abs();
        let mut span = Vec::with_capacity(600);
        message(&mut span, 1, &self.trace);
        message(&mut span, 2, &id);
        if place > 0 {
            message(&mut span, 4, &self.root);
        }
        message(&mut span, 5, name.as_bytes());
        number(&mut span, 6, kind);
        for (field, time) in [(7_u8, started), (8, started + u64::from(self.random.u32(..90_000_000)))] {
            span.push(field << 3 | 1);
            span.extend(time.to_le_bytes());
        }
        for (name, value) in &attributes {
            message(&mut span, 9, &attribute(name, value));
        }
        for name in ["thread.id", "gen_ai.usage.input_tokens"] {
            let mut value = Vec::new();
            number(&mut value, 3, u64::from(self.random.u16(..)));
            let mut attribute = Vec::new();
            message(&mut attribute, 1, name.as_bytes());
            message(&mut attribute, 2, &value);
            message(&mut span, 9, &attribute);
        }
        let mut status = Vec::new();
        number(&mut status, 3, if self.random.u8(..) == 0 { 2 } else { 0 });
        message(&mut span, 15, &status);
        span
    }
}

fn attribute(name: &str, value: &str) -> Vec<u8> {
    let mut text = Vec::new();
    message(&mut text, 1, value.as_bytes());
    let mut attribute = Vec::new();
    message(&mut attribute, 1, name.as_bytes());
    message(&mut attribute, 2, &text);
    attribute
}

/// A field with a length, as protobuf has them.
fn message(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(field << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn number(out: &mut Vec<u8>, field: u8, value: u64) {
    out.push(field << 3);
    varint(out, value);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
