//! From a schema of any shape to a [`Node`], one level deep: what stands inside is left as places to be read later.
//!
//! Nothing is an error here. What cannot be said of a parameter is left out and told as a [`Loss`].

use serde_json::{Map, Value};

use super::{
    kinds::Kinds,
    loss::Loss,
    node::{Node, Openness},
    place::{Place, Said, Written},
};

/// More schemas than this in one document are not read; the rest counts as saying nothing.
pub(crate) const SCHEMAS_READ_MAX: usize = 20_000;
/// Longer chains of references and combinations than this lead nowhere.
const CHAIN_MAX: usize = 24;
/// Schemas that only words can tell are repeated up to this length.
const REPEATED_BYTES_MAX: usize = 400;
/// Longer patterns than this are not worth their compiled size.
const PATTERN_CHARS_MAX: usize = 1_000;

/// Reads one document.
pub(crate) struct Reader<'a> {
    root: &'a Map<String, Value>,
    name: &'a str,
    left: usize,
}

impl<'a> Reader<'a> {
    /// `name` is what paths of the document begin with.
    pub(crate) fn new(root: &'a Map<String, Value>, name: &'a str) -> Self {
        Self { root, name, left: SCHEMAS_READ_MAX }
    }

    pub(crate) fn root(&self) -> Said<'a> {
        Said::Here(Place::root(self.root, self.name))
    }

    pub(crate) fn node(&mut self, said: &Said<'a>) -> Node<'a> {
        self.said(said, &mut Vec::new())
    }

    fn said(&mut self, said: &Said<'a>, chain: &mut Vec<usize>) -> Node<'a> {
        match said {
            Said::Nothing => Node::anything(),
            Said::Here(place) => self.place(place, chain),
            Said::All(all) => {
                all.iter().fold(Node::anything(), |node, said| node.and(self.said(said, chain)))
            }
            Said::Any(any) => self.any(any, chain),
        }
    }

    fn any(&mut self, any: &[Said<'a>], chain: &mut Vec<usize>) -> Node<'a> {
        let nodes: Vec<Node<'a>> = any.iter().map(|said| self.said(said, chain)).collect();
        nodes.into_iter().reduce(Node::or).unwrap_or_else(Node::anything)
    }

    fn place(&mut self, place: &Place<'a>, chain: &mut Vec<usize>) -> Node<'a> {
        if self.left == 0 {
            return Node::anything().losing(Loss::Huge);
        }
        self.left -= 1;
        match place.written {
            Written::Verdict(true) => Node::anything(),
            Written::Verdict(false) => Node::anything().losing(Loss::Contradiction),
            Written::Malformed => Node::anything().losing(Loss::Malformed("schema")),
            Written::Keywords(_) if chain.contains(&place.address) => Node::anything().losing(Loss::Circular),
            Written::Keywords(_) if chain.len() >= CHAIN_MAX => Node::anything().losing(Loss::Deep),
            Written::Keywords(schema) => {
                chain.push(place.address);
                let node = self.schema(schema, place, chain);
                chain.pop();
                node
            }
        }
    }

    fn schema(
        &mut self,
        schema: &'a Map<String, Value>,
        place: &Place<'a>,
        chain: &mut Vec<usize>,
    ) -> Node<'a> {
        let mut node = own(schema, place);
        if let Some(reference) = schema.get("$ref").or_else(|| schema.get("$dynamicRef")) {
            let target = reference.as_str().and_then(|reference| self.resolve(reference));
            node = match target {
                Some((name, target)) => {
                    let mut there = self.place(&target, chain);
                    let described = match target.written {
                        Written::Keywords(schema) => words(schema, "description").unwrap_or_default(),
                        Written::Verdict(_) | Written::Malformed => "",
                    };
                    there.definition.get_or_insert((name, described));
                    node.and(there)
                }
                None => node.losing(Loss::Unresolved(reference.as_str().unwrap_or("$ref").to_owned())),
            };
        }
        for (keyword, both) in [("allOf", true), ("anyOf", false), ("oneOf", false)] {
            let Some(parts) = schema.get(keyword) else { continue };
            let Some(parts) = parts.as_array().filter(|parts| !parts.is_empty()) else {
                node.lose(Loss::Malformed(keyword));
                continue;
            };
            let said: Vec<Said<'a>> = parts
                .iter()
                .enumerate()
                .map(|(index, part)| Said::Here(place.inside(part, &format!("{keyword}.{index}"))))
                .collect();
            let joined = if both { self.said(&Said::All(said), chain) } else { self.any(&said, chain) };
            node = node.and(joined);
        }
        if schema.get("nullable") == Some(&Value::Bool(true)) {
            node.kinds = node.kinds.or(Kinds::NULL);
        }
        node
    }

    /// The schema that a reference inside the document leads to, and its name there.
    fn resolve(&self, reference: &'a str) -> Option<(&'a str, Place<'a>)> {
        let pointer = reference.strip_prefix('#')?;
        if pointer.is_empty() {
            return Some(("", Place::root(self.root, self.name)));
        }
        let mut steps =
            pointer.strip_prefix('/')?.split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
        let first = steps.next()?;
        let mut path = format!("{}.{first}", self.name);
        let mut target = self.root.get(&first)?;
        for step in steps {
            target = match target {
                Value::Array(all) => all.get(step.parse::<usize>().ok()?)?,
                other => other.get(&step)?,
            };
            path.push('.');
            path.push_str(&step);
        }
        let name = pointer.rsplit('/').next().unwrap_or_default();
        Some((name, Place::new(target, &path)))
    }
}

/// What a schema says itself, without what it refers to.
fn own<'a>(schema: &'a Map<String, Value>, place: &Place<'a>) -> Node<'a> {
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

fn words<'a>(schema: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
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
