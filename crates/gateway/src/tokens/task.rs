//! A task of ten operations as the specification's appendix A has it: everything that a model reads and writes for it,
//! once with all tools in its context and once by asking for what it needs.

use aql::{adopt, introspect, registry::Registry};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Counter, sample, saved, tools};

/// As many as in the specification.
const OPERATIONS: usize = 10;
/// Hits that a model asks for.
const HITS: usize = 5;
const SESSION: &str = "0199a3c4-5d6e-7f80-9a1b-2c3d4e5f6071";

/// What a task costs in each of three ways.
#[derive(Debug, Clone, Serialize)]
pub struct Task {
    /// The operations that are called, one after another.
    pub operations: Vec<String>,
    /// How many of them were among the hits when they were searched for by the words of their names.
    pub found: usize,
    pub eager: Steps,
    pub crude: Steps,
    pub single: Steps,
    /// Registration of one tool and the details of all operations, as in the appendix, which says about 2,600.
    pub single_and_details: usize,
}

/// What the parts of a task cost.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Steps {
    pub definitions: usize,
    pub searches: usize,
    pub details: usize,
    pub calls: usize,
    pub results: usize,
    pub total: usize,
    /// How much less than eagerly.
    pub saved_percent: f64,
}

impl Steps {
    fn added(mut self, eager: usize) -> Self {
        self.total = self.definitions + self.searches + self.details + self.calls + self.results;
        self.saved_percent = saved(self.total, eager);
        self
    }
}

/// Counts the task. No operation is called: what one answers costs the same in every way but for our envelope.
pub(super) fn run(
    counter: &Counter,
    adopted: &[adopt::Operation],
    definitions: usize,
    crude: &Registry,
    single: &Registry,
) -> Task {
    let chosen: Vec<&adopt::Operation> = spread(adopted).collect();
    let result = json!({"id": "a1b2c3d4", "status": "done", "updated_at": "2026-01-05T09:30:00Z"});
    let mut eager = Steps { definitions, ..Steps::default() };
    for operation in &chosen {
        let arguments = operation.wiring.arguments(sample::params(&operation.definition.params));
        eager.calls += counter.json(&json!({"name": operation.tool, "arguments": arguments}));
        eager.results += counter.json(&result);
    }
    let eager = eager.added(0);
    let by_asking = |registry: &Registry| Asking { counter, registry }.steps(&chosen, &result);
    let (crude_steps, found, _) = by_asking(crude);
    let (single_steps, _, details) = by_asking(single);
    Task {
        operations: chosen.iter().map(|operation| operation.definition.name.clone()).collect(),
        found,
        crude: crude_steps.added(eager.total),
        single: single_steps.added(eager.total),
        single_and_details: single_steps.definitions + details,
        eager,
    }
}

/// Operations of all servers and kinds: every so many.
fn spread(adopted: &[adopt::Operation]) -> impl Iterator<Item = &adopt::Operation> {
    let step = adopted.len().div_ceil(OPERATIONS).max(1);
    let few = adopted.len() <= OPERATIONS;
    adopted
        .iter()
        .step_by(step)
        .chain(adopted.iter().rev().filter(move |_| !few))
        .take(OPERATIONS.min(adopted.len()))
}

struct Asking<'a> {
    counter: &'a Counter,
    registry: &'a Registry,
}

impl Asking<'_> {
    /// The parts, how many operations the searches found, and what the answers with details cost by themselves.
    fn steps(&self, chosen: &[&adopt::Operation], result: &Value) -> (Steps, usize, usize) {
        let mut steps = Steps { definitions: self.counter.json(&tools(self.registry)), ..Steps::default() };
        let (mut found, mut answers) = (0, 0);
        for operation in chosen {
            let name = operation.definition.name.as_str();
            let words = operation.tool.replace(['_', '-', '.', '/'], " ");
            let (asked, hits) =
                self.introspect(&json!({"query": "operations", "search": words, "first": HITS}));
            steps.searches += asked + self.counter.text(&hits);
            found += usize::from(hits.contains(&format!("\"name\":\"{name}\"")));
            let (asked, details) = self.introspect(&json!({"query": "operations", "name": name}));
            let answer = self.counter.text(&details);
            steps.details += asked + answer;
            answers += answer;
            let params = Value::Object(sample::params(&operation.definition.params));
            steps.calls += self.counter.json(&self.call(name, &params));
            steps.results += self.counter.json(&json!({"success": true, "data": result}));
        }
        (steps, found, answers)
    }

    /// What asking costs, and the answer.
    fn introspect(&self, params: &Value) -> (usize, String) {
        let asked = self.counter.json(&self.call("introspect", params));
        let none = Map::new();
        let answer = introspect::answer(self.registry, params.as_object().unwrap_or(&none), SESSION);
        (asked, answer.map_or_else(|error| error.message, |answer| answer.to_text()))
    }

    /// A call as a model writes it.
    fn call(&self, name: &str, params: &Value) -> Value {
        let operation = self.registry.id(name).and_then(|id| self.registry.get(id));
        let tool = operation.map(|operation| self.registry.tool_name(operation)).unwrap_or_default();
        json!({"name": tool, "arguments": {"operation": name, "params": params}})
    }
}
