//! OpenTelemetry's protocol: what agents report comes in by it, what we recorded goes out by it.
//!
//! Whatever is sent here, the gateway goes on: bodies, what they unpack to, spans and their parts are all bounded, and what
//! cannot be taken is counted and told to who sent it.

mod alias;
pub mod export;
mod fields;
mod given;
mod grpc;
mod json;
mod known;
pub mod listen;
mod map;
mod origin;
pub mod read;
pub mod serve;
mod value;
mod veil;
mod wire;
pub mod write;

#[cfg(test)]
pub(crate) mod tests;

use serde_json::{Map, Value};

use crate::trace::{Nanos, Span, preview};

pub use export::{Collector, Exporter};
pub use listen::{Opened, Receivers, listen};
pub use read::{Received, Unreadable};
pub use serve::{Full, Sink};

/// The longest body, as it is sent.
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The longest that it may unpack to.
pub const UNPACKED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What one request may report.
pub const SPANS_MAX: usize = 200_000;

/// Attributes that carry what OTLP has no word for. They are ours alone: put in when a span is written, and taken out
/// when it is read again.
mod own {
    /// The Inspector's session of the span.
    pub(super) const SESSION: &str = "mcp.inspector.session_id";
    pub(super) const ENGINE: &str = "mcp.inspector.engine";
    pub(super) const STATUS: &str = "mcp.inspector.status";
    pub(super) const WAITED: &str = "mcp.inspector.waited_ns";
    /// The names that were added for other tools.
    pub(super) const ADDED: &str = "mcp.inspector.added";
    pub(super) const ALL: [&str; 5] = [SESSION, ENGINE, STATUS, WAITED, ADDED];
}

/// Traces are kept by days. Who could name any day could make a file for each.
const EARLIEST: Nanos = 946_684_800_000_000_000;
const AHEAD_MAX: Nanos = 24 * 3600 * 1_000_000_000;

/// Whether something may have happened then: since 2000, and no more than a day ahead of our clock.
#[must_use]
pub fn is_likely(time: Nanos, now: Nanos) -> bool {
    (EARLIEST..=now.saturating_add(AHEAD_MAX)).contains(&time)
}

/// Holds a span that was not recorded here to what holds for all: no secrets, and no value too long.
pub(super) fn tidy(span: &mut Span) {
    veil::text(&mut span.name);
    for event in &mut span.events {
        veil::text(&mut event.name);
        veil::veil_of(&event.name, &mut event.attributes);
        preview::cut(&mut event.attributes);
    }
    let links = span.links.iter_mut().map(|link| &mut link.attributes);
    for attributes in links.chain([&mut span.attributes]) {
        veil::veil(attributes);
        preview::cut(attributes);
    }
}

/// Attributes as OTLP/JSON has them.
pub(super) fn attributes_json(attributes: Map<String, Value>) -> Value {
    let attributes = attributes.into_iter().collect();
    serde_json::to_value(value::write(&attributes)).unwrap_or_default()
}
