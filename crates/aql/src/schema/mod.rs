//! Reading JSON Schema. A `Reader` takes schemas of any shape, one level a time, and tells what it could
//! not keep; [`describe`] makes parameters of our own structs' schemas from it, so that a Rust struct can declare an
//! operation's parameters, and [`adopt`](crate::adopt) makes operations of other servers' tools.

mod keywords;
pub(crate) mod kinds;
pub(crate) mod loss;
pub(crate) mod node;
pub(crate) mod place;
pub(crate) mod read;

use serde_json::Value;

use self::{
    kinds::Kinds,
    loss::Loss,
    node::{Node, Object},
    place::{Place, Said, Written},
    read::Reader,
};
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

/// Any value but null.
pub(crate) const ANYTHING: &str = "string | number | boolean | object | array";

/// Reads the parameters from the schema of an object, as one of our own structs has it. Its author can mend what is
/// wrong, so what cannot be described is an error here; [`adopt`](crate::adopt) takes what others wrote.
pub fn describe(schema: &Value) -> Result<Described, Error> {
    let schema = match schema {
        Value::Object(schema) => schema,
        Value::Bool(true) => return Ok(Described::default()),
        _ => return Err(Error::NotAnObject),
    };
    let mut describer = Describer { reader: Reader::new(schema, "schema"), types: Vec::new() };
    let root = describer.reader.root();
    let node = describer.reader.node(&root);
    if !node.kinds.meets(Kinds::OBJECT) || node.losses.iter().any(is_unsupported) {
        return Err(Error::NotAnObject);
    }
    let params = describer.fields(node.object)?;
    Ok(Described { params, types: describer.types })
}

struct Describer<'a> {
    reader: Reader<'a>,
    types: Vec<Type>,
}

impl<'a> Describer<'a> {
    fn fields(&mut self, object: Object<'a>) -> Result<Vec<Param>, Error> {
        let required = object.required;
        let fields = object.fields.into_iter();
        fields
            .map(|(name, said)| {
                let param = self.param(name, &said)?;
                Ok(Param { required: required.contains(name), ..param })
            })
            .collect()
    }

    fn param(&mut self, name: &str, said: &Said<'a>) -> Result<Param, Error> {
        let node = self.reader.node(said);
        if node.losses.iter().any(|loss| matches!(loss, Loss::Unresolved(_))) {
            return Err(Error::Unresolved(name.to_owned()));
        }
        let unsaid = node.kinds == Kinds::ALL;
        if node.losses.iter().any(|loss| is_unsupported(loss) || (unsaid && matches!(loss, Loss::Keyword(_))))
        {
            return Err(Error::Unsupported(name.to_owned()));
        }
        let own = |key: &str| match said {
            Said::Here(Place { written: Written::Keywords(schema), .. }) => schema.get(key),
            _ => None,
        };
        let mut param = Param { name: name.to_owned(), ..Param::default() };
        param.nullable = !unsaid && node.kinds.meets(Kinds::NULL);
        if let Some(kind) = self.named(&node)? {
            param.kind = Some(kind);
            param.description =
                own("description").and_then(Value::as_str).map(in_one_line).unwrap_or_default();
            param.default = own("default").filter(|value| !value.is_null()).cloned();
            return Ok(param);
        }
        param.kind = Some(plain(node.kinds));
        param.description = node.description.as_deref().map(in_one_line).unwrap_or_default();
        param.default = node.default.cloned();
        param.allowed = node.allowed.unwrap_or_default();
        (param.minimum, param.maximum) = (node.minimum, node.maximum);
        (param.min_length, param.max_length) = (node.min_length, node.max_length);
        // Written for our engine, whatever another would make of it.
        let pattern = own("pattern").and_then(Value::as_str).or(node.pattern);
        param.pattern = pattern.map(str::to_owned);
        param.format = node.format.map(str::to_owned);
        if let Some(items) = &node.items {
            param.items = Some(Box::new(self.param("item", items)?));
        }
        Ok(param)
    }

    /// Registers the definition that a value refers to as a type, once, and gives its name. Enums and objects get one;
    /// a wrapper around a plain type does not deserve it.
    fn named(&mut self, node: &Node<'a>) -> Result<Option<String>, Error> {
        let Some((name, description)) = node.definition else { return Ok(None) };
        let shape = match &node.allowed {
            Some(allowed) if allowed.iter().all(Value::is_string) => {
                Shape::Enum { values: allowed.iter().filter_map(Value::as_str).map(str::to_owned).collect() }
            }
            _ if !node.object.fields.is_empty() && node.kinds.without_null() == Kinds::OBJECT => {
                Shape::Scalar
            }
            _ => return Ok(None),
        };
        let name = name.to_owned();
        if self.types.iter().any(|known| known.name == name) {
            return Ok(Some(name));
        }
        let is_object = matches!(shape, Shape::Scalar);
        // Registered before its fields are read, so that a type which contains itself ends here.
        let position = self.types.len();
        self.types.push(Type { name: name.clone(), description: in_one_line(description), shape });
        if is_object {
            let fields = self.fields(node.object.clone())?;
            if let Some(registered) = self.types.get_mut(position) {
                registered.shape = Shape::Object { fields };
            }
        }
        Ok(Some(name))
    }
}

/// Whether a loss leaves something that our own parameters would have to tell. Widths of numbers stand under `format`,
/// and what else is left out only narrows what serde checks anyway.
fn is_unsupported(loss: &Loss) -> bool {
    match loss {
        Loss::Keyword(_)
        | Loss::NonStringEnum
        | Loss::Pattern(_)
        | Loss::Format(_)
        | Loss::Bound(_)
        | Loss::Unresolved(_)
        | Loss::Default => false,
        Loss::Malformed(_)
        | Loss::UnknownType(_)
        | Loss::Circular
        | Loss::Variants
        | Loss::Contradiction
        | Loss::Enum
        | Loss::Deep
        | Loss::Huge => true,
    }
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// JSON's own types as parameters write them.
fn plain(kinds: Kinds) -> String {
    let number = if kinds.meets(Kinds::FRACTION) { "number" } else { "integer" };
    let all = [
        (Kinds::STRING, "string"),
        (Kinds::NUMBER, number),
        (Kinds::BOOLEAN, "boolean"),
        (Kinds::OBJECT, "object"),
        (Kinds::ARRAY, "array"),
    ];
    let named: Vec<&str> =
        all.into_iter().filter(|(kind, _)| kinds.meets(*kind)).map(|(_, name)| name).collect();
    if named.is_empty() { ANYTHING.to_owned() } else { named.join(" | ") }
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
