//! Parameters that look like those of a real call.

use aql::define::Param;
use serde_json::{Map, Value, json};

/// A value for every parameter that has to be there.
pub(super) fn params(declared: &[Param]) -> Map<String, Value> {
    let required = declared.iter().filter(|param| param.required);
    required.map(|param| (param.name.clone(), value(param))).collect()
}

fn value(param: &Param) -> Value {
    if let Some(first) = param.allowed.first() {
        return first.clone();
    }
    let kind = param.kind.as_deref().unwrap_or("string");
    of_kind(kind.split(" | ").next().unwrap_or(kind), &param.name)
}

fn of_kind(kind: &str, name: &str) -> Value {
    if let Some(item) = kind.strip_suffix("[]") {
        return json!([of_kind(item, name)]);
    }
    match kind {
        "integer" | "number" => json!(42),
        "boolean" => json!(true),
        "array" => json!([]),
        "string" => json!(format!("example {}", name.replace('_', " "))),
        _ => json!({}),
    }
}
