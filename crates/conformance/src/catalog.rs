//! What introspection tells of an adapter, as far as the collector uses it.
//!
//! Read leniently: an adapter whose records are faulty is tested too, and the judge tells the faults.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::answer::at;

#[derive(Debug, Clone, Default)]
pub(crate) struct Catalog {
    /// The tool that answered `introspect`.
    pub(crate) tool: String,
    pub(crate) operations: Vec<Operation>,
    pub(crate) types: BTreeMap<String, Type>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Operation {
    pub(crate) name: String,
    #[serde(rename = "semantic_category")]
    pub(crate) category: String,
    #[serde(rename = "mcpTool")]
    pub(crate) tool: String,
    pub(crate) description: String,
    pub(crate) permissions: Permissions,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) returns: Returns,
    pub(crate) examples: Vec<Example>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Permissions {
    #[serde(rename = "readOnly")]
    pub(crate) read_only: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Returns {
    pub(crate) name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Example {
    request: Request,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Request {
    params: Map<String, Value>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Parameter {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) required: bool,
    pub(crate) description: String,
    pub(crate) default: Option<Value>,
    #[serde(rename = "enum")]
    pub(crate) allowed: Option<Vec<Value>>,
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) min_length: Option<usize>,
    pub(crate) max_length: Option<usize>,
    pub(crate) pattern: Option<String>,
    pub(crate) format: Option<String>,
    pub(crate) items: Option<Box<Parameter>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Type {
    pub(crate) name: String,
    pub(crate) fields: Vec<Parameter>,
    pub(crate) values: Vec<Value>,
}

impl Catalog {
    pub(crate) fn of_category(&self, category: &str) -> Vec<Operation> {
        self.operations.iter().filter(|operation| operation.category == category).cloned().collect()
    }

    /// The fields of what an operation returns, where introspection tells them.
    pub(crate) fn fields(&self, operation: &Operation) -> &[Parameter] {
        self.types.get(&operation.returns.name).map_or(&[], |kind| kind.fields.as_slice())
    }
}

impl Operation {
    /// A detail as far as it can be read; what is wrong with it costs its parameters, not its name.
    pub(crate) fn read(detail: &Value) -> Option<Self> {
        let whole = Self::deserialize(detail).ok();
        let named = || Some(Self { name: at(detail, "name").as_str()?.to_owned(), ..Self::default() });
        whole.or_else(named).filter(|operation| !operation.name.is_empty())
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    pub(crate) fn required(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.required)
    }

    pub(crate) fn example(&self, parameter: &str) -> Option<&Value> {
        self.examples.iter().find_map(|example| example.request.params.get(parameter))
    }

    /// What comes after the verb: `entity` of `create_entity`.
    pub(crate) fn noun(&self) -> &str {
        self.name.split_once('_').map_or("", |(_, noun)| noun)
    }

    pub(crate) fn can_dry_run(&self) -> bool {
        !self.permissions.read_only && self.parameter("dry_run").is_some()
    }
}
