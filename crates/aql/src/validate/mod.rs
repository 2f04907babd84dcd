//! Parameters against their operation, one rule a file, always in this order: presence, type, unknown names,
//! constraints, defaults. A call with several faults is told the first, so that two servers agree on which.
//!
//! Objects of a declared type are checked the same way inside, with paths (`input.priority`) as names.

mod constraint;
mod defaults;
mod format;
mod kind;
mod presence;
mod unknown;

use std::sync::Arc;

use serde_json::{Map, Value};

pub(crate) use self::constraint::is_same;
pub use self::format::Format;
use crate::{
    error::Error,
    operation::Operation,
    param::Param,
    types::Types,
    warning::{Severity, Warning},
};

/// How unknown parameters are met. Anything but `Reject` is for development only and never shown by introspection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    #[default]
    Reject,
    Warn,
}

/// Parameters that passed every rule, defaults filled in.
#[derive(Debug)]
pub struct Checked {
    pub params: Map<String, Value>,
    pub warnings: Vec<Warning>,
}

/// What every rule looks at.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) types: &'a Types,
    pub(crate) operation: &'a Operation,
}

impl Scope<'_> {
    /// Whether a value must not be repeated in an error: it, or the parameter it stands in, is sensitive.
    pub(crate) fn hides(self, path: &str, param: &Param) -> bool {
        let outermost = path.split(['.', '[']).next().unwrap_or(path);
        param.sensitive || self.operation.params.iter().any(|p| p.sensitive && p.name == outermost)
    }
}

/// Checks the parameters of one call.
pub fn validate(
    types: &Types,
    operation: &Operation,
    given: Map<String, Value>,
    strictness: Strictness,
) -> Result<Checked, Error> {
    let scope = Scope { types, operation };
    let mut params = normalise(operation, given);
    let mut warnings = Vec::new();
    check(scope, &mut params, strictness, &mut warnings)
        .map_err(|error| error.with("signature", operation.signature()))?;
    // Before defaults fill in: only what the caller wrote is worth a notice.
    warnings.extend(deprecations(operation, &params));
    defaults::apply(operation, &mut params);
    Ok(Checked { params, warnings })
}

/// Checks one parameter by itself, for somebody who does not have the others yet.
pub(crate) fn one_param(
    types: &Types,
    operation: &Operation,
    name: &str,
    value: &Value,
) -> Result<(), Error> {
    let scope = Scope { types, operation };
    let params = Map::from_iter([(name.to_owned(), value.clone())]);
    presence::inside(scope, &params)?;
    kind::check(scope, &params)?;
    unknown::check(scope, &params)?;
    constraint::check(scope, &params)
}

fn check(
    scope: Scope<'_>,
    params: &mut Map<String, Value>,
    strictness: Strictness,
    warnings: &mut Vec<Warning>,
) -> Result<(), Error> {
    presence::check(scope, params)?;
    kind::check(scope, params)?;
    match unknown::check(scope, params) {
        Ok(()) => {}
        Err(error) if strictness == Strictness::Warn && unknown::drop_unknown(scope, params) => {
            warnings.push(
                Warning::new("VALIDATION_UNKNOWN_PARAM_WARNING", error.message, Severity::Medium)
                    .with("unknown_params", error.details.get("unknown_params").cloned().unwrap_or_default()),
            );
            // What is unknown deeper down was hidden behind what has just been dropped.
            unknown::check(scope, params)?;
        }
        Err(error) => return Err(error),
    }
    constraint::check(scope, params)
}

/// Renames declared aliases, and takes out metadata, which is everything else with a leading underscore. A canonical
/// name beside its alias keeps the name's value and leaves the alias to be refused as unknown.
fn normalise(operation: &Operation, given: Map<String, Value>) -> Map<String, Value> {
    let needs_work = |key: &str| {
        key.starts_with('_') || operation.params.iter().any(|p| p.aliases.iter().any(|a| a == key))
    };
    if !given.keys().any(|key| needs_work(key)) {
        return given;
    }
    let canonical = |key: &str| operation.params.iter().find(|p| p.aliases.iter().any(|a| a == key));
    let mut params = Map::new();
    let mut aliased = Vec::new();
    for (key, value) in given {
        match canonical(&key) {
            Some(param) => aliased.push((param.name.clone(), key, value)),
            None if key.starts_with('_') => {}
            None => drop(params.insert(key, value)),
        }
    }
    for (name, alias, value) in aliased {
        let key = if params.contains_key(&name) { alias } else { name };
        params.insert(key, value);
    }
    params
}

fn deprecations(operation: &Operation, params: &Map<String, Value>) -> Vec<Warning> {
    let marked = operation.params.iter().filter_map(|param| Some((param, param.deprecated.as_ref()?)));
    let used = marked.filter(|(param, _)| params.contains_key(&param.name));
    used.map(|(param, notice)| Warning::deprecation("parameter", &param.name, notice)).collect()
}

/// Runs `visit` on every value that has a description: the parameters given, then what their declared types hold.
pub(crate) fn each_described<'a>(
    scope: Scope<'a>,
    params: &'a [Arc<Param>],
    values: &'a Map<String, Value>,
    visit: &mut dyn FnMut(&str, &'a Param, &'a Value) -> Result<(), Error>,
) -> Result<(), Error> {
    walk_fields(scope, params, values, "", visit)
}

fn walk_fields<'a>(
    scope: Scope<'a>,
    params: &'a [Arc<Param>],
    values: &'a Map<String, Value>,
    prefix: &str,
    visit: &mut dyn FnMut(&str, &'a Param, &'a Value) -> Result<(), Error>,
) -> Result<(), Error> {
    // Most operations take more parameters than a call gives.
    let mut left = values.len();
    for param in params {
        if left == 0 {
            break;
        }
        let Some(value) = values.get(&param.name) else { continue };
        left -= 1;
        if prefix.is_empty() {
            walk_value(scope, param, value, &param.name, visit)?;
        } else {
            walk_value(scope, param, value, &format!("{prefix}.{}", param.name), visit)?;
        }
    }
    Ok(())
}

fn walk_value<'a>(
    scope: Scope<'a>,
    param: &'a Param,
    value: &'a Value,
    path: &str,
    visit: &mut dyn FnMut(&str, &'a Param, &'a Value) -> Result<(), Error>,
) -> Result<(), Error> {
    visit(path, param, value)?;
    match value {
        Value::Object(inner) => match param.record().and_then(|id| scope.types.fields(id)) {
            Some(fields) => walk_fields(scope, fields, inner, path, visit),
            None => Ok(()),
        },
        Value::Array(elements) => match param.items.as_deref() {
            Some(item) => elements.iter().enumerate().try_for_each(|(index, element)| {
                walk_value(scope, item, element, &format!("{path}[{index}]"), visit)
            }),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}
