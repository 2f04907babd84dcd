//! What an agent is told when it has reported a step. The keys are the specification's, and there are no others.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// How risky an action is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SafetyTier {
    Advisory,
    Confirm,
    Verify,
    DangerZone,
}

impl SafetyTier {
    pub const ALL: [Self; 4] = [Self::Advisory, Self::Confirm, Self::Verify, Self::DangerZone];

    /// The tier of a score from 0 to 100.
    #[must_use]
    pub fn of(score: u8) -> Self {
        match score {
            0..=30 => Self::Advisory,
            31..=60 => Self::Confirm,
            61..=85 => Self::Verify,
            _ => Self::DangerZone,
        }
    }

    /// The lowest score of the tier.
    #[must_use]
    pub fn floor(self) -> u8 {
        match self {
            Self::Advisory => 0,
            Self::Confirm => 31,
            Self::Verify => 61,
            Self::DangerZone => 86,
        }
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Advisory => "advisory",
            Self::Confirm => "confirm",
            Self::Verify => "verify",
            Self::DangerZone => "danger_zone",
        }
    }
}

/// The authoritative answer to a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Directive {
    #[serde(rename = "continue")]
    pub goes_on: bool,
    pub factors: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps_remaining: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_step_risk: Option<SafetyTier>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notifications: Vec<Notification>,
}

/// The kinds of events there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotificationType {
    PermissionPending,
    AutonomyPause,
    DangerZone,
    Status,
    Error,
}

/// Something that happened, or that still waits for somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notification {
    #[serde(rename = "type")]
    pub kind: NotificationType,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    #[serde(serialize_with = "in_utc")]
    pub timestamp: Timestamp,
}

/// What is known of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_id: Option<String>,
}

fn in_utc<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(at)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// REQ-AUTO-13
    #[test]
    fn scores_fall_into_their_tiers() {
        use SafetyTier::{Advisory, Confirm, DangerZone, Verify};
        for (score, tier) in [
            (0, Advisory),
            (30, Advisory),
            (31, Confirm),
            (60, Confirm),
            (61, Verify),
            (85, Verify),
            (86, DangerZone),
            (100, DangerZone),
        ] {
            assert_eq!(SafetyTier::of(score), tier, "{score}");
        }
        assert!(SafetyTier::ALL.iter().all(|tier| SafetyTier::of(tier.floor()) == *tier));
    }

    /// REQ-AUTO-02 REQ-AUTO-03 REQ-NOTIF-01 REQ-NOTIF-02
    #[test]
    fn a_directive_has_the_specified_keys_and_no_others() {
        let at: Timestamp = "2026-02-04T10:30:00.5Z".parse().unwrap();
        let metadata = Metadata {
            operation: Some("delete_item".to_owned()),
            reason: Some("r".to_owned()),
            level: Some("destructive".to_owned()),
            verification_id: Some("v".to_owned()),
        };
        let notification = Notification {
            kind: NotificationType::PermissionPending,
            message: "m".to_owned(),
            metadata: Some(metadata),
            timestamp: at,
        };
        let full = Directive {
            goes_on: false,
            factors: vec!["f".to_owned()],
            stopped: true,
            reason: Some("r".to_owned()),
            steps_remaining: Some(0),
            next_step_risk: Some(SafetyTier::DangerZone),
            notifications: vec![notification],
        };
        let expected = json!({
            "continue": false, "factors": ["f"], "stopped": true, "reason": "r", "stepsRemaining": 0,
            "nextStepRisk": "danger_zone",
            "notifications": [{
                "type": "permission_pending", "message": "m", "timestamp": "2026-02-04T10:30:00.5Z",
                "metadata": {"operation": "delete_item", "reason": "r", "level": "destructive", "verificationId": "v"},
            }],
        });
        assert_eq!(json!(full), expected);
        let bare = Directive {
            goes_on: true,
            factors: Vec::new(),
            stopped: false,
            reason: None,
            steps_remaining: None,
            next_step_risk: None,
            notifications: Vec::new(),
        };
        assert_eq!(json!(bare), json!({"continue": true, "factors": []}));
        use NotificationType::{AutonomyPause, DangerZone, Error, PermissionPending, Status};
        let types = [PermissionPending, AutonomyPause, DangerZone, Status, Error];
        let expected = json!(["permission_pending", "autonomy_pause", "danger_zone", "status", "error"]);
        assert_eq!(json!(types), expected);
    }
}
