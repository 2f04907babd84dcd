//! What an adapter file says of trust and danger.

use serde_json::{Value, json};

use super::{
    super::yaml,
    fields::{Field, Reader, find},
};
use crate::{
    danger::{COOLDOWN_SECONDS_MAX, DangerLevel, Words},
    trust::{Block, TrustLevel},
};

const TRUST_KEYS: [&str; 9] = [
    "level",
    "generated_at",
    "generated_by",
    "validated_at",
    "validated_by",
    "validation_report",
    "promoted_from",
    "promotion_history",
    "certification",
];
const DANGER_KEYS: [&str; 6] =
    ["level", "reasons", "confirmation_message", "cooldown_seconds", "requires_reauth", "audit_context"];

/// The trust block. One with mistakes counts for nothing, and the mistakes keep the file from being used.
pub(super) fn trust(reader: &mut Reader, notes: &mut Reader, field: &Field<'_>) -> Block {
    let entries = reader.table(field, &TRUST_KEYS);
    let before = reader.problems.len();
    let mut block = Value::Object(
        entries
            .iter()
            .map(|(key, field)| (key.text.clone(), field.node.to_json()))
            .filter(|(_, value)| !value.is_null())
            .collect(),
    );
    match find(&entries, "level") {
        None => reader.missing(field, "level"),
        Some(at) => {
            let older = at.node.to_json().as_str().and_then(TrustLevel::of_older_name);
            if let (Some(level), Value::Object(block)) = (older, &mut block) {
                let message = format!("is an older name and read as '{level}'");
                notes.note(at.line, &at.path, message);
                block.insert("level".to_owned(), level.as_str().into());
            } else {
                reader.parsed::<TrustLevel>(at);
            }
        }
    }
    if reader.problems.len() > before {
        return Block::default();
    }
    serde_json::from_value(block).unwrap_or_else(|error| {
        let help = Some("write it as 'aqueduct trust' does, times as in \"2026-01-15T10:00:00Z\"".to_owned());
        reader.note_with(field.line, &field.path, format!("cannot be read: {error}"), help);
        Block::default()
    })
}

/// The level with its line, and what else is said. `danger` is a level or a table; `danger_level` a level alone.
pub(super) fn danger(
    reader: &mut Reader,
    level: Option<&Field<'_>>,
    danger: Option<&Field<'_>>,
) -> (Option<(DangerLevel, usize)>, Words) {
    let mut parsed = |field: &Field<'_>| Some((reader.parsed::<DangerLevel>(field)?, field.line));
    let alone = level.and_then(&mut parsed);
    let Some(field) = danger else { return (alone, Words::default()) };
    if !matches!(field.node.content, yaml::Content::Table(_)) {
        let other = parsed(field);
        return (alone.or(other), Words::default());
    }
    let entries = reader.table(field, &DANGER_KEYS);
    let inside = find(&entries, "level");
    let said = inside.and_then(|field| Some((reader.parsed::<DangerLevel>(field)?, field.line)));
    if let (Some((one, _)), Some((other, line))) = (alone, said)
        && one != other
    {
        let help = Some("keep one of them".to_owned());
        let message = format!("says '{other}' where 'danger_level' says '{one}'");
        reader.note_with(line, &field.path, message, help);
    }
    let mut texts = |key: &str| match find(&entries, key) {
        Some(field) => reader.list(field).iter().filter_map(|entry| reader.text(entry)).collect(),
        None => Vec::new(),
    };
    let (reasons, audit_context) = (texts("reasons"), texts("audit_context"));
    let words = Words {
        reasons,
        audit_context,
        confirmation_message: find(&entries, "confirmation_message").and_then(|field| reader.text(field)),
        cooldown_seconds: find(&entries, "cooldown_seconds").and_then(|field| cooldown(reader, field)),
        requires_reauth: find(&entries, "requires_reauth").and_then(|field| reader.flag(field)),
    };
    (said.or(alone), words)
}

fn cooldown(reader: &mut Reader, field: &Field<'_>) -> Option<u32> {
    let number = reader.number(field)?;
    let seconds = number.as_u64().and_then(|seconds| u32::try_from(seconds).ok());
    let seconds = seconds.filter(|seconds| *seconds <= COOLDOWN_SECONDS_MAX);
    if seconds.is_none() {
        let message = format!("{number} must be a whole number of seconds up to {COOLDOWN_SECONDS_MAX}");
        reader.note(field.line, &field.path, message);
    }
    seconds
}

/// The text of an adapter file with another trust block. Everything else of it stays as somebody wrote it.
#[must_use]
pub fn with_trust(text: &str, block: &Block) -> Option<String> {
    let made = yaml::emit(&[("trust", json!(block))]);
    let mut out = String::with_capacity(text.len() + made.len());
    let mut lines = text.split_inclusive('\n');
    out.push_str(lines.next().filter(|first| first.trim_start_matches('\u{feff}').trim_end() == "---")?);
    let (mut written, mut inside) = (false, false);
    while let Some(line) = lines.next() {
        let ends = line.trim_end() == "---";
        let starts_key = !line.starts_with([' ', '\t', '#', '-', '\r', '\n']);
        if ends || starts_key {
            inside = line.starts_with("trust:");
            if inside || (!written && (ends || line.starts_with("operations:"))) {
                if !written {
                    out.push_str(&made);
                }
                written = true;
            }
        }
        if ends {
            out.push_str(line);
            out.extend(lines);
            return Some(out);
        }
        if !inside {
            out.push_str(line);
        }
    }
    None
}
