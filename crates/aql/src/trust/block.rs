//! The trust block of an adapter file.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::TrustLevel;

/// How far an adapter is trusted and how that came about. One that is missing is untested.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Block {
    pub level: TrustLevel,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generated_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generated_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validated_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validated_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_report: Option<Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promoted_from: Option<TrustLevel>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub promotion_history: Vec<Change>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certification: Option<Certification>,
}

/// What came of testing an adapter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    pub tests_passed: u64,
    pub tests_total: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoints_verified: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage_percent: Option<serde_json::Number>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_api_response: Option<Timestamp>,
}

/// One change of the level, up or down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub from: TrustLevel,
    pub to: TrustLevel,
    pub at: Timestamp,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An authority's word. Its signature is kept for whoever can check it; it is not checked here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certification {
    pub authority: String,
    pub signature: String,
    pub certificate_id: String,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
}

impl Certification {
    #[must_use]
    pub fn holds(&self, now: Timestamp) -> bool {
        !self.authority.trim().is_empty() && !self.signature.trim().is_empty() && now < self.expires_at
    }
}

impl Block {
    /// A block that says nothing but a level.
    #[must_use]
    pub fn of_level(level: TrustLevel) -> Self {
        Self { level, ..Self::default() }
    }

    /// The level that counts. Without a certificate that still holds nothing is certified.
    #[must_use]
    pub fn effective(&self, now: Timestamp) -> TrustLevel {
        let certified = self.certification.as_ref().is_some_and(|certificate| certificate.holds(now));
        if certified { self.level } else { self.level.min(TrustLevel::CommunityReviewed) }
    }
}
