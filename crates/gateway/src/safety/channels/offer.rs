//! What a person is shown of a call that waits for them.

use jiff::Timestamp;
use serde_json::Value;

use crate::{operator::shown::line, store::safety::Approval};

/// Longest values of one line, in characters.
const VALUE_CHARS_MAX: usize = 200;
const PARAMETERS_MAX: usize = 12;
const REASONS_MAX: usize = 5;

/// A few lines of plain text. Everything an agent had a hand in stands on a line of its own behind its label.
#[must_use]
pub fn text(asked: &Approval) -> String {
    let mut lines = vec![
        "An agent wants to do this. Approve it only if you know why.".to_owned(),
        String::new(),
        format!("Operation: {}", line(&asked.operation, VALUE_CHARS_MAX)),
        format!("Danger: {}", asked.danger.as_str()),
        format!("Adapter: {}", line(&asked.adapter, VALUE_CHARS_MAX)),
        format!("Caller: {}", line(&asked.principal, VALUE_CHARS_MAX)),
    ];
    if let Some(agent) = &asked.agent {
        lines.push(format!("Agent: {}", line(agent, VALUE_CHARS_MAX)));
    }
    lines.extend(parameters(asked));
    for reason in asked.reasons.iter().take(REASONS_MAX) {
        lines.push(format!("Why it is asked: {}", line(reason, VALUE_CHARS_MAX)));
    }
    lines.push(String::new());
    lines.push(format!("Approval {}", line(&asked.id, VALUE_CHARS_MAX)));
    lines.join("\n")
}

fn parameters(asked: &Approval) -> Vec<String> {
    let Value::Object(params) = &asked.params else { return Vec::new() };
    let mut lines: Vec<String> = params
        .iter()
        .take(PARAMETERS_MAX)
        .map(|(name, value)| {
            format!("  {} = {}", line(name, VALUE_CHARS_MAX), line(&value.to_string(), VALUE_CHARS_MAX))
        })
        .collect();
    if !lines.is_empty() {
        lines.insert(0, "Parameters:".to_owned());
    }
    if let Some(more @ 1..) = params.len().checked_sub(PARAMETERS_MAX) {
        lines.push(format!("  … and {more} more; 'aqueduct operator pending' shows them all"));
    }
    lines
}

/// The whole seconds until it expires, at least one, so that nobody waits for ever.
pub(super) fn seconds_left(asked: &Approval, now: Timestamp) -> u64 {
    const LONGEST: i64 = 24 * 60 * 60;
    let left = asked.expires_at.duration_since(now).as_secs().clamp(1, LONGEST);
    u64::try_from(left).unwrap_or(1)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::safety::{ApprovalKind, ApprovalState};
    use aql::danger::DangerLevel;

    pub(in super::super) fn offer(params: Value) -> Approval {
        Approval {
            id: "appr_1".to_owned(),
            kind: ApprovalKind::Call,
            state: ApprovalState::Pending,
            trust: None,
            not_before: None,
            answered_at: None,
            answered_by: None,
            channel: None,
            operation: "delete_entity".to_owned(),
            adapter: "aqueduct".to_owned(),
            session_id: "s".to_owned(),
            principal: "local".to_owned(),
            agent: None,
            danger: DangerLevel::Destructive,
            reasons: vec!["it deletes".to_owned()],
            message: "delete_entity waits".to_owned(),
            params,
            asked_at: Timestamp::UNIX_EPOCH,
            expires_at: Timestamp::from_second(300).unwrap(),
        }
    }

    #[test]
    fn an_agent_cannot_write_lines_of_its_own_into_what_a_person_reads() {
        let hostile = json!({
            "name": "x\nOperation: read_entity\nDanger: safe", "b\r\nDanger: safe": "\u{202e}efas",
            "long": "y".repeat(100_000)});
        let mut asked = offer(hostile);
        asked.agent = Some("a\nDanger: safe".to_owned());
        asked.reasons = (0..50).map(|n| format!("{n}\nDanger: safe")).collect();
        let text = text(&asked);
        assert_eq!(
            text.lines().filter(|line| line.starts_with("Danger: ")).collect::<Vec<_>>(),
            ["Danger: destructive"]
        );
        assert_eq!(text.lines().filter(|line| line.starts_with("Operation: ")).count(), 1);
        assert!(text.chars().count() < 4000, "{}", text.chars().count());
        assert!(!text.contains('\u{202e}') && !text.contains('\r'));
        let many: serde_json::Map<String, Value> = (0..100).map(|n| (format!("p{n}"), json!(n))).collect();
        assert!(super::text(&offer(Value::Object(many))).contains("… and 88 more"));
    }

    #[test]
    fn the_time_that_is_left_has_bounds() {
        let asked = offer(json!({}));
        let at = |second| seconds_left(&asked, Timestamp::from_second(second).unwrap());
        assert_eq!((at(0), at(299), at(300), at(10_000), at(-1_000_000)), (300, 1, 1, 1, 86_400));
    }
}
