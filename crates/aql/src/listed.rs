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

/// Reads the text of a saved list: one of the shapes that [`read`] takes, or JSON Lines with one tool in each.
pub fn parse(text: &str) -> Result<Vec<ListedTool>, NotAList> {
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
    let mut values =
        values.map_err(|error| NotAList::NoJson { line: error.line(), column: error.column() })?;
    let lines = values.len() != 1
        || values.iter().any(|value| value.get("name").is_some() || value.get("tool").is_some());
    match values.pop() {
        Some(value) if !lines => read(value),
        Some(value) => {
            values.push(value);
            read(Value::Array(values))
        }
        None => Err(NotAList::NoTools),
    }
}

impl ListedTool {
    /// What a ranking calls it: its id, or else its server and name.
    #[must_use]
    pub fn label(&self) -> String {
        match (&self.id, &self.server) {
            (Some(id), _) => id.clone(),
            (None, Some(server)) => format!("{server}/{}", self.name),
            (None, None) => self.name.clone(),
        }
    }
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
    fn texts_are_read_as_one_list_or_as_lines() {
        let names =
            |text: &str| parse(text).map(|tools| tools.into_iter().map(|tool| tool.label()).collect());
        for (text, expected) in [
            (r#"[{"name": "a"}]"#, vec!["a"]),
            (r#"{"tools": [{"name": "a"}, {"name": "b", "server": "s"}]}"#, vec!["a", "s/b"]),
            (r#"{"name": "a"}"#, vec!["a"]),
            ("{\"name\": \"a\"}\n\n{\"tool\": {\"name\": \"b\"}, \"id\": \"x/b\"}\n", vec!["a", "x/b"]),
            ("[]", vec![]),
        ] {
            assert_eq!(
                names(text),
                Ok(expected.into_iter().map(str::to_owned).collect::<Vec<_>>()),
                "{text}"
            );
        }
        assert_eq!(names("{\"name\": \"a\"}\n{oops"), Err(NotAList::NoJson { line: 2, column: 2 }));
        assert_eq!(names(""), Err(NotAList::NoTools));
        assert!(matches!(names("1 2"), Err(NotAList::NoTool { index: 0, .. })));
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
