//! Operations of real servers: the saved tool lists that lie beside the project, turned into what a gateway would
//! serve. Only sizes are measured with them, so shapes that a parameter cannot have are taken as anything.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use aql::{
    category::Category,
    classify::{self, Overrides, Trust},
    define::{Operation, Param, Type},
    listed::{self, ListedTool},
    registry::{Builder, Registry},
};
use serde_json::{Map, Value};

use crate::Result;

/// Operations and the types they use.
pub(crate) struct Captured {
    pub(crate) operations: Vec<Operation>,
    pub(crate) types: Vec<Type>,
    pub(crate) tools: Vec<Value>,
}

const ANYTHING: &str = "string | number | boolean | object | array";

/// Where the captures are, if they are there.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/eval");
    folder.is_dir().then_some(folder)
}

/// Every tool of every capture.
pub(crate) fn read(folder: &Path) -> Result<Captured> {
    let mut captured = Captured { operations: Vec::new(), types: Vec::new(), tools: Vec::new() };
    let mut taken = BTreeMap::new();
    let entries: std::io::Result<Vec<_>> = std::fs::read_dir(folder.join("captures"))?.collect();
    let mut paths: Vec<PathBuf> = entries?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(path.join("raw-tools-list.json"))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let server = snake_case(name.trim_end_matches(".dev-namespaces"));
        let raw: Value = serde_json::from_str(&text)?;
        let list = raw.pointer("/result/tools").or_else(|| raw.get("tools")).unwrap_or(&raw);
        captured.tools.extend(list.as_array().into_iter().flatten().cloned());
        for mut tool in listed::parse(&text)? {
            tool.server = Some(server.clone());
            captured.adopt(&tool, &server, &mut taken);
        }
    }
    Ok(captured)
}

/// What people asked of these servers.
pub(crate) fn queries(folder: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(folder.join("retrieval/vendor-evals/queries.jsonl"))?;
    let query = |line: &str| -> Result<String> {
        let line: Value = serde_json::from_str(line)?;
        Ok(line.get("query").and_then(Value::as_str).unwrap_or_default().to_owned())
    };
    text.lines().map(query).collect()
}

impl Captured {
    /// A builder with all of them beside the built-in workspace, as a gateway serves them.
    pub(crate) fn builder(&self) -> Builder {
        let (operations, types) = gateway::adapters::built_in();
        let builder = Registry::builder("aqueduct").operations(operations).types(types);
        builder.operations(self.operations.clone()).types(self.types.clone())
    }

    fn adopt(&mut self, tool: &ListedTool, server: &str, taken: &mut BTreeMap<String, usize>) {
        for judged in classify::classify(tool, Trust::Claimed, &Overrides::default()).operations {
            let mut name = format!("{server}_{}", judged.name);
            let count = taken.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
            if *count > 1 {
                name = format!("{name}_{count}");
            }
            let category = judged.judgement.category;
            let description = match tool.description.trim() {
                "" => name.replace('_', " "),
                text => text.to_owned(),
            };
            let mut operation = Operation::new(category, &name, &description).queried_as_returned();
            operation = operation.danger(judged.judgement.danger, &[]);
            operation.server = Some(server.to_owned());
            let chosen = judged.choice.as_ref().map(|choice| choice.parameter.as_str());
            let mut params = params(&tool.input_schema, chosen);
            if category == Category::Update {
                let (beside, inside): (Vec<Param>, Vec<Param>) =
                    params.into_iter().partition(|param| param.required);
                let type_name = format!("{}Input", pascal_case(&name));
                self.types.push(Type::object(&type_name, "Changes", inside));
                params = beside;
                params.push(Param::new("input", &type_name, "What to change").required());
            }
            operation.params = params;
            self.operations.push(operation);
        }
    }
}

fn params(schema: &Map<String, Value>, without: Option<&str>) -> Vec<Param> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut params: Vec<Param> = Vec::new();
    for (name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if without == Some(name.as_str()) {
            continue;
        }
        let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let mut param = Param::new(&snake_case(name), kind(schema), text);
        param.required = required.contains(&name.as_str());
        let values = schema.get("enum").and_then(Value::as_array);
        param.allowed = values.filter(|all| all.iter().all(Value::is_string)).cloned().unwrap_or_default();
        param.minimum = schema.get("minimum").and_then(Value::as_f64);
        param.maximum = schema.get("maximum").and_then(Value::as_f64);
        if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            let items_text = items.get("description").and_then(Value::as_str).unwrap_or_default();
            param.items = Some(Box::new(Param::new("item", kind(items), items_text)));
        }
        if params.iter().all(|known| known.name != param.name) {
            params.push(param);
        }
    }
    params
}

fn kind(schema: &Value) -> &'static str {
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => "string",
        Some("integer") => "integer",
        Some("number") => "number",
        Some("boolean") => "boolean",
        Some("object") => "object",
        Some("array") => "array",
        _ => ANYTHING,
    }
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    let mut before = '_';
    for now in name.chars() {
        let starts = now.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit());
        if starts && !out.ends_with('_') {
            out.push('_');
        }
        if now.is_ascii_alphanumeric() {
            out.push(now.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
        before = now;
    }
    let out = out.trim_end_matches('_');
    if out.starts_with(|first: char| first.is_ascii_lowercase()) {
        out.to_owned()
    } else {
        format!("p_{out}")
    }
}

fn pascal_case(name: &str) -> String {
    let word = |word: &str| {
        let mut chars = word.chars();
        chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars).collect::<String>()
    };
    name.split('_').map(word).collect()
}
