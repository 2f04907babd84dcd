//! Values keep the bounds that introspection publishes for them.

use serde_json::{Map, Number, Value};

use super::{Scope, each_described};
use crate::{
    error::{Code, Error},
    param::Param,
};

pub(super) fn check(scope: Scope<'_>, params: &Map<String, Value>) -> Result<(), Error> {
    each_described(scope, &scope.operation.params, params, &mut |path, param, value| {
        if !param.allowed.is_empty() && !value.is_null() {
            allowed(scope, path, param, value)?;
        }
        match value {
            Value::String(text) => string(path, param, text),
            Value::Number(number) => within(scope, path, param, number),
            Value::Object(_) | Value::Array(_)
                if !param.nul_safe && (param.open || param.record().is_none()) =>
            {
                free_form(path, param, value)
            }
            _ => Ok(()),
        }
    })
}

/// Equal as JSON Schema has it: `1.0` is `1`.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

fn allowed(scope: Scope<'_>, path: &str, param: &Param, value: &Value) -> Result<(), Error> {
    if param.allowed.iter().any(|one| is_same(one, value)) {
        return Ok(());
    }
    let listed = param.allowed.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
    let error = Error::new(Code::InvalidEnum, format!("Parameter '{path}' must be one of {listed}"))
        .with("param_name", path)
        .with("allowed_values", param.allowed.clone());
    let names = param.allowed.iter().filter_map(Value::as_str);
    let near = value.as_str().and_then(|given| crate::suggest::nearest(given, names));
    let error = if scope.hides(path, param) { error } else { error.with("value", value.clone()) };
    Err(match near {
        Some(near) => error.hint(format!("Did you mean '{near}'?")),
        None => error,
    })
}

fn within(scope: Scope<'_>, path: &str, param: &Param, given: &Number) -> Result<(), Error> {
    let number = given.as_f64().unwrap_or(f64::NAN);
    let low = param.minimum.is_some_and(|minimum| number < minimum);
    let high = param.maximum.is_some_and(|maximum| number > maximum);
    if !low && !high {
        return Ok(());
    }
    let bounds = match (param.minimum, param.maximum) {
        (Some(minimum), Some(maximum)) => format!("between {minimum} and {maximum}"),
        (Some(minimum), None) => format!("{minimum} or more"),
        (None, Some(maximum)) => format!("{maximum} or less"),
        (None, None) => return Ok(()),
    };
    let mut error =
        Error::new(Code::OutOfRange, format!("Parameter '{path}' must be {bounds}")).with("param_name", path);
    for (key, bound) in [("minimum", param.minimum), ("maximum", param.maximum)] {
        if let Some(bound) = bound {
            error = error.with(key, crate::param::number(bound));
        }
    }
    Err(if scope.hides(path, param) { error } else { error.with("value", given.clone()) })
}

fn string(path: &str, param: &Param, text: &str) -> Result<(), Error> {
    if !param.nul_safe && text.contains('\0') {
        return Err(nul_byte(path));
    }
    length(path, param, text)?;
    if let Some(pattern) = &param.pattern
        && !pattern.is_match(text)
    {
        return Err(Error::new(
            Code::PatternMismatch,
            format!("Parameter '{path}' must match the pattern {}", pattern.as_str()),
        )
        .with("param_name", path)
        .with("pattern", pattern.as_str()));
    }
    match param.format {
        Some(format) if !format.accepts(text) => {
            let error =
                Error::new(Code::InvalidFormat, format!("Parameter '{path}' must be {}", format.expected()));
            Err(error.with("param_name", path).with("format", format.as_str()))
        }
        _ => Ok(()),
    }
}

fn length(path: &str, param: &Param, text: &str) -> Result<(), Error> {
    if param.min_length.is_none() && param.max_length.is_none() {
        return Ok(());
    }
    let length = text.chars().count();
    let (min, max) = (param.min_length.unwrap_or(0), param.max_length.unwrap_or(usize::MAX));
    if (min..=max).contains(&length) {
        return Ok(());
    }
    let bounds = match param.max_length {
        Some(max) => format!("{min} to {max}"),
        None => format!("{min} or more"),
    };
    let mut error = Error::new(
        Code::OutOfRange,
        format!("Parameter '{path}' must be a string of {bounds} characters, got {length}"),
    )
    .with("param_name", path)
    .with("actual_length", length)
    .with("min_length", min);
    if let Some(max) = param.max_length {
        error = error.with("max_length", max);
    }
    Err(error)
}

/// A free-form object or array has no description inside, but no NUL byte either.
fn free_form(path: &str, param: &Param, value: &Value) -> Result<(), Error> {
    let inner_described = param.items.is_some();
    match value {
        Value::Object(object) => object.iter().try_for_each(|(key, inner)| {
            if key.contains('\0') { Err(nul_byte(path)) } else { no_nul(&format!("{path}.{key}"), inner) }
        }),
        Value::Array(array) if !inner_described => array.iter().try_for_each(|inner| no_nul(path, inner)),
        _ => Ok(()),
    }
}

fn no_nul(path: &str, value: &Value) -> Result<(), Error> {
    match value {
        Value::String(text) if text.contains('\0') => Err(nul_byte(path)),
        Value::Object(object) => object.iter().try_for_each(|(key, inner)| {
            if key.contains('\0') { Err(nul_byte(path)) } else { no_nul(path, inner) }
        }),
        Value::Array(array) => array.iter().try_for_each(|inner| no_nul(path, inner)),
        _ => Ok(()),
    }
}

fn nul_byte(path: &str) -> Error {
    Error::new(
        Code::InvalidEncoding,
        format!("Invalid character encoding in request: '{path}' contains U+0000"),
    )
    .with("location", path)
    .with("param_name", path)
    .hint("Remove the NUL character.")
}
