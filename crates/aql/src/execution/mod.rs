//! Work that outlives the call it was asked for in: a pure state machine.
//!
//! [`Execution::apply`] takes a command and the time and makes the next record of it, or tells why it may not. It
//! promises that
//! - a core state changes only along the edges of [`Core::leads_to`], whatever commands come in whatever order;
//! - a status is always one that the operation's [`Lifecycle`] declares, so introspection tells all of them;
//! - what [`Execution::view`] shows fits the state: no error without a failure, no end before the start.
//!
//! It never reads a clock, makes up an id or remembers anything: keeping records is the store's.

mod command;
mod illegal;
mod lifecycle;
mod progress;
mod record;

pub use command::Command;
pub use illegal::{Illegal, Reason};
pub use lifecycle::{Core, Lifecycle, NotALifecycle, Status};
pub use progress::{NotProgress, Progress};
pub use record::{Execution, Failure, Inconsistent, Record};

#[cfg(test)]
mod tests;
