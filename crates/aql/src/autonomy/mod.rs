//! The execution safety loop as pure decisions: what an agent that reports its next action is told, and why.
//!
//! Nothing here waits, stores or draws a random number. Time, ids and whether a code was right are handed in.

pub mod attempts;
pub mod challenge;
pub mod code;
mod commands;
pub mod define;
pub mod directive;
pub mod evaluate;
pub mod explain;
pub mod fold;
pub mod hint;
mod lookalike;
pub mod notify;
pub mod pattern;
pub mod risk;
pub mod settings;
mod speech;
pub mod state;
#[cfg(test)]
mod tests;
mod weights;

pub use challenge::{Challenge, Tier};
pub use directive::{Directive, SafetyTier};
pub use evaluate::{Halt, Report, StepOutcome, Verdict, evaluate};
pub use fold::{Folded, fold};
pub use hint::Hint;
pub use risk::{Action, Risk, Scorer, Words};
pub use settings::{Autonomy, Mode, Rules, Settings, Stages, Tolerance};
pub use state::Agent;
