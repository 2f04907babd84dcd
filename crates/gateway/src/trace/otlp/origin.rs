//! Who reported a span: what OTLP says once for all spans of a process, and of a library in it.

use serde_json::Value;

use super::{
    given::Pairs,
    known::{Gathered, known},
    value, veil,
    wire::{Resource, Scope},
};
use crate::trace::{Attributes, names, preview};

/// Longer ones are told once in a request, which is what OTLP has them for.
const KEPT_BYTES_MAX: usize = 4 * 1024;
/// Who reported is kept with every span, whatever else there is no room for; so it cannot be long.
const AGENT_BYTES_MAX: usize = 256;

/// What holds for all spans of one library in one process.
#[derive(Debug)]
pub(super) struct Origin {
    /// What every span gets, unless it says otherwise itself.
    pub(super) attributes: Attributes,
    /// How much that is, about.
    pub(super) bytes: usize,
    /// What is known of the names.
    pub(super) gathered: Gathered,
    agent: Option<String>,
    pub(super) is_temporal: bool,
}

impl Origin {
    /// What holds for a process.
    pub(super) fn new(resource: Resource) -> Self {
        let attributes = value::read(resource.attributes);
        let nothing = Self {
            attributes: Attributes::new(),
            bytes: 0,
            gathered: Gathered::default(),
            agent: None,
            is_temporal: false,
        };
        nothing.with(attributes)
    }

    /// The same for one library in it.
    pub(super) fn within(&self, scope: Scope) -> Self {
        let mut attributes = value::read(scope.attributes);
        let is_temporal = self.is_temporal || scope.name.contains("temporal");
        for (name, text) in [("otel.scope.name", scope.name), ("otel.scope.version", scope.version)] {
            if !text.is_empty() {
                attributes.push((name.into(), Value::String(text)));
            }
        }
        let origin = Self {
            attributes: self.attributes.clone(),
            bytes: self.bytes,
            gathered: self.gathered,
            agent: self.agent.clone(),
            is_temporal,
        };
        let mut origin = origin.with(attributes);
        if let Some(agent) = &origin.agent {
            origin.attributes.add_missing(Attributes::from([(names::AGENT, agent.as_str().into())]));
        }
        origin
    }

    fn with(mut self, more: Pairs<'_>) -> Self {
        self.is_temporal |= more.iter().any(|(name, _)| is_temporals(name));
        let (more, gathered) = veil::kept(more);
        self.gathered.join(gathered);
        self.attributes.add_missing(more.into_owned());
        let text = |name: &str| {
            let text = self.attributes.get(name)?.as_str()?;
            Some(preview::beginning(text.to_owned(), AGENT_BYTES_MAX))
        };
        self.agent = self.agent.or_else(|| text(names::AGENT)).or_else(|| text(names::otel::SERVICE));
        self.bytes = self.attributes.iter().map(size).sum();
        if self.bytes > KEPT_BYTES_MAX {
            self.attributes.retain(|name, value| is_core(name) && size((name, value)) < 512);
            self.bytes = self.attributes.iter().map(size).sum();
            self.gathered = Gathered::default();
            self.attributes.keys().for_each(|name| self.gathered.add(known(name)));
        }
        self
    }
}

fn size((name, value): (&str, &Value)) -> usize {
    let value = match value {
        Value::String(text) => text.len(),
        Value::Array(_) | Value::Object(_) => value.to_string().len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 16,
    };
    name.len() + value
}

/// What is never left out.
pub(super) fn is_core(name: &str) -> bool {
    ["service.", "mcp.", "otel.scope.", "session.", "temporal"].iter().any(|start| name.starts_with(start))
}

/// Temporal's own attributes, in its old and new spellings.
pub(super) fn is_temporals(name: &str) -> bool {
    name.starts_with("temporal.") || name.starts_with("temporalWorkflow") || name == "temporalRunID"
}
