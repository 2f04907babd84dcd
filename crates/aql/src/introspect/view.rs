//! What lists, details and `_protocol` look like.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::{
    danger::DangerLevel,
    define::{Example, Relationships},
    error::{Code, Error},
    operation::Operation,
    param::Param,
    profile::Mode,
    query::{Style, params},
    registry::{CONFORMANCE, Registry, SPEC_VERSION},
    shared,
    types::RESULT_QUERY,
};

/// How much of what may be left out is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Detail {
    pub(super) description: bool,
    examples: bool,
    /// Whether what hundreds of operations take alike is told with each of them.
    controls: bool,
}

impl Detail {
    const FULL: Self = Self { description: true, examples: true, controls: true };
    /// Everything that is an operation's own.
    pub(super) const USUAL: Self = Self { controls: false, ..Self::FULL };

    /// Reads `fields`, whose type was checked.
    pub(super) fn read(params: &Map<String, Value>) -> Result<Self, Error> {
        match params.get("fields") {
            None => Ok(Self::USUAL),
            Some(Value::String(preset)) => match preset.as_str() {
                "full" => Ok(Self::FULL),
                "standard" => Ok(Self { examples: false, ..Self::USUAL }),
                "minimal" => Ok(Self { description: false, examples: false, ..Self::USUAL }),
                other => {
                    let message = format!(
                        "Parameter 'fields' must be 'minimal', 'standard', 'full' or an array, got '{other}'"
                    );
                    Err(Error::new(Code::InvalidEnum, message).with("param_name", "fields"))
                }
            },
            Some(keys) => {
                let has = |name: &str| keys.as_array().is_some_and(|all| all.iter().any(|key| key == name));
                Ok(Self { description: has("description"), examples: has("examples"), ..Self::USUAL })
            }
        }
    }
}

/// `_protocol` of the list as text, open at its end for danger levels, session and page.
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
            "confirmation": registry.policy.tokens,
            "dangerous_operations": true,
            "execution_safety_loop": registry.safety_loop(),
        },
        "limits": registry.limits(),
        "concurrency": registry.concurrency,
        "supports_etag": registry.supports_etag,
        "max_concurrent_requests": registry.max_concurrent_requests(),
    });
    // The specification's modes are three and its schema closed, so this one is told as a capability.
    if let (Value::Object(protocol), Mode::Discrete) = (&mut protocol, registry.mode()) {
        protocol.remove("mode");
        if let Some(Value::Object(capabilities)) = protocol.get_mut("capabilities") {
            capabilities.insert("discrete_tools".to_owned(), true.into());
        }
    }
    let text = protocol.to_string();
    text.strip_suffix('}').unwrap_or(&text).to_owned()
}

/// `_protocol` of an answer to a question about operations, open at its end: whoever asks knows the adapter already.
pub(super) fn brief_protocol() -> String {
    format!("{{\"version\":\"{SPEC_VERSION}\"")
}

/// The operations above their harmless neighbours, by level, as text to be added to `_protocol`.
pub(super) fn danger_levels(operations: &[&Operation]) -> String {
    let mut levels = Map::new();
    for level in DangerLevel::ALL.into_iter().filter(|level| *level >= DangerLevel::Destructive) {
        let of_level = operations.iter().filter(|operation| operation.danger().level == level);
        let names: Vec<&str> = of_level.map(|operation| operation.name().as_str()).collect();
        if !names.is_empty() {
            levels.insert(level.as_str().to_owned(), json!(names));
        }
    }
    if levels.is_empty() { String::new() } else { format!(",\"danger_levels\":{}", Value::Object(levels)) }
}

/// An operation as lists show it.
pub(super) fn info(registry: &Registry, operation: &Operation) -> Value {
    narrowed_info(registry, operation, Detail::USUAL)
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
    // An example that was only made up from the types says nothing that hundreds of others do not.
    let told =
        |example: &&Example| detail.controls || !operation.is_foreign() || !example.description.is_empty();
    let examples: Vec<Value> = operation
        .examples
        .iter()
        .filter(told)
        .map(|example| {
            let request = operation.example_request(example);
            match example.description.as_str() {
                "" => json!({"request": request}),
                description => json!({"description": description, "request": request}),
            }
        })
        .collect();
    if let Value::Object(details) = &mut details {
        details.insert("mcpTool".to_owned(), registry.tool_name(operation).into());
        details.insert("permissions".to_owned(), json!(operation.category().permissions()));
        details.insert("parameters".to_owned(), parameters(operation, detail));
        details.insert("returns".to_owned(), returns(operation));
        if detail.examples && !(examples.is_empty() && operation.is_foreign()) {
            details.insert("examples".to_owned(), examples.into());
        }
        details.extend(abilities(operation, detail));
    }
    details
}

fn parameters(operation: &Operation, detail: Detail) -> Value {
    if detail.controls || !operation.is_foreign() {
        return json!(operation.params().iter().map(|param| param.info()).collect::<Vec<_>>());
    }
    let mut listed: Vec<Value> = operation.own_params().iter().map(|param| json!(param.info())).collect();
    listed.extend(added(operation));
    listed.into()
}

/// What is added to every operation of which nothing is known, in a line.
fn added(operation: &Operation) -> Vec<Value> {
    let others = operation.added_params().iter().filter(|param| !is_control(operation, param));
    let mut listed: Vec<Value> = others.map(|param| json!(param.info())).collect();
    if let Some((control, text)) = control_for_all(operation) {
        let mut info = json!(control.info());
        if let Value::Object(info) = &mut info {
            info.insert("description".to_owned(), text.into());
        }
        listed.push(info);
    }
    listed
}

/// The control that stands for all that are added to an operation: its description names the others, and says where
/// their types are.
pub(super) fn control_for_all(operation: &Operation) -> Option<(&Param, String)> {
    let added = operation.added_params().iter().map(Arc::as_ref);
    let controls: Vec<&Param> = added.filter(|param| is_control(operation, param)).collect();
    let first = controls.iter().find(|param| param.name() == shared::FIELDS).or_else(|| controls.first())?;
    let named = |name: &&&str| **name != first.name() && controls.iter().any(|param| param.name() == **name);
    let others: Vec<&str> = COMMON_CONTROLS.iter().filter(named).copied().collect();
    let about = if first.name() == shared::FIELDS { "Result fields to keep" } else { "Of the result" };
    Some((first, format!("{about}; also {}, …: type {RESULT_QUERY}", others.join(", "))))
}

fn is_control(operation: &Operation, param: &Param) -> bool {
    param.name() == shared::FIELDS || operation.is_control(param.name())
}

/// The controls worth naming; the type has them all.
const COMMON_CONTROLS: [&str; 5] = ["filter", "sort", "aggregate", "first", "after"];

/// What an operation can do beyond taking parameters and answering.
fn abilities(operation: &Operation, detail: Detail) -> Map<String, Value> {
    let mut abilities = Map::new();
    if let Some(queried) = operation.queried() {
        let collection = queried.collection();
        if !collection.computed().is_empty() {
            abilities.insert("computed_fields".to_owned(), params::computed_fields(collection));
        }
        if operation.is_control("aggregate") && (detail.controls || !operation.is_foreign()) {
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
