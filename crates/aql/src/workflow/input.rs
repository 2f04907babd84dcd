//! What a workflow is given: declared names, which of them are needed, and what stands in for the others.

use serde_json::{Map, Value};

use super::{
    INPUTS_MAX, Workflow,
    problem::{Place, Problem, quoted},
    read::{name_fault, unknown_keys},
};
use crate::{
    error::{Code, Error, type_name},
    suggest,
};

/// Names of unknown inputs in one sentence; the details have them all.
const STRAYS_TOLD_MAX: usize = 10;
const KEYS: [&str; 3] = ["description", "required", "default"];

/// A declared input.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Declared {
    pub(super) name: String,
    description: String,
    required: bool,
    default: Option<Value>,
}

pub(super) fn read(declared: &Value, problems: &mut Vec<Problem>) -> Vec<Declared> {
    let place = Place::root("input");
    let Value::Object(declared) = declared else {
        let message = format!("'input' is an object of names, not a {}", type_name(declared));
        problems.push(Problem::new(&place, message));
        return Vec::new();
    };
    if declared.len() > INPUTS_MAX {
        let message = format!("a workflow declares {INPUTS_MAX} inputs or fewer, not {}", declared.len());
        problems.push(Problem::new(&place, message));
        return Vec::new();
    }
    declared.iter().filter_map(|(name, about)| one(name, about, &place.key(name), problems)).collect()
}

fn one(name: &str, about: &Value, place: &Place<'_>, problems: &mut Vec<Problem>) -> Option<Declared> {
    if let Some(fault) = name_fault(name) {
        problems.push(Problem::new(place, fault));
    }
    let Value::Object(about) = about else {
        let message = format!(
            "an input is declared by an object with {}, all optional; not by a {}",
            KEYS.join(", "),
            type_name(about)
        );
        problems.push(Problem::new(place, message));
        return None;
    };
    unknown_keys(about, &KEYS, place, problems);
    let description = match about.get("description") {
        None => "",
        Some(Value::String(text)) => text,
        Some(_) => {
            problems.push(Problem::new(&place.key("description"), "a description is a string"));
            ""
        }
    };
    let default = about.get("default").cloned();
    let required = match (about.get("required"), &default) {
        (None, default) => default.is_none(),
        (Some(Value::Bool(true)), Some(_)) => {
            let message = "an input with a default is never missing, so it cannot be required";
            problems.push(Problem::new(&place.key("required"), message));
            false
        }
        (Some(Value::Bool(required)), _) => *required,
        (Some(_), _) => {
            problems.push(Problem::new(&place.key("required"), "'required' is true or false"));
            false
        }
    };
    Some(Declared { name: name.to_owned(), description: description.to_owned(), required, default })
}

impl Workflow {
    /// What is wrong with an input, if anything: first what is missing, then what nobody asked for.
    #[must_use]
    pub fn inputs_error(&self, given: &Map<String, Value>) -> Option<Error> {
        let declared = self.input.as_deref()?;
        let known = || declared.iter().map(|input| input.name.as_str());
        let strays: Vec<&str> =
            given.keys().map(String::as_str).filter(|name| !known().any(|other| other == *name)).collect();
        let mut missing = declared.iter().filter(|input| input.required && !given.contains_key(&input.name));
        if let Some(input) = missing.next() {
            let others: Vec<&str> = missing.map(|input| input.name.as_str()).collect();
            let path = format!("input.{}", input.name);
            let error = Error::missing_param("", &path, "any JSON", &input.description)
                .with("valid_fields", known().collect::<Vec<_>>());
            let error = if others.is_empty() { error } else { error.with("also_missing", others) };
            return Some(match suggest::nearest(&input.name, strays) {
                Some(misspelt) => error.hint(format!("Did you mean '{}' by '{misspelt}'?", input.name)),
                None => error.hint("The workflow's metadata says under 'input' what it needs."),
            });
        }
        let first = strays.first()?;
        let shown =
            strays.iter().take(STRAYS_TOLD_MAX).map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let message = format!("Unknown field(s) in 'input' of the workflow: {shown}");
        let error = Error::new(Code::UnknownField, message)
            .with("param_name", format!("input.{first}"))
            .with("valid_fields", known().collect::<Vec<_>>());
        let suggestion = suggest::nearest(first, known());
        let error = match suggestion {
            Some(near) => error.hint(format!("Did you mean '{near}'?")),
            None => error.hint("Leave it out, or declare it under 'input' of the workflow's metadata."),
        };
        Some(error.with("unknown_fields", strays))
    }

    /// The input that steps see: what was given, and the defaults of what was not.
    #[must_use]
    pub fn input_with_defaults(&self, given: &Map<String, Value>) -> Value {
        let mut input = given.clone();
        for declared in self.input.iter().flatten() {
            if let Some(default) = &declared.default
                && !input.contains_key(&declared.name)
            {
                input.insert(declared.name.clone(), default.clone());
            }
        }
        Value::Object(input)
    }
}
