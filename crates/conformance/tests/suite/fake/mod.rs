//! A small adapter for widgets, in memory, with one fault on demand.

mod introspection;
mod validation;

use std::collections::BTreeMap;

use conformance::{Adapter, Mode};
use serde_json::{Map, Value, json};

/// The one thing that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    AcceptsAnyEndpoint,
    AcceptsUndocumented,
    AnswersMore,
    CamelCaseParameter,
    ChangesReadOnly,
    DescribesMore,
    DocumentsAnotherRange,
    DocumentsRefused,
    DoesWithoutRequired,
    DropsField,
    ErrorIsText,
    GivesAllFields,
    HasNoBatch,
    HasNoTypes,
    HidesIntrospect,
    HidesOperation,
    IgnoresMaximum,
    LeaksInside,
    ListsWithoutDetail,
    MiscountsBatch,
    Misclassifies,
    NamesNoFamily,
    NamesNoParameter,
    OffersNoSelection,
    PassesOverUnknown,
    ReadOnlyUntold,
    UpdateForgets,
    WrongDefault,
}

pub(crate) struct Fake {
    mode: Mode,
    fault: Fault,
    widgets: BTreeMap<String, Map<String, Value>>,
    made: usize,
}

fn failure(code: &str, message: String) -> Value {
    json!({"success": false, "error": {"code": code, "message": message}})
}

fn success(data: Value) -> Value {
    json!({"success": true, "data": data})
}

impl Fake {
    pub(crate) fn new(mode: Mode, fault: Fault) -> Self {
        Self { mode, fault, widgets: BTreeMap::new(), made: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.widgets.is_empty()
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn operations(&self) -> [(&'static str, &'static str); 6] {
        let get = if self.has(Fault::Misclassifies) { "EXECUTE" } else { "READ" };
        [
            ("introspect", "READ"),
            ("create_widget", "CREATE"),
            ("get_widget", get),
            ("list_widgets", "READ"),
            ("update_widget", "UPDATE"),
            ("delete_widget", "DELETE"),
        ]
    }

    fn category(&self, name: &str) -> Option<&'static str> {
        self.operations().into_iter().find(|(known, _)| *known == name).map(|(_, category)| category)
    }

    fn tool(&self, category: &str) -> String {
        match self.mode {
            Mode::Crude => format!("widgets_{}", category.to_lowercase()),
            Mode::Single => "widgets".to_owned(),
        }
    }

    fn create(&mut self, params: &Map<String, Value>) -> Value {
        self.made += 1;
        let id = format!("w{}", self.made);
        let mut widget = params.clone();
        let default = if self.has(Fault::WrongDefault) { 3 } else { 2 };
        widget.entry("size").or_insert_with(|| json!(default));
        widget.insert("widget_id".to_owned(), json!(id));
        widget.insert("created_at".to_owned(), json!("2026-01-01"));
        if self.has(Fault::DropsField) {
            widget.remove("color");
        }
        self.widgets.insert(id, widget.clone());
        success(Value::Object(widget))
    }

    fn run(&mut self, operation: &str, params: &Map<String, Value>) -> Value {
        let id = params.get("widget_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let missing = || failure("NOT_FOUND_RESOURCE", format!("No widget '{id}'"));
        match operation {
            "introspect" => self.introspect(params),
            "create_widget" => self.create(params),
            "list_widgets" if self.has(Fault::AnswersMore) => {
                json!({"success": true, "data": [], "count": 0})
            }
            "list_widgets" => success(json!({"items": self.widgets.values().collect::<Vec<_>>()})),
            "delete_widget" => {
                self.widgets.remove(&id).map_or_else(missing, |_| success(json!({"deleted": id})))
            }
            "get_widget" => {
                let Some(widget) = self.widgets.get(&id) else { return missing() };
                let wanted = params.get("fields").and_then(Value::as_array);
                let wanted = wanted.filter(|_| !self.has(Fault::GivesAllFields));
                let shown = widget
                    .iter()
                    .filter(|(name, _)| wanted.is_none_or(|wanted| wanted.contains(&json!(name))));
                success(Value::Object(shown.map(|(name, value)| (name.clone(), value.clone())).collect()))
            }
            _ => {
                let input = params.get("input").and_then(Value::as_object).cloned().unwrap_or_default();
                let own = input.keys().find(|name| ["widget_id", "created_at"].contains(&name.as_str()));
                if let Some(name) = own.filter(|_| !self.has(Fault::ChangesReadOnly)) {
                    return failure("VALIDATION_READ_ONLY_FIELD", format!("'{name}' is read-only"));
                }
                let forgets = self.has(Fault::UpdateForgets);
                let Some(widget) = self.widgets.get_mut(&id) else { return missing() };
                if forgets {
                    widget.remove("color");
                }
                widget.extend(input);
                success(Value::Object(widget.clone()))
            }
        }
    }

    fn batch(&mut self, tool: &str, operations: &[Value]) -> Value {
        let results: Vec<Value> = operations
            .iter()
            .enumerate()
            .map(|(index, one)| {
                let result = self.call(tool, one.clone());
                json!({"index": index, "operation": one["operation"], "result": result})
            })
            .collect();
        let total = results.len() + usize::from(self.has(Fault::MiscountsBatch));
        let succeeded = results.iter().filter(|one| one["result"]["success"] == true).count();
        let summary = json!({"total": total, "succeeded": succeeded, "failed": results.len() - succeeded});
        json!({"success": true, "data": null, "results": results, "summary": summary})
    }
}

impl Adapter for Fake {
    fn tools(&mut self) -> Vec<Value> {
        let mut names: Vec<String> =
            self.operations().iter().map(|(_, category)| self.tool(category)).collect();
        names.sort();
        names.dedup();
        let schema = json!({"type": "object", "properties": {"operation": {"type": "string"}}});
        names.iter().map(|name| json!({"name": name, "inputSchema": schema})).collect()
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        if let Some(operations) = arguments["operations"].as_array() {
            if self.has(Fault::HasNoBatch) {
                return failure("VALIDATION_BATCH", "batches are not offered".to_owned());
            }
            return self.batch(tool, operations);
        }
        let operation = arguments["operation"].as_str().unwrap_or_default().to_owned();
        let params = arguments["params"].as_object().cloned().unwrap_or_default();
        let Some(category) = self.category(&operation) else {
            let message = format!("Unknown operation: '{operation}'");
            if self.has(Fault::ErrorIsText) {
                return json!({"success": false, "error": message});
            }
            return failure("NOT_FOUND_OPERATION", message);
        };
        if self.tool(category) != tool && !self.has(Fault::AcceptsAnyEndpoint) {
            let right = self.tool(category);
            return failure(
                "VALIDATION_ENDPOINT_MISMATCH",
                format!("Operation '{operation}' needs '{right}'"),
            );
        }
        self.refusal(&operation, &params).unwrap_or_else(|| self.run(&operation, &params))
    }
}
