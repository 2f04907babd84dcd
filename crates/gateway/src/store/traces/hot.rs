//! What is taken out of a span's attributes, because lists and sums ask for it.

use std::borrow::Cow;

use serde_json::Value;

use crate::trace::{
    Attributes, Kind, Span, Status,
    names::{self, otel},
};

/// Bytes of a text that lists show. The whole one is among the details.
const TEXT_BYTES_MAX: usize = 256;
pub(super) const NAME_BYTES_MAX: usize = 1024;

/// Words that a session is found by, as a list or with commas between them. They are read from its first span.
pub const TAGS: &str = "mcp.session.tags";

const TAGS_MAX: usize = 16;

pub(super) struct Hot<'a> {
    pub(super) method: Option<Cow<'a, str>>,
    pub(super) tool: Option<Cow<'a, str>>,
    pub(super) operation: Option<Cow<'a, str>>,
    pub(super) peer: Option<Cow<'a, str>>,
    pub(super) agent: Option<Cow<'a, str>>,
    pub(super) client: Option<Cow<'a, str>>,
    pub(super) request: Option<Cow<'a, str>>,
    pub(super) parent_request: Option<Cow<'a, str>>,
    pub(super) error: Option<Cow<'a, str>>,
    pub(super) tokens: Option<i64>,
}

impl<'a> Hot<'a> {
    pub(super) fn of(span: &'a Span) -> Self {
        let given = |names: &[&str]| names.iter().find_map(|name| text(&span.attributes, name));
        let error = given(&[names::ERROR_CODE, names::ERROR_TYPE]);
        let error = error.or_else(|| (span.status == Status::Error).then_some(Cow::Borrowed("error")));
        Self {
            method: given(&[names::METHOD, otel::METHOD]),
            tool: given(&[names::TOOL, otel::TOOL]),
            operation: given(&[names::OPERATION]),
            peer: given(&[names::PEER]),
            agent: given(&[names::AGENT, otel::SERVICE]),
            client: given(&[names::CLIENT]),
            request: given(&[names::REQUEST_ID]),
            parent_request: given(&[names::PARENT_REQUEST_ID]),
            error,
            tokens: tokens(span),
        }
    }
}

/// A value as a short text; an empty one is none.
pub(super) fn text<'a>(attributes: &'a Attributes, name: &str) -> Option<Cow<'a, str>> {
    match attributes.get(name)? {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(Cow::Borrowed(cut(text, TEXT_BYTES_MAX))),
        value @ (Value::Number(_) | Value::Bool(_)) => Some(Cow::Owned(value.to_string())),
        _ => None,
    }
}

/// So much of a text that no character is split.
pub(super) fn cut(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}

/// The session's id as it is kept. Nobody needs a longer one.
pub(super) fn session_id(session: &str) -> &str {
    cut(session, TEXT_BYTES_MAX)
}

pub(super) fn tags(attributes: &Attributes) -> Option<String> {
    let tags: Vec<&str> = match attributes.get(TAGS)? {
        Value::String(text) => text.split(',').map(str::trim).collect(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let tags = tags.into_iter().filter(|tag| !tag.is_empty()).map(|tag| cut(tag, 64));
    let tags: Vec<&str> = tags.take(TAGS_MAX).collect();
    serde_json::to_string(&tags).ok().filter(|_| !tags.is_empty())
}

/// Whether a span stands for itself in the list of operations: a request that was served, work that goes on by itself, or
/// where a report begins.
pub(super) fn is_root(span: &Span) -> bool {
    let is_run = || {
        span.kind == Kind::Internal
            && span.attributes.get(names::REQUEST_ID).is_some_and(|id| *id == *span.session)
    };
    span.parent.is_none() || span.kind == Kind::Server || is_run()
}
/// So many bytes of JSON or English make a token, about.
const BYTES_A_TOKEN: i64 = 4;
/// How long a result was that is only kept in part.
const OUTPUT_BYTES: &str = "mcp.tool.output_json_bytes";

/// What the result costs a model: as it was counted, or estimated from how long it is.
fn tokens(span: &Span) -> Option<i64> {
    let whole = |name: &str| span.attributes.get(name).and_then(Value::as_i64);
    let counted = whole(names::RESULT_TOKENS);
    let cut = || whole(OUTPUT_BYTES);
    let kept = || {
        let text = span.attributes.get(names::OUTPUT)?.as_str()?;
        i64::try_from(text.len()).ok()
    };
    counted.or_else(|| Some(cut().or_else(kept)?.max(0) / BYTES_A_TOKEN))
}
