//! A workflow against the operations there are: what passes asks for nothing that cannot be.

use serde_json::Value;

use super::{
    Step, Workflow,
    pointer::index,
    problem::{Place, Problem, quoted},
    template::{Reference, Template},
};
use crate::{operation::Operation, param::Param, registry::Registry, suggest, validate};

/// What a pointer can begin with.
const ROOTS: [&str; 4] = ["input", "steps", "item", "index"];
/// What the result of a step has.
const CALL_PARTS: [&str; 3] = ["success", "data", "error"];
/// What the result of a `for_each` step has.
const ITEM_PARTS: [&str; 2] = ["success", "items"];

impl Workflow {
    /// Everything about this workflow that cannot work with these operations. `is_refused` tells the operations that no
    /// step may call, because they run workflows or start executions themselves.
    #[must_use]
    pub fn check(&self, registry: &Registry, is_refused: impl Fn(&str) -> bool) -> Vec<Problem> {
        let mut problems = Vec::new();
        let steps = Place::root("steps");
        for (index, step) in self.steps.iter().enumerate() {
            let place = steps.index(index);
            let name = step.operation.as_str();
            match registry.visible_named(name) {
                Some(_) if is_refused(name) => {
                    let message = format!(
                        "the operation '{name}' runs workflows or starts executions itself, so no step may call it"
                    );
                    problems.push(Problem::new(&place.key("operation"), message));
                }
                Some((_, operation)) => check_params(registry, operation, step, &place, &mut problems),
                None => {
                    let known = registry.visible().map(|operation| operation.name().as_str());
                    let known = known.filter(|known| !is_refused(known));
                    let problem =
                        Problem::new(&place.key("operation"), format!("unknown operation {}", quoted(name)));
                    problems.push(problem.nearest(name, known));
                }
            }
            self.check_references(index, step, &mut problems);
        }
        if let Some(output) = &self.output {
            let mut visit =
                |reference| problems.extend(self.reference_fault(reference, self.steps.len(), false));
            output.references(&mut visit);
        }
        problems
    }

    fn check_references(&self, index: usize, step: &Step, problems: &mut Vec<Problem>) {
        if let Some(list) = &step.for_each {
            list.references(&mut |reference| problems.extend(self.reference_fault(reference, index, false)));
        }
        let has_item = step.for_each.is_some();
        for (_, template) in &step.params {
            let mut visit = |reference| problems.extend(self.reference_fault(reference, index, has_item));
            template.references(&mut visit);
        }
    }

    /// Why a reference in the step of this index cannot lead anywhere.
    fn reference_fault(&self, reference: &Reference, step: usize, has_item: bool) -> Option<Problem> {
        let pointer = &reference.pointer;
        let shown = quoted(pointer.as_str());
        let problem = |message: String| Problem { place: reference.place.clone(), message, suggestion: None };
        let tokens: Vec<&str> = pointer.tokens().iter().map(String::as_str).collect();
        match tokens.as_slice() {
            ["input"] => None,
            ["input", name, ..] => {
                let mut known = self.input.as_ref()?.iter().map(|input| input.name.as_str());
                if known.clone().any(|known| known == *name) {
                    return None;
                }
                let message = format!("{shown} points to an input not declared under 'input'");
                Some(problem(message).nearest(name, &mut known))
            }
            ["steps", name, parts @ ..] => self
                .step_fault(&shown, name, parts, step)
                .map(|(message, near)| Problem { suggestion: near, ..problem(message) }),
            ["item", ..] | ["index"] if has_item => None,
            ["item", ..] | ["index"] => {
                Some(problem(format!("{shown} is known only in the 'params' of a step with 'for_each'")))
            }
            [first, ..] => {
                let message = format!(
                    "{shown} points to none of the places there are: /input, /steps/NAME, and in a 'for_each' step \
                     /item and /index"
                );
                Some(problem(message).nearest(first, ROOTS))
            }
            [] => None,
        }
    }

    fn step_fault(
        &self,
        shown: &str,
        name: &str,
        parts: &[&str],
        step: usize,
    ) -> Option<(String, Option<String>)> {
        let near =
            |given: &str, known: &[&str]| suggest::nearest(given, known.iter().copied()).map(str::to_owned);
        let Some(found) = self.steps.iter().position(|other| other.name == name) else {
            let earlier: Vec<&str> = self.steps.iter().take(step).map(|other| other.name.as_str()).collect();
            return Some((format!("{shown} points to an unknown step"), near(name, &earlier)));
        };
        if found == step {
            return Some((
                format!("{shown} points to the step it stands in, whose result is not there yet"),
                None,
            ));
        }
        if found > step {
            return Some((format!("{shown} points to a step further down, which runs later"), None));
        }
        let is_list = self.steps.get(found).is_some_and(|other| other.for_each.is_some());
        let part_fault = |part: &str, known: &[&str], of: &str| {
            (!known.contains(&part)).then(|| {
                let message = format!("{shown}: {of} has {}, not {}", known.join(", "), quoted(part));
                (message, near(part, known))
            })
        };
        match parts {
            [] => None,
            ["items", item, rest @ ..] if is_list => {
                if index(item).is_none() {
                    return Some((
                        format!("{shown}: 'items' is an array, and {} is no index", quoted(item)),
                        None,
                    ));
                }
                rest.first().and_then(|part| part_fault(part, &CALL_PARTS, "the result of an item"))
            }
            ["success", _, ..] => {
                Some((format!("{shown}: 'success' is true or false and has no parts"), None))
            }
            [part, ..] if is_list => part_fault(part, &ITEM_PARTS, "the result of a step with 'for_each'"),
            [part, ..] => part_fault(part, &CALL_PARTS, "the result of a step"),
        }
    }
}

fn check_params(
    registry: &Registry,
    operation: &Operation,
    step: &Step,
    place: &Place<'_>,
    problems: &mut Vec<Problem>,
) {
    let place = place.key("params");
    let declared = operation.params();
    let is_given = |name: &str| step.params.iter().any(|(key, _)| key == name);
    // As validation reads a call: another spelling counts unless the name itself stands beside it.
    let meant = |key: &str| {
        let by_name = declared.iter().find(|param| param.name == key);
        by_name.or_else(|| {
            let mut others = declared.iter().filter(|param| !is_given(&param.name));
            others.find(|param| param.aliases.iter().any(|alias| alias == key))
        })
    };
    for (key, template) in &step.params {
        match meant(key) {
            Some(param) => {
                check_constant(registry, operation, param, template, &place.key(key), problems);
            }
            None if key.starts_with('_') => {}
            None => {
                let known = declared.iter().map(|param| param.name.as_str());
                let message = format!("'{}' has no parameter {}", operation.name(), quoted(key));
                problems.push(Problem::new(&place.key(key), message).nearest(key, known));
            }
        }
    }
    let has =
        |name: &str| step.params.iter().any(|(key, _)| meant(key).is_some_and(|param| param.name == name));
    let is_excused = |param: &Param| param.unless.as_ref().is_some_and(|other| has(other.as_str()));
    for param in declared.iter().filter(|param| param.required && !has(&param.name) && !is_excused(param)) {
        let message = format!("'{}' requires the parameter '{}'", operation.name(), param.name);
        problems.push(Problem::new(&place.key(&param.name), message));
    }
}

/// Only what holds no reference can be judged before it runs.
fn check_constant(
    registry: &Registry,
    operation: &Operation,
    param: &Param,
    template: &Template,
    place: &Place<'_>,
    problems: &mut Vec<Problem>,
) {
    let Some(value) = template.constant() else { return };
    if let Err(refused) = validate::one_param(registry.types(), operation, &param.name, value) {
        let allowed = refused.details.get("allowed_values").and_then(Value::as_array);
        let allowed = allowed.into_iter().flatten().filter_map(Value::as_str);
        let given = value.as_str().unwrap_or_default();
        problems.push(Problem::new(place, refused.message).nearest(given, allowed));
    }
}
