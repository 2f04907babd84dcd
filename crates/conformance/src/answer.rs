//! Reading answers that may not be what they should be: what is missing is null, nothing or no list.

use serde_json::Value;

static MISSING: Value = Value::Null;

/// The value behind a dotted path, or null; numbers count into lists.
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    find(value, path).unwrap_or(&MISSING)
}

/// The value behind a dotted path; numbers count into lists.
pub(crate) fn find<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        value => value.get(step),
    })
}

pub(crate) fn text_at<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).as_str().unwrap_or_default()
}

pub(crate) fn list_at<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path).as_array().map(Vec::as_slice).unwrap_or_default()
}

pub(crate) fn succeeded(answer: &Value) -> bool {
    at(answer, "success") == true
}

pub(crate) fn failed(answer: &Value) -> bool {
    at(answer, "success") == false
}

pub(crate) fn code(answer: &Value) -> &str {
    text_at(answer, "error.code")
}

pub(crate) fn message(answer: &Value) -> &str {
    text_at(answer, "error.message")
}
