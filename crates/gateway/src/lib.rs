//! The runtime of Aqueduct: everything around the pure language of `aql`.
//!
//! [`pipeline`] is the one way a call takes; [`serve`] brings calls in over MCP; [`gate`] decides, [`dispatch`] hands
//! on, [`adapters`] do the work; [`store`] keeps what must last. [`discover`] captures other servers, [`import`] takes over what MCP clients have
//! configured, [`trace`] observes it all.

pub use aql;

pub mod adapters;
pub mod app;
mod bearers;
pub mod client;
pub mod codes;
pub mod config;
pub mod discover;
pub mod dispatch;
pub mod doctor;
pub mod executions;
pub mod explain;
mod failpoint;
pub mod gate;
pub mod guard;
pub mod hub;
pub mod import;
mod inline;
pub mod inspect;
pub mod library;
pub mod limits;
pub mod mistakes;
pub mod operator;
mod outgoing;
pub mod pipeline;
pub mod progress;
mod random;
mod rates;
pub mod safety;
pub mod serve;
pub mod session;
mod shape;
mod snapshots;
pub mod store;
#[cfg(feature = "tokens")]
pub mod tokens;
pub mod trace;
