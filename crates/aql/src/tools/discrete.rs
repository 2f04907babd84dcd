//! Every operation as a tool of its own, for clients that search tools themselves. Its parameters are the tool's
//! arguments; everything else about a call is the same.

use serde_json::{Map, Value, json};

use super::Tool;
use crate::{
    answer_schema,
    category::Category,
    danger::DangerLevel,
    introspect,
    operation::Operation,
    param::Param,
    registry::{Endpoint, Registry},
    shared,
};

/// One tool for each operation that a caller may see.
pub(super) fn list(registry: &Registry) -> Vec<Tool> {
    registry.visible().map(|operation| tool(registry, operation)).collect()
}

fn tool(registry: &Registry, operation: &Operation) -> Tool {
    let read_only = operation.category().permissions().read_only;
    Tool {
        name: registry.tool_name(operation),
        description: operation.description().to_owned(),
        input_schema: input_schema(registry, operation),
        read_only,
        destructive: !read_only && operation.danger().level >= DangerLevel::Destructive,
        endpoint: Endpoint::Unified,
    }
}

/// What a call may hold, with the types that it needs and no others.
fn input_schema(registry: &Registry, operation: &Operation) -> Value {
    let own = operation.own_params().iter().map(|param| (&**param, own(registry, operation, param)));
    let properties: Map<String, Value> =
        own.chain(added(operation)).map(|(param, schema)| (param.name().to_owned(), schema)).collect();
    let properties = Value::Object(properties);
    let needed = operation.params().iter().filter(|param| param.required && param.unless.is_none());
    let required: Vec<&str> = needed.map(|param| param.name()).collect();
    let definitions = answer_schema::definitions_used(registry, &properties);
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties);
    // Where not every control is listed, none may be forbidden. Unknown names are refused when they come.
    if operation.server().is_none() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    schema.into()
}

fn own(registry: &Registry, operation: &Operation, param: &Param) -> Value {
    let mut schema = with_default(param);
    if let (Value::Object(schema), Some(fields)) = (&mut schema, bound_fields(registry, operation, param)) {
        schema.insert("properties".to_owned(), fields);
    }
    schema
}

/// The parameters that an operation has because of what it is. Hundreds of tools of other servers have the same, so one
/// of them stands for all there, as it does in introspection.
fn added(operation: &Operation) -> Vec<(&Param, Value)> {
    if operation.server().is_none() {
        return operation.added_params().iter().map(|param| (&**param, with_default(param))).collect();
    }
    introspect::control_for_all(operation)
        .map(|(param, text)| {
            let mut schema = with_default(param);
            if let Value::Object(schema) = &mut schema {
                schema.insert("description".to_owned(), text.into());
            }
            (param, schema)
        })
        .into_iter()
        .collect()
}

fn with_default(param: &Param) -> Value {
    let mut schema = answer_schema::param(param);
    if let (Value::Object(schema), Some(default)) = (&mut schema, &param.default) {
        schema.insert("default".to_owned(), default.clone());
    }
    schema
}

/// The fields of an object whose type stands behind it, as an UPDATE's `input` has them. There, null removes a field.
fn bound_fields(registry: &Registry, operation: &Operation, param: &Param) -> Option<Value> {
    let fields = param.fields_of.and_then(|id| registry.types().fields(id))?;
    let removes = operation.category() == Category::Update
        && operation.server().is_none()
        && param.name() == shared::INPUT;
    let schema = |field: &Param| match answer_schema::param(field) {
        schema if removes => json!({"anyOf": [schema, {"type": "null"}]}),
        schema => schema,
    };
    let fields = fields.iter().map(|field| (field.name().to_owned(), schema(field)));
    Some(fields.collect::<Map<_, _>>().into())
}
