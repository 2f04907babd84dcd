//! MCP to agents, over standard input and output or HTTP, in both of the protocol's eras.
//!
//! Our own framing stands before the library's, which drops what it cannot parse. The library keeps the life of a
//! connection: initialize and discover, sessions, streams, tool lists, progress. Plain tool calls go past it.

pub mod bytes;
mod call;
mod client;
pub(crate) mod connections;
mod elsewhere;
mod frame;
mod handler;
pub mod http;
mod reply;
pub mod stdio;
mod tasks;
mod traced;

pub(crate) use self::handler::Listed;

/// The longest message that is read. Arguments have a smaller limit of their own; this one only bounds memory.
pub(crate) const FRAME_BYTES_MAX: usize = 32 * 1024 * 1024;
