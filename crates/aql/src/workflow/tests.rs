//! Workflows as their authors and their runner see them.

mod checking;
mod properties;
mod reading;
mod running;

use serde_json::{Map, Value, json};

use super::*;
use crate::{
    category::Category,
    define::{Operation, Param, Type},
    error::Error,
    limits::Limits,
    policy::Policy,
    registry::Registry,
};

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is no object"),
    }
}

fn read(metadata: Value) -> Workflow {
    Workflow::read(&object(metadata)).unwrap()
}

/// What stands where, without the sentences' exact words.
fn places(problems: &[Problem]) -> Vec<(&str, Option<&str>)> {
    for problem in problems {
        assert!(!leaks(&problem.message), "{problem:?}");
    }
    problems.iter().map(|problem| (problem.place.as_str(), problem.suggestion.as_deref())).collect()
}

/// What a published runner takes for a stack frame.
fn leaks(message: &str) -> bool {
    regex::Regex::new(r"(?i)at\s+\S+").unwrap().is_match(message)
}

fn registry() -> Registry {
    let find = Operation::new(Category::Read, "find_things", "Find things")
        .param(Param::new("query", "string", "What to look for").required().length(1, 20))
        .param(Param::new("first", "integer", "How many").range(1.0, 100.0))
        .param(Param::new("order", "string", "Which way").allowed(&["ascending", "descending"]));
    let get = Operation::new(Category::Read, "get_thing", "Get a thing")
        .param(Param::new("thing_id", "string", "Its id").required().unless("thing_name"))
        .param(Param::new("thing_name", "string", "Its name").alias("called"));
    let change = Operation::new(Category::Update, "change_thing", "Change a thing")
        .param(Param::new("thing_id", "string", "Its id").required())
        .param(Param::new("input", "object", "What changes").required().fields_of("ThingUpdate"));
    let run = Operation::new(Category::Execute, "execute_workflow", "Run a workflow")
        .param(Param::new("workflow_id", "string", "Which").required());
    let hidden = Operation::new(Category::Read, "get_secret", "Get a secret");
    let fields = vec![Param::new("priority", "integer", "How urgent").range(1.0, 10.0)];
    [find, get, change, run, hidden]
        .into_iter()
        .fold(Registry::builder("things"), |builder, operation| builder.operation(operation))
        .types([Type::object("ThingUpdate", "What can change", fields)])
        .policy(Policy { deny: vec!["get_secret".to_owned()], ..Policy::default() })
        .build()
        .unwrap()
}

fn check(metadata: Value) -> Vec<Problem> {
    read(metadata).check(&registry(), |name| name == "execute_workflow")
}

fn limits() -> Limits {
    Limits::default()
}

const ROOMY: usize = 10_000_000;

/// Runs to the end, every call answered by `answer`.
fn run(
    workflow: &Workflow,
    state: &mut State,
    input: &Value,
    mut answer: impl FnMut(&Call) -> Result<Value, Error>,
) -> Next {
    for _ in 0..10_000 {
        let ready = match workflow.next(state, input, &limits()) {
            Next::Step(ready) => ready,
            end => return end,
        };
        let outcomes = ready.calls.iter().map(|call| Outcome::of(call, answer(call))).collect();
        let _ = state.record(&ready, outcomes, ROOMY);
    }
    panic!("the workflow does not end")
}
