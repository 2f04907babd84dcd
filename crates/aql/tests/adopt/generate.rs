//! Schemas as servers write them, and values that fit a schema.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Numbers for making values: the same seed makes the same values.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }
}

/// A value that probably fits; whoever asks for it checks that.
pub(crate) fn value(schema: &Value, root: &Value, dice: &mut Dice, depth: usize) -> Value {
    let Value::Object(schema) = schema else { return anything(dice, depth) };
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null);
        return value(target, root, dice, depth + 1);
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        return dice.pick(values).cloned().unwrap_or_default();
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = schema.get(keyword) {
            let branch = dice.pick(branches).cloned().unwrap_or_default();
            if !schema.contains_key("properties") {
                return value(&branch, root, dice, depth + 1);
            }
        }
    }
    if let Some(Value::Array(parts)) = schema.get("allOf") {
        let mut whole = object(schema, root, dice, depth);
        for part in parts {
            if let Value::Object(part) = value(part, root, dice, depth + 1) {
                whole.extend(part);
            }
        }
        // A field that no part names is a typing error here, though JSON Schema lets it pass.
        whole.remove("someKey");
        return Value::Object(whole);
    }
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ if schema.contains_key("properties") => vec!["object", "string"],
        _ => return anything(dice, depth),
    };
    match dice.pick(&kinds).copied().unwrap_or_default() {
        "null" => Value::Null,
        "boolean" => json!(dice.below(2) == 0),
        "integer" => json!(within(schema, dice).round() as i64),
        "number" => json!(within(schema, dice)),
        "string" => text(schema, dice).into(),
        "array" => array(schema, root, dice, depth),
        _ => Value::Object(object(schema, root, dice, depth)),
    }
}

fn anything(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth > 6 { 4 } else { 6 }) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(7),
        3 => json!("text"),
        4 => json!([1, "a", null]),
        _ => json!({"someKey": {"innerKey": 1}}),
    }
}

fn within(schema: &Map<String, Value>, dice: &mut Dice) -> f64 {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let low = number("minimum").or(number("exclusiveMinimum").map(|n| n + 1.0));
    let high = number("maximum").or(number("exclusiveMaximum").map(|n| n - 1.0));
    let low = low.unwrap_or_else(|| high.map_or(0.0, |high| high - 10.0));
    let high = high.unwrap_or(low + 10.0);
    low + (high - low) * dice.below(5) as f64 / 4.0
}

fn text(schema: &Map<String, Value>, dice: &mut Dice) -> String {
    let known = match (schema.get("format").and_then(Value::as_str), schema.contains_key("pattern")) {
        (Some("date"), _) => "2026-02-04",
        (Some("date-time"), _) => "2026-02-04T10:30:00Z",
        (Some("uuid"), _) => "123e4567-e89b-12d3-a456-426614174000",
        (Some("uri"), _) => "https://example.com/",
        (Some("email"), _) => "someone@example.com",
        (_, true) => {
            let guesses = ["abc", "a1", "2026-02-04", "12", "ABC-1", "a@b.c", "", "https://example.com/a"];
            return (*dice.pick(&guesses).unwrap_or(&"")).to_owned();
        }
        _ => "",
    };
    if !known.is_empty() {
        return known.to_owned();
    }
    let count = |key: &str| schema.get(key).and_then(Value::as_u64).map(|n| n as usize);
    let least = count("minLength").unwrap_or(0);
    let most = count("maxLength").unwrap_or(least + 4).min(least + 4);
    "xéz日".chars().cycle().take(least + dice.below(most.saturating_sub(least) + 1)).collect()
}

fn array(schema: &Map<String, Value>, root: &Value, dice: &mut Dice, depth: usize) -> Value {
    if let Some(Value::Array(first)) = schema.get("prefixItems").or(schema.get("items")) {
        return first.iter().map(|part| value(part, root, dice, depth + 1)).collect();
    }
    let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0) as usize;
    let count = if depth > 6 { least } else { least + dice.below(3) };
    let items = schema.get("items").unwrap_or(&Value::Bool(true));
    (0..count).map(|_| value(items, root, dice, depth + 1)).collect()
}

pub(crate) fn object(
    schema: &Map<String, Value>,
    root: &Value,
    dice: &mut Dice,
    depth: usize,
) -> Map<String, Value> {
    let mut object = Map::new();
    let required = |name: &String| {
        schema.get("required").and_then(Value::as_array).is_some_and(|all| all.contains(&json!(name)))
    };
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let wanted = required(name) || (depth < 6 && dice.below(2) == 0);
        if wanted {
            object.insert(name.clone(), value(property, root, dice, depth + 1));
        }
    }
    match schema.get("additionalProperties") {
        Some(Value::Bool(true)) => drop(object.insert("someOther".to_owned(), json!({"innerKey": [1]}))),
        Some(values @ Value::Object(_)) if depth < 6 => {
            object.insert("freeKey".to_owned(), value(values, root, dice, depth + 1));
        }
        _ => {}
    }
    object
}

const NAMES: [&str; 12] = [
    "id",
    "userName",
    "user-id",
    "MaxResults",
    "perPage",
    "input",
    "operation",
    "fields",
    "filter",
    "password",
    "HTTPHeaders",
    "body",
];

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"type": "string", "description": "Some text"})),
        (0_usize..3, 3_usize..6)
            .prop_map(|(min, max)| json!({"type": "string", "minLength": min, "maxLength": max})),
        Just(json!({"type": "string", "enum": ["a", "b", "c"], "default": "a"})),
        Just(json!({"enum": ["a", 1, null, true]})),
        Just(json!({"type": "string", "format": "date-time"})),
        Just(json!({"type": "string", "format": "ipv4"})),
        Just(json!({"type": "string", "pattern": "^[a-z0-9-]*$"})),
        Just(json!({"type": "string", "pattern": "^(?!x).*$"})),
        (-5_i32..5)
            .prop_map(|low| json!({"type": "integer", "minimum": low, "maximum": low + 5, "default": low})),
        (-5_i32..5).prop_map(|low| json!({"type": "integer", "exclusiveMinimum": low})),
        (-5_i32..5).prop_map(|high| json!({"type": "number", "exclusiveMaximum": high, "default": high})),
        Just(json!({"type": "boolean", "default": false})),
        Just(json!({"type": ["string", "integer", "null"]})),
        Just(json!({"const": "fixed"})),
        Just(json!({"const": 5})),
        Just(json!({"type": "null"})),
        Just(json!(true)),
        Just(json!({})),
        Just(json!({"type": "object"})),
        Just(json!({"type": "object", "additionalProperties": {"type": "string"}})),
        Just(json!({"type": "array"})),
        Just(json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]})),
        Just(json!({"$ref": "#/$defs/Node"})),
        Just(json!({"$ref": "#/$defs/Level", "description": "How loud"})),
        Just(json!({"$ref": "#/definitions/old/Thing"})),
    ]
}

fn fields(inner: impl Strategy<Value = Value> + Clone + 'static) -> impl Strategy<Value = Value> {
    let field = (prop::sample::select(NAMES.to_vec()), inner, any::<bool>());
    let others = prop_oneof![
        4 => Just(None),
        1 => Just(Some(json!(false))),
        1 => Just(Some(json!(true))),
        1 => Just(Some(json!({"type": "integer"}))),
    ];
    (prop::collection::vec(field, 0..5), others, any::<bool>()).prop_map(|(fields, others, typed)| {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (name, schema, is_required) in fields {
            if properties.insert(name.to_owned(), schema).is_none() && is_required {
                required.push(name);
            }
        }
        let mut object = json!({"properties": properties, "required": required});
        if typed {
            object["type"] = json!("object");
        }
        if let Some(others) = others {
            object["additionalProperties"] = others;
        }
        object
    })
}

fn property() -> impl Strategy<Value = Value> + Clone {
    leaf()
        .prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                3 => fields(inner.clone()),
                2 => inner.clone().prop_map(|items| json!({"type": "array", "items": items, "minItems": 1})),
                2 => (prop_oneof![Just("anyOf"), Just("oneOf")], prop::collection::vec(inner.clone(), 1..4))
                    .prop_map(|(keyword, branches)| json!({keyword: branches})),
                1 => inner.clone().prop_map(|one| json!({"anyOf": [one, {"type": "null"}], "default": null})),
                1 => prop::collection::vec(inner.clone(), 1..3).prop_map(|parts| json!({"allOf": parts})),
                1 => fields(inner).prop_map(|mut object| {
                    object["anyOf"] = json!([{"required": ["id"]}, {"required": ["userName"]}]);
                    object
                }),
            ]
        })
        .boxed()
}

/// The input schema of a tool.
pub(crate) fn schema() -> impl Strategy<Value = Value> {
    fields(property()).prop_map(|mut schema| {
        schema["type"] = json!("object");
        schema["$defs"] = json!({
            "Node": {"type": "object", "properties": {
                "nodeName": {"type": "string"},
                "childNodes": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                "nextNode": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}
            }, "required": ["nodeName"]},
            "Level": {"type": "string", "enum": ["low", "high"]},
        });
        schema["definitions"] = json!({"old": {"Thing": {"type": "object", "properties": {
            "thingId": {"type": "integer"}}, "additionalProperties": false}}});
        schema
    })
}

/// Any JSON, with keywords of schemas wherever a key stands.
pub(crate) fn rubbish() -> impl Strategy<Value = Value> {
    const KEYS: [&str; 30] = [
        "type",
        "properties",
        "items",
        "enum",
        "const",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "required",
        "additionalProperties",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "default",
        "description",
        "title",
        "nullable",
        "prefixItems",
        "not",
        "patternProperties",
        "minItems",
        "deprecated",
        "action",
        "0",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|n| json!(n)),
        ".{0,6}".prop_map(Value::from),
        prop::sample::select(vec![
            "string",
            "integer",
            "number",
            "boolean",
            "object",
            "array",
            "null",
            "any",
            "#",
            "#/$defs/0",
            "#/properties/action",
            "date-time",
            "^a",
            "(",
            "\\b",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => prop::collection::vec((prop::sample::select(KEYS.to_vec()), inner), 0..6)
                .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}
