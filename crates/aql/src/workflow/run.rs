//! What comes next: the calls of a step with everything in them known, or the end.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{
    ITEMS_MAX, OnError, State, Step, Workflow, measure,
    template::{Room, Scope, resolve_members},
};
use crate::{
    error::Error,
    limits::{self, Limit, Limits},
};

/// How many items a `for_each` goes through.
const ITEMS: Limit = Limit {
    key: "max_for_each_items",
    limit_type: "array_elements",
    unit: "elements",
    default: ITEMS_MAX,
    range: 0..=ITEMS_MAX,
};

/// What a workflow wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Make these calls and record what they answer.
    Step(Ready),
    /// It ended with an error: that of a call, or of a template whose values turned out not to be there. The step is
    /// none where the output could not be made.
    Failed { step: Option<String>, error: Error },
    /// It ended well.
    Done { output: Value },
}

/// A step whose calls can be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// Its place among the steps, from 0.
    pub index: usize,
    pub name: String,
    /// How many items a `for_each` step goes through.
    pub items: Option<usize>,
    pub on_error: OnError,
    /// One call, or one for each item still to do: as many as may be held in memory together, the others come when
    /// these are recorded. There are none if there are no items; that is recorded too.
    pub calls: Vec<Call>,
}

impl Ready {
    pub(super) fn operation(&self) -> &str {
        self.calls.first().map_or("", |call| call.operation.as_str())
    }
}

/// A call to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Which item of a `for_each` step it is for.
    pub item: Option<usize>,
    pub operation: String,
    pub params: Map<String, Value>,
}

impl Workflow {
    /// What to do now. The input is the one that [`Workflow::input_with_defaults`] made, all along a run.
    #[must_use]
    pub fn next(&self, state: &State, input: &Value, limits: &Limits) -> Next {
        if let Some(failure) = &state.failure {
            return Next::Failed { step: Some(failure.step.clone()), error: failure.error.clone() };
        }
        let scope = Scope { input, results: &state.results, item: None };
        let steps = self.steps.iter().enumerate();
        let mut open = steps.skip_while(|(_, step)| state.results.contains_key(&step.name));
        match open.next() {
            Some((index, step)) => match prepare(index, step, state, &scope, limits) {
                Ok(ready) => Next::Step(ready),
                Err(error) => {
                    let error = error.with("step", step.name.as_str());
                    Next::Failed { step: Some(step.name.clone()), error }
                }
            },
            None => match self.output(&scope, limits) {
                Ok(output) => Next::Done { output },
                Err(error) => Next::Failed { step: None, error },
            },
        }
    }

    fn output(&self, scope: &Scope<'_>, limits: &Limits) -> Result<Value, Error> {
        let mut room = Room::new(&limits::RESPONSE_SIZE, limits.max_response_size());
        let told = match &self.output {
            Some(template) => template.resolve(scope, &mut room)?.into_owned(),
            None => {
                for result in scope.results.values() {
                    room.take(result)
                        .map_err(|error| error.hint("Say with 'output' which of the results are wanted."))?;
                }
                json!({"steps": scope.results})
            }
        };
        Ok(told)
    }

    /// How many steps are done, of how many, and where it is.
    #[must_use]
    pub fn progress(&self, state: &State) -> (usize, usize, String) {
        let total = self.steps.len();
        let done = self.steps.iter().take_while(|step| state.results.contains_key(&step.name)).count();
        let message = match (self.steps.get(done), &state.partial, &state.failure) {
            (None, ..) => format!("all {total} steps done"),
            (Some(step), _, Some(_)) => format!("step {} of {total}, '{}', failed", done + 1, step.name),
            (Some(step), Some(partial), _) => {
                let (items, all) = (partial.done(), partial.items.len());
                format!("step {} of {total}, '{}': {items} of {all} items", done + 1, step.name)
            }
            (Some(step), None, _) => format!("step {} of {total}, '{}'", done + 1, step.name),
        };
        (done, total, message)
    }

    /// How much of it is done, from 0 to 1, every step counting the same and a `for_each` step by its items.
    #[must_use]
    pub fn fraction(&self, state: &State) -> f64 {
        let (done, total, _) = self.progress(state);
        let items = state.partial.as_ref().filter(|partial| !partial.items.is_empty());
        let begun = items.map_or(0.0, |partial| partial.done() as f64 / partial.items.len() as f64);
        (done as f64 + begun) / total.max(1) as f64
    }
}

fn prepare(
    index: usize,
    step: &Step,
    state: &State,
    scope: &Scope<'_>,
    limits: &Limits,
) -> Result<Ready, Error> {
    let ready =
        |items, calls| Ready { index, name: step.name.clone(), items, on_error: step.on_error, calls };
    let Some(list) = &step.for_each else {
        return Ok(ready(None, vec![call(step, scope, limits)?.0]));
    };
    // Mostly it is read where it lies, but a list that is put together must not grow without end either.
    let mut room =
        Room::new(&limits::RESPONSE_SIZE, limits.max_response_size().max(limits.max_request_size()));
    let list: Cow<'_, Value> = list.resolve(scope, &mut room)?;
    let Value::Array(items) = list.as_ref() else {
        return Err(Error::invalid_type(&format!("steps[{index}].for_each"), "array", &list));
    };
    if items.len() > ITEMS_MAX {
        return Err(Error::too_large(&ITEMS, ITEMS_MAX, items.len())
            .hint("Ask for fewer in the step that 'for_each' points to."));
    }
    let done = state.partial.as_ref().filter(|partial| partial.step == step.name);
    let is_done = |item: usize| done.is_some_and(|partial| matches!(partial.items.get(item), Some(Some(_))));
    let mut held: usize = 0;
    let mut calls = Vec::new();
    for (number, item) in items.iter().enumerate().filter(|(number, _)| !is_done(*number)) {
        let scope = Scope { item: Some((number, item)), ..*scope };
        let (call, bytes) = call(step, &scope, limits).map_err(|error| error.with("item", number))?;
        held = held.saturating_add(bytes);
        if held > limits.max_response_size() && !calls.is_empty() {
            break;
        }
        calls.push(call);
    }
    Ok(ready(Some(items.len()), calls))
}

/// The call of a step for the item in scope, and how much it weighs.
fn call(step: &Step, scope: &Scope<'_>, limits: &Limits) -> Result<(Call, usize), Error> {
    let allowed = limits.max_request_size();
    let mut room = Room::new(&limits::REQUEST_SIZE, allowed);
    let params = resolve_members(&step.params, scope, &mut room)?;
    let whole = Value::Object(params);
    let bytes = measure::bytes(&whole);
    if bytes > allowed {
        return Err(Error::too_large(&limits::REQUEST_SIZE, allowed, bytes));
    }
    let Value::Object(params) = whole else { return Err(Error::internal("parameters are no object")) };
    measure::within(&params, limits)?;
    let item = scope.item.map(|(number, _)| number);
    Ok((Call { item, operation: step.operation.clone(), params }, bytes))
}
