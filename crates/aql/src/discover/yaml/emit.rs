//! Writes YAML in few forms, always the same ones: block tables and lists, plain words, quoted texts, literal texts.

use serde_json::Value;

/// Writes a table. Keys stand in the order given.
pub(in super::super) fn emit(entries: &[(&str, Value)]) -> String {
    let mut out = String::new();
    for (key, value) in entries {
        entry(&mut out, 0, key, value);
    }
    out
}

fn indent(out: &mut String, depth: usize) {
    out.push_str(&"  ".repeat(depth));
}

fn entry(out: &mut String, depth: usize, key: &str, value: &Value) {
    indent(out, depth);
    after_indent(out, depth, key, value);
}

fn after_indent(out: &mut String, depth: usize, key: &str, value: &Value) {
    out.push_str(&if is_plain(key) { key.to_owned() } else { quoted(key) });
    out.push(':');
    match value {
        Value::Object(table) if !table.is_empty() => {
            out.push('\n');
            // The keys of parameters are names of somebody else's, so none comes before another.
            let entries = if key == "params" { by_name(table) } else { ordered(table) };
            for (key, value) in entries {
                entry(out, depth + 1, key, value);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            out.push('\n');
            list.iter().for_each(|value| item(out, depth + 1, value));
        }
        value => {
            out.push(' ');
            scalar(out, depth, value);
        }
    }
}

fn item(out: &mut String, depth: usize, value: &Value) {
    indent(out, depth);
    out.push_str("- ");
    match value {
        Value::Object(table) if !table.is_empty() => {
            for (place, (key, value)) in ordered(table).into_iter().enumerate() {
                if place > 0 {
                    indent(out, depth + 1);
                }
                after_indent(out, depth + 1, key, value);
            }
        }
        // A list right in a list is rare enough for JSON, which YAML reads too.
        Value::Array(list) if !list.is_empty() => {
            out.push_str(&flow(value));
            out.push('\n');
        }
        value => scalar(out, depth, value),
    }
}

/// The order in which people look for things; other keys by name.
const ORDER: [&str; 17] = [
    "name",
    "maps_to",
    "type",
    "required",
    "description",
    "danger_level",
    "base_url",
    "transport",
    "protocol",
    "serialization",
    "params",
    "response",
    "create",
    "read",
    "update",
    "delete",
    "execute",
];

fn by_name(table: &serde_json::Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut entries: Vec<(&str, &Value)> = table.iter().map(|(key, value)| (key.as_str(), value)).collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}

fn ordered(table: &serde_json::Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut entries: Vec<(&str, &Value)> = table.iter().map(|(key, value)| (key.as_str(), value)).collect();
    entries
        .sort_by_key(|(key, _)| (ORDER.iter().position(|known| known == key).unwrap_or(ORDER.len()), *key));
    entries
}

fn scalar(out: &mut String, depth: usize, value: &Value) {
    match value {
        Value::String(text) if is_literal(text) => {
            let stripped = text.strip_suffix('\n');
            out.push_str(if stripped.is_some() { "|\n" } else { "|-\n" });
            for line in stripped.unwrap_or(text).split('\n') {
                if !line.is_empty() {
                    indent(out, depth + 1);
                    out.push_str(line);
                }
                out.push('\n');
            }
            return;
        }
        Value::String(text) if is_plain(text) => out.push_str(text),
        value => out.push_str(&flow(value)),
    }
    out.push('\n');
}

/// A value on one line, as JSON with YAML's escapes.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(list) => format!("[{}]", list.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(table) => {
            let entries = table.iter().map(|(key, value)| format!("{}: {}", quoted(key), flow(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        value => value.to_string(),
    }
}

/// Characters that may stand in a text as they are.
fn is_printable(letter: char) -> bool {
    matches!(letter, ' '..='\u{7e}' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}'
        | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
        // These turn the direction of what people read.
        && !matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            letter if is_printable(letter) => out.push(letter),
            letter if u32::from(letter) <= 0xff => out.push_str(&format!("\\x{:02x}", u32::from(letter))),
            letter if u32::from(letter) <= 0xffff => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => out.push_str(&format!("\\U{:08x}", u32::from(letter))),
        }
    }
    out.push('"');
    out
}

/// Words that mean a text whoever reads them: letters, digits and a few signs, and no word that means something else.
fn is_plain(text: &str) -> bool {
    const MEANING: [&str; 10] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan"];
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
        && !MEANING.contains(&text.to_ascii_lowercase().as_str())
}

/// Texts of several lines that come back as they were when they are written line by line.
fn is_literal(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let clean = |line: &str| line.chars().all(is_printable) && !line.starts_with(' ') || line.is_empty();
    body.contains('\n')
        && body.split('\n').next().is_some_and(|first| !first.is_empty() && clean(first))
        && body.split('\n').all(|line| line.chars().all(is_printable) && line.trim_end() == line)
        && !body.ends_with('\n')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{super::read, *};

    #[test]
    fn it_reads_well() {
        let text = emit(&[
            ("name", json!("github")),
            ("version", json!("1.0.0")),
            ("target", json!({"base_url": "mcp:github", "transport": "native"})),
            (
                "operations",
                json!({"read": [{"name": "get_x", "maps_to": "tools/call get_x", "description": "Gets.\n  - one\n\nor two",
                "params": {"b": {"type": "string", "required": true, "enum": ["yes", "a b"]}, "a": {"type": "integer"}}}], "create": []}),
            ),
        ]);
        let expected = "name: github\nversion: \"1.0.0\"\ntarget:\n  base_url: \"mcp:github\"\n  transport: native\n\
            operations:\n  create: []\n  read:\n    - name: get_x\n      maps_to: \"tools/call get_x\"\n      description: |-\n        \
            Gets.\n          - one\n\n        or two\n      params:\n        a:\n          type: integer\n        b:\n          \
            type: string\n          required: true\n          enum:\n            - \"yes\"\n            - \"a b\"\n";
        assert_eq!(text, expected);
    }

    fn texts() -> impl Strategy<Value = String> {
        prop_oneof![
            "\\PC*",
            any::<String>(),
            "([ a-z#:'\"|>\\-\t&*!%@`?{}\\[\\],\\\\]{0,6}\n{0,2}){0,5}",
            Just("true".to_owned()),
            Just("1.5".to_owned()),
            Just("\u{feff}\u{2028}\u{85}\r\n x".to_owned()),
            Just("---\na: b\n...".to_owned()),
        ]
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::from),
            texts().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(texts(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(value in values()) {
            let text = emit(&[("value", value.clone())]);
            let node = read(&text).map_err(|fault| TestCaseError::fail(format!("{fault:?}\n{text}")))?;
            prop_assert_eq!(node.to_json(), json!({"value": value}), "{}", text);
        }
    }
}
