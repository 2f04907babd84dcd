//! Workflows: operations in a row, each taking what those before it found.
//!
//! A [`Workflow`] is [read](Workflow::read) from an entity's metadata and [checked](Workflow::check) against a registry
//! when it is written; what passed asks for no unknown operation and for no result that cannot be there yet.
//! [`Workflow::next`] is a pure function of the workflow, its input and a [`State`]: it says which calls to make, or how
//! it ended. Whoever makes the calls [records](State::record) their outcomes and asks again. A state can be kept as JSON
//! between any two of these, which is how a run goes on after a crash and how a retry keeps what was done.
//!
//! Nothing here makes a call, waits or remembers.
//!
//! ```
//! use aql::{limits::Limits, workflow::{Next, Outcome, State, Workflow}};
//! use serde_json::json;
//!
//! let metadata = json!({
//!     "steps": [
//!         {"name": "find", "operation": "search_entities", "params": {"query": {"$from": "/input/topic"}}},
//!         {"name": "raise", "operation": "update_entity", "for_each": {"$from": "/steps/find/data/items"},
//!          "params": {"entity_id": {"$from": "/item/entity_id"}, "input": {"priority": 9}}},
//!     ],
//!     "output": {"raised": {"$from": "/steps/raise/items"}},
//! });
//! let workflow = Workflow::read(metadata.as_object().unwrap()).unwrap();
//! let (input, mut state) = (json!({"topic": "reports"}), State::default());
//! let Next::Step(ready) = workflow.next(&state, &input, &Limits::default()) else { panic!() };
//! assert_eq!(ready.calls[0].params["query"], "reports");
//! state.record(&ready, vec![Outcome::of(&ready.calls[0], Ok(json!({"items": []})))], 1_000_000)?;
//! # Ok::<(), aql::error::Error>(())
//! ```

mod check;
mod input;
mod measure;
mod pointer;
mod problem;
mod read;
mod run;
mod state;
mod template;
#[cfg(test)]
mod tests;

use self::{input::Declared, template::Template};
pub use self::{
    problem::{Problem, problems_error},
    run::{Call, Next, Ready},
    state::{Outcome, State},
    template::TEMPLATE_LEVELS_MAX,
};

/// Steps of one workflow.
pub const STEPS_MAX: usize = 100;
/// Items that one `for_each` goes through.
pub const ITEMS_MAX: usize = 1000;
/// Declared inputs of one workflow.
pub const INPUTS_MAX: usize = 100;
/// Characters of a step's or an input's name.
pub const NAME_CHARS_MAX: usize = 100;

/// A workflow, read: its shape is right. Whether its operations exist is for [`Workflow::check`] to say.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    steps: Vec<Step>,
    output: Option<Template>,
    /// None where the workflow does not say; then any input is taken.
    input: Option<Vec<Declared>>,
}

#[derive(Debug, Clone, PartialEq)]
struct Step {
    name: String,
    operation: String,
    params: Vec<(String, Template)>,
    on_error: OnError,
    for_each: Option<Template>,
}

/// What a failed call means for the steps after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// The workflow ends with the step's error.
    Fail,
    /// The error is the step's result, and the workflow goes on.
    Continue,
}

impl Workflow {
    /// The names of the steps with the operation of each, in their order.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.steps.iter().map(|step| (step.name.as_str(), step.operation.as_str()))
    }
}
