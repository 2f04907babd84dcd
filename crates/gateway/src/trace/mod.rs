//! What the Inspector knows: every request that comes in, every call that goes out, and what others report.
//!
//! Tracing observes and steers nothing. Whatever goes wrong here, calls go on.

pub mod lines;
pub mod metrics;
pub mod names;
pub mod otlp;
pub mod span;

pub use span::{Attributes, Engine, Event, Happening, Kind, Link, Nanos, Span, SpanId, Status, TraceId};
