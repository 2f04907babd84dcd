//! The adapter as Markdown with YAML front matter.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::{Operation, Param, build::Built};
use crate::{category::Category, discover::yaml};

pub(super) fn markdown(built: &Built) -> String {
    let adapter = &built.adapter;
    let mut operations = Map::new();
    for category in Category::ALL {
        let of_category: Vec<Value> = adapter
            .operations
            .iter()
            .filter(|operation| operation.category == category)
            .map(operation)
            .collect();
        if !of_category.is_empty() {
            operations.insert(category.as_str().to_ascii_lowercase(), of_category.into());
        }
    }
    let target = json!({
        "base_url": adapter.base_url, "transport": "native", "protocol": "custom", "serialization": "json",
    });
    let front = yaml::emit(&[
        ("name", adapter.name.as_str().into()),
        ("type", "adapter".into()),
        ("version", adapter.version.as_str().into()),
        ("description", adapter.description.as_str().into()),
        ("target", target),
        ("auth", adapter.auth.clone().unwrap_or_default().into()),
        ("trust", json!(adapter.trust)),
        ("operations", operations.into()),
    ]);
    format!("---\n{front}---\n\n{}", body(built))
}

fn operation(operation: &Operation) -> Value {
    let mut out = Map::new();
    out.insert("name".to_owned(), operation.name.as_str().into());
    out.insert("maps_to".to_owned(), operation.maps_to.as_str().into());
    out.extend(operation.description.as_ref().map(|text| ("description".to_owned(), text.as_str().into())));
    out.extend(operation.danger.map(|level| ("danger_level".to_owned(), level.as_str().into())));
    if !operation.params.is_empty() {
        let params: Map<String, Value> =
            operation.params.iter().map(|param| (param.name.clone(), self::param(param))).collect();
        out.insert("params".to_owned(), params.into());
    }
    if let Some(returns) = &operation.returns {
        out.insert("response".to_owned(), json!(returns));
    }
    out.into()
}

fn param(param: &Param) -> Value {
    let mut out = match serde_json::to_value(&param.rules) {
        Ok(Value::Object(rules)) => rules,
        _ => Map::new(),
    };
    out.insert("type".to_owned(), param.kind.as_str().into());
    out.insert("required".to_owned(), param.required.into());
    if param.sensitive {
        out.insert("sensitive".to_owned(), true.into());
    }
    out.into()
}

/// Only our own words and checked names stand outside the settings, so nothing a server said is taken for Markdown.
fn body(built: &Built) -> String {
    let adapter = &built.adapter;
    let mut text = format!(
        "# {}\n\nWhat a gateway serves of one MCP server: {} operations. Names, endpoints, danger levels and \
         descriptions\nabove may be edited; `aqueduct check {}{}` tells every mistake. Where each field comes from is in\n\
         `{}.provenance.json`, what somebody should look over in `{}.report.md`.\n",
        adapter.name,
        adapter.operations.len(),
        adapter.name,
        super::FILE_ENDING,
        adapter.name,
        adapter.name,
    );
    for category in Category::ALL {
        let mut of_category =
            adapter.operations.iter().filter(|operation| operation.category == category).peekable();
        if of_category.peek().is_some() {
            let _ = write!(text, "\n## {category}\n\n");
        }
        for operation in of_category {
            let danger = operation.danger.map_or("", |level| level.as_str());
            let _ = writeln!(text, "- `{}` ({danger})", operation.name);
        }
    }
    text
}
