//! What lists, details and `_protocol` look like.

use serde_json::{Map, Value, json};

use crate::{
    danger::DangerLevel,
    define::Relationships,
    error::{Code, Error},
    operation::Operation,
    param::Param,
    query::{Style, params},
    registry::{CONFORMANCE, Registry, SPEC_VERSION},
};

/// How much of what may be left out is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Detail {
    pub(super) description: bool,
    examples: bool,
}

impl Detail {
    pub(super) const FULL: Self = Self { description: true, examples: true };

    /// Reads `fields`, whose type was checked.
    pub(super) fn read(params: &Map<String, Value>) -> Result<Self, Error> {
        match params.get("fields") {
            None => Ok(Self::FULL),
            Some(Value::String(preset)) => match preset.as_str() {
                "full" => Ok(Self::FULL),
                "standard" => Ok(Self { description: true, examples: false }),
                "minimal" => Ok(Self { description: false, examples: false }),
                other => {
                    let message = format!(
                        "Parameter 'fields' must be 'minimal', 'standard', 'full' or an array, got '{other}'"
                    );
                    Err(Error::new(Code::InvalidEnum, message).with("param_name", "fields"))
                }
            },
            Some(keys) => {
                let has = |name: &str| keys.as_array().is_some_and(|all| all.iter().any(|key| key == name));
                Ok(Self { description: has("description"), examples: has("examples") })
            }
        }
    }
}

/// `_protocol` as text, open behind `"session_id":"`, where each session's id goes.
pub(super) fn protocol(registry: &Registry) -> String {
    let any = |can: fn(&Operation) -> bool| registry.visible().any(can);
    let pages = |operation: &Operation| {
        Style::ALL.iter().any(|style| style.params().iter().any(|name| operation.is_control(name)))
    };
    let computes = |operation: &Operation| {
        operation.queried().is_some_and(|queried| !queried.collection().computed().is_empty())
    };
    let mut protocol = json!({
        "version": SPEC_VERSION,
        "conformance": CONFORMANCE,
        "mode": registry.mode().as_str(),
        "profile": registry.profile().name(),
        "capabilities": {
            "batch": true,
            "field_selection": any(|operation| operation.selection().is_some()),
            "aggregations": any(|operation| operation.is_control("aggregate")),
            "computed_fields": any(computes),
            "pagination": any(pages),
            "relationship_queries": any(|operation| operation.relationships().is_some()),
            "warnings": true,
            "confirmation": false,
            "dangerous_operations": true,
            "execution_safety_loop": "disabled",
        },
        "limits": registry.limits(),
        "concurrency": registry.concurrency,
        "supports_etag": registry.supports_etag,
        "max_concurrent_requests": registry.max_concurrent_requests(),
    });
    let dangerous = danger_levels(registry);
    if let (Value::Object(protocol), false) = (&mut protocol, dangerous.is_empty()) {
        protocol.insert("danger_levels".to_owned(), Value::Object(dangerous));
    }
    let text = protocol.to_string();
    format!("{},\"session_id\":\"", text.strip_suffix('}').unwrap_or(&text))
}

/// The operations above their harmless neighbours, by level.
fn danger_levels(registry: &Registry) -> Map<String, Value> {
    let mut levels = Map::new();
    for level in DangerLevel::ALL.into_iter().filter(|level| *level >= DangerLevel::Destructive) {
        let names: Vec<&str> = registry
            .visible()
            .filter(|operation| operation.danger().level == level)
            .map(|operation| operation.name().as_str())
            .collect();
        if !names.is_empty() {
            levels.insert(level.as_str().to_owned(), json!(names));
        }
    }
    levels
}

/// An operation as lists show it.
pub(super) fn info(registry: &Registry, operation: &Operation) -> Value {
    narrowed_info(registry, operation, Detail::FULL)
}

/// The same with its description emptied where `fields` left it out: the key itself has to stay.
pub(super) fn narrowed_info(registry: &Registry, operation: &Operation, detail: Detail) -> Value {
    json!({
        "name": operation.name(),
        "semantic_category": operation.category(),
        "endpoint": registry.family_name(operation),
        "description": if detail.description { operation.description() } else { "" },
    })
}

/// An operation in full.
pub(super) fn details(registry: &Registry, operation: &Operation, detail: Detail) -> Value {
    let mut details = narrowed_info(registry, operation, detail);
    let examples: Vec<Value> = operation
        .examples
        .iter()
        .map(|example| {
            json!({"description": example.description, "request": operation.example_request(example)})
        })
        .collect();
    if let Value::Object(details) = &mut details {
        details.insert("mcpTool".to_owned(), registry.tool_name(operation).into());
        details.insert("permissions".to_owned(), json!(operation.category().permissions()));
        let parameters: Vec<_> = operation.params().iter().map(Param::info).collect();
        details.insert("parameters".to_owned(), json!(parameters));
        details.insert("returns".to_owned(), returns(operation));
        if detail.examples {
            details.insert("examples".to_owned(), examples.into());
        }
        details.extend(abilities(operation));
    }
    details
}

/// What an operation can do beyond taking parameters and answering.
fn abilities(operation: &Operation) -> Map<String, Value> {
    let mut abilities = Map::new();
    if let Some(queried) = operation.queried() {
        let collection = queried.collection();
        if !collection.computed().is_empty() {
            abilities.insert("computed_fields".to_owned(), params::computed_fields(collection));
        }
        if operation.is_control("aggregate") {
            abilities.insert("aggregation_support".to_owned(), params::aggregation_support(collection));
        }
    }
    if let Some(lifecycle) = operation.lifecycle() {
        abilities.insert("lifecycle".to_owned(), lifecycle.to_value());
    }
    if let Some(Relationships { types, max_depth }) = operation.relationships() {
        let told = json!({
            "supported": true,
            "directions": ["incoming", "outgoing", "both"],
            "relationship_types": types,
            "max_depth": max_depth,
        });
        abilities.insert("relationship_capabilities".to_owned(), told);
    }
    abilities
}

fn returns(operation: &Operation) -> Value {
    let returns = &operation.returns;
    let mut value = json!({"name": returns.name, "kind": returns.kind});
    if let (Value::Object(value), false) = (&mut value, returns.description.is_empty()) {
        value.insert("description".to_owned(), returns.description.as_str().into());
    }
    value
}
