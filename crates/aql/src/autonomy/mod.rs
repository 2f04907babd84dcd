//! The execution safety loop as pure decisions: what an agent that reports its next action is told, and why.
//!
//! Nothing here waits, stores or draws a random number. Time, ids and whether a code was right are handed in.

pub mod attempts;
pub mod challenge;
pub mod code;
pub mod state;

pub use challenge::{Challenge, Tier};
pub use state::Agent;
