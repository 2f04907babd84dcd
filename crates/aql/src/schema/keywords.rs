//! What the keywords of one schema say, without what it refers to.

use serde_json::{Map, Value};

use super::{
    kinds::Kinds,
    loss::Loss,
    node::{Node, Openness},
    place::{Place, Said},
};

/// Schemas that only words can tell are repeated up to this length.
const REPEATED_BYTES_MAX: usize = 400;
/// Longer patterns than this are not worth their compiled size.
const PATTERN_CHARS_MAX: usize = 1_000;

/// What a schema says itself, without what it refers to.
pub(super) fn own<'a>(schema: &'a Map<String, Value>, place: &Place<'a>) -> Node<'a> {
    let mut node = Node::anything();
    node.description = words(schema, "description").map(str::to_owned);
    node.title = words(schema, "title");
    node.default = schema.get("default").filter(|default| !default.is_null());
    node.deprecated = schema.get("deprecated") == Some(&Value::Bool(true));
    types(schema, &mut node);
    choices(schema, &mut node);
    numbers(schema, &mut node);
    texts(schema, &mut node);
    object(schema, place, &mut node);
    array(schema, place, &mut node);
    const UNTOLD: [&str; 12] = [
        "not",
        "if",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "propertyNames",
        "contains",
        "unevaluatedProperties",
        "unevaluatedItems",
        "minProperties",
        "maxProperties",
        "uniqueItems",
    ];
    for keyword in UNTOLD.into_iter().filter(|keyword| schema.contains_key(*keyword)) {
        node.lose(Loss::Keyword(keyword));
    }
    node
}

pub(super) fn words<'a>(schema: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    schema.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

fn types(schema: &Map<String, Value>, node: &mut Node<'_>) {
    let names: Vec<&Value> = match schema.get("type") {
        None => return,
        Some(Value::Array(names)) => names.iter().collect(),
        Some(name) => vec![name],
    };
    let mut kinds = Kinds::NONE;
    for name in names {
        let Some(name) = name.as_str() else {
            node.lose(Loss::Malformed("type"));
            return;
        };
        let Some(kind) = Kinds::named(name) else {
            node.lose(Loss::UnknownType(name.to_owned()));
            return;
        };
        kinds = kinds.or(kind);
    }
    if kinds == Kinds::NONE {
        node.lose(Loss::Malformed("type"));
    } else {
        node.kinds = kinds;
    }
}

fn choices(schema: &Map<String, Value>, node: &mut Node<'_>) {
    for keyword in ["enum", "const"] {
        let Some(given) = schema.get(keyword) else { continue };
        let values: Vec<Value> = match given {
            Value::Array(values) if keyword == "enum" => values.clone(),
            _ if keyword == "enum" => {
                node.lose(Loss::Malformed("enum"));
                continue;
            }
            value => vec![value.clone()],
        };
        // Null may stay where the type allows it, whether it is listed or not.
        let kinds = values.iter().fold(Kinds::NULL, |kinds, value| kinds.or(Kinds::of(value)));
        let listed_null = values.contains(&Value::Null);
        let untyped = node.kinds == Kinds::ALL;
        let values: Vec<Value> = values
            .into_iter()
            .filter(|value| !value.is_null() && node.kinds.meets(Kinds::of(value)))
            .collect();
        if values.iter().any(|value| value.is_object() || value.is_array())
            || (values.is_empty() && !listed_null)
        {
            node.lose(Loss::Enum);
            continue;
        }
        if !values.iter().all(Value::is_string) {
            node.lose(Loss::NonStringEnum);
        }
        let kinds = node.kinds.and(kinds);
        node.kinds = if untyped && !listed_null { kinds.without_null() } else { kinds };
        node.allowed = match node.allowed.take() {
            Some(known) => Some(known.into_iter().filter(|value| values.contains(value)).collect()),
            None => Some(values),
        };
        node.allowed = node.allowed.take().filter(|values| !values.is_empty());
    }
}

fn numbers(schema: &Map<String, Value>, node: &mut Node<'_>) {
    for (keyword, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        let mut bound = number(schema, keyword, node);
        let lower = keyword == "minimum";
        let beyond = match schema.get(exclusive) {
            None | Some(Value::Bool(false)) => None,
            // As older drafts write it.
            Some(Value::Bool(true)) => bound.take(),
            Some(_) => number(schema, exclusive, node),
        };
        if let Some(beyond) = beyond {
            let inside = match (node.kinds.meets(Kinds::FRACTION), lower) {
                (false, true) => beyond.floor() + 1.0,
                (false, false) => beyond.ceil() - 1.0,
                (true, _) => {
                    node.notes.push(format!("{} {beyond}", if lower { "more than" } else { "less than" }));
                    node.lose(Loss::Bound(exclusive));
                    beyond
                }
            };
            bound =
                Some(bound.map_or(inside, |bound| if lower { bound.max(inside) } else { bound.min(inside) }));
        }
        *(if lower { &mut node.minimum } else { &mut node.maximum }) = bound;
    }
    if let Some(step) = schema.get("multipleOf").filter(|step| step.is_number()) {
        node.notes.push(format!("a multiple of {step}"));
        node.lose(Loss::Keyword("multipleOf"));
    }
}

fn number(schema: &Map<String, Value>, keyword: &'static str, node: &mut Node<'_>) -> Option<f64> {
    let given = schema.get(keyword)?;
    let number = given.as_f64().filter(|number| number.is_finite());
    if number.is_none() {
        node.lose(Loss::Malformed(keyword));
    }
    number
}

fn count(schema: &Map<String, Value>, keyword: &'static str, node: &mut Node<'_>) -> Option<usize> {
    let number = number(schema, keyword, node)?;
    if number < 0.0 || number.fract() != 0.0 {
        node.lose(Loss::Malformed(keyword));
        return None;
    }
    // No text is longer than a u32 counts.
    (number <= f64::from(u32::MAX)).then_some(number as usize)
}

fn texts<'a>(schema: &'a Map<String, Value>, node: &mut Node<'a>) {
    node.min_length = count(schema, "minLength", node).filter(|min| *min > 0);
    node.max_length = count(schema, "maxLength", node);
    if let Some(pattern) = schema.get("pattern") {
        match pattern.as_str() {
            Some(pattern) if means_the_same_here(pattern) => node.pattern = Some(pattern),
            Some(pattern) => {
                let shown: String = pattern.chars().take(80).collect();
                node.lose(Loss::Pattern(shown));
                if pattern.chars().count() <= 80 {
                    node.notes.push(format!("pattern: {pattern}"));
                }
            }
            None => node.lose(Loss::Malformed("pattern")),
        }
    }
    // Widths of numbers stand under `format` too, and say nothing that a caller needs.
    const WIDTHS: [&str; 10] =
        ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double"];
    match words(schema, "format") {
        Some(format) if crate::validate::Format::named(format).is_some() => node.format = Some(format),
        Some(format) => {
            let shown: String = format.chars().take(40).collect();
            if !WIDTHS.contains(&format) && node.kinds.meets(Kinds::STRING) {
                node.notes.push(format!("format: {shown}"));
            }
            node.lose(Loss::Format(shown));
        }
        None => {}
    }
}

/// Whether our engine reads a pattern as JSON Schema's would. It lacks looking around and references back, and knows
/// more digits and letters, which matters where they are excluded, and has operators inside of classes.
fn means_the_same_here(pattern: &str) -> bool {
    const OTHERWISE: [&str; 10] = ["\\D", "\\W", "\\b", "\\B", "\\A", "\\z", "&&", "--", "~~", "[["];
    pattern.len() <= PATTERN_CHARS_MAX
        && !OTHERWISE.iter().any(|part| pattern.contains(part))
        && regex::Regex::new(pattern).is_ok()
}

fn object<'a>(schema: &'a Map<String, Value>, place: &Place<'a>, node: &mut Node<'a>) {
    let mut object = std::mem::take(&mut node.object);
    match schema.get("properties") {
        Some(Value::Object(properties)) => {
            for (name, property) in properties {
                object.fields.insert(name, Said::Here(place.inside(property, &format!("properties.{name}"))));
            }
        }
        Some(_) => node.lose(Loss::Malformed("properties")),
        None => {}
    }
    match schema.get("required") {
        Some(Value::Array(names)) => object.required.extend(names.iter().filter_map(Value::as_str)),
        // Where each property says it for itself, as before the fourth draft, the word is no list.
        Some(Value::Bool(_)) | None => {}
        Some(_) => node.lose(Loss::Malformed("required")),
    }
    if !object.fields.is_empty() {
        object.open = Openness::Closed;
    }
    let others = schema.get("additionalProperties");
    if others.is_some_and(|others| *others != Value::Bool(false)) || schema.contains_key("patternProperties")
    {
        object.open = Openness::Open;
    }
    object.sealed |= others == Some(&Value::Bool(false)) && object.open != Openness::Open;
    if let Some(Value::Object(values)) = others
        && !values.is_empty()
    {
        node.lose(Loss::Keyword("additionalProperties"));
        repeat(others, "values", node);
    }
    if schema.contains_key("patternProperties") {
        node.lose(Loss::Keyword("patternProperties"));
        repeat(schema.get("patternProperties"), "keys by pattern", node);
    }
    if !object.fields.is_empty() || !object.required.is_empty() || others.is_some() {
        object.places.insert(place.address);
    }
    node.object = object;
}

fn array<'a>(schema: &'a Map<String, Value>, place: &Place<'a>, node: &mut Node<'a>) {
    let first = schema.get("prefixItems").filter(|first| first.is_array());
    match schema.get("items") {
        _ if first.is_some() => {
            node.lose(Loss::Keyword("prefixItems"));
            repeat(first, "elements in order", node);
        }
        Some(Value::Array(_)) => {
            node.lose(Loss::Keyword("items"));
            repeat(schema.get("items"), "elements in order", node);
        }
        Some(Value::Bool(true)) | None => {}
        Some(Value::Bool(false)) => node.lose(Loss::Keyword("items")),
        Some(items @ Value::Object(_)) => node.items = Some(Said::Here(place.inside(items, "items"))),
        Some(_) => node.lose(Loss::Malformed("items")),
    }
    let (least, most) = (count(schema, "minItems", node).filter(|n| *n > 0), count(schema, "maxItems", node));
    let note = match (least, most) {
        (None, None) => return,
        (Some(least), Some(most)) => format!("{least} to {most} elements"),
        (Some(least), None) => format!("{least} or more elements"),
        (None, Some(most)) => format!("{most} or fewer elements"),
    };
    node.notes.push(note);
    node.lose(Loss::Keyword(if least.is_some() { "minItems" } else { "maxItems" }));
}

/// Lets the words say what no rule of ours can, where it is short enough to be read.
fn repeat(schema: Option<&Value>, what: &str, node: &mut Node<'_>) {
    let mut text = Short(Vec::new());
    // Writing ends where the room does, however large or deep the schema is.
    if let Some(schema) = schema
        && serde_json::to_writer(&mut text, schema).is_ok()
        && let Ok(text) = String::from_utf8(text.0)
    {
        node.notes.push(format!("{what}, as JSON Schema: {text}"));
    }
}

/// Room for a schema that is worth repeating.
struct Short(Vec<u8>);

impl std::io::Write for Short {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > REPEATED_BYTES_MAX {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
