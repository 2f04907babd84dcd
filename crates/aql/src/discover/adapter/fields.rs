//! Reading settings field by field. Every mistake is noted with its line and place, and reading goes on.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::super::yaml::{Content, Fault, Key, Node};
use crate::suggest;

/// One mistake in a file, or one thing worth knowing about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub line: usize,
    /// Where in the file's tree; empty for the file as a whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    pub message: String,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}", self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

/// A value, where it stands and how it is reached.
#[derive(Debug, Clone)]
pub(super) struct Field<'n> {
    pub(super) node: &'n Node,
    /// The line of its key, where it has one.
    pub(super) line: usize,
    pub(super) path: String,
}

/// Notes mistakes.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) problems: Vec<Problem>,
    /// Lines before the first one of the tree.
    pub(super) lines_before: usize,
}

impl Reader {
    pub(super) fn note(&mut self, line: usize, path: &str, message: impl Into<String>) {
        self.note_with(line, path, message, None);
    }

    pub(super) fn note_with(
        &mut self,
        line: usize,
        path: &str,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        let line = line + self.lines_before;
        self.problems.push(Problem { line, path: path.to_owned(), message: message.into(), help });
    }

    pub(super) fn fault(&mut self, fault: Fault) {
        self.note(fault.line, "", fault.message);
    }

    pub(super) fn root<'n>(&self, node: &'n Node) -> Field<'n> {
        Field { node, line: node.line, path: String::new() }
    }

    /// The entries of a table. One whose key is not among the known ones is noted and left out.
    pub(super) fn table<'n>(&mut self, field: &Field<'n>, known: &[&str]) -> Vec<(&'n Key, Field<'n>)> {
        let entries = self.entries(field);
        let (good, bad): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|(key, _)| known.contains(&key.text.as_str()));
        for (key, field) in bad {
            let help = match suggest::nearest(&key.text, known.iter().copied()) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("there are {}", known.join(", ")),
            };
            self.note_with(
                key.line,
                &field.path,
                format!("the key '{}' is unknown here", key.text),
                Some(help),
            );
        }
        good
    }

    /// The entries of a table whose keys are free.
    pub(super) fn entries<'n>(&mut self, field: &Field<'n>) -> Vec<(&'n Key, Field<'n>)> {
        match &field.node.content {
            Content::Table(entries) => entries
                .iter()
                .map(|(key, node)| {
                    let path = match field.path.as_str() {
                        "" => key.text.clone(),
                        path => format!("{path}.{}", key.text),
                    };
                    (key, Field { node, line: key.line, path })
                })
                .collect(),
            _ => {
                self.expected(field, "a table");
                Vec::new()
            }
        }
    }

    /// The entries of a list.
    pub(super) fn list<'n>(&mut self, field: &Field<'n>) -> Vec<Field<'n>> {
        match &field.node.content {
            Content::List(entries) => entries
                .iter()
                .enumerate()
                .map(|(place, node)| Field {
                    node,
                    line: node.line,
                    path: format!("{}[{place}]", field.path),
                })
                .collect(),
            _ => {
                self.expected(field, "a list");
                Vec::new()
            }
        }
    }

    pub(super) fn text(&mut self, field: &Field<'_>) -> Option<String> {
        match &field.node.content {
            Content::Scalar(Value::String(text)) => Some(text.clone()),
            Content::Scalar(Value::Number(number)) => {
                let help = Some(format!("put it in quotes: \"{number}\""));
                self.note_with(field.line, &field.path, "must be a text, and this is a number", help);
                None
            }
            _ => {
                self.expected(field, "a text");
                None
            }
        }
    }

    pub(super) fn flag(&mut self, field: &Field<'_>) -> Option<bool> {
        match &field.node.content {
            Content::Scalar(Value::Bool(flag)) => Some(*flag),
            _ => {
                self.expected(field, "true or false");
                None
            }
        }
    }

    pub(super) fn number(&mut self, field: &Field<'_>) -> Option<serde_json::Number> {
        match &field.node.content {
            Content::Scalar(Value::Number(number)) => Some(number.clone()),
            _ => {
                self.expected(field, "a number");
                None
            }
        }
    }

    /// A text that has to be one of a kind.
    pub(super) fn parsed<T>(&mut self, field: &Field<'_>) -> Option<T>
    where
        T: std::str::FromStr,
        T::Err: fmt::Display,
    {
        let text = self.text(field)?;
        match text.parse() {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                self.note(field.line, &field.path, error.to_string());
                None
            }
        }
    }

    pub(super) fn expected(&mut self, field: &Field<'_>, what: &str) {
        self.note(field.line, &field.path, format!("must be {what}, and this is {}", field.node.kind()));
    }

    pub(super) fn missing(&mut self, field: &Field<'_>, key: &str) {
        self.note(field.line, &field.path, format!("'{key}' is missing"));
    }
}

/// One entry of a table that was read.
pub(super) fn find<'a, 'n>(entries: &'a [(&'n Key, Field<'n>)], key: &str) -> Option<&'a Field<'n>> {
    entries.iter().find(|(known, _)| known.text == key).map(|(_, field)| field)
}
