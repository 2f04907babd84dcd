//! The published schemas, read from beside the workspace where they are at hand.

use std::{path::PathBuf, sync::LazyLock};

use jsonschema::Validator;
use serde_json::{Map, Value};

/// A published JSON file, or none with a line that says so.
pub(crate) fn published(file: &str) -> Option<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec-data");
    if !folder.exists() {
        eprintln!("skipped: the specification's data is not at hand, so nothing is checked against {file}");
        return None;
    }
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

fn compiled(file: &str) -> Option<Validator> {
    published(&format!("schemas/{file}")).map(|schema| jsonschema::validator_for(&schema).unwrap())
}

pub(crate) static INPUT: LazyLock<Option<Validator>> =
    LazyLock::new(|| compiled("operation-input.schema.json"));
pub(crate) static RESULT: LazyLock<Option<Validator>> =
    LazyLock::new(|| compiled("operation-result.schema.json"));
pub(crate) static BATCH: LazyLock<Option<Validator>> =
    LazyLock::new(|| compiled("batch-operation.schema.json"));
pub(crate) static INTROSPECTION: LazyLock<Option<Validator>> =
    LazyLock::new(|| compiled("introspection-response.schema.json"));

/// The part of the introspection schema that one `$defs` name describes.
pub(crate) fn definition(name: &str) -> Option<Validator> {
    let mut schema = published("schemas/introspection-response.schema.json")?;
    let whole: &mut Map<String, Value> = schema.as_object_mut().unwrap();
    whole.remove("oneOf");
    whole.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
    Some(jsonschema::validator_for(&schema).unwrap())
}

#[track_caller]
pub(crate) fn check(validator: &Option<Validator>, value: &Value) {
    let Some(validator) = validator else { return };
    let faults: Vec<String> =
        validator.iter_errors(value).map(|e| format!("{e} in '{}'", e.instance_path())).collect();
    assert!(faults.is_empty(), "{faults:#?}\n{value:#}");
}
