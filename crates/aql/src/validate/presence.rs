//! Every required parameter is there.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Scope, each_described};
use crate::{error::Error, operation::Operation, param::Param, suggest};

pub(super) fn check(scope: Scope<'_>, params: &Map<String, Value>) -> Result<(), Error> {
    present(scope.operation, &scope.operation.params, params, "")?;
    inside(scope, params)
}

/// The same for the fields of the parameters that are there.
pub(super) fn inside(scope: Scope<'_>, params: &Map<String, Value>) -> Result<(), Error> {
    let operation = scope.operation;
    each_described(scope, &operation.params, params, &mut |path, param, value| match (
        value.as_object(),
        param.record().and_then(|id| scope.types.fields(id)),
    ) {
        (Some(inner), Some(fields)) => present(operation, fields, inner, path),
        _ => Ok(()),
    })
}

fn present(
    operation: &Operation,
    declared: &[Arc<Param>],
    given: &Map<String, Value>,
    prefix: &str,
) -> Result<(), Error> {
    let excused =
        |param: &Param| param.unless.as_ref().is_some_and(|other| given.contains_key(other.as_str()));
    let missing = declared.iter().find(|p| p.required && !given.contains_key(&p.name) && !excused(p));
    let Some(param) = missing else { return Ok(()) };
    let path = if prefix.is_empty() { param.name.clone() } else { format!("{prefix}.{}", param.name) };
    let error = Error::missing_param(operation.name().as_str(), &path, &param.kind.text, &param.description);
    let strays = given.keys().filter(|key| !declared.iter().any(|p| p.name == **key));
    Err(match suggest::nearest(&param.name, strays.map(String::as_str)) {
        Some(misspelt) => error.hint(format!("Did you mean '{}' by '{misspelt}'?", param.name)),
        None => error,
    })
}
