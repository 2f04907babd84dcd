//! Named types, frozen: what introspection shows under `types` and what parameters can be made of.

use std::sync::Arc;

use serde::Serialize;

use crate::{
    define,
    param::{Param, ParamInfo},
    query::params,
};

/// Where a type stands in the registry's table. An index rather than a reference, so that types may contain themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeId(pub(crate) usize);

/// A frozen type.
#[derive(Debug, Clone)]
pub struct Type {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) shape: Shape,
}

#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Enum(Vec<String>),
    Object(Vec<Arc<Param>>),
    Union(Vec<String>),
    Scalar,
}

/// A type as lists show it.
#[derive(Debug, Serialize)]
pub(crate) struct TypeInfo<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) description: &'a str,
}

/// A type in full: exactly one of the last three is there, as its kind says.
#[derive(Debug, Serialize)]
pub(crate) struct TypeDetails<'a> {
    #[serde(flatten)]
    info: TypeInfo<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Vec<ParamInfo<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<&'a [String]>,
}

impl Type {
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.shape {
            Shape::Enum(_) => "enum",
            Shape::Object(_) => "object",
            Shape::Union(_) => "union",
            Shape::Scalar => "scalar",
        }
    }

    /// The fields of an object type.
    #[must_use]
    pub fn fields(&self) -> Option<&[Arc<Param>]> {
        match &self.shape {
            Shape::Object(fields) => Some(fields),
            _ => None,
        }
    }

    pub(crate) fn info(&self) -> TypeInfo<'_> {
        TypeInfo { name: &self.name, kind: self.kind(), description: &self.description }
    }

    pub(crate) fn details(&self) -> TypeDetails<'_> {
        let mut details = TypeDetails { info: self.info(), values: None, fields: None, members: None };
        match &self.shape {
            Shape::Enum(values) => details.values = Some(values),
            Shape::Object(fields) => details.fields = Some(fields.iter().map(|field| field.info()).collect()),
            Shape::Union(members) => details.members = Some(members),
            Shape::Scalar => {}
        }
        details
    }
}

/// The table of all types, which parameters refer into.
#[derive(Debug, Clone, Default)]
pub struct Types(pub(crate) Vec<Type>);

impl Types {
    pub fn iter(&self) -> impl Iterator<Item = &Type> {
        self.0.iter()
    }

    #[must_use]
    pub fn get(&self, id: TypeId) -> Option<&Type> {
        self.0.get(id.0)
    }

    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Type> {
        self.0.iter().find(|known| known.name == name)
    }

    /// The fields that an object of this type may have.
    #[must_use]
    pub fn fields(&self, id: TypeId) -> Option<&[Arc<Param>]> {
        self.get(id).and_then(Type::fields)
    }
}

/// The type that tells the controls of operations of whose results nothing is known.
pub(crate) const RESULT_QUERY: &str = "ResultQuery";

/// The types that the protocol itself defines, present in every registry.
#[must_use]
pub fn protocol_types() -> Vec<define::Type> {
    use define::{Param, Type};
    let text = |name: &str, description: &str| Param::new(name, "string", description).required();
    vec![
        Type::enumeration(
            "SemanticCategory",
            "Standard semantic categories for operation classification",
            &["CREATE", "READ", "UPDATE", "DELETE", "EXECUTE"],
        ),
        Type::object(
            "OperationInput",
            "Standard input structure for all operations",
            vec![
                text("operation", "The operation to perform"),
                Param::new("params", "object", "Operation-specific parameters"),
            ],
        ),
        Type::union(
            "OperationResult",
            "Success or failure result",
            &["OperationSuccess", "OperationFailure"],
        ),
        Type::object(
            "OperationSuccess",
            "Successful operation result",
            vec![
                Param::new("success", "boolean", "Always true").required(),
                Param::new("data", "object", "The operation's result, of any JSON type").required(),
                Param::new("warnings", "array", "Conditions worth knowing of; absent when there are none"),
            ],
        ),
        Type::object(
            "OperationFailure",
            "Failed operation result",
            vec![
                Param::new("success", "boolean", "Always false").required(),
                Param::new("error", "ErrorDetail", "What went wrong and what to do").required(),
            ],
        ),
        Type::object(
            "ErrorDetail",
            "Structured error information",
            vec![
                text("code", "Machine-readable error code"),
                text("message", "What went wrong, in a sentence"),
                Param::new(
                    "details",
                    "object",
                    "Context: names and values involved, and the next step as 'hint'",
                ),
            ],
        ),
        Type::object(
            "EndpointPermissions",
            "Permission flags of an operation",
            vec![
                Param::new("readOnly", "boolean", "Whether the operation only reads").required(),
                Param::new("destructive", "boolean", "Whether the operation overwrites or removes state")
                    .required(),
            ],
        ),
        Type::object(
            "FieldSelection",
            "What 'fields' accepts on operations that return data",
            vec![
                Param::new(
                    "presets",
                    "array",
                    "Preset names: minimal, standard, full, and the operation's own",
                ),
                Param::new("fields", "array", "Field paths of the returned type; dots reach into objects"),
                Param::new(
                    "computed_fields",
                    "array",
                    "Paths of derived values: _computed.NAME, as the operation's details list them",
                ),
            ],
        ),
        Type::object(
            "IntrospectionFilter",
            "What introspect's 'filter' narrows a list by",
            vec![
                Param::new("category", "string", "A semantic category, in any case"),
                Param::new("endpoint", "string", "An endpoint family, in any case"),
                Param::new("server", "string", "The server behind the operations"),
            ],
        ),
        Type::object(
            "PageInfo",
            "Where a page stands in its list",
            vec![
                Param::new("hasNextPage", "boolean", "Whether more follow").required(),
                Param::new("hasPreviousPage", "boolean", "Whether some came before").required(),
                Param::new("startCursor", "string", "Stands behind the first item; give it as 'before'"),
                Param::new("endCursor", "string", "Stands behind the last item; give it as 'after'"),
                Param::new("totalCount", "integer", "How many there are altogether, with 'include_total'"),
            ],
        ),
        Type::object(
            RESULT_QUERY,
            "What works on any JSON result, beside an operation's own parameters and where none of them has the name. \
             All but 'fields' work on its list: the whole result, or the only list of objects in it",
            params::of_anything(),
        ),
        Type {
            name: "Json".to_owned(),
            description: "Any JSON value".to_owned(),
            shape: define::Shape::Scalar,
        },
    ]
}
