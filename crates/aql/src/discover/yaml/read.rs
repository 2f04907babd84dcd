//! YAML, event by event, into a tree.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::Value;

use super::{Content, Fault, Key, Node};

/// Settings are never nested deeper.
const DEPTH_MAX: usize = 64;

/// What is open while the text is read.
enum Open {
    List { line: usize, entries: Vec<Node> },
    Table { line: usize, entries: Vec<(Key, Node)>, key: Option<Key> },
}

/// Reads one document. An empty one is an empty table.
pub(in super::super) fn read(text: &str) -> Result<Node, Fault> {
    let mut open: Vec<Open> = Vec::new();
    let mut root: Option<Node> = None;
    let fault = |line: usize, message: &str| Fault { line, message: message.to_owned() };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| fault(error.marker().line(), &sentence(error.info())))?;
        let line = span.start.line();
        let whole = match event {
            Event::Alias(_) => {
                return Err(fault(line, "aliases such as '*name' are not taken; write it out"));
            }
            Event::Scalar(_, _, anchor, _)
            | Event::SequenceStart(anchor, _)
            | Event::MappingStart(anchor, _)
                if anchor != 0 =>
            {
                return Err(fault(line, "anchors such as '&name' are not taken; write it out"));
            }
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => {
                return Err(fault(line, "tags such as '!name' are not taken; leave it out"));
            }
            Event::DocumentStart(_) if root.is_some() => {
                return Err(fault(line, "a second document begins here; there must be one"));
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() >= DEPTH_MAX {
                    return Err(fault(line, &format!("it is nested more than {DEPTH_MAX} deep")));
                }
                if let Some(Open::Table { key: None, .. }) = open.last() {
                    return Err(fault(line, "a key must be a text"));
                }
                open.push(if matches!(event, Event::SequenceStart(..)) {
                    Open::List { line, entries: Vec::new() }
                } else {
                    Open::Table { line, entries: Vec::new(), key: None }
                });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List { line, entries }) => Node { line, content: Content::List(entries) },
                Some(Open::Table { line, entries, .. }) => Node { line, content: Content::Table(entries) },
                None => continue,
            },
            Event::Scalar(text, style, ..) => {
                if let Some(Open::Table { key: key @ None, entries, .. }) = open.last_mut() {
                    if let Some((known, _)) = entries.iter().find(|(known, _)| known.text == *text) {
                        let message = format!("'{text}' is there twice, first on line {}", known.line);
                        return Err(fault(line, &message));
                    }
                    *key = Some(Key { line, text: text.into_owned() });
                    continue;
                }
                let value = if style == ScalarStyle::Plain { plain(&text) } else { text.into_owned().into() };
                Node { line, content: Content::Scalar(value) }
            }
            _ => continue,
        };
        match open.last_mut() {
            Some(Open::List { entries, .. }) => entries.push(whole),
            Some(Open::Table { entries, key, .. }) => match key.take() {
                Some(key) => entries.push((key, whole)),
                None => return Err(fault(whole.line, "a key must be a text")),
            },
            None => root = Some(whole),
        }
    }
    match root {
        Some(Node { content: Content::Scalar(Value::Null), line }) => {
            Ok(Node { line, content: Content::Table(Vec::new()) })
        }
        Some(root) => Ok(root),
        None => Ok(Node { line: 1, content: Content::Table(Vec::new()) }),
    }
}

/// What a text without quotes means: YAML's core schema, without its numbers that JSON has not.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => text.parse::<serde_json::Number>().map_or_else(|_| Value::from(text), Value::Number),
    }
}

/// The library's words, in which a place would look like a stack frame.
fn sentence(info: &str) -> String {
    let info = info.replace(" at ", " in ").replace("that ", "which ").replace("what ", "which ");
    format!("this is no YAML: {info}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_read_with_their_lines() {
        let text = "name: x\nlist:\n  - 1\n  - {a: yes, b: 'true'}\ntext: |-\n  one\n  two\nnothing:\n\"q\": 1.5e3\n";
        let node = read(text).unwrap();
        assert_eq!(
            node.to_json(),
            json!({"name": "x", "list": [1, {"a": "yes", "b": "true"}], "text": "one\ntwo", "nothing": null, "q": 1.5e3})
        );
        assert_eq!(node.get("text").unwrap().line, 6);
        assert_eq!(node.get("list").unwrap().line, 3);
        assert_eq!(read("").unwrap().to_json(), json!({}));
        assert_eq!(read("# only a comment\n").unwrap().to_json(), json!({}));
    }

    #[test]
    fn what_settings_do_not_need_is_refused_with_its_line() {
        let deep = "[".repeat(100_000);
        let bomb = "a: &a [x, x]\nb: &b [*a, *a]\n";
        for (text, line, part) in [
            (bomb, 1, "anchors"),
            ("a: 1\nb: *a\n", 2, ""),
            ("a: !!str 1", 1, "tags"),
            ("a: 1\na: 2", 2, "twice"),
            ("a: 1\n---\nb: 2", 2, "second document"),
            ("? [a]\n: 1", 1, "key"),
            ("a: [1, 2", 1, "no YAML"),
            ("a: b: c", 1, "no YAML"),
            (deep.as_str(), 1, ""),
        ] {
            let fault = read(text).unwrap_err();
            assert!(fault.message.contains(part), "{part}: {fault:?}");
            assert!(fault.line >= 1 && fault.line <= line.max(2), "{part}: {fault:?}");
        }
    }
}
