//! The question that a person is asked before a call.

use serde_json::{Map, Value};

use crate::{
    adopt::is_secret_name, error::unlike_a_frame, operation::Operation, param::Param, shared, types::Types,
};

/// Stands for a value that nobody is to see.
const MASK: &str = "***";
/// More of one value is not shown: the question has to stay readable.
const VALUE_CHARS_MAX: usize = 120;

/// The author's question with parameters filled in, or one of ours. What stands in braces and is no parameter stays; a
/// sensitive value is masked; nothing in a value can look like something else than a value.
#[must_use]
pub fn message(types: &Types, operation: &Operation, params: &Map<String, Value>) -> String {
    let Some(template) = &operation.danger().confirmation_message else {
        return unlike_a_frame(&format!("Run '{}'?", operation.name()));
    };
    let mut out = String::with_capacity(template.len());
    let mut rest = template.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        match after
            .split_once('}')
            .and_then(|(name, after)| Some((value(types, operation, params, name)?, after)))
        {
            Some((shown, after)) => {
                out.push_str(&shown);
                rest = after;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    unlike_a_frame(&out)
}

/// What is shown for a placeholder: a parameter, or one inside an UPDATE's `input`.
fn value(types: &Types, operation: &Operation, params: &Map<String, Value>, name: &str) -> Option<String> {
    let (known, given) = match operation.params().iter().find(|param| param.name == name) {
        Some(param) => (param, params.get(name)),
        None => {
            let input = operation.params().iter().find(|param| param.name == shared::INPUT)?;
            let fields = input.fields_of.or_else(|| input.record()).and_then(|id| types.fields(id))?;
            let given = params.get(shared::INPUT).and_then(|input| input.get(name));
            (fields.iter().find(|field| field.name == name)?, given)
        }
    };
    given.map(|value| shown(known, value))
}

fn shown(param: &Param, value: &Value) -> String {
    if param.sensitive || is_secret_name(&param.name) {
        return MASK.to_owned();
    }
    match value {
        Value::String(text) => plain(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        // What is inside may be sensitive, and a person would not read it anyway.
        Value::Array(all) => format!("[{} values]", all.len()),
        Value::Object(object) => format!("{{{} fields}}", object.len()),
    }
}

/// Letters that change how others are read are left out, as are line breaks.
fn plain(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let seen = text.chars().filter(|c| !turns(*c)).map(|c| if c.is_control() { ' ' } else { c });
    let mut shown: String = seen.clone().take(VALUE_CHARS_MAX).collect();
    if seen.count() > VALUE_CHARS_MAX {
        shown.push('…');
    }
    shown
}
