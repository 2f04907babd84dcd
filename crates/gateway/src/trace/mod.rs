//! What the Inspector knows: every request that comes in, every call that goes out, and what others report.
//!
//! Tracing observes and steers nothing. Whatever goes wrong here, calls go on.

pub mod attributes;
mod hands;
pub(crate) mod ids;
pub(crate) mod json;
mod kept;
mod levels;
pub mod lines;
mod live;
pub mod metrics;
pub mod names;
pub(crate) mod open;
pub mod otlp;
mod pace;
pub(crate) mod parked;
pub mod preview;
mod queue;
mod recorder;
mod redact;
mod rows;
pub mod span;
mod stopping;
#[cfg(test)]
mod tests;
mod told;

pub use attributes::{Attributes, Sorted};
pub use kept::Kept;
pub use levels::{Level, Levels};
pub use open::OpenSpan;
pub use recorder::{Counts, Recorder, Settings, Sink};
pub use span::{Engine, Event, Happening, Kind, Link, Nanos, Span, SpanId, Status, TraceId};
pub use stopping::Wish;
pub use told::Told;
