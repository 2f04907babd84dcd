//! What another server's tool does, judged from what it says of itself: category, danger, how sure that is, and why.
//!
//! An override decides first; then verbs and schema; then the server's annotations, which may raise the danger and lower
//! it only for a trusted server. What nothing is known of is EXECUTE and destructive. The same tool always gives the
//! same judgement, and every judgement tells which rule said what.

mod description;
mod judge;
mod name;
mod parameters;
pub mod patterns;
mod split;
mod verbs;
mod words;

pub(crate) use self::{
    verbs::{Verb, of_any_form as verb},
    words::of_name as words_of_name,
};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    category::Category,
    danger::{DangerLevel, Words},
    listed::{Annotations, ListedTool},
};

/// Below this a judgement asks for review, in hundredths.
pub const SURE_PERCENT_MIN: u8 = 70;

/// How much a server's annotations count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trust {
    /// As if they were not there.
    Ignored,
    /// They may only raise the danger.
    #[default]
    Claimed,
    /// They may lower it too.
    Trusted,
}

/// What the operator says of one tool or operation, which nothing else can change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Override {
    pub category: Option<Category>,
    pub danger: Option<DangerLevel>,
    /// What else is said of its danger; no judgement depends on it.
    pub words: Words,
}

/// Overrides by the name of a tool, or of an operation that one was split into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides(pub BTreeMap<String, Override>);

impl Overrides {
    /// What is said of an operation that a tool became: its own entry, else the tool's.
    #[must_use]
    pub fn of(&self, tool: &str, operation: &str) -> Option<&Override> {
        self.0.get(operation).or_else(|| self.0.get(tool))
    }
}

/// Where a field comes from: the four classes of discovery bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    DirectSourceMetadata,
    DeterministicNormalization,
    HeuristicClassification,
    ManualOverride,
}

/// What one rule said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    pub rule: &'static str,
    pub says: String,
}

/// What was found out about a tool or one of its operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub category: Category,
    pub category_from: Provenance,
    pub danger: DangerLevel,
    pub danger_from: Provenance,
    /// In hundredths, so that equal judgements are equal.
    pub confidence_percent: u8,
    /// Why somebody should look at it; empty where nobody needs to.
    pub reasons: Vec<String>,
    pub evidence: Vec<Evidence>,
}

impl Judgement {
    #[must_use]
    pub fn needs_review(&self) -> bool {
        !self.reasons.is_empty()
    }

    /// Between 0 and 1.
    #[must_use]
    pub fn confidence(&self) -> f64 {
        f64::from(self.confidence_percent) / 100.0
    }
}

/// The value of the parameter that makes a tool do this operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    pub parameter: String,
    pub value: String,
}

/// One operation that a tool becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    pub name: String,
    pub name_from: Provenance,
    /// Set where the tool was split.
    pub choice: Option<Choice>,
    pub judgement: Judgement,
}

/// A tool and the operations it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classified {
    /// Of the tool as a whole: a split one counts by its most dangerous operation.
    pub judgement: Judgement,
    /// One at least; several where the tool mixes reading and writing.
    pub operations: Vec<Operation>,
}

/// What a judgement is made from.
#[derive(Debug, Clone, Copy)]
struct Facts<'a> {
    name: &'a str,
    server: Option<&'a str>,
    title: Option<&'a str>,
    description: &'a str,
    schema: &'a serde_json::Map<String, serde_json::Value>,
    annotations: &'a Annotations,
    trust: Trust,
}

/// Judges a tool.
#[must_use]
pub fn classify(tool: &ListedTool, trust: Trust, overrides: &Overrides) -> Classified {
    classify_of(tool, tool.server.as_deref(), trust, overrides)
}

/// Judges a tool of this server, whatever the list says of that.
pub(crate) fn classify_of(
    tool: &ListedTool,
    server: Option<&str>,
    trust: Trust,
    overrides: &Overrides,
) -> Classified {
    let facts = Facts {
        name: &tool.name,
        server,
        title: tool.title.as_deref().or(tool.annotations.title.as_deref()),
        description: &tool.description,
        schema: &tool.input_schema,
        annotations: &tool.annotations,
        trust,
    };
    let of_tool = overrides.0.get(&tool.name).cloned().unwrap_or_default();
    if let Some(operations) = split::operations(&facts, &of_tool, overrides) {
        return Classified { judgement: split::whole(&operations), operations };
    }
    let judgement = judge::judge(&facts, &of_tool);
    let name = split::snake_case(&tool.name);
    let name_from = if name == tool.name {
        Provenance::DirectSourceMetadata
    } else {
        Provenance::DeterministicNormalization
    };
    let operation = Operation { name, name_from, choice: None, judgement: judgement.clone() };
    Classified { judgement, operations: vec![operation] }
}

#[cfg(test)]
mod tests;
