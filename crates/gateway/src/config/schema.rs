//! The JSON Schema of the file, for editors, for the reference and for the check of keys and types.

use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;

use super::file::File;

/// The JSON Schema (draft 2020-12) of `aqueduct.toml`. It is made anew for whoever needs it: a server needs it once, and
/// would keep it for nothing.
#[must_use]
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .with_transform(RecursiveTransform(as_toml));
    settings.into_generator().into_root_schema_for::<File>().into()
}

/// TOML has no null: what may be absent is simply not required. And `int64` is how we read, not what may be written.
fn as_toml(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get("type") {
        let mut types = types.iter().filter(|name| *name != "null").cloned();
        if let (Some(only), None) = (types.next(), types.next()) {
            schema.insert("type".to_owned(), only);
        }
    }
    schema.remove("format");
}

/// What people call a schema's type.
pub(super) fn kind(schema: &Value) -> &'static str {
    if schema.get("type").is_some_and(Value::is_array) {
        return "a string, a number, true or false";
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => "a string",
        Some("integer") => "a whole number",
        Some("number") => "a number",
        Some("boolean") => "true or false",
        Some("array") => "an array",
        _ => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each(schema: &Value, path: &str, visit: &mut dyn FnMut(&str, &Value)) {
        visit(path, schema);
        for (key, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            each(inner, &format!("{path}.{key}"), visit);
        }
        for key in ["items", "additionalProperties"] {
            if let Some(inner @ Value::Object(_)) = schema.get(key) {
                each(inner, &format!("{path}[]"), visit);
            }
        }
    }

    #[test]
    fn every_key_has_one_type_and_every_setting_a_description() {
        let mut keys = 0;
        each(&schema(), "", &mut |path, schema| {
            let compared = path.ends_with(".when[].equals") || path.ends_with(".when[].one_of[]");
            assert!(schema["type"].is_string() || compared, "{path}: {schema}");
            assert!(path.ends_with("[]") || schema["description"].is_string(), "{path}: {schema}");
            assert!(schema.get("$ref").is_none() && schema.get("anyOf").is_none(), "{path}: {schema}");
            keys += 1;
        });
        assert!(keys > 35, "{keys}");
    }

    #[test]
    fn a_full_file_is_valid_by_the_schema() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let valid = |text: &str| {
            let value: Value = toml::from_str(text).unwrap();
            validator.validate(&value).map_err(|error| error.to_string())
        };
        assert_eq!(valid(super::super::tests::FULL), Ok(()));
        assert_eq!(valid(""), Ok(()));
        for bad in
            ["[server]\nhtp = 1", "[server]\nmode = 'banana'", "[limits]\nmax_nesting_depth = 7", "x = 1"]
        {
            assert!(valid(bad).is_err(), "{bad}");
        }
    }
}
