//! Dot-paths into a tool as its server listed it, `inputSchema.properties.owner`.

use serde_json::{Map, Value};

/// What a path leads to. Names may hold dots themselves, so every way to read the path is tried, the shortest names
/// first.
#[must_use]
pub fn resolve<'a>(tool: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let steps: Vec<&str> = path.split('.').collect();
    in_object(tool, &steps)
}

fn in_object<'a>(object: &'a Map<String, Value>, steps: &[&str]) -> Option<&'a Value> {
    (1..=steps.len()).find_map(|taken| {
        let (name, rest) = steps.split_at_checked(taken)?;
        follow(object.get(&name.join("."))?, rest)
    })
}

fn follow<'a>(value: &'a Value, steps: &[&str]) -> Option<&'a Value> {
    let Some((first, rest)) = steps.split_first() else { return Some(value) };
    match value {
        Value::Object(object) => in_object(object, steps),
        Value::Array(entries) => follow(entries.get(first.parse::<usize>().ok()?)?, rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_through_objects_arrays_and_names_with_dots() {
        let tool =
            json!({"inputSchema": {"allOf": [{"properties": {"a.b": {"x": 1}, "a": {"b": 2}, "": 3}}]}});
        let at = |path| resolve(tool.as_object().unwrap(), path);
        assert_eq!(at("inputSchema.allOf.0.properties.a.b"), Some(&json!(2)));
        assert_eq!(at("inputSchema.allOf.0.properties.a.b.x"), Some(&json!(1)));
        assert_eq!(at("inputSchema.allOf.0.properties."), Some(&json!(3)));
        for nowhere in
            ["", "inputSchema.allOf.1", "inputSchema.allOf.x", "inputSchema.allOf.0.properties.a.b.c"]
        {
            assert_eq!(at(nowhere), None, "{nowhere}");
        }
    }
}
