//! How far a workflow has come: results of finished steps, items done of the one under way, and why it failed.
//!
//! A state is plain data. As JSON it is a checkpoint; read back it is the same state, and anything damaged is refused
//! rather than guessed.

use serde_json::{Map, Value, json};

use super::{
    ITEMS_MAX, OnError, Workflow, measure,
    problem::quoted,
    run::{Call, Ready},
};
use crate::{
    error::{Code, Error},
    limits::Limit,
};

const VERSION: u64 = 1;

/// What the results of one run may weigh. Only its name is used: how much is allowed is handed in.
const RESULTS_SIZE: Limit = Limit {
    key: "max_workflow_results",
    limit_type: "workflow_results",
    unit: "bytes",
    default: 10 * 1024 * 1024,
    range: 1024..=usize::MAX,
};

/// Results so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// Of finished steps, by name, as pointers see them.
    pub(super) results: Map<String, Value>,
    pub(super) partial: Option<Partial>,
    pub(super) failure: Option<Failure>,
    bytes: usize,
}

/// A `for_each` step under way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Partial {
    pub(super) step: String,
    /// The outcomes so far, an item's in its place.
    pub(super) items: Vec<Option<Value>>,
}

impl Partial {
    pub(super) fn done(&self) -> usize {
        self.items.iter().flatten().count()
    }
}

/// Why it goes no further.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failure {
    pub(super) step: String,
    pub(super) error: Error,
}

/// What one call answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Which item of a `for_each` step the call was for.
    pub item: Option<usize>,
    pub result: Result<Value, Error>,
}

impl Outcome {
    #[must_use]
    pub fn of(call: &Call, result: Result<Value, Error>) -> Self {
        Self { item: call.item, result }
    }
}

impl State {
    /// Keeps the outcomes of a step's calls: all of them, or of a `for_each` step as many as there are yet, so that
    /// each can be kept as soon as it is done. What is not recorded is asked for again. More than `bytes_max` bytes of results are refused, and the workflow has failed.
    pub fn record(&mut self, ready: &Ready, outcomes: Vec<Outcome>, bytes_max: usize) -> Result<(), Error> {
        match ready.items {
            None => match outcomes.into_iter().next() {
                Some(outcome) => self.record_call(ready, outcome, bytes_max),
                None => Ok(()),
            },
            Some(count) => self.record_items(ready, count, outcomes, bytes_max),
        }
    }

    fn record_call(&mut self, ready: &Ready, outcome: Outcome, bytes_max: usize) -> Result<(), Error> {
        match (outcome.result, ready.on_error) {
            (Err(error), OnError::Fail) => self.fail(ready, None, error),
            (result, _) => {
                let result = shown(result);
                self.weigh(ready, &result, bytes_max)?;
                self.results.insert(ready.name.clone(), result);
            }
        }
        Ok(())
    }

    fn record_items(
        &mut self,
        ready: &Ready,
        count: usize,
        outcomes: Vec<Outcome>,
        bytes_max: usize,
    ) -> Result<(), Error> {
        let mut items = match self.partial.take() {
            Some(partial) if partial.step == ready.name => partial.items,
            _ => Vec::new(),
        };
        items.resize(count, None);
        let mut failed: Option<(usize, Error)> = None;
        let mut overweight = Ok(());
        for Outcome { item, result } in outcomes {
            let Some((index, slot)) = item.and_then(|index| Some((index, items.get_mut(index)?))) else {
                continue;
            };
            match (result, ready.on_error) {
                (Err(error), OnError::Fail) => {
                    // Of several the first in the list is told, in whatever order they came.
                    if failed.as_ref().is_none_or(|(earlier, _)| index < *earlier) {
                        failed = Some((index, error));
                    }
                }
                (result, _) => {
                    let result = shown(result);
                    overweight = self.weigh(ready, &result, bytes_max);
                    if overweight.is_err() {
                        break;
                    }
                    *slot = Some(result);
                }
            }
        }
        self.partial = Some(Partial { step: ready.name.clone(), items });
        overweight?;
        match failed {
            Some((index, error)) => self.fail(ready, Some(index), error),
            None => self.finish_items(),
        }
        Ok(())
    }

    /// Once every item has its outcome the step is finished.
    fn finish_items(&mut self) {
        let complete = |partial: &Partial| partial.items.iter().all(Option::is_some);
        if let Some(Partial { step, items }) = self.partial.take_if(|partial| complete(partial)) {
            let items: Vec<Value> = items.into_iter().flatten().collect();
            let success = items.iter().all(|item| item.get("success") == Some(&Value::Bool(true)));
            self.results.insert(step, json!({"success": success, "items": items}));
        }
    }

    fn fail(&mut self, ready: &Ready, item: Option<usize>, error: Error) {
        let error = error.with("step", ready.name.as_str());
        let error = match item {
            Some(item) => error.with("item", item),
            None => error,
        };
        self.failure = Some(Failure { step: ready.name.clone(), error });
    }

    fn weigh(&mut self, ready: &Ready, result: &Value, bytes_max: usize) -> Result<(), Error> {
        let bytes = self.bytes.saturating_add(measure::bytes(result));
        if bytes <= bytes_max {
            self.bytes = bytes;
            return Ok(());
        }
        let error = Error::too_large(&RESULTS_SIZE, bytes_max, bytes).with("operation", ready.operation())
            .hint("The call was made, but its result is too large to keep. Ask for less in this step, with 'fields', 'first' or a filter.");
        self.fail(ready, None, error.clone());
        Err(error.with("step", ready.name.as_str()))
    }

    /// How much the results weigh, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether a step failed and nobody has asked for a retry yet.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Forgets the failure: the next step is the failed one again, of a `for_each` step only the items not done.
    pub fn retry(&mut self) {
        self.failure = None;
    }

    /// As a checkpoint.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut value = json!({"version": VERSION, "results": self.results});
        if let Value::Object(value) = &mut value {
            if let Some(partial) = &self.partial {
                let partial = json!({"step": partial.step, "items": partial.items});
                value.insert("partial".to_owned(), partial);
            }
            if let Some(failure) = &self.failure {
                let failure = json!({"step": failure.step, "error": error_value(&failure.error)});
                value.insert("failure".to_owned(), failure);
            }
        }
        value
    }

    /// Reads a checkpoint of this workflow. It is refused if it is damaged or belongs to another one.
    pub fn from_value(value: &Value, workflow: &Workflow) -> Result<Self, Error> {
        let refuse = |reason: &str| {
            Error::new(
                Code::Internal,
                format!("Internal error: the workflow's checkpoint is damaged, {reason}"),
            )
            .hint("Start the workflow anew.")
        };
        read(value, workflow).map_err(|reason| refuse(&reason))
    }
}

fn read(value: &Value, workflow: &Workflow) -> Result<State, String> {
    if value.get("version").and_then(Value::as_u64) != Some(VERSION) {
        return Err(format!("its version is not {VERSION}"));
    }
    let Some(results) = value.get("results").and_then(Value::as_object) else {
        return Err("it has no results".to_owned());
    };
    let finished = workflow.steps.iter().take_while(|step| results.contains_key(&step.name));
    if finished.count() != results.len() {
        return Err("its results are not those of the first steps".to_owned());
    }
    let mut bytes: usize = 0;
    for step in &workflow.steps {
        let Some(result) = results.get(&step.name) else { break };
        let items = result.get("items").and_then(Value::as_array);
        let fits = match (&step.for_each, items) {
            (None, _) => is_outcome(result, step.on_error),
            (Some(_), Some(items)) => {
                result.get("success").is_some_and(Value::is_boolean)
                    && items.len() <= ITEMS_MAX
                    && items.iter().all(|item| is_outcome(item, step.on_error))
            }
            (Some(_), None) => false,
        };
        if !fits {
            return Err(format!("the result of {} is none", quoted(&step.name)));
        }
        bytes = bytes.saturating_add(weight(result, items.filter(|_| step.for_each.is_some())));
    }
    let under_way = workflow.steps.get(results.len());
    let partial = match value.get("partial") {
        None => None,
        Some(partial) => Some(read_partial(partial, under_way)?),
    };
    let kept = partial.iter().flat_map(|partial| partial.items.iter().flatten());
    let bytes = kept.fold(bytes, |sum, item| sum.saturating_add(measure::bytes(item)));
    let failure = match value.get("failure") {
        None => None,
        Some(failure) => Some(read_failure(failure, under_way)?),
    };
    Ok(State { results: results.clone(), partial, failure, bytes })
}

/// The same number that recording came to.
fn weight(result: &Value, items: Option<&Vec<Value>>) -> usize {
    match items {
        Some(items) => items.iter().map(measure::bytes).sum(),
        None => measure::bytes(result),
    }
}

fn read_partial(partial: &Value, step: Option<&super::Step>) -> Result<Partial, String> {
    let step = step.filter(|step| step.for_each.is_some());
    let name = partial.get("step").and_then(Value::as_str);
    let items = partial.get("items").and_then(Value::as_array);
    match (step, name, items) {
        (Some(step), Some(name), Some(items)) if step.name == name && items.len() <= ITEMS_MAX => {
            if !items.iter().all(|item| item.is_null() || is_outcome(item, step.on_error)) {
                return Err(format!("an item of {} has no outcome", quoted(name)));
            }
            let items = items.iter().map(|item| (!item.is_null()).then(|| item.clone()));
            Ok(Partial { step: name.to_owned(), items: items.collect() })
        }
        _ => Err("the step under way is not the next one".to_owned()),
    }
}

fn read_failure(failure: &Value, step: Option<&super::Step>) -> Result<Failure, String> {
    let name = failure.get("step").and_then(Value::as_str);
    let error = failure.get("error").and_then(read_error);
    match (step, name, error) {
        (Some(step), Some(name), Some(error)) if step.name == name => {
            Ok(Failure { step: name.to_owned(), error })
        }
        _ => Err("its failure is not the next step's".to_owned()),
    }
}

/// A result as pointers see it.
fn shown(result: Result<Value, Error>) -> Value {
    match result {
        Ok(data) => json!({"success": true, "data": data}),
        Err(error) => json!({"success": false, "error": error_value(&error)}),
    }
}

fn is_outcome(value: &Value, on_error: OnError) -> bool {
    match value.get("success") {
        Some(Value::Bool(true)) => value.get("data").is_some(),
        Some(Value::Bool(false)) => {
            on_error == OnError::Continue && value.get("error").and_then(read_error).is_some()
        }
        _ => false,
    }
}

fn error_value(error: &Error) -> Value {
    json!({"code": error.code, "message": error.message, "details": error.details})
}

fn read_error(value: &Value) -> Option<Error> {
    let code = value.get("code").and_then(Value::as_str)?;
    let code = Code::ALL.iter().copied().find(|known| known.as_str() == code)?;
    let message = value.get("message").and_then(Value::as_str)?;
    let details = value.get("details").and_then(Value::as_object)?;
    Some(Error { details: details.clone(), ..Error::new(code, message) })
}
