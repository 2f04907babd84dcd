//! The discovery bundle: what a server said, and beside it what is made of that.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    capture::{self, Auth, Capture, Error, Identity, Reached},
    normalize, redact, tools,
};
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

/// How a capture is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// What operations' names begin with; nothing unless asked.
    pub prefix: &'a str,
    /// Refuses what the published schema does not know: processes on this machine.
    pub strict: bool,
    pub trust: classify::Trust,
    pub overrides: &'a classify::Overrides,
}

/// Makes the bundle of a capture.
pub fn bundle(capture: &Capture, options: &Options<'_>) -> Result<Bundle, Error> {
    let mut warnings = Vec::new();
    let secrets = capture.known_secrets();
    let secrets = redact::searchable(&secrets);
    let source = source(capture, options.strict, &secrets)?;
    let raw_capture = raw(&capture.pages, &secrets, &mut warnings)?;
    let mut read = Vec::new();
    for (place, entry) in raw_capture.tools.iter().enumerate() {
        match tools::read(entry) {
            Some(tool) => {
                warnings.extend(tool.flaws);
                read.push((tool.tool, entry));
            }
            None => {
                let message = format!("entry {} of the list has no name and is left out", place + 1);
                warnings.push(Warning::new("NOT_A_TOOL", Severity::Error, message));
            }
        }
    }
    let operations = normalize::operations(&source.name, read, options, &mut warnings);
    Ok(Bundle {
        schema_version: SCHEMA_VERSION.to_owned(),
        source,
        raw_capture,
        normalized_bundle: Normalized { operations, warnings },
    })
}

fn source(capture: &Capture, strict: bool, secrets: &[&str]) -> Result<Source, Error> {
    if capture.name.trim().is_empty() {
        return Err(Error::NoName);
    }
    if capture.captured_at.parse::<jiff::Timestamp>().is_err() || !capture.captured_at.contains('T') {
        return Err(Error::NoTime(capture.captured_at.clone()));
    }
    let server_url = redact::known_in_url(capture.reached.url(&capture.name)?, secrets);
    if strict && matches!(capture.reached, Reached::Stdio { .. }) {
        return Err(Error::Strict);
    }
    let auth = match &capture.auth {
        Auth::None => SourceAuth { kind: "none".to_owned(), ..SourceAuth::default() },
        Auth::Bearer { header, prefix, token_env, token_command } => SourceAuth {
            kind: "bearer".to_owned(),
            header: header.clone(),
            prefix: prefix.as_deref().map(redact::text),
            token_env: token_env.clone(),
            token_command: token_command
                .as_ref()
                .map(|command| redact::arguments(command.split(' ')).join(" ")),
        },
    };
    let mut config = redact::config(&capture.config);
    if let Reached::Stdio { command, args } = &capture.reached
        && !command.is_empty()
    {
        config.insert("command".to_owned(), redact::text(command).into());
        config.insert("args".to_owned(), redact::arguments(args.iter().map(String::as_str)).into());
    }
    let source = Source {
        name: capture.name.clone(),
        server_url,
        transport: capture.reached.transport().to_owned(),
        captured_at: capture.captured_at.clone(),
        server: capture.server.clone(),
        auth,
        capture_config_redacted: config,
    };
    // A secret may also stand where nobody looks for one, as in the name of the server.
    let mut written = serde_json::to_value(&source).unwrap_or_default();
    if redact::scrub(&mut written, secrets) {
        return Ok(serde_json::from_value(written).unwrap_or(source));
    }
    Ok(source)
}

/// The pages joined, each leaving behind what it said beside its tools.
fn raw(pages: &[Value], secrets: &[&str], warnings: &mut Vec<Warning>) -> Result<RawCapture, Error> {
    let mut raw = RawCapture { tools: Vec::new(), pages: Vec::new(), others: Map::new() };
    let mut leaked = false;
    for (place, page) in pages.iter().enumerate() {
        let number = place + 1;
        let mut page = Value::Object(capture::page(page).ok_or(Error::NoPage { number })?.clone());
        leaked |= redact::scrub(&mut page, secrets);
        let Value::Object(mut page) = page else { continue };
        let Some(Value::Array(entries)) = page.remove("tools") else { continue };
        page.insert("tool_count".to_owned(), entries.len().into());
        let mut others = Map::new();
        for (place, entry) in entries.into_iter().enumerate() {
            match entry {
                Value::Object(tool) => raw.tools.push(tool),
                other => {
                    let message =
                        format!("entry {} of page {number} is no object and is left out", place + 1);
                    warnings.push(Warning::new("NOT_A_TOOL", Severity::Error, message));
                    others.insert(place.to_string(), other);
                }
            }
        }
        if !others.is_empty() {
            page.insert("entries_that_are_no_objects".to_owned(), Value::Object(others));
        }
        raw.pages.push(page);
    }
    if raw.pages.is_empty() {
        return Err(Error::NoPages);
    }
    if leaked {
        let message = "the server repeated a secret of this configuration, which was taken out".to_owned();
        warnings.push(Warning::new("SECRET_REDACTED", Severity::Error, message));
    }
    Ok(raw)
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
