//! From a JSON Schema of an object to parameters, so that a Rust struct can declare an operation's parameters.

pub(crate) mod kinds;
pub(crate) mod loss;
pub(crate) mod node;
pub(crate) mod place;
pub(crate) mod read;

use serde_json::{Map, Value};

use crate::define::{Param, Shape, Type};

/// What a schema describes: the parameters, and the named types they use.
#[derive(Debug, Default)]
pub struct Described {
    pub params: Vec<Param>,
    pub types: Vec<Type>,
}

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the parameters' schema must describe an object")]
    NotAnObject,
    #[error("parameter '{0}' refers to a definition that is not in the schema")]
    Unresolved(String),
    #[error(
        "parameter '{0}' is of a kind that cannot be described; use a struct, an enum without data, a map or a plain type"
    )]
    Unsupported(String),
}

/// Reads the parameters from the schema of an object.
pub fn describe(schema: &Value) -> Result<Described, Error> {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let mut reader = Reader { definitions, types: Vec::new() };
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    let params = match properties {
        Some(properties) => reader.fields(properties, &required_names(schema))?,
        None if is_object || accepts_anything(schema) => Vec::new(),
        None => return Err(Error::NotAnObject),
    };
    Ok(Described { params, types: reader.types })
}

fn required_names(schema: &Value) -> Vec<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.map(|names| names.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

struct Reader<'a> {
    definitions: Option<&'a Map<String, Value>>,
    types: Vec<Type>,
}

impl<'a> Reader<'a> {
    fn fields(&mut self, properties: &'a Map<String, Value>, required: &[&str]) -> Result<Vec<Param>, Error> {
        properties
            .iter()
            .map(|(name, schema)| {
                let mut param = self.param(name, schema)?;
                param.required = required.contains(&name.as_str());
                Ok(param)
            })
            .collect()
    }

    fn param(&mut self, name: &str, schema: &'a Value) -> Result<Param, Error> {
        let mut param = Param { name: name.to_owned(), ..Param::default() };
        param.description = text(schema, "description");
        param.default = schema.get("default").filter(|value| !value.is_null()).cloned();
        let (schema, nullable) = without_null(schema);
        param.nullable = nullable;
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let definition = self.definition(name, reference)?;
            if !is_type_of_its_own(definition) {
                let described = param;
                let mut inlined = self.param(name, definition)?;
                inlined.nullable |= described.nullable;
                inlined.default = described.default.or(inlined.default);
                if !described.description.is_empty() {
                    inlined.description = described.description;
                }
                return Ok(inlined);
            }
            param.kind = Some(self.named(name, reference)?);
            return Ok(param);
        }
        if accepts_anything(schema) {
            param.kind = Some(ANYTHING.to_owned());
            return Ok(param);
        }
        let kind = plain_type(schema).ok_or_else(|| Error::Unsupported(name.to_owned()))?;
        param.kind = Some(kind);
        param.allowed = schema.get("enum").and_then(Value::as_array).cloned().unwrap_or_default();
        param.allowed.extend(schema.get("const").cloned());
        param.minimum = number(schema, "minimum");
        param.maximum = number(schema, "maximum");
        param.min_length = length(schema, "minLength");
        param.max_length = length(schema, "maxLength");
        param.pattern = schema.get("pattern").and_then(Value::as_str).map(str::to_owned);
        param.format =
            schema.get("format").and_then(Value::as_str).filter(|f| is_enforced(f)).map(str::to_owned);
        if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            let element = self.param("item", items)?;
            param.items = Some(Box::new(element));
        }
        Ok(param)
    }

    fn definition(&self, param: &str, reference: &str) -> Result<&'a Value, Error> {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        self.definitions.and_then(|all| all.get(name)).ok_or_else(|| Error::Unresolved(param.to_owned()))
    }

    /// Registers the definition a reference points to as a type, once, and gives its name.
    fn named(&mut self, param: &str, reference: &str) -> Result<String, Error> {
        let name = reference.rsplit('/').next().unwrap_or(reference).to_owned();
        let definition = self.definition(param, reference)?;
        if self.types.iter().any(|known| known.name == name) {
            return Ok(name);
        }
        let description = text(definition, "description");
        // Registered before its fields are read, so that a type which contains itself ends here.
        let position = self.types.len();
        self.types.push(Type { name: name.clone(), description, shape: Shape::Scalar });
        let shape = self.shape(param, definition)?;
        if let Some(registered) = self.types.get_mut(position) {
            registered.shape = shape;
        }
        Ok(name)
    }

    fn shape(&mut self, param: &str, definition: &'a Value) -> Result<Shape, Error> {
        if let Some(values) = enum_values(definition) {
            return Ok(Shape::Enum { values });
        }
        match definition.get("properties").and_then(Value::as_object) {
            Some(properties) => {
                Ok(Shape::Object { fields: self.fields(properties, &required_names(definition))? })
            }
            None => Err(Error::Unsupported(param.to_owned())),
        }
    }
}

/// Enums and objects get a name in `types`; a wrapper around a plain type does not deserve one.
fn is_type_of_its_own(definition: &Value) -> bool {
    enum_values(definition).is_some() || definition.get("properties").is_some()
}

fn text(schema: &Value, key: &str) -> String {
    schema
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn number(schema: &Value, key: &str) -> Option<f64> {
    schema.get(key).and_then(Value::as_f64)
}

fn length(schema: &Value, key: &str) -> Option<usize> {
    schema.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok())
}

/// Widths of Rust numbers stand under `format` too; only what a validator enforces may be published.
fn is_enforced(format: &str) -> bool {
    crate::validate::Format::named(format).is_some()
}

/// `Option<T>` comes as `anyOf [T, null]` or `type ["T", "null"]`; both mean `T` that may be null.
fn without_null(schema: &Value) -> (&Value, bool) {
    let is_null = |s: &Value| s.get("type").and_then(Value::as_str) == Some("null");
    if let Some([first, second]) = schema.get("anyOf").and_then(Value::as_array).map(Vec::as_slice) {
        if is_null(second) {
            return (first, true);
        }
        if is_null(first) {
            return (second, true);
        }
    }
    let nullable = schema
        .get("type")
        .and_then(Value::as_array)
        .is_some_and(|types| types.iter().any(|t| t.as_str() == Some("null")));
    (schema, nullable)
}

const ANYTHING: &str = "string | number | boolean | object | array";

/// A schema that constrains nothing: `true`, or only words about the value.
fn accepts_anything(schema: &Value) -> bool {
    match schema {
        Value::Bool(accepts) => *accepts,
        Value::Object(keys) => {
            keys.keys().all(|key| matches!(key.as_str(), "$schema" | "description" | "default" | "title"))
        }
        _ => false,
    }
}

/// The type a schema names, or all of them joined where it names several.
fn plain_type(schema: &Value) -> Option<String> {
    const PLAIN: [&str; 6] = ["string", "integer", "number", "boolean", "object", "array"];
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).filter(|n| *n != "null").collect()
        }
        _ => return None,
    };
    let known = !names.is_empty() && names.iter().all(|name| PLAIN.contains(name));
    known.then(|| names.join(" | "))
}

/// The values of an enum without data, written as `enum` or, with documented variants, as `oneOf` constants.
fn enum_values(definition: &Value) -> Option<Vec<String>> {
    let strings = |values: &[Value]| values.iter().map(|v| v.as_str().map(str::to_owned)).collect();
    if let Some(values) = definition.get("enum").and_then(Value::as_array) {
        return strings(values);
    }
    let variants = definition.get("oneOf").and_then(Value::as_array)?;
    variants
        .iter()
        .map(|variant| match (variant.get("const"), variant.get("enum").and_then(Value::as_array)) {
            (Some(value), _) => value.as_str().map(|value| vec![value.to_owned()]),
            (None, Some(values)) => strings(values),
            (None, None) => None,
        })
        .collect::<Option<Vec<_>>>()
        .map(|groups| groups.concat())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_struct_becomes_parameters_and_named_types() {
        let schema = json!({
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Where\n to look", "minLength": 1},
                "days": {"type": ["integer", "null"], "format": "uint8", "minimum": 0, "maximum": 255},
                "unit": {"anyOf": [{"$ref": "#/$defs/Unit"}, {"type": "null"}]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "since": {"type": "string", "format": "date-time"},
                "id": {"type": ["string", "integer"]}
            },
            "required": ["city"],
            "$defs": {"Unit": {"oneOf": [
                {"const": "celsius", "type": "string"}, {"enum": ["kelvin"], "type": "string"}
            ]}}
        });
        let described = describe(&schema).unwrap();
        let by_name = |name: &str| described.params.iter().find(|p| p.name == name).unwrap();
        assert!(by_name("city").required && by_name("city").description == "Where to look");
        assert_eq!(by_name("days").format, None, "a number's width is no format to enforce");
        assert!(by_name("days").nullable && by_name("days").maximum == Some(255.0));
        assert_eq!(by_name("unit").kind.as_deref(), Some("Unit"));
        assert_eq!(by_name("id").kind.as_deref(), Some("string | integer"));
        assert_eq!(by_name("since").format.as_deref(), Some("date-time"));
        assert_eq!(by_name("tags").items.as_ref().unwrap().kind.as_deref(), Some("string"));
        assert!(
            matches!(&described.types[0].shape, Shape::Enum { values } if values == &["celsius", "kelvin"])
        );
    }

    #[test]
    fn a_type_that_contains_itself_ends() {
        let schema = json!({
            "type": "object",
            "properties": {"root": {"$ref": "#/$defs/Node"}},
            "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}}
        });
        let described = describe(&schema).unwrap();
        assert_eq!(described.types.len(), 1);
        assert!(matches!(&described.types[0].shape, Shape::Object { fields } if fields[0].name == "next"));
    }

    #[test]
    fn what_cannot_be_described_is_named() {
        for (schema, expected) in [
            (json!({"type": "string"}), Error::NotAnObject),
            (
                json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/Gone"}}}),
                Error::Unresolved("x".into()),
            ),
            (json!({"type": "object", "properties": {"x": {"not": {}}}}), Error::Unsupported("x".into())),
        ] {
            assert_eq!(describe(&schema).unwrap_err(), expected);
        }
    }
}
