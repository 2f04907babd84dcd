//! From an entity's metadata to a workflow, or to everything that is wrong with it.

use serde_json::{Map, Value};

use super::{
    NAME_CHARS_MAX, OnError, STEPS_MAX, Step, Workflow, input,
    problem::{Place, Problem, quoted},
    template::{self, FROM, LITERAL, Template},
};
use crate::{error::type_name, name::ParamName};

const KEYS: [&str; 3] = ["steps", "output", "input"];
const STEP_KEYS: [&str; 5] = ["name", "operation", "params", "on_error", "for_each"];
const ON_ERROR: [&str; 2] = ["fail", "continue"];

impl Workflow {
    /// Reads `steps`, `output` and `input`. Other keys of the metadata are somebody else's, unless one of these three
    /// was meant by them.
    pub fn read(metadata: &Map<String, Value>) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        for key in metadata.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let problem = Problem::new(&Place::root(key), format!("{} is no key of a workflow", quoted(key)));
            let problem = problem.nearest(key, KEYS);
            problems.extend(problem.suggestion.is_some().then_some(problem));
        }
        let steps = read_steps(metadata, &mut problems);
        let output = metadata
            .get("output")
            .map(|output| Template::read(output, &Place::root("output"), &mut problems));
        let input = metadata.get("input").map(|declared| input::read(declared, &mut problems));
        if problems.is_empty() { Ok(Self { steps, output, input }) } else { Err(problems) }
    }
}

fn read_steps(metadata: &Map<String, Value>, problems: &mut Vec<Problem>) -> Vec<Step> {
    let place = Place::root("steps");
    let steps = match metadata.get("steps") {
        Some(Value::Array(steps)) => steps,
        Some(other) => {
            let message = format!("'steps' is an array of steps, not a {}", type_name(other));
            problems.push(Problem::new(&place, message));
            return Vec::new();
        }
        None => {
            problems.push(Problem::new(&place, "a workflow has 'steps', an array with one step or more"));
            return Vec::new();
        }
    };
    if steps.is_empty() || steps.len() > STEPS_MAX {
        let message = format!("a workflow has 1 to {STEPS_MAX} steps, not {}", steps.len());
        problems.push(Problem::new(&place, message));
    }
    let mut read: Vec<Step> = Vec::new();
    // Beyond the limit nothing more is read: one problem tells it all.
    for (index, step) in steps.iter().enumerate().take(STEPS_MAX) {
        let place = place.index(index);
        let Value::Object(step) = step else {
            let message = format!("a step is an object, not a {}", type_name(step));
            problems.push(Problem::new(&place, message));
            continue;
        };
        let step = read_step(step, &place, problems);
        if let Some(first) = read.iter().position(|other| other.name == step.name && !step.name.is_empty()) {
            let message = format!("the name {} is taken by steps[{first}]", quoted(&step.name));
            problems.push(Problem::new(&place.key("name"), message));
        }
        read.push(step);
    }
    read
}

fn read_step(step: &Map<String, Value>, place: &Place<'_>, problems: &mut Vec<Problem>) -> Step {
    unknown_keys(step, &STEP_KEYS, place, problems);
    Step {
        name: name(step.get("name"), &place.key("name"), problems),
        operation: operation(step.get("operation"), &place.key("operation"), problems),
        params: params(step.get("params"), &place.key("params"), problems),
        on_error: on_error(step.get("on_error"), &place.key("on_error"), problems),
        for_each: step
            .get("for_each")
            .and_then(|template| for_each(template, &place.key("for_each"), problems)),
    }
}

pub(super) fn unknown_keys(
    given: &Map<String, Value>,
    known: &[&str],
    place: &Place<'_>,
    problems: &mut Vec<Problem>,
) {
    for key in given.keys().filter(|key| !known.contains(&key.as_str())) {
        let message = format!("unknown key {}; known are {}", quoted(key), known.join(", "));
        problems.push(Problem::new(&place.key(key), message).nearest(key, known.iter().copied()));
    }
}

/// Why a text is no name of a step or an input.
pub(super) fn name_fault(name: &str) -> Option<String> {
    if name.parse::<ParamName>().is_err() {
        return Some(format!(
            "{} must be snake_case: a lowercase letter, then lowercase letters, digits or underscores",
            quoted(name)
        ));
    }
    (name.len() > NAME_CHARS_MAX).then(|| format!("a name has no more than {NAME_CHARS_MAX} characters"))
}

fn name(given: Option<&Value>, place: &Place<'_>, problems: &mut Vec<Problem>) -> String {
    let fault = match given {
        Some(Value::String(name)) => match name_fault(name) {
            None => return name.clone(),
            Some(fault) => fault,
        },
        Some(other) => format!("a step's name is a string, not a {}", type_name(other)),
        None => "a step needs a name, such as \"find\"".to_owned(),
    };
    problems.push(Problem::new(place, fault));
    String::new()
}

fn operation(given: Option<&Value>, place: &Place<'_>, problems: &mut Vec<Problem>) -> String {
    let fault = match given {
        Some(Value::String(name)) if !name.is_empty() => return name.clone(),
        Some(Value::String(_)) | None => "a step names the operation it calls".to_owned(),
        Some(other) => format!("an operation is named by a string, not a {}", type_name(other)),
    };
    problems.push(Problem::new(place, fault));
    String::new()
}

fn params(given: Option<&Value>, place: &Place<'_>, problems: &mut Vec<Problem>) -> Vec<(String, Template)> {
    let fault = match given {
        None => return Vec::new(),
        // Their names have to be known before the workflow runs, or nothing could be checked.
        Some(Value::Object(params)) if params.contains_key(FROM) || params.contains_key(LITERAL) => {
            "'params' names each parameter; a reference stands in the place of a value".to_owned()
        }
        Some(Value::Object(params)) => return template::read_members(params, place, problems),
        Some(other) => format!("'params' is an object, not a {}", type_name(other)),
    };
    problems.push(Problem::new(place, fault));
    Vec::new()
}

fn on_error(given: Option<&Value>, place: &Place<'_>, problems: &mut Vec<Problem>) -> OnError {
    match given {
        None => return OnError::Fail,
        Some(Value::String(text)) if text == "fail" => return OnError::Fail,
        Some(Value::String(text)) if text == "continue" => return OnError::Continue,
        Some(other) => {
            let given = other.as_str().unwrap_or_default();
            let problem = Problem::new(place, "'on_error' is \"fail\" or \"continue\"");
            problems.push(problem.nearest(given, ON_ERROR));
        }
    }
    OnError::Fail
}

fn for_each(given: &Value, place: &Place<'_>, problems: &mut Vec<Problem>) -> Option<Template> {
    let before = problems.len();
    let template = Template::read(given, place, problems);
    if problems.len() > before {
        return None;
    }
    let fault = match template.constant() {
        Some(Value::Array(items)) if items.len() > super::ITEMS_MAX => {
            format!("'for_each' goes through {} items, more than {}", items.len(), super::ITEMS_MAX)
        }
        Some(Value::Array(_)) => return Some(template),
        Some(other) => format!("'for_each' stands for an array, not a {}", type_name(other)),
        None if matches!(template, Template::Object(_)) => {
            "'for_each' stands for an array, not an object".to_owned()
        }
        None => return Some(template),
    };
    problems.push(Problem::new(place, fault));
    None
}
