//! OpenTelemetry's protocol: what agents report comes in by it, what we recorded goes out by it.
//!
//! Whatever is sent here, the gateway goes on: bodies, what they unpack to, spans and their parts are all bounded, and what
//! cannot be taken is counted and told to who sent it.

mod alias;
mod cut;
pub mod export;
mod fields;
mod grpc;
mod json;
pub mod listen;
mod map;
mod origin;
pub mod read;
pub mod serve;
mod value;
mod veil;
mod wire;
pub mod write;

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
}
