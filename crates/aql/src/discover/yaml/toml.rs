//! TOML into the same tree.

use serde_json::{Number, Value};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Content, Fault, Key, Node};

pub(in super::super) fn read(text: &str) -> Result<Node, Fault> {
    let line = |offset: usize| text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| Fault {
        line: error.span().map_or(1, |span| line(span.start)),
        message: format!("this is no TOML: {}", error.message().replace("that ", "which ")),
    })?;
    Ok(Node { line: 1, content: self::table(table.get_ref(), &line) })
}

fn table(given: &DeTable<'_>, line: &dyn Fn(usize) -> usize) -> Content {
    let entries = given.iter().map(|(key, value)| {
        let key = Key { line: line(key.span().start), text: key.get_ref().to_string() };
        (key, node(value, line))
    });
    let mut entries: Vec<(Key, Node)> = entries.collect();
    entries.sort_by_key(|(key, _)| key.line);
    Content::Table(entries)
}

fn node(value: &Spanned<DeValue<'_>>, line: &dyn Fn(usize) -> usize) -> Node {
    let content = match value.get_ref() {
        DeValue::String(text) => Content::Scalar(Value::from(text.as_ref())),
        DeValue::Boolean(given) => Content::Scalar(Value::Bool(*given)),
        DeValue::Integer(number) => {
            let whole = i64::from_str_radix(number.as_str(), number.radix());
            Content::Scalar(whole.map_or_else(|_| Value::from(number.as_str()), Value::from))
        }
        DeValue::Float(number) => {
            let number = number.as_str().parse().ok().and_then(Number::from_f64);
            Content::Scalar(number.map_or(Value::Null, Value::Number))
        }
        DeValue::Datetime(time) => Content::Scalar(Value::from(time.to_string())),
        DeValue::Array(entries) => Content::List(entries.iter().map(|entry| node(entry, line)).collect()),
        DeValue::Table(given) => table(given, line),
    };
    Node { line: line(value.span().start), content }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn toml_gives_the_same_tree() {
        let node =
            read("name = \"x\"\n[operations.a]\nomit = true\nparams.b = { name = \"c\", n = [1, 2.5] }\n")
                .unwrap();
        assert_eq!(
            node.to_json(),
            json!({"name": "x", "operations": {"a": {"omit": true, "params": {"b": {"name": "c", "n": [1, 2.5]}}}}})
        );
        assert_eq!(node.get("operations").unwrap().get("a").unwrap().get("omit").unwrap().line, 3);
        let fault = read("a = 1\nb = ").unwrap_err();
        assert!(fault.message.starts_with("this is no TOML"), "{fault:?}");
        assert_eq!(fault.line, 2);
    }
}
