//! The reference for operators: every section and key of the schema, as Markdown.

use serde_json::{Map, Value};

use super::{environment::VARIABLES, schema};

const INTRODUCTION: &str = "\
# Configuration

Aqueduct reads one file: the one that `--config` or `AQUEDUCT_CONFIG` names, else `aqueduct.toml` in the working
directory, else `aqueduct/aqueduct.toml` in `$XDG_CONFIG_HOME` (`~/.config`). Without any it runs on the defaults.
`--config` also takes an MCP client's JSON file as it is: its `mcpServers` (or `servers`, or `context_servers`) are
upstreams, and everything else is the default.

A flag beats the environment, which beats the file, which beats the default. Unknown keys are refused.
";

/// A reference of every section, key, default and range, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (name, schema) in properties(&schema::schema()) {
        section(&mut page, name, schema);
    }
    page.push_str(
        "\n## Environment\n\nAn empty variable counts as unset.\n\n| variable | meaning |\n| --- | --- |\n",
    );
    for (name, meaning) in VARIABLES {
        page.push_str(&format!("| `{name}` | {meaning} |\n"));
    }
    page
}

/// One section of the file under its own heading, and the arrays of tables within it after it.
fn section(page: &mut String, name: &str, schema: &Value) {
    match schema.get("additionalProperties").filter(|named| named.is_object()) {
        Some(named) => {
            let path = format!("{name}.NAME");
            heading(page, &format!("[{path}]"), schema);
            keys(page, &path, named);
        }
        None => {
            heading(page, &format!("[{name}]"), schema);
            keys(page, name, schema);
        }
    }
}

fn heading(page: &mut String, title: &str, schema: &Value) {
    page.push_str(&format!("\n## `{title}`\n\n{}\n", description(schema)));
}

fn keys(page: &mut String, path: &str, schema: &Value) {
    let none = Vec::new();
    let required = schema.get("required").and_then(Value::as_array).unwrap_or(&none);
    let (nested, plain): (Vec<_>, Vec<_>) = properties(schema).partition(|(_, inner)| {
        ["/items/properties", "/additionalProperties/properties", "/properties"]
            .iter()
            .any(|way| inner.pointer(way).is_some())
    });
    if !plain.is_empty() {
        page.push_str("\n| key | type | default | range | meaning |\n| --- | --- | --- | --- | --- |\n");
    }
    for (key, inner) in plain {
        let default = match inner.get("default") {
            Some(default) => format!("`{default}`"),
            None if required.iter().any(|name| name == key) => "required".to_owned(),
            None => "none".to_owned(),
        };
        let row = [format!("`{key}`"), kind(inner), default, range(inner), description(inner)];
        page.push_str(&format!("| {} |\n", row.map(|cell| cell.replace('|', "\\|")).join(" | ")));
    }
    for (key, inner) in nested {
        if let Some(items) = inner.get("items") {
            let path = format!("{path}.{key}");
            heading(page, &format!("[[{path}]]"), inner);
            keys(page, &path, items);
        } else if inner.get("properties").is_some() {
            let path = format!("{path}.{key}");
            heading(page, &format!("[{path}]"), inner);
            keys(page, &path, inner);
        } else if let Some(named) = inner.get("additionalProperties") {
            let path = format!("{path}.{key}.{}", placeholder(key));
            heading(page, &format!("[{path}]"), inner);
            keys(page, &path, named);
        }
    }
}

/// What stands for the operator's own name in a table of tables: `TOOL` in `tools`.
fn placeholder(key: &str) -> String {
    key.trim_end_matches('s').to_uppercase()
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// Line ends in a comment are where the source wraps.
fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn kind(schema: &Value) -> String {
    match (schema.get("items"), schema.get("additionalProperties")) {
        (Some(items), _) if items.get("type").is_some_and(Value::is_array) => "array of values".to_owned(),
        (Some(_), _) => "array of strings".to_owned(),
        (None, Some(inner @ Value::Object(_))) if schema::kind(inner) == "a table" => {
            "table of tables".to_owned()
        }
        (None, Some(inner @ Value::Object(_))) if schema::kind(inner) == "an array" => {
            "table of arrays".to_owned()
        }
        (None, Some(Value::Object(_))) => "table of strings".to_owned(),
        (None, _) => schema::kind(schema).trim_start_matches("a ").to_owned(),
    }
}

fn range(schema: &Value) -> String {
    if let (Some(min), Some(max)) = (schema.get("minimum"), schema.get("maximum")) {
        return format!("{min} to {max}");
    }
    let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    let values: Vec<_> = values.map(|value| format!("`{value}`")).collect();
    values.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(schema: &Value, path: &str, found: &mut Vec<(String, String)>) {
        for (key, inner) in properties(schema) {
            found.push((path.to_owned(), key.clone()));
            collect(inner, &format!("{path}.{key}"), found);
            for hop in ["items", "additionalProperties"] {
                if let Some(items) = inner.get(hop) {
                    let name = match (hop, path) {
                        ("items", _) => String::new(),
                        (_, "") => ".NAME".to_owned(),
                        _ => format!(".{}", placeholder(key)),
                    };
                    collect(items, &format!("{path}.{key}{name}"), found);
                }
            }
        }
    }

    #[test]
    fn every_key_of_the_schema_is_told() {
        let page = reference();
        let mut found = Vec::new();
        collect(&schema::schema(), "", &mut found);
        assert!(found.len() > 35, "{found:?}");
        for (path, key) in found {
            let heading = format!("{path}.{key}").trim_start_matches('.').to_owned();
            let own = [
                format!("[{heading}]"),
                format!("[{heading}.NAME]"),
                format!("[{heading}.{}]", placeholder(&key)),
            ];
            let section = path.trim_start_matches('.');
            let under = page.split("\n## ").find(|part| part.starts_with(&format!("`[{section}]`")));
            let under =
                under.or_else(|| page.split("\n## ").find(|p| p.starts_with(&format!("`[[{section}]]`"))));
            let row = under.is_some_and(|part| part.contains(&format!("\n| `{key}` |")));
            assert!(row || own.iter().any(|heading| page.contains(heading)), "{section} {key}\n{page}");
        }
    }

    #[test]
    fn the_page_reads_well() {
        insta::assert_snapshot!(reference());
    }
}
