//! Listed tools, read so that one broken part of one tool costs no more than that part.

use serde_json::{Map, Value};

use super::bundle::Warning;
use crate::{
    adopt::Severity,
    listed::{Annotations, ListedTool},
};

/// A tool that can be adopted, and what was wrong with it.
pub(super) struct Read {
    pub(super) tool: ListedTool,
    pub(super) flaws: Vec<Warning>,
}

/// Reads one entry of a list. Only one without a name is no tool.
pub(super) fn read(entry: &Map<String, Value>) -> Option<Read> {
    let name = entry.get("name")?.as_str()?.to_owned();
    let mut flaws = Vec::new();
    let mut flaw = |field: &str, expected: &str| {
        flaws.push(Warning {
            tool: Some(name.clone()),
            field: Some(field.to_owned()),
            ..Warning::new(
                "MALFORMED_TOOL",
                Severity::Warning,
                format!("'{field}' is no {expected} and is left out"),
            )
        });
    };
    let present = |object: &Map<String, Value>, key: &str| object.get(key).filter(|v| !v.is_null()).cloned();
    let mut text = |object: &Map<String, Value>, key: &str, field: &str| match present(object, key) {
        Some(Value::String(text)) => Some(text),
        Some(_) => {
            flaw(field, "text");
            None
        }
        None => None,
    };
    let title = text(entry, "title", "title");
    let description = text(entry, "description", "description").unwrap_or_default();
    let empty = Map::new();
    let given = present(entry, "annotations");
    let hints = match &given {
        Some(Value::Object(hints)) => hints,
        Some(_) => {
            flaw("annotations", "object");
            &empty
        }
        None => &empty,
    };
    let mut hint = |key: &str| match present(hints, key) {
        Some(Value::Bool(hint)) => Some(hint),
        Some(_) => {
            flaw(&format!("annotations.{key}"), "boolean");
            None
        }
        None => None,
    };
    let annotations = Annotations {
        title: None,
        read_only_hint: hint("readOnlyHint"),
        destructive_hint: hint("destructiveHint"),
        idempotent_hint: hint("idempotentHint"),
        open_world_hint: hint("openWorldHint"),
    };
    let mut text = |key: &str| match present(hints, key) {
        Some(Value::String(text)) => Some(text),
        Some(_) => {
            flaw("annotations.title", "text");
            None
        }
        None => None,
    };
    let annotations = Annotations { title: text("title"), ..annotations };
    let mut schema = |key: &str| match present(entry, key) {
        Some(Value::Object(schema)) => Some(schema),
        // A schema too: it says nothing.
        Some(Value::Bool(true)) | None => None,
        Some(_) => {
            let message = format!("'{key}' is no object and is left out");
            flaws.push(Warning {
                tool: Some(name.clone()),
                field: Some(key.to_owned()),
                ..Warning::new("UNSUPPORTED_SHAPE", Severity::Error, message)
            });
            None
        }
    };
    let (input_schema, output_schema) = (schema("inputSchema").unwrap_or_default(), schema("outputSchema"));
    let tool = ListedTool {
        id: None,
        server: None,
        name: name.clone(),
        title,
        description,
        input_schema,
        output_schema,
        annotations,
    };
    Some(Read { tool, flaws })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn broken_parts_are_left_out_one_by_one() {
        let entry = json!({"name": "x", "title": 1, "description": [], "inputSchema": "s", "outputSchema": 3,
            "annotations": {"readOnlyHint": "yes", "destructiveHint": true, "title": {}}});
        let read = read(entry.as_object().unwrap()).unwrap();
        let fields: Vec<&str> = read.flaws.iter().filter_map(|flaw| flaw.field.as_deref()).collect();
        assert_eq!(
            fields,
            [
                "title",
                "description",
                "annotations.readOnlyHint",
                "annotations.title",
                "inputSchema",
                "outputSchema"
            ]
        );
        assert_eq!(read.tool.annotations.destructive_hint, Some(true));
        let null = json!({"name": "x", "title": null, "description": null, "inputSchema": null, "annotations": null});
        assert!(super::read(null.as_object().unwrap()).unwrap().flaws.is_empty());
        for nameless in [json!({}), json!({"name": null}), json!({"name": 3})] {
            assert!(super::read(nameless.as_object().unwrap()).is_none(), "{nameless}");
        }
    }
}
