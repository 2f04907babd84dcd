//! From another MCP server to an adapter file, in steps that can be read and repeated:
//!
//! capture → [`bundle`](mod@bundle) → [`adapter`] → operations.
//!
//! A [`Bundle`] keeps what the server said beside what is made of it, and says of every inferred field where it comes
//! from. An adapter file is what people review and what a gateway serves; a bundle is never served. Operations are made
//! by [`adopt`](crate::adopt) in all of these places.
//!
//! - The same capture always gives the same bytes.
//! - No secret is written.
//! - Nothing here talks to a server, so nothing here can call a tool.

pub mod adapter;
pub mod bundle;
pub mod capture;
pub mod diff;
mod make;
mod normalize;
mod percent;
pub mod probe;
pub(crate) mod redact;
pub mod source_path;
pub mod target;
mod tools;
mod yaml;

pub use self::{
    bundle::Bundle,
    capture::{Auth, Capture, Error, Identity, Reached},
    make::{Options, bundle},
};

#[cfg(test)]
pub(crate) mod tests;
