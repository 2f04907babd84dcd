//! The discovery bundle: what a server said, and beside it what is made of that.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::capture::Identity;
use crate::{
    adopt::Severity,
    category::Category,
    classify::{self, Provenance},
    danger::DangerLevel,
};

/// The version of the bundle format.
pub const SCHEMA_VERSION: &str = "1.0.0-draft";

/// Both layers, and where they come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    pub schema_version: String,
    pub source: Source,
    pub raw_capture: RawCapture,
    pub normalized_bundle: Normalized,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    pub name: String,
    pub server_url: String,
    /// `streamable_http`, or `stdio` as an extension of ours.
    pub transport: String,
    pub captured_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Identity>,
    pub auth: SourceAuth,
    pub capture_config_redacted: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceAuth {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_command: Option<String>,
}

/// What the server said, and nothing of ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RawCapture {
    /// The tools of all pages, one after the other.
    pub tools: Vec<Map<String, Value>>,
    /// The rest of each page: its cursor, its `_meta`, how many tools it had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<Map<String, Value>>,
    /// What bundles of others hold beside them.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// What is made of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalized {
    pub operations: Vec<Operation>,
    pub warnings: Vec<Warning>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    pub source_tool_name: String,
    pub operation_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub description: String,
    pub endpoint: Category,
    pub endpoint_confidence: Confidence,
    pub danger_level: DangerLevel,
    pub needs_review: bool,
    pub review_reasons: Vec<String>,
    pub params: Vec<Param>,
    pub maps_to: String,
    pub returns: Returns,
    pub provenance: OperationProvenance,
}

/// How sure an endpoint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

/// From this on nothing contradicts the endpoint, in hundredths.
const HIGH_PERCENT_MIN: u8 = 85;

impl Confidence {
    pub(super) fn of(percent: u8) -> Self {
        match percent {
            HIGH_PERCENT_MIN.. => Self::High,
            classify::SURE_PERCENT_MIN.. => Self::Medium,
            _ => Self::Low,
        }
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    pub name: String,
    pub original_name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub required: bool,
    #[serde(flatten)]
    pub rules: Rules,
    /// A dot-path into the tool as it was listed.
    pub source_path: String,
}

/// What bundles and adapter files can say of a parameter beside its type.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    #[serde(default, rename = "enum", skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<serde_json::Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<serde_json::Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// The envelope of a result: always an object, whatever the tool returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Returns {
    #[serde(rename = "type")]
    pub kind: String,
    pub name: String,
    pub description: String,
}

/// Where an operation's fields come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationProvenance {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default)]
    pub annotations: Vec<String>,
    pub input_schema_present: bool,
    #[serde(default)]
    pub inference_sources: InferenceSources,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InferenceSources {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_name: Option<Provenance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Provenance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Provenance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub danger_level: Option<Provenance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maps_to: Option<Provenance>,
}

/// Something worth knowing, for machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    pub code: String,
    pub severity: Severity,
    pub message: String,
    /// The server's own name of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Which guess it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heuristic: Option<String>,
}

impl Warning {
    pub(super) fn new(code: &str, severity: Severity, message: String) -> Self {
        Self { code: code.to_owned(), severity, message, tool: None, field: None, heuristic: None }
    }
}

/// Why a file is no bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotABundle {
    #[error("line {line}, column {column}: {reason}")]
    Unreadable { line: usize, column: usize, reason: String },
    #[error("its schema_version is '{0}', and only '{SCHEMA_VERSION}' is known")]
    Version(String),
}

impl Bundle {
    /// The file's bytes. The same capture always gives the same.
    #[must_use]
    pub fn to_json(&self) -> String {
        // INVARIANT: plain data with text keys, so writing it cannot fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    pub fn read(text: &str) -> Result<Self, NotABundle> {
        let bundle: Self = serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let said = error.to_string();
            let reason = said.rsplit_once(" at line ").map_or(said.as_str(), |(reason, _)| reason).to_owned();
            NotABundle::Unreadable { line, column, reason }
        })?;
        if bundle.schema_version != SCHEMA_VERSION {
            return Err(NotABundle::Version(bundle.schema_version));
        }
        Ok(bundle)
    }
}
