//! What has changed at a server since it was captured last, tool by tool and field by field.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Map, Value};

use super::bundle::{Bundle, Operation};
use crate::drift::{self, Change};

/// Texts in a report are cut behind so many characters; JSON has them whole.
const SHOWN_CHARS_MAX: usize = 160;

/// The difference between two bundles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diff {
    /// When the two were captured.
    pub was: String,
    pub is: String,
    /// What the server says of itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<Change>,
    /// By the server's own names.
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub changed: Vec<Changed>,
    /// Operations that are judged otherwise now, or have come or gone.
    pub operations: Vec<Changed>,
}

/// One tool or operation that is not what it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changed {
    pub name: String,
    pub changes: Vec<Change>,
}

/// Compares two captures of one server.
#[must_use]
pub fn diff(was: &Bundle, is: &Bundle) -> Diff {
    let tools = |bundle: &Bundle| {
        let tools = bundle.raw_capture.tools.iter();
        numbered(tools.map(|tool| (tool_name(tool), Value::Object(tool.clone()))))
    };
    let (added, removed, changed) = compare(&tools(was), &tools(is));
    let operations = |bundle: &Bundle| {
        let operations = bundle.normalized_bundle.operations.iter();
        numbered(operations.map(|operation| (operation.operation_name.clone(), judged(operation))))
    };
    let (more, fewer, otherwise) = compare(&operations(was), &operations(is));
    let came = |name: String, was: bool| Changed {
        name,
        changes: vec![Change {
            path: String::new(),
            was: was.then_some(Value::Bool(true)),
            is: (!was).then_some(Value::Bool(true)),
        }],
    };
    let mut operations = otherwise;
    operations.extend(fewer.into_iter().map(|name| came(name, true)));
    operations.extend(more.into_iter().map(|name| came(name, false)));
    operations.sort_by(|one, other| one.name.cmp(&other.name));
    let server = |bundle: &Bundle| serde_json::to_value(&bundle.source.server).unwrap_or_default();
    Diff {
        was: was.source.captured_at.clone(),
        is: is.source.captured_at.clone(),
        server: drift::changes(&server(was), &server(is)),
        added,
        removed,
        changed,
        operations,
    }
}

fn tool_name(tool: &Map<String, Value>) -> String {
    tool.get("name").and_then(Value::as_str).unwrap_or("(without a name)").to_owned()
}

/// What was made of a tool, apart from its words and parameters, which are the tool's own.
fn judged(operation: &Operation) -> Value {
    serde_json::json!({
        "endpoint": operation.endpoint, "danger_level": operation.danger_level, "maps_to": operation.maps_to,
    })
}

/// Names are told apart by a number where a list has them more than once.
fn numbered(entries: impl Iterator<Item = (String, Value)>) -> Vec<(String, Value)> {
    let mut counts: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    entries
        .map(|(name, value)| {
            let count = counts.entry(name.clone()).or_default();
            *count += 1;
            (if *count > 1 { format!("{name} ({count})") } else { name }, value)
        })
        .collect()
}

fn compare(was: &[(String, Value)], is: &[(String, Value)]) -> (Vec<String>, Vec<String>, Vec<Changed>) {
    let by_name = |entries: &[(String, Value)]| {
        entries.iter().cloned().collect::<std::collections::BTreeMap<String, Value>>()
    };
    let (was, is) = (by_name(was), by_name(is));
    let missing =
        |from: &std::collections::BTreeMap<String, Value>, name: &&String| !from.contains_key(*name);
    let added = is.keys().filter(|name| missing(&was, name)).cloned().collect();
    let removed = was.keys().filter(|name| missing(&is, name)).cloned().collect();
    let changed = was.iter().filter_map(|(name, was)| {
        let changes = drift::changes(was, is.get(name)?);
        (!changes.is_empty()).then(|| Changed { name: name.clone(), changes })
    });
    (added, removed, changed.collect())
}

impl Diff {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.server.is_empty()
            && self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
            && self.operations.is_empty()
    }

    /// For people: a line for each tool that came, went or changed, and under it its fields.
    #[must_use]
    pub fn report(&self) -> String {
        if self.is_empty() {
            return format!("nothing has changed since {}", self.was);
        }
        let mut text = format!(
            "since {}: {} added, {} removed, {} changed",
            self.was,
            self.added.len(),
            self.removed.len(),
            self.changed.len()
        );
        let mut line = |line: String| {
            let _ = write!(text, "\n{line}");
        };
        for change in &self.server {
            line(format!("  server.{}", shown(change)));
        }
        self.added.iter().for_each(|name| line(format!("+ {name}")));
        self.removed.iter().for_each(|name| line(format!("- {name}")));
        for tool in &self.changed {
            line(format!("~ {}", tool.name));
            tool.changes.iter().for_each(|change| line(format!("    {}", shown(change))));
        }
        let judged =
            self.operations.iter().filter(|operation| operation.changes.iter().any(|c| !c.path.is_empty()));
        for operation in judged {
            line(format!("operation {}", operation.name));
            operation.changes.iter().for_each(|change| line(format!("    {}", shown(change))));
        }
        text
    }
}

fn shown(change: &Change) -> String {
    let path = if change.path.is_empty() { "(whole)" } else { &change.path };
    match (&change.was, &change.is) {
        (Some(was), Some(is)) => format!("{path}: {} → {}", cut(was), cut(is)),
        (None, Some(is)) => format!("{path}: new, {}", cut(is)),
        (Some(was), None) => format!("{path}: gone, was {}", cut(was)),
        (None, None) => path.to_owned(),
    }
}

/// Values as JSON on one line: control characters of a hostile server do not reach a terminal.
fn cut(value: &Value) -> String {
    let text = value.to_string();
    let clean = |letter: char| if letter.is_control() { ' ' } else { letter };
    let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).map(clean).collect();
    if text.chars().count() > SHOWN_CHARS_MAX {
        shown.push('…');
    }
    shown
}
