//! What a tool's parameters say.

use serde_json::{Map, Value};

use super::words;

/// What a parameter's name gives away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    /// Pages, filters and search words: what only readers take.
    Reads,
    /// A body to be stored.
    Writes,
    /// Something to be run, whatever it says.
    Runs,
    /// A switch that takes a safety away.
    Forces,
    /// A file that the answer goes to.
    Saves,
}

struct Row {
    hint: Hint,
    names: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row {
        hint: Hint::Reads,
        names: &[
            "query",
            "q",
            "limit",
            "cursor",
            "page",
            "offset",
            "page size",
            "per page",
            "page token",
            "sort",
            "order by",
            "filter",
            "filters",
            "max results",
            "start cursor",
            "after",
            "before",
            "search term",
        ],
    },
    Row {
        hint: Hint::Writes,
        names: &[
            "body",
            "data",
            "content",
            "payload",
            "text",
            "message",
            "value",
            "values",
            "attributes",
            "patch",
        ],
    },
    Row {
        hint: Hint::Runs,
        names: &[
            "sql",
            "command",
            "commands",
            "script",
            "code",
            "shell",
            "cmd",
            "statement",
            "javascript",
            "expression",
            "function",
            "sql query",
            "raw query",
            "program",
        ],
    },
    Row {
        hint: Hint::Forces,
        names: &[
            "force",
            "confirm",
            "confirmed",
            "confirmation",
            "cascade",
            "recursive",
            "purge",
            "overwrite",
            "hard delete",
        ],
    },
];

/// Words of a parameter's description that make a path one to write to.
const SAVING: &[&str] = &["save", "saves", "saved", "write", "writes", "written", "output"];

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// Every parameter that gives something away, in the schema's order.
pub(super) fn hints(schema: &Map<String, Value>) -> Vec<(Hint, String)> {
    let mut found = Vec::new();
    for (name, property) in properties(schema) {
        let parts = words::of_name(name);
        let spaced = parts.join(" ");
        if let Some(row) = ROWS.iter().find(|row| row.names.contains(&spaced.as_str())) {
            found.push((row.hint, name.clone()));
        }
        let place = parts.last().is_some_and(|last| matches!(last.as_str(), "path" | "dir" | "directory"));
        let described = property.get("description").and_then(Value::as_str).unwrap_or_default();
        let said = words::of_text(described);
        let of_output = parts.iter().any(|part| part == "output");
        if place && (of_output || said.iter().any(|word| SAVING.contains(&word.as_str()))) {
            found.push((Hint::Saves, name.clone()));
        }
    }
    found
}

/// Names of a parameter that chooses what a tool does.
const CHOOSERS: &[&str] = &["method", "action", "operation", "command", "subcommand", "op", "verb", "mode"];

/// A parameter that chooses what a tool does, with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chooser {
    pub parameter: String,
    pub values: Vec<String>,
    pub required: bool,
}

/// What a name like `subCommand` or `power-action` chooses stands at its end.
fn chooses(name: &str) -> bool {
    let parts = words::of_name(name);
    let last = parts.last().map(String::as_str).unwrap_or_default();
    CHOOSERS.contains(&last) && parts.len() <= 2
}

/// The first parameter that chooses among named deeds; a required one goes before the others.
pub(super) fn chooser(schema: &Map<String, Value>) -> Option<Chooser> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut found: Vec<Chooser> = properties(schema)
        .filter(|(name, _)| chooses(name))
        .filter_map(|(name, property)| {
            let values = property.get("enum")?.as_array()?;
            let values: Option<Vec<String>> =
                values.iter().map(|value| value.as_str().map(str::to_owned)).collect();
            let values = values.filter(|values| values.len() > 1)?;
            Some(Chooser { parameter: name.clone(), values, required: required.contains(&name.as_str()) })
        })
        .collect();
    found.sort_by_key(|chooser| !chooser.required);
    found.into_iter().next()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn names_give_away_what_a_parameter_is_for() {
        for (name, description, hint) in [
            ("pageSize", "", Some(Hint::Reads)),
            ("body", "", Some(Hint::Writes)),
            ("sql", "", Some(Hint::Runs)),
            ("force", "", Some(Hint::Forces)),
            ("filePath", "Where to save the picture", Some(Hint::Saves)),
            ("filePath", "The file to look into", None),
            ("outputDir", "", Some(Hint::Saves)),
            ("owner", "", None),
        ] {
            let found = hints(&schema(json!({"properties": {name: {"description": description}}})));
            assert_eq!(found.first().map(|(hint, _)| *hint), hint, "{name}");
        }
    }

    #[test]
    fn a_chooser_is_a_named_enum_of_words() {
        let choose = |name: &str, values: Value| {
            chooser(&schema(json!({"properties": {name: {"enum": values}}, "required": [name]})))
        };
        assert!(choose("action", json!(["a", "b"])).unwrap().required);
        assert!(choose("subCommand", json!(["a", "b"])).is_some());
        assert!(choose("color", json!(["a", "b"])).is_none());
        assert!(choose("action", json!(["a"])).is_none());
        assert!(choose("action", json!(["a", 1])).is_none());
        assert!(chooser(&schema(json!({"properties": 3, "required": {}}))).is_none());
    }
}
