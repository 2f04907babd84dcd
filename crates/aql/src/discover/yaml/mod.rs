//! Settings as people write them, YAML or TOML, as one tree whose every part knows its line.
//!
//! Only what settings need is taken: one document, no anchors, no tags, no key twice. So a small file cannot become a
//! large tree, and every mistake can be told with its line. YAML is read by a library event by event and written here,
//! since only a few of its forms are needed and the bytes must never change.

mod emit;
mod read;
mod toml;

use serde_json::Value;

pub(super) use self::{emit::emit, read::read, toml::read as read_toml};

/// A value and the line it stands on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) content: Content,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    /// Null, a boolean, a number or a text.
    Scalar(Value),
    List(Vec<Node>),
    /// In the order of the file.
    Table(Vec<(Key, Node)>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) line: usize,
    pub(super) text: String,
}

/// Why a text could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) message: String,
}

impl Node {
    #[cfg(test)]
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match &self.content {
            Content::Table(entries) => {
                entries.iter().find(|(known, _)| known.text == key).map(|(_, node)| node)
            }
            _ => None,
        }
    }

    /// What it is, in a word.
    pub(super) fn kind(&self) -> &'static str {
        match &self.content {
            Content::Scalar(Value::Null) => "nothing",
            Content::Scalar(Value::Bool(_)) => "a boolean",
            Content::Scalar(Value::Number(_)) => "a number",
            Content::Scalar(_) => "a text",
            Content::List(_) => "a list",
            Content::Table(_) => "a table",
        }
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(entries) => entries.iter().map(Self::to_json).collect(),
            Content::Table(entries) => {
                entries.iter().map(|(key, node)| (key.text.clone(), node.to_json())).collect()
            }
        }
    }
}
