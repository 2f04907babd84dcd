//! No parameter or field beyond the declared ones: a typing error must not pass for an omission.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Scope, each_described};
use crate::{
    category::Category,
    error::{Code, Error},
    operation::Operation,
    param::Param,
    shared, suggest,
};

pub(super) fn check(scope: Scope<'_>, params: &Map<String, Value>) -> Result<(), Error> {
    let operation = scope.operation;
    let name = operation.name().as_str();
    let unknown = strays(&operation.params, params);
    if !unknown.is_empty() {
        let valid: Vec<&str> = operation.params.iter().map(|p| p.name.as_str()).collect();
        let message = format!("Unknown parameter(s) for operation '{name}': {}", unknown.join(", "));
        return Err(suggesting(Error::new(Code::UnknownParam, message), &unknown, &valid)
            .with("operation", name)
            .with("unknown_params", unknown)
            .with("valid_params", valid));
    }
    each_described(scope, &operation.params, params, &mut |path, param, value| match (
        value.as_object(),
        param.record().and_then(|id| scope.types.fields(id)),
    ) {
        (Some(_), Some(_)) if param.open => Ok(()),
        (Some(inner), Some(fields)) => fields_known(scope, path, fields, inner),
        (Some(inner), None) if path == shared::INPUT => no_identifiers(scope, path, inner),
        _ => Ok(()),
    })
}

/// Takes unknown parameters out; false if what is unknown stands deeper, where nothing is forgiven.
pub(super) fn drop_unknown(scope: Scope<'_>, params: &mut Map<String, Value>) -> bool {
    let before = params.len();
    params.retain(|key, _| scope.operation.params.iter().any(|p| p.name == *key));
    params.len() < before
}

fn fields_known(
    scope: Scope<'_>,
    path: &str,
    fields: &[Arc<Param>],
    inner: &Map<String, Value>,
) -> Result<(), Error> {
    let unknown = strays(fields, inner);
    let Some(first) = unknown.first() else { return Ok(()) };
    if path == shared::INPUT
        && let Some(kept) = unknown.iter().find(|field| is_server_kept(scope, field))
    {
        return Err(read_only(scope, path, kept));
    }
    let name = scope.operation.name().as_str();
    let valid: Vec<&str> = fields.iter().map(|p| p.name.as_str()).collect();
    let message = format!("Unknown field(s) in '{path}' for operation '{name}': {}", unknown.join(", "));
    Err(suggesting(Error::new(Code::UnknownField, message), &unknown, &valid)
        .with("operation", name)
        .with("param_name", format!("{path}.{first}"))
        .with("unknown_fields", unknown)
        .with("valid_fields", valid))
}

/// Any key may stand in the `input` of an UPDATE without a declared type, but for what says which resource is meant.
fn no_identifiers(scope: Scope<'_>, path: &str, inner: &Map<String, Value>) -> Result<(), Error> {
    let Operation { category: Category::Update, params, .. } = scope.operation else { return Ok(()) };
    let mut identifiers = params.iter().filter(|p| p.required && p.name != shared::INPUT);
    match identifiers.find(|p| inner.contains_key(&p.name)) {
        Some(identifier) => Err(read_only(scope, path, &identifier.name)),
        None => Ok(()),
    }
}

fn read_only(scope: Scope<'_>, path: &str, field: &str) -> Error {
    Error::new(Code::ReadOnlyField, format!("Field '{field}' is read-only and cannot stand inside '{path}'"))
        .with("operation", scope.operation.name().as_str())
        .with("param_name", format!("{path}.{field}"))
        .hint(format!("Leave '{field}' out of '{path}'; identifiers go beside it."))
}

/// A field the resource has and `input` does not, or a parameter that stands beside `input`.
fn is_server_kept(scope: Scope<'_>, field: &str) -> bool {
    let ours = scope.operation.server.is_none();
    let returned = scope.types.named(&scope.operation.returns.name).filter(|_| ours).and_then(|t| t.fields());
    let declared = |params: &[Arc<Param>]| params.iter().any(|p| p.name == field);
    returned.is_some_and(declared) || declared(&scope.operation.params)
}

fn strays<'a>(declared: &[Arc<Param>], given: &'a Map<String, Value>) -> Vec<&'a str> {
    given.keys().map(String::as_str).filter(|key| !declared.iter().any(|p| p.name == *key)).collect()
}

/// Adds the nearest declared name of every stray that resembles one.
fn suggesting(error: Error, unknown: &[&str], valid: &[&str]) -> Error {
    let near: Vec<(&str, &str)> = unknown
        .iter()
        .filter_map(|given| suggest::nearest(given, valid.iter().copied()).map(|known| (*given, known)))
        .collect();
    let Some(((_, first), rest)) = near.split_first() else { return error };
    let others = rest.iter().map(|(_, known)| format!(" or '{known}'")).collect::<String>();
    let suggestions: Map<String, Value> =
        near.iter().map(|(given, known)| ((*given).to_owned(), Value::from(*known))).collect();
    error.with("suggestions", suggestions).hint(format!("Did you mean '{first}'{others}?"))
}
