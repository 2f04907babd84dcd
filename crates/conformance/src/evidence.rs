//! What an adapter answered, in the shape of the specification's evidence bundles.
//!
//! A bundle reads back as it was written, and the published runner reads it too. What only a live run can
//! show stands under `live`, a key of ours; a bundle without it skips the checks that need it.

use std::{collections::BTreeMap, fmt, path::Path};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub implementation: String,
    pub version: String,
    pub spec_version: String,
    /// What a reference bundle is known to reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_level: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_exit_code: Option<u8>,
    #[serde(default)]
    pub endpoint_modes: Vec<String>,
    #[serde(default)]
    pub capabilities: Capabilities,
    #[serde(default)]
    pub introspection: Introspection,
    /// By operation; what probing showed, not what introspection says.
    #[serde(default)]
    pub accepted_parameters: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub parameter_tests: ParameterTests,
    #[serde(default)]
    pub error_tests: Vec<ErrorCase>,
    #[serde(default)]
    pub round_trip_tests: Vec<RoundTrip>,
    #[serde(default)]
    pub update_preservation_tests: Vec<UpdatePreservation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_example: Option<Value>,
    #[serde(default)]
    pub constraint_tests: Vec<ConstraintCase>,
    #[serde(default)]
    pub semantic_tests: Vec<SemanticCase>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Capabilities {
    #[serde(default)]
    pub field_selection: bool,
    #[serde(default)]
    pub batch_operations: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Introspection {
    #[serde(default)]
    pub operations_list: Value,
    #[serde(default)]
    pub types_list: Value,
    #[serde(default)]
    pub operation_details: Vec<Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ParameterTests {
    #[serde(default)]
    pub missing_required: Vec<ParameterCase>,
    #[serde(default)]
    pub unknown_parameter: Vec<ParameterCase>,
    #[serde(default)]
    pub optional_defaults: Vec<DefaultCase>,
}

/// A call in which something is wrong with one parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParameterCase {
    pub operation: String,
    pub parameter: String,
    pub response: Value,
}

/// A call without a parameter that has a default, and where its answer shows the default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DefaultCase {
    pub operation: String,
    pub parameter: String,
    pub expected_value_path: String,
    pub expected_value: Value,
    pub response: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorCase {
    pub name: String,
    /// What the message has to name to be of use.
    #[serde(default)]
    pub must_mention: Vec<String>,
    pub response: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundTrip {
    pub name: String,
    /// By path in the answer.
    pub expected_fields: Map<String, Value>,
    pub read_response: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UpdatePreservation {
    pub name: String,
    pub preserved_fields: Map<String, Value>,
    pub read_response: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstraintCase {
    pub name: String,
    /// Whether introspection told of the constraint.
    pub documented: bool,
    pub response: Value,
}

/// What a model said and did when it was asked to find something out; no live run makes these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SemanticCase {
    pub name: String,
    pub response_text: String,
    #[serde(default)]
    pub tool_calls: Vec<Value>,
    #[serde(default)]
    pub structural: StructuralExpectation,
    #[serde(default)]
    pub semantic: SemanticExpectation,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StructuralExpectation {
    #[serde(default)]
    pub required_patterns: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SemanticExpectation {
    #[serde(default)]
    pub phrase_groups: Vec<Vec<String>>,
    #[serde(default)]
    pub expected_operations: Vec<String>,
    #[serde(default)]
    pub expected_parameters: Vec<String>,
}

/// What only a live run can show.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// The mode this bundle was collected in.
    pub mode: String,
    pub tools: Vec<Value>,
    pub generated_requests: Vec<GeneratedRequest>,
    pub misrouted_calls: Vec<MisroutedCall>,
    pub unlisted_operations: Vec<UnlistedOperation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_selection_example: Option<SelectionExample>,
}

/// A call built from introspection alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratedRequest {
    pub operation: String,
    pub params: Value,
    pub response: Value,
}

/// A call that would be right, through a tool that does not serve it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MisroutedCall {
    pub operation: String,
    pub tool: String,
    pub response: Value,
}

/// An operation that answers although no list names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnlistedOperation {
    pub operation: String,
    pub tool: String,
    pub response: Value,
}

/// A read of one field, and what came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelectionExample {
    pub operation: String,
    pub fields: Vec<String>,
    pub response: Value,
}

/// Why a bundle cannot be judged.
#[derive(Debug)]
pub enum Error {
    Unreadable(std::io::Error),
    Malformed(serde_json::Error),
}

impl Error {
    /// The exit code of a configuration error.
    pub const EXIT_CODE: u8 = 3;
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "the evidence cannot be read: {error}"),
            Self::Malformed(error) => write!(f, "the evidence is no bundle: {error}"),
        }
    }
}

impl std::error::Error for Error {}

impl Evidence {
    pub fn load(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path).map_err(Error::Unreadable)?;
        serde_json::from_slice(&bytes).map_err(Error::Malformed)
    }
}
