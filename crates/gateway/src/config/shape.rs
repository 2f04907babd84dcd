//! Keys and types of a document against the schema, before anything is deserialized, so that these mistakes are told
//! in our words, with the key's whole path and the nearest key that exists.

use serde_json::{Map, Value};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{error::Error, given::nearest, schema};

/// Refuses the first key in the document that is unknown, missing or of another type than it should be.
pub(super) fn check(document: &Spanned<DeTable<'_>>) -> Result<(), Error> {
    table("", document.span(), document.get_ref(), &schema::schema())
}

fn table(path: &str, span: std::ops::Range<usize>, table: &DeTable<'_>, schema: &Value) -> Result<(), Error> {
    let none = Map::new();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let any = schema.get("additionalProperties").filter(|any| any.is_object());
    // The parser sorts by name; people read from the top.
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    for (key, inner) in entries {
        let inner_path = join(path, key.get_ref());
        match known.get(key.get_ref().as_ref()).or(any) {
            Some(schema) => value(&inner_path, inner, schema)?,
            None => {
                let error = Error::at(key.span(), format!("'{inner_path}' is not a known key"));
                return Err(error.help_with(instead(path, key.get_ref(), known)));
            }
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let missing = required.filter_map(Value::as_str).find(|key| !table.contains_key(*key));
    match missing {
        None => Ok(()),
        Some(key) => {
            let error = Error::at(span, format!("'{path}' has no '{key}'"));
            let description = known.get(key).and_then(|schema| schema.get("description")?.as_str());
            Err(error.help_with(format!("'{key}': {}", description.unwrap_or(key))))
        }
    }
}

fn value(path: &str, given: &Spanned<DeValue<'_>>, schema: &Value) -> Result<(), Error> {
    let expected = schema::kind(schema);
    let found = kind(given.get_ref());
    if !fits(expected, found) {
        return Err(Error::at(given.span(), format!("'{path}' must be {expected}, but is {found}")));
    }
    match given.get_ref() {
        DeValue::Table(inner) => table(path, given.span(), inner, schema),
        DeValue::Array(elements) => {
            let Some(schema) = schema.get("items") else { return Ok(()) };
            let mut elements = elements.iter().enumerate();
            elements.try_for_each(|(index, element)| value(&format!("{path}[{index}]"), element, schema))
        }
        DeValue::Integer(digits) if i64::from_str_radix(digits.as_str(), digits.radix()).is_err() => {
            Err(Error::at(given.span(), format!("'{path}' is too large a number")))
        }
        _ => Ok(()),
    }
}

/// Whether something found is what was expected.
fn fits(expected: &str, found: &str) -> bool {
    match expected {
        "a number" => matches!(found, "a whole number" | "a number with a fraction"),
        "a string, a number, true or false" => !matches!(found, "an array" | "a table" | "a date"),
        expected => found == expected,
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// What the writer of an unknown key may have wanted.
fn instead(path: &str, given: &str, known: &Map<String, Value>) -> String {
    if let Some(near) = nearest(given, known.keys()) {
        return format!("did you mean '{near}'?");
    }
    let whole = schema::schema();
    let sections = whole.get("properties").and_then(Value::as_object).into_iter().flatten();
    let holds = |section: &Value| section.get("properties").is_some_and(|keys| keys.get(given).is_some());
    let mut holding = sections.filter(|(_, section)| holds(section));
    if let Some((section, _)) = holding.next() {
        return format!("it belongs under '[{section}]'");
    }
    let names: Vec<_> = known.keys().map(|key| format!("'{key}'")).collect();
    let place = if path.is_empty() { "the file".to_owned() } else { format!("'{path}'") };
    format!("the keys of {place} are {}", names.join(", "))
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
