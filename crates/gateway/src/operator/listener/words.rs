//! The words, times and events of what is told, as the document describes them. All words are the code's own.

use aql::{
    audit::Outcome,
    autonomy::challenge::{State, Tier},
    danger::DangerLevel,
    policy::Verdict,
    trust::TrustLevel,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::store::safety::{ApprovalKind, ApprovalState};

/// What an entry of the audit log tells. What does not apply is left out.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the text that was hashed is sent as it is")]
pub(crate) struct AuditEvent {
    /// What happened, as in OPERATION_DENIED.
    event: String,
    #[serde(default)]
    #[schemars(schema_with = "outcome")]
    outcome: Option<Outcome>,
    session_id: Option<String>,
    principal: Option<String>,
    /// The agent of a monitored execution, by its element's name.
    agent: Option<String>,
    operation: Option<String>,
    adapter_name: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "trust")]
    adapter_trust: Option<TrustLevel>,
    endpoint: Option<String>,
    #[serde(default)]
    #[schemars(schema_with = "danger")]
    danger_level: Option<DangerLevel>,
    #[serde(default)]
    reasons: Vec<String>,
    params: Option<Value>,
    /// Which token it was, by an id that is no part of it.
    token_id: Option<String>,
    approval_id: Option<String>,
    challenge_id: Option<String>,
    /// How a person or another program answered, as in command.
    channel: Option<String>,
    /// Anything else that belongs to it.
    detail: Option<Value>,
}

/// One of some words.
pub(crate) fn one_of<'a>(all: impl IntoIterator<Item = &'a str>) -> Schema {
    let all: Vec<_> = all.into_iter().collect();
    json_schema!({"type": "string", "enum": all})
}

pub(crate) fn approval_kind(_: &mut SchemaGenerator) -> Schema {
    one_of(ApprovalKind::ALL.iter().map(|kind| kind.as_str()))
}

pub(crate) fn approval_state(_: &mut SchemaGenerator) -> Schema {
    one_of(ApprovalState::ALL.iter().map(|state| state.as_str()))
}

pub(crate) fn danger(_: &mut SchemaGenerator) -> Schema {
    one_of(DangerLevel::ALL.map(DangerLevel::as_str))
}

pub(crate) fn trust(_: &mut SchemaGenerator) -> Schema {
    one_of(TrustLevel::ALL.map(TrustLevel::as_str))
}

pub(crate) fn trust_or_none(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [trust(generator), {"type": "null"}]})
}

pub(crate) fn verdict(_: &mut SchemaGenerator) -> Schema {
    one_of([Verdict::Allow, Verdict::Confirm, Verdict::Deny].map(Verdict::as_str))
}

pub(crate) fn challenge_state(_: &mut SchemaGenerator) -> Schema {
    one_of(State::ALL.map(State::as_str))
}

pub(crate) fn tier(_: &mut SchemaGenerator) -> Schema {
    one_of([Tier::Verify, Tier::Hard].map(Tier::as_str))
}

fn outcome(_: &mut SchemaGenerator) -> Schema {
    use Outcome::{Allowed, Confirmed, Denied, Failure, Pending, Success};
    json_schema!({"type": "string", "enum": [Allowed, Confirmed, Denied, Pending, Success, Failure]})
}

pub(crate) fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time"})
}

pub(crate) fn time_or_none(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "null"], "format": "date-time"})
}

#[cfg(test)]
mod tests {
    use aql::audit::Event;
    use serde_json::json;

    use super::*;

    /// What is kept as text is described by a type of its own, which has to know every member.
    #[test]
    fn everything_that_an_event_can_tell_is_described() {
        let text = || Some("x".to_owned());
        let event = Event {
            event: "X".to_owned(),
            outcome: Some(Outcome::Denied),
            session_id: text(),
            principal: text(),
            agent: text(),
            operation: text(),
            adapter_name: text(),
            adapter_trust: Some(TrustLevel::CommunityReviewed),
            endpoint: text(),
            danger_level: Some(DangerLevel::Safe),
            reasons: vec!["x".to_owned()],
            params: Some(json!({})),
            token_id: text(),
            approval_id: text(),
            challenge_id: text(),
            channel: text(),
            detail: Some(json!({})),
        };
        let mut schema = SchemaGenerator::default().into_root_schema_for::<AuditEvent>();
        schema.insert("additionalProperties".to_owned(), json!(false));
        let validator = jsonschema::validator_for(schema.as_value()).unwrap();
        for event in [event, Event::new("X")] {
            let told = json!(event);
            let problems: Vec<_> = validator.iter_errors(&told).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{problems:?}");
        }
    }
}
