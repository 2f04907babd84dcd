//! Requests built from introspection: what a careful client would send that has read nothing else.

use serde_json::{Map, Value};

use super::Run;
use crate::catalog::{Operation, Parameter};

/// Whether values are generated or taken from the documented examples where there are any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Generated,
    Examples,
}

impl Run<'_> {
    /// The required parameters with values that fit, and `dry_run` where it is offered.
    pub(super) fn request(&mut self, operation: &Operation) -> Option<Map<String, Value>> {
        let mut params = self.required(operation, Source::Generated)?;
        if operation.can_dry_run() {
            params.insert("dry_run".to_owned(), Value::Bool(true));
        }
        Some(params)
    }

    pub(super) fn required(&mut self, operation: &Operation, source: Source) -> Option<Map<String, Value>> {
        let mut params = Map::new();
        for parameter in operation.required() {
            let value = self.value(operation, parameter, source)?;
            params.insert(parameter.name.clone(), value);
        }
        Some(params)
    }

    pub(super) fn value(
        &mut self,
        operation: &Operation,
        parameter: &Parameter,
        source: Source,
    ) -> Option<Value> {
        if let Some(known) = self.known_value(operation, parameter) {
            return Some(known);
        }
        let example = operation.example(&parameter.name).cloned();
        if parameter.name == "input" && operation.category == "UPDATE" {
            return example.or_else(|| self.input(operation));
        }
        if source == Source::Examples && example.is_some() {
            return example;
        }
        self.sampler.value(parameter, &self.catalog.types).or(example)
    }

    /// A value of something that exists. What is created needs names of its own, so only identifiers
    /// are taken for it; what is deleted for real is never something that is still needed.
    fn known_value(&self, operation: &Operation, parameter: &Parameter) -> Option<Value> {
        let name = parameter.name.as_str();
        if parameter.allowed.is_some() || (operation.category == "DELETE" && !operation.can_dry_run()) {
            return None;
        }
        if operation.category == "CREATE" && !is_identifier(name) {
            return None;
        }
        let by_name = self.known.get(name);
        let by_end = || {
            let ends =
                |(known, _): &(&String, &Value)| is_identifier(known) && name.ends_with(&format!("_{known}"));
            self.known.iter().find(ends).map(|(_, value)| value)
        };
        by_name.or_else(by_end).cloned()
    }

    /// A change for an update that shows no example: a field that can be given when its type is created.
    fn input(&mut self, operation: &Operation) -> Option<Value> {
        let creates = self.catalog.of_category("CREATE");
        let same_type = |create: &&Operation| create.returns.name == operation.returns.name;
        let given: Vec<&Parameter> =
            creates.iter().filter(same_type).flat_map(|create| &create.parameters).collect();
        let fields = self.catalog.fields(operation).to_vec();
        let is_given = |field: &&Parameter| given.iter().any(|parameter| parameter.name == field.name);
        let field = fields.iter().find(is_given)?;
        let value = self.sampler.value(field, &self.catalog.types)?;
        Some(Value::Object(Map::from_iter([(field.name.clone(), value)])))
    }
}

pub(super) fn is_identifier(name: &str) -> bool {
    name == "id" || name.ends_with("_id")
}
