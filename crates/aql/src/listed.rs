//! Tools as other MCP servers list them: what classification, search and adapters are made from.

use serde::Deserialize;
use serde_json::{Map, Value};

/// One tool of another server, as it describes itself.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ListedTool {
    /// Its id in a saved list, where that gives one.
    #[serde(default)]
    pub id: Option<String>,
    /// The server it belongs to, where a saved list says so.
    #[serde(default)]
    pub server: Option<String>,
    pub name: String,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub description: String,
    #[serde(default, rename = "inputSchema")]
    pub input_schema: Map<String, Value>,
    #[serde(default, rename = "outputSchema")]
    pub output_schema: Option<Map<String, Value>>,
    #[serde(default)]
    pub annotations: Annotations,
}

/// What a server claims of its tool. A claim, not a fact.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Annotations {
    pub title: Option<String>,
    pub read_only_hint: Option<bool>,
    pub destructive_hint: Option<bool>,
    pub idempotent_hint: Option<bool>,
    pub open_world_hint: Option<bool>,
}

/// Why a file holds no list of tools.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAList {
    #[error("line {line}, column {column} is no JSON")]
    NoJson { line: usize, column: usize },
    #[error("it holds neither an array of tools nor an object with 'tools'")]
    NoTools,
    #[error("entry {index} is no tool: {reason}")]
    NoTool { index: usize, reason: String },
}

/// Reads a saved list: an array of tools, a `tools/list` result, or the whole response to one. An entry may hold its
/// tool under `tool`, beside its id and server.
pub fn read(value: Value) -> Result<Vec<ListedTool>, NotAList> {
    let entries = match value {
        Value::Array(entries) => entries,
        Value::Object(mut object) => {
            let mut result = match object.remove("result") {
                Some(Value::Object(result)) => result,
                _ => object,
            };
            match result.remove("tools") {
                Some(Value::Array(entries)) => entries,
                _ => return Err(NotAList::NoTools),
            }
        }
        _ => return Err(NotAList::NoTools),
    };
    entries
        .into_iter()
        .enumerate()
        .map(|(index, entry)| {
            serde_json::from_value(flattened(entry))
                .map_err(|error| NotAList::NoTool { index, reason: error.to_string() })
        })
        .collect()
}

/// Reads a saved list from its text: one JSON value as [`read`] takes it, or JSON Lines with one entry a line.
pub fn read_text(text: &str) -> Result<Vec<ListedTool>, NotAList> {
    let whole: Result<Value, serde_json::Error> = serde_json::from_str(text);
    let (value, error) = match whole {
        Ok(Value::Object(entry)) if entry.contains_key("tool") || entry.contains_key("name") => {
            (Value::Array(vec![Value::Object(entry)]), None)
        }
        Ok(value) => (value, None),
        // More after the first value is what lines look like to a reader of one.
        Err(error) => {
            (lines(text).filter(|lines| !lines.is_empty()).map_or(Value::Null, Value::Array), Some(error))
        }
    };
    match error {
        Some(error) if value.is_null() => {
            Err(lines_error(text).unwrap_or(NotAList::NoJson { line: error.line(), column: error.column() }))
        }
        _ => read(value),
    }
}

fn filled(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty())
}

fn lines(text: &str) -> Option<Vec<Value>> {
    filled(text).map(|(_, line)| serde_json::from_str(line).ok()).collect()
}

/// Where JSON Lines go wrong; nothing where the first line is already no value, so that the text is none.
fn lines_error(text: &str) -> Option<NotAList> {
    let (_, first) = filled(text).next()?;
    serde_json::from_str::<Value>(first).ok()?;
    filled(text).find_map(|(index, line)| {
        let error = serde_json::from_str::<Value>(line).err()?;
        Some(NotAList::NoJson { line: index + 1, column: error.column() })
    })
}

fn flattened(entry: Value) -> Value {
    let Value::Object(mut entry) = entry else { return entry };
    if let Some(Value::Object(tool)) = entry.remove("tool") {
        for (key, value) in tool {
            entry.entry(key).or_insert(value);
        }
    }
    // Servers send null for what they leave out.
    entry.retain(|_, value| !value.is_null());
    Value::Object(entry)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_shape_of_a_saved_list_is_read() {
        let tool = json!({"name": "get_x", "description": null, "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true, "else": 1}, "_meta": {}});
        for list in [
            json!([tool]),
            json!({"tools": [tool]}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool], "nextCursor": "x"}}),
            json!([{"tool": tool, "id": "s/get_x", "server": "s"}]),
        ] {
            let read = read(list.clone()).unwrap();
            assert_eq!((read.len(), read[0].name.as_str()), (1, "get_x"), "{list}");
            assert_eq!(read[0].annotations.read_only_hint, Some(true));
        }
    }

    #[test]
    fn lines_are_read_like_a_list_and_told_apart_from_broken_text() {
        let line = r#"{"id": "s/a", "server": "s", "tool": {"name": "a"}}"#;
        for text in [line.to_owned(), format!("{line}\n\n{line}\n"), format!("[{line}]")] {
            let tools = read_text(&text).unwrap();
            assert_eq!((tools[0].name.as_str(), tools[0].server.as_deref()), ("a", Some("s")), "{text}");
        }
        for (text, line, column) in
            [("", 1, 0), ("{\"tools\": [", 1, 11), ("{}\n{oh\n", 2, 2), ("[\n1,\n", 3, 0)]
        {
            assert_eq!(read_text(text), Err(NotAList::NoJson { line, column }), "{text}");
        }
        assert!(matches!(read_text("{\"name\": \"a\"}\n7"), Err(NotAList::NoTool { index: 1, .. })));
    }

    #[test]
    fn what_is_no_list_is_told() {
        for value in [json!(1), json!({}), json!({"tools": {}}), json!({"result": {}})] {
            assert_eq!(read(value.clone()), Err(NotAList::NoTools), "{value}");
        }
        assert!(matches!(
            read(json!([{"name": "a"}, {"description": "b"}])),
            Err(NotAList::NoTool { index: 1, .. })
        ));
    }
}
