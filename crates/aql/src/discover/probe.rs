//! Safe probes: which tools may be tried when the operator asks for it, and how what they answered is kept.
//!
//! What a probe saw is an observation. It is written to a file of its own and never into a bundle.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{bundle::Bundle, capture::Capture, redact, tools};

/// A call that the server itself says changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The server's own name of the tool.
    pub tool: String,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Observation {
    pub tool: String,
    pub arguments: Map<String, Value>,
    #[serde(flatten)]
    pub answered: Answered,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    Result(Value),
    Error(String),
}

/// The tools that may be tried: marked `readOnlyHint: true`, not marked destructive, and in need of no argument, since
/// a guessed one could mean anything.
#[must_use]
pub fn plan(bundle: &Bundle) -> Vec<Probe> {
    let read = bundle.raw_capture.tools.iter().filter_map(tools::read);
    let mut probes: Vec<Probe> = Vec::new();
    for tool in read.map(|read| read.tool) {
        let hints = &tool.annotations;
        let marked = hints.read_only_hint == Some(true) && hints.destructive_hint != Some(true);
        let required = tool.input_schema.get("required").and_then(Value::as_array);
        let free = required.is_none_or(Vec::is_empty);
        // Of two tools with one name, nobody knows which would answer.
        let alone = bundle
            .raw_capture
            .tools
            .iter()
            .filter(|entry| entry.get("name") == Some(&tool.name.as_str().into()));
        if marked && free && alone.count() == 1 {
            probes.push(Probe { tool: tool.name });
        }
    }
    probes
}

#[derive(Serialize)]
struct Document<'a> {
    kind: &'static str,
    note: &'static str,
    source: &'a str,
    server_url: &'a str,
    captured_at: &'a str,
    observations: &'a [Observation],
}

/// The file of what was observed. What a bundle may not hold is taken out here too.
#[must_use]
pub fn document(bundle: &Bundle, mut observations: Vec<Observation>, capture: &Capture) -> String {
    let secrets = capture.known_secrets();
    let secrets = redact::searchable(&secrets);
    for observation in &mut observations {
        match &mut observation.answered {
            Answered::Result(value) => drop(redact::scrub(value, &secrets)),
            Answered::Error(text) => {
                let mut said = Value::from(text.as_str());
                redact::scrub(&mut said, &secrets);
                *text = said.as_str().unwrap_or_default().to_owned();
            }
        }
    }
    let document = Document {
        kind: "observations",
        note: "Answers of tools that were called on purpose. Observations, not declarations of the server.",
        source: &bundle.source.name,
        server_url: &bundle.source.server_url,
        captured_at: &bundle.source.captured_at,
        observations: &observations,
    };
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}
