//! What there is, by introspection alone.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Run;
use crate::{
    Capabilities, Introspection, Mode,
    answer::{at, succeeded, text_at},
    catalog::{Operation, Type},
};

impl Run<'_> {
    pub(super) fn discover(&mut self) {
        let tools = self.adapter.tools();
        let served: Vec<&Value> = tools.iter().filter(|tool| takes_operations(tool)).collect();
        let names: Vec<String> =
            served.iter().filter_map(|tool| at(tool, "name").as_str()).map(str::to_owned).collect();
        let right_tools = match self.mode {
            Mode::Crude => names.len() > 1,
            Mode::Single => names.len() == 1,
        };

        let (tool, operations_list) = self.first_that_introspects(&names);
        self.catalog.tool = tool;
        let types_list = self.introspect(json!({"query": "types"}));
        let operation_details = self.details(&operations_list);
        self.catalog.operations = operation_details.iter().filter_map(Operation::read).collect();
        let types = self.types(&types_list);
        self.catalog.types = types.into_iter().map(|kind| (kind.name.clone(), kind)).collect();

        let protocol = at(&operations_list, "data._protocol");
        let flag = |name: &str| at(protocol, &format!("capabilities.{name}")) == true;
        self.evidence.spec_version = text_at(protocol, "version").to_owned();
        self.evidence.capabilities =
            Capabilities { field_selection: flag("field_selection"), batch_operations: flag("batch") };
        if right_tools && succeeded(&operations_list) {
            self.evidence.endpoint_modes = vec![self.mode.to_string()];
        }
        self.live.tools = tools;
        self.evidence.introspection = Introspection { operations_list, types_list, operation_details };
    }

    /// The tool is not known before its answer: profiles name their families as they like.
    fn first_that_introspects(&mut self, tools: &[String]) -> (String, Value) {
        let mut last = (String::new(), Value::Null);
        for tool in tools {
            let answer = self.call_through(tool, "introspect", &params(json!({"query": "operations"})));
            let found = succeeded(&answer);
            last = (tool.clone(), answer);
            if found {
                break;
            }
        }
        last
    }

    fn introspect(&mut self, asked: Value) -> Value {
        let tool = self.catalog.tool.clone();
        self.call_through(&tool, "introspect", &params(asked))
    }

    fn details(&mut self, list: &Value) -> Vec<Value> {
        let mut details = Vec::new();
        for name in names(at(list, "data.operations")) {
            let answer = self.introspect(json!({"query": "operations", "name": name}));
            details.extend(Some(at(&answer, "data.operation").clone()).filter(|detail| !detail.is_null()));
        }
        details
    }

    fn types(&mut self, list: &Value) -> Vec<Type> {
        let mut types = Vec::new();
        for name in names(at(list, "data.types")) {
            let answer = self.introspect(json!({"query": "types", "name": name}));
            types.extend(Type::deserialize(at(&answer, "data.type")).ok());
        }
        types
    }
}

/// Other tools may stand beside those of MCP-AQL.
pub(super) fn takes_operations(tool: &Value) -> bool {
    at(tool, "inputSchema.properties.operation").is_object()
}

fn names(list: &Value) -> Vec<String> {
    let names = list.as_array().into_iter().flatten().filter_map(|record| at(record, "name").as_str());
    names.map(str::to_owned).collect()
}

fn params(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
