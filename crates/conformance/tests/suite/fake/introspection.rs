//! What the adapter says of itself, truly or not.

use serde_json::{Map, Value, json};

use super::{Fake, Fault, failure, success};

fn parameter(name: &str, kind: &str, required: bool, more: Value) -> Value {
    let mut parameter = json!({"name": name, "type": kind, "required": required, "description": name});
    parameter.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    parameter
}

impl Fake {
    pub(super) fn parameters(&self, operation: &str) -> Vec<Value> {
        let id = || parameter("widget_id", "string", true, json!({}));
        let (least, most) = if self.has(Fault::DocumentsAnotherRange) { (50, 90) } else { (1, 9) };
        let fields = parameter("fields", "string | string[]", false, json!({}));
        match operation {
            "introspect" => vec![
                parameter("query", "string", true, json!({"enum": ["operations", "types"]})),
                parameter("name", "string", false, json!({})),
            ],
            "create_widget" => {
                let size = json!({"default": least + 1, "minimum": least, "maximum": most});
                let pattern = json!({"pattern": "^[a-z]+$", "minLength": 2, "maxLength": 40});
                vec![
                    parameter("widget_name", "string", true, pattern),
                    parameter("color", "string", true, json!({"enum": ["red", "blue"]})),
                    parameter("size", "integer", self.has(Fault::DocumentsAnotherRange), size),
                ]
            }
            "get_widget" => vec![id(), fields],
            "list_widgets" if self.has(Fault::DocumentsRefused) => {
                vec![parameter("sort", "object", false, json!({}))]
            }
            "list_widgets" if self.has(Fault::CamelCaseParameter) => {
                vec![parameter("pageSize", "integer", false, json!({}))]
            }
            "update_widget" => vec![id(), parameter("input", "object", true, json!({}))],
            "delete_widget" => vec![id()],
            _ => vec![],
        }
    }

    fn list(&self) -> Value {
        let family = |category: &str| match self.fault {
            Fault::NamesNoFamily => String::new(),
            _ => category.to_lowercase(),
        };
        let hidden = match self.fault {
            Fault::HidesIntrospect => "introspect",
            Fault::HidesOperation => "delete_widget",
            _ => "",
        };
        let shown = self.operations().into_iter().filter(|(name, _)| *name != hidden);
        let operations: Vec<Value> = shown
            .map(|(name, category)| {
                let family = family(category);
                self.described(json!({
                    "name": name, "semantic_category": category, "endpoint": family, "description": name
                }))
            })
            .collect();
        let selection = !self.has(Fault::OffersNoSelection);
        let capabilities = json!({"batch": !self.has(Fault::HasNoBatch), "field_selection": selection});
        let protocol = json!({"version": "1.0.0-draft", "capabilities": capabilities});
        success(json!({"_protocol": protocol, "operations": operations}))
    }

    fn detail(&self, name: &str) -> Value {
        let Some(category) = self.category(name) else { return Value::Null };
        if self.has(Fault::ListsWithoutDetail) && name == "list_widgets" {
            return Value::Null;
        }
        let returns = match name {
            "create_widget" | "get_widget" | "update_widget" => json!({"name": "Widget", "kind": "object"}),
            _ => json!({"name": "Json", "kind": "scalar"}),
        };
        let family = if self.has(Fault::NamesNoFamily) { String::new() } else { category.to_lowercase() };
        self.described(json!({
            "name": name, "semantic_category": category, "endpoint": family, "mcpTool": self.tool(category),
            "description": name, "parameters": self.parameters(name), "returns": returns,
            "permissions": {
                "readOnly": category == "READ" || name == "get_widget", "destructive": category == "DELETE"
            },
        }))
    }

    fn described(&self, mut record: Value) -> Value {
        if self.has(Fault::DescribesMore) {
            record["danger"] = json!("none");
        }
        record
    }

    pub(super) fn introspect(&self, params: &Map<String, Value>) -> Value {
        let name = params.get("name").and_then(Value::as_str);
        let types = json!([{"name": "Widget", "kind": "object"}, {"name": "Json", "kind": "scalar"}]);
        let note = if self.has(Fault::ReadOnlyUntold) { "When" } else { "When; read-only" };
        let mut fields = self.parameters("create_widget");
        fields.push(parameter("widget_id", "string", true, json!({"description": "The id; read-only"})));
        fields.push(parameter("created_at", "string", true, json!({"description": note})));
        let widget = json!({"name": "Widget", "kind": "object", "fields": fields});
        match (params.get("query").and_then(Value::as_str), name) {
            (Some("types"), _) if self.has(Fault::HasNoTypes) => {
                failure("INTROSPECTION_ERROR", "types are not kept".to_owned())
            }
            (Some("types"), None) => success(json!({"types": types})),
            (Some("types"), Some(name)) => success(json!({"type": (name == "Widget").then_some(widget)})),
            (_, None) => self.list(),
            (_, Some(name)) => success(json!({"operation": self.detail(name)})),
        }
    }
}
