//! The operations of an adapter file.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Operation, Param, Transport,
    fields::{Field, Reader, find},
    http, safety,
};
use crate::{
    adopt::RESERVED_PARAMS,
    category::Category,
    danger::DangerLevel,
    discover::{
        bundle::{Returns, Rules},
        target::Target,
    },
    name::{OperationName, ParamName},
    shared,
};

const KEYS: [&str; 11] = [
    "name",
    "maps_to",
    "description",
    "params",
    "response",
    "pagination",
    "supports_fields",
    "danger_level",
    "danger",
    "requires_confirmation",
    "non_idempotent",
];
const PARAM_KEYS: [&str; 10] = [
    "type",
    "required",
    "sensitive",
    "description",
    "default",
    "enum",
    "minimum",
    "maximum",
    "pattern",
    "format",
];
const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];

/// Reads them category by category.
pub(super) fn read(
    reader: &mut Reader,
    notes: &mut Reader,
    field: &Field<'_>,
    transport: Option<&Transport>,
) -> Vec<Operation> {
    let mut operations: Vec<Operation> = Vec::new();
    let categories = ["create", "read", "update", "delete", "execute"];
    for (key, field) in reader.table(field, &categories) {
        let Ok(category) = key.text.parse::<Category>() else { continue };
        for field in reader.list(&field) {
            operations.extend(operation(reader, notes, &field, category, transport));
        }
    }
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let mut tools: BTreeMap<&str, &Operation> = BTreeMap::new();
    for operation in &operations {
        if let Some(first) = names.insert(&operation.name, operation.line) {
            let message =
                format!("'{}' is there twice, first on line {}", operation.name, first + reader.lines_before);
            reader.note(operation.line, "operations", message);
        }
        if operation.target.is_some()
            && let Some(first) = tools.insert(&operation.maps_to, operation)
        {
            let message = format!("'{}' and '{}' map to the same tool", first.name, operation.name);
            let help = Some("keep one of them".to_owned());
            reader.note_with(operation.line, "operations", message, help);
        }
    }
    operations
}

fn operation(
    reader: &mut Reader,
    notes: &mut Reader,
    field: &Field<'_>,
    category: Category,
    transport: Option<&Transport>,
) -> Option<Operation> {
    let entries = reader.table(field, &KEYS);
    let mut field = field.clone();
    if let Some((key, _)) = entries.first() {
        field.line = key.line;
    }
    let name = match find(&entries, "name") {
        Some(field) => reader.parsed::<OperationName>(field),
        None => {
            reader.missing(&field, "name");
            None
        }
    };
    if let Some(name) = &name {
        field.path = format!("operations.{}.{name}", category.as_str().to_ascii_lowercase());
    }
    let description = find(&entries, "description").and_then(|field| reader.text(field));
    let (danger, words) = safety::danger(reader, find(&entries, "danger_level"), find(&entries, "danger"));
    if let Some((DangerLevel::Safe, line)) = danger
        && category.is_mutating()
    {
        let help = Some("say 'reversible' or more, or list it under 'read'".to_owned());
        reader.note_with(line, &field.path, "only a READ can be 'safe'", help);
    }
    let confirmed =
        find(&entries, "requires_confirmation").and_then(|field| reader.flag(field)).unwrap_or(false);
    let params = find(&entries, "params").map(|field| params(reader, field, category)).unwrap_or_default();
    let returns = find(&entries, "response").and_then(|field| response(reader, field));
    for unused in ["pagination", "supports_fields", "non_idempotent"] {
        if let Some(field) = find(&entries, unused) {
            notes.note(field.line, &field.path, "is read past: it changes nothing for an MCP server");
        }
    }
    let maps_to = match find(&entries, "maps_to") {
        Some(field) => reader.text(field).map(|text| (text, field.clone())),
        None => {
            reader.missing(&field, "maps_to");
            None
        }
    };
    let (maps_to, at) = maps_to?;
    let target = match transport {
        Some(Transport::Mcp { .. }) => Some(target(reader, &at, &maps_to, &params)?),
        Some(Transport::Http) => {
            http::maps_to(reader, at.line, &at.path, &maps_to, &params);
            None
        }
        None => None,
    };
    Some(Operation {
        name: name?.to_string(),
        category,
        maps_to,
        target,
        description,
        danger: danger.map(|(level, _)| level),
        words,
        requires_confirmation: confirmed,
        params,
        returns,
        line: field.line,
    })
}

fn target(reader: &mut Reader, field: &Field<'_>, maps_to: &str, params: &[Param]) -> Option<Target> {
    let target: Target = match maps_to.parse() {
        Ok(target) => target,
        Err(error) => {
            reader.note(field.line, &field.path, crate::discover::target::Error::to_string(&error));
            return None;
        }
    };
    for (_, param) in target.renamed() {
        if !params.iter().any(|known| known.name == param) {
            reader.note(field.line, &field.path, format!("'{{{param}}}' is no parameter of the operation"));
        }
    }
    Some(target)
}

fn response(reader: &mut Reader, field: &Field<'_>) -> Option<Returns> {
    let entries = reader.entries(field);
    let mut text = |key: &str| find(&entries, key).and_then(|field| reader.text(field)).unwrap_or_default();
    Some(Returns { kind: text("type"), name: text("name"), description: text("description") })
}

fn params(reader: &mut Reader, field: &Field<'_>, category: Category) -> Vec<Param> {
    let mut params = Vec::new();
    for (key, field) in reader.entries(field) {
        if let Err(error) = key.text.parse::<ParamName>() {
            reader.note(key.line, &field.path, error.to_string());
        }
        let reserved = RESERVED_PARAMS.contains(&key.text.as_str())
            || (category == Category::Update && key.text == shared::INPUT);
        if reserved {
            let message = format!("'{}' has a meaning of its own and cannot be a parameter", key.text);
            reader.note(key.line, &field.path, message);
        }
        params.extend(param(reader, &key.text, &field));
    }
    params
}

fn param(reader: &mut Reader, name: &str, field: &Field<'_>) -> Option<Param> {
    let entries = reader.table(field, &PARAM_KEYS);
    let kind = match find(&entries, "type") {
        Some(field) => reader.text(field).map(|kind| (kind, field.clone())),
        None => {
            reader.missing(field, "type");
            None
        }
    };
    if let Some((kind, at)) = &kind
        && let Some(unknown) = kind.split(" | ").find(|kind| !TYPES.contains(kind))
    {
        let message = format!("'{unknown}' is none of {}; several are joined by ' | '", TYPES.join(", "));
        reader.note(at.line, &at.path, message);
    }
    let required = find(&entries, "required").and_then(|field| reader.flag(field)).unwrap_or(false);
    let sensitive = find(&entries, "sensitive").and_then(|field| reader.flag(field)).unwrap_or(false);
    let mut text = |key: &str| find(&entries, key).and_then(|field| reader.text(field));
    let (description, pattern, format) = (text("description"), text("pattern"), text("format"));
    let mut number = |key: &str| find(&entries, key).and_then(|field| reader.number(field));
    let (minimum, maximum) = (number("minimum"), number("maximum"));
    let float = |number: &Option<serde_json::Number>| number.as_ref().and_then(serde_json::Number::as_f64);
    if let (Some(least), Some(most)) = (float(&minimum), float(&maximum))
        && least > most
    {
        reader.note(field.line, &field.path, "the minimum is above the maximum");
    }
    if let (Some(pattern), Some(field)) = (&pattern, find(&entries, "pattern"))
        && regex::Regex::new(pattern).is_err()
    {
        reader.note(field.line, &field.path, format!("'{pattern}' is no regular expression known here"));
    }
    let allowed = find(&entries, "enum").map(|field| {
        let texts: Vec<String> = reader.list(field).iter().filter_map(|entry| reader.text(entry)).collect();
        if texts.is_empty() {
            reader.note(field.line, &field.path, "an empty 'enum' would allow nothing; leave it out");
        }
        texts
    });
    let default =
        find(&entries, "default").map(|field| field.node.to_json()).filter(|value| *value != Value::Null);
    let rules = Rules { description, default, allowed, minimum, maximum, pattern, format };
    Some(Param { name: name.to_owned(), kind: kind?.0, required, sensitive, rules })
}
