//! Adopting tools in tests, and writing an upstream's arguments as a caller here would.

use std::sync::Arc;

use aql::{
    adopt::{self, Adopted, Code, Operation, Options, Taken},
    classify::{Overrides, Trust},
    define,
    listed::{self, ListedTool},
    policy::Policy,
    registry::{Endpoint, Registry},
    request::Call,
};
use serde_json::{Map, Value, json};

pub(crate) fn listed(tools: Value) -> Vec<ListedTool> {
    listed::read(tools).unwrap()
}

pub(crate) fn adopt_as(server: &str, tools: &[ListedTool], taken: &mut Taken) -> Adopted {
    let prefix = format!("{}_", server.replace(['-', '.'], "_"));
    let overrides = Overrides::default();
    let options = Options { server, prefix: &prefix, trust: Trust::Claimed, overrides: &overrides };
    adopt::adopt(tools, &options, taken)
}

/// A tool of this name and schema, adopted by the server `up`, with the registry that it makes.
pub(crate) struct One {
    pub(crate) adopted: Adopted,
    pub(crate) registry: Arc<Registry>,
}

pub(crate) fn one(name: &str, schema: Value) -> One {
    many(json!([{"name": name, "description": "Does something", "inputSchema": schema}]))
}

pub(crate) fn many(tools: Value) -> One {
    let adopted = adopt_as("up", &listed(tools), &mut Taken::default());
    let registry = registry(&adopted);
    One { adopted, registry }
}

#[track_caller]
pub(crate) fn registry(adopted: &Adopted) -> Arc<Registry> {
    let asking = Policy { gating: true, tokens: true, ..Policy::default() };
    let built = Registry::builder("test")
        .policy(asking)
        .types(adopted.types.clone())
        .operations(adopted.operations.iter().map(|operation| operation.definition.clone()))
        .build();
    Arc::new(built.unwrap_or_else(|problems| panic!("{problems}")))
}

impl One {
    pub(crate) fn operation(&self) -> &Operation {
        &self.adopted.operations[0]
    }

    pub(crate) fn param(&self, name: &str) -> &define::Param {
        let params = &self.operation().params;
        match params.iter().find(|param| param.definition.name == name) {
            Some(param) => &param.definition,
            None => panic!("no '{name}' among {params:?}"),
        }
    }

    pub(crate) fn codes(&self) -> Vec<Code> {
        self.adopted.warnings.iter().map(|warning| warning.code).collect()
    }

    /// The arguments that a call of the first operation sends, or the message of the refusal.
    pub(crate) fn sent(&self, params: Value) -> Result<Value, String> {
        sent(&self.registry, self.operation(), params)
    }
}

/// The arguments that a call sends.
pub(crate) fn sent(registry: &Arc<Registry>, operation: &Operation, params: Value) -> Result<Value, String> {
    let Value::Object(params) = params else { panic!("parameters are an object") };
    let call = Call { operation: operation.definition.name.clone(), params };
    let mut valid = registry.validate(Endpoint::Unified, call).map_err(|error| error.message)?;
    Ok(Value::Object(operation.wiring.arguments(valid.take_params())))
}

/// An upstream's arguments as a caller here writes them: names by a rule of the test's own, places as published.
pub(crate) fn outer(arguments: &Map<String, Value>, operation: &Operation, types: &[define::Type]) -> Value {
    let mut params = Map::new();
    let mut input = Map::new();
    let mut others = Map::new();
    for (name, value) in arguments {
        let known = operation.params.iter().find(|param| param.original_name == *name);
        match known {
            Some(param) => {
                let value = renamed(value, &param.definition, types);
                let into = if param.inside_input { &mut input } else { &mut params };
                into.insert(param.definition.name.clone(), value);
            }
            None => drop(others.insert(name.clone(), value.clone())),
        }
    }
    if operation.definition.params.iter().any(|param| param.name == "additional_params") && !others.is_empty()
    {
        params.insert("additional_params".to_owned(), Value::Object(others));
    }
    if operation.definition.semantic_category.as_deref() == Some("UPDATE") {
        params.insert("input".to_owned(), Value::Object(input));
    }
    Value::Object(params)
}

fn renamed(value: &Value, param: &define::Param, types: &[define::Type]) -> Value {
    let kind = param.kind.as_deref().unwrap_or_default();
    match value {
        Value::Object(object) => {
            let fields = kind.split(" | ").find_map(|part| fields_of(part, types));
            let Some(fields) = fields else { return value.clone() };
            let field = |name: &str| fields.iter().find(|field| field.name == snake_case(name));
            object
                .iter()
                .map(|(name, value)| match field(name) {
                    Some(field) => (field.name.clone(), renamed(value, field, types)),
                    None => (name.clone(), value.clone()),
                })
                .collect()
        }
        Value::Array(elements) => {
            let named = kind.split(" | ").find_map(|part| part.strip_suffix("[]"));
            let element = match (&param.items, named) {
                (Some(items), _) => items.as_ref().clone(),
                (None, Some(name)) => define::Param::new("item", name, ""),
                (None, None) => return value.clone(),
            };
            elements.iter().map(|value| renamed(value, &element, types)).collect()
        }
        _ => value.clone(),
    }
}

fn fields_of<'a>(name: &str, types: &'a [define::Type]) -> Option<&'a [define::Param]> {
    types.iter().find(|known| known.name == name).and_then(|known| match &known.shape {
        define::Shape::Object { fields } => Some(fields.as_slice()),
        _ => None,
    })
}

/// Another writing of the rule, for names without surprises.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let letters: Vec<char> = name.chars().collect();
    for (place, letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(place + 1);
        let hump = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                !before.is_ascii_uppercase() && before.is_ascii_alphanumeric()
                    || before.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase)
            });
        if hump || !letter.is_ascii_alphanumeric() {
            snake.push('_');
        }
        if letter.is_ascii_alphanumeric() {
            snake.push(letter.to_ascii_lowercase());
        }
    }
    snake.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}
