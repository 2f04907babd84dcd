//! Attributes as OTLP has them, and as we have them.

use ::base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Number, Value};

use super::given::Pairs;
use super::wire::{Any, AnyValue, ArrayValue, KeyValue, KeyValueList};
use crate::trace::Attributes;

/// In the order in which they were given; what has no name is left out.
pub(super) fn read(attributes: Vec<KeyValue>) -> Pairs<'static> {
    let named = attributes.into_iter().filter(|attribute| !attribute.key.is_empty());
    named.map(|attribute| (attribute.key.into(), any(attribute.value))).collect()
}

/// How deep a value may go; prost and JSON both stop long before the stack ends.
fn any(value: Option<AnyValue>) -> Value {
    match value.and_then(|value| value.value) {
        None => Value::Null,
        Some(Any::Text(text)) => Value::String(text),
        Some(Any::Bool(flag)) => Value::Bool(flag),
        Some(Any::Int(number)) => Value::Number(number.into()),
        Some(Any::Double(number)) => double(number),
        Some(Any::Array(array)) => {
            Value::Array(array.values.into_iter().map(|value| any(Some(value))).collect())
        }
        Some(Any::List(list)) => {
            let members = list.values.into_iter().map(|member| (member.key, any(member.value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Some(Any::Bytes(bytes)) => Value::String(BASE64_STANDARD.encode(bytes)),
    }
}

/// JSON has no numbers that are not finite.
pub(super) fn double(number: f64) -> Value {
    Number::from_f64(number).map_or_else(|| Value::String(not_finite(number).to_owned()), Value::Number)
}

pub(super) fn not_finite(number: f64) -> &'static str {
    match number {
        number if number.is_nan() => "NaN",
        number if number > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}

pub(super) fn write(attributes: &Attributes) -> Vec<KeyValue> {
    attributes.iter().map(|(name, value)| pair(name, value)).collect()
}

pub(super) fn pair(name: &str, value: &Value) -> KeyValue {
    KeyValue { key: name.to_owned(), value: Some(of(value)) }
}

fn of(value: &Value) -> AnyValue {
    let value = match value {
        Value::Null => None,
        Value::Bool(flag) => Some(Any::Bool(*flag)),
        Value::String(text) => Some(Any::Text(text.clone())),
        Value::Number(number) => Some(match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Any::Int(number),
            (None, Some(double)) if number.is_f64() => Any::Double(double),
            // Larger than OTLP's largest; a double would be another number.
            _ => Any::Text(number.to_string()),
        }),
        Value::Array(values) => Some(Any::Array(ArrayValue { values: values.iter().map(of).collect() })),
        Value::Object(members) => {
            let values = members.iter().map(|(name, value)| pair(name, value)).collect();
            Some(Any::List(KeyValueList { values }))
        }
    };
    AnyValue { value }
}
