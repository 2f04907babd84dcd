//! JSON Schemas of what we send and take, made from the registry: the same source that validation and introspection use.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::{
    operation::Operation,
    param::{Kind, Param, Shape},
    registry::Registry,
    types::{Shape as TypeShape, Type},
};

/// The schema of an operation's parameters.
#[must_use]
pub fn params(registry: &Registry, operation: &Operation) -> Value {
    let mut schema = object(operation.params(), true);
    insert(&mut schema, "$defs", definitions(registry));
    schema
}

/// The schema of every answer an operation can give: its data in a success, or a structured failure.
#[must_use]
pub fn answer(registry: &Registry, operation: &Operation) -> Value {
    let data = match operation.selection() {
        // Any choice of fields is an answer, so only the frame around them is fixed.
        Some(_) if registry.types().named(&operation.returns.name).is_some() => json!({"type": "object"}),
        _ => reference(&operation.returns.name),
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "oneOf": [success(data), failure()],
        "$defs": definitions(registry),
    })
}

fn success(data: Value) -> Value {
    json!({
        "type": "object",
        "properties": {
            "success": {"const": true},
            "data": data,
            "warnings": {"type": "array", "maxItems": crate::warning::WARNINGS_MAX, "items": {
                "type": "object",
                "properties": {
                    "code": {"type": "string", "pattern": "^(RATE_LIMIT|DEPRECATION|VALIDATION|PERFORMANCE)_[A-Z_]+$"},
                    "message": {"type": "string", "minLength": 1},
                    "details": {"type": "object"},
                    "severity": {"enum": ["low", "medium", "high"]}
                },
                "required": ["code", "message", "severity"],
                "additionalProperties": false
            }}
        },
        "required": ["success", "data"],
        "additionalProperties": false
    })
}

fn failure() -> Value {
    let codes: Vec<&str> = crate::error::Code::ALL.iter().map(|code| code.as_str()).collect();
    json!({
        "type": "object",
        "properties": {
            "success": {"const": false},
            "error": {
                "type": "object",
                "properties": {
                    "code": {"enum": codes},
                    "message": {"type": "string", "minLength": 1},
                    "details": {"type": "object"}
                },
                "required": ["code", "message"],
                "additionalProperties": false
            }
        },
        "required": ["success", "error"],
        "additionalProperties": false
    })
}

fn definitions(registry: &Registry) -> Value {
    let types = registry.types().iter();
    Value::Object(types.map(|known| (known.name().to_owned(), definition(known))).collect())
}

/// The definitions that a schema refers to, directly or through others.
pub(crate) fn definitions_used(registry: &Registry, schema: &Value) -> Map<String, Value> {
    let mut used = Map::new();
    let mut waiting = vec![schema.clone()];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Object(object) => {
                let name = object
                    .get("$ref")
                    .and_then(Value::as_str)
                    .and_then(|path| path.strip_prefix(DEFINITIONS));
                if let Some(known) = name.and_then(|name| registry.types().named(name))
                    && !used.contains_key(known.name())
                {
                    let definition = definition(known);
                    waiting.push(definition.clone());
                    used.insert(known.name().to_owned(), definition);
                }
                waiting.extend(object.into_iter().map(|(_, value)| value));
            }
            Value::Array(values) => waiting.extend(values),
            _ => {}
        }
    }
    used
}

const DEFINITIONS: &str = "#/$defs/";

fn definition(known: &Type) -> Value {
    match &known.shape {
        TypeShape::Enum(values) => json!({"enum": values}),
        // A previewed resource carries a mark beside its fields, so keys with an underscore are open.
        TypeShape::Object(fields) => object(fields, false),
        TypeShape::Union(members) => {
            json!({"anyOf": members.iter().map(|name| reference(name)).collect::<Vec<_>>()})
        }
        TypeShape::Scalar => json!({}),
    }
}

fn object(fields: &[Arc<Param>], closed: bool) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name().to_owned(), param(field))).collect();
    let required: Vec<&str> =
        fields.iter().filter(|f| f.required && f.unless.is_none()).map(|field| field.name()).collect();
    let mut schema = json!({"type": "object", "properties": properties, "required": required});
    if closed {
        insert(&mut schema, "additionalProperties", false.into());
    } else {
        insert(&mut schema, "patternProperties", json!({"^_": {}}));
        insert(&mut schema, "additionalProperties", false.into());
    }
    schema
}

pub(crate) fn param(param: &Param) -> Value {
    let mut schema = match param.fields_of {
        Some(_) => json!({"type": "object"}),
        None => kind(&param.kind),
    };
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            insert(&mut schema, key, value);
        }
    };
    put("description", (!param.description.is_empty()).then(|| param.description.as_str().into()));
    put("enum", (!param.allowed.is_empty() && !param.nullable).then(|| param.allowed.clone().into()));
    put("minimum", param.minimum.map(Value::from));
    put("maximum", param.maximum.map(Value::from));
    put("minLength", param.min_length.map(Value::from));
    put("maxLength", param.max_length.map(Value::from));
    put("pattern", param.pattern.as_ref().map(|pattern| pattern.as_str().into()));
    put("items", param.items.as_deref().map(self::param));
    if param.nullable {
        return json!({"anyOf": [schema, {"type": "null"}]});
    }
    schema
}

fn kind(kind: &Kind) -> Value {
    match kind.shapes.as_slice() {
        [one] => shape(one, &kind.text),
        several => {
            let texts = kind.text.split(" | ");
            json!({"anyOf": several.iter().zip(texts).map(|(one, text)| shape(one, text)).collect::<Vec<_>>()})
        }
    }
}

fn shape(one: &Shape, text: &str) -> Value {
    match one {
        Shape::String => json!({"type": "string"}),
        Shape::Number => json!({"type": "number"}),
        Shape::Integer => json!({"type": "integer"}),
        Shape::Boolean => json!({"type": "boolean"}),
        Shape::Object => json!({"type": "object"}),
        Shape::Array => json!({"type": "array"}),
        Shape::ArrayOf(element) => {
            json!({"type": "array", "items": shape(element, text.strip_suffix("[]").unwrap_or(text))})
        }
        Shape::Enum | Shape::Record(_) => reference(text),
    }
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("{DEFINITIONS}{name}")})
}

fn insert(schema: &mut Value, key: &str, value: Value) {
    if let Value::Object(schema) = schema {
        schema.insert(key.to_owned(), value);
    }
}
