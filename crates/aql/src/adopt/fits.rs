//! Whether an upstream's default is one that could be given.

use serde_json::Value;

use crate::{
    define::Param,
    schema::kinds::Kinds,
    validate::{Format, is_same},
};

/// Whether a value keeps the rules of its parameter. Objects of a named type, and arrays of objects, are said not to:
/// their fields may have other names here.
pub(super) fn fits(value: &Value, param: &Param) -> bool {
    let kind = param.kind.as_deref().unwrap_or_default();
    let admitted = kind.split(" | ").any(|part| match (part, value) {
        ("object", Value::Object(_)) => !value.to_string().contains("\\u0000"),
        ("array", Value::Array(elements)) => elements_fit(elements, param),
        (part, Value::Array(elements)) if part.ends_with("[]") => {
            let element = Param { kind: part.strip_suffix("[]").map(str::to_owned), ..Param::default() };
            elements_fit(elements, param) && elements.iter().all(|value| fits(value, &element))
        }
        (part, value) => Kinds::named(part)
            .is_some_and(|kinds| kinds.meets(Kinds::of(value)) && !value.is_array() && !value.is_object()),
    });
    let chosen = param.allowed.is_empty() || param.allowed.iter().any(|one| is_same(one, value));
    let ruled = match value {
        Value::String(text) => text_fits(text, param),
        Value::Number(number) => number.as_f64().is_some_and(|number| {
            param.minimum.is_none_or(|minimum| number >= minimum)
                && param.maximum.is_none_or(|maximum| number <= maximum)
        }),
        _ => true,
    };
    admitted && chosen && ruled
}

fn elements_fit(elements: &[Value], param: &Param) -> bool {
    let scalar = |value: &Value| !value.is_object() && !value.is_array() && !value.is_null();
    elements
        .iter()
        .all(|value| scalar(value) && param.items.as_deref().is_none_or(|items| fits(value, items)))
}

fn text_fits(text: &str, param: &Param) -> bool {
    let length = text.chars().count();
    let matches = |pattern: &String| regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text));
    !text.contains('\0')
        && param.min_length.is_none_or(|min| length >= min)
        && param.max_length.is_none_or(|max| length <= max)
        && param.pattern.as_ref().is_none_or(matches)
        && param.format.as_deref().and_then(Format::named).is_none_or(|format| format.accepts(text))
}
