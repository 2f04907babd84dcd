//! A span as it is written: what lists and sums ask for has been taken out of its attributes, these are JSON, and all of its
//! texts lie in one piece. So it costs little to keep waiting and to hand from thread to thread, and writing it is no more
//! than putting it into its columns.

use std::fmt::Write as _;

use serde_json::Value;

use crate::trace::{
    Attributes, Engine, Happening, Kind, Link, Nanos, Sorted, Span, SpanId, Status, TraceId, json,
    names::{self, otel},
};

/// Bytes of a text that lists show. The whole one is among the details.
const TEXT_BYTES_MAX: usize = 256;
const NAME_BYTES_MAX: usize = 1024;

/// Words that a session is found by, as a list or with commas between them. They are read from its first span.
pub const TAGS: &str = "mcp.session.tags";

const TAGS_MAX: usize = 16;

/// So many bytes of JSON or English make a token, about.
const BYTES_A_TOKEN: i64 = 4;
/// How long a result was that is only kept in part.
const OUTPUT_BYTES: &str = "mcp.tool.output_json_bytes";

/// The texts of a span, in the order in which they lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    Name,
    Method,
    Tool,
    Operation,
    Peer,
    Agent,
    Client,
    Request,
    ParentRequest,
    Error,
    Connection,
    Principal,
    Transport,
    Tags,
    Attributes,
    Events,
    Links,
}

const TEXTS: usize = Text::Links as usize + 1;

/// A span, ready to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Packed {
    pub trace: TraceId,
    pub id: SpanId,
    pub parent: Option<SpanId>,
    pub session: String,
    pub engine: Engine,
    pub kind: Kind,
    pub status: Status,
    pub started: Nanos,
    pub ended: Option<Nanos>,
    pub waited: Nanos,
    pub(super) tokens: Option<i64>,
    texts: Texts,
}

impl Packed {
    #[must_use]
    pub fn of(span: &Span) -> Self {
        Self::with(span, &span.attributes)
    }

    /// A span with attributes that are not its own yet.
    pub(crate) fn with(span: &Span, attributes: &Sorted<'_>) -> Self {
        let hot = Hot::of(attributes);
        let mut texts = Texts::with_capacity(span.name.len() + 64 * attributes.len() + 256);
        texts.push(Text::Name, cut(&span.name, NAME_BYTES_MAX));
        hot.write(span.status, &mut texts);
        texts.write(Text::Attributes, |out| json::push_attributes(out, attributes.iter()));
        if !span.events.is_empty() {
            texts.write(Text::Events, |out| json::push(out, &span.events));
        }
        if !span.links.is_empty() {
            texts.write(Text::Links, |out| json::push(out, &span.links));
        }
        Self {
            trace: span.trace,
            id: span.id,
            parent: span.parent,
            session: span.session.clone(),
            engine: span.engine,
            kind: span.kind,
            status: span.status,
            started: span.started,
            ended: span.ended,
            waited: span.waited,
            tokens: hot.tokens(),
            texts: texts.whole(),
        }
    }

    /// The span that it was, with no more of its name than is kept.
    #[must_use]
    pub fn span(&self) -> Span {
        fn read<T: serde::de::DeserializeOwned + Default>(json: Option<&str>) -> T {
            json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
        }
        Span {
            trace: self.trace,
            id: self.id,
            parent: self.parent,
            session: self.session.clone(),
            engine: self.engine,
            name: self.name().to_owned(),
            kind: self.kind,
            status: self.status,
            started: self.started,
            ended: self.ended,
            waited: self.waited,
            attributes: read::<Attributes>(self.text(Text::Attributes)),
            events: read::<Vec<Happening>>(self.text(Text::Events)),
            links: read::<Vec<Link>>(self.text(Text::Links)),
        }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        self.text(Text::Name).unwrap_or_default()
    }

    pub(super) fn text(&self, which: Text) -> Option<&str> {
        self.texts.get(which)
    }

    /// About the memory that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.session.capacity() + self.texts.all.capacity()
    }

    /// Whether it says what its session is about: a request that was served, work that goes on by itself, or where a
    /// report begins.
    pub(crate) fn is_root(&self) -> bool {
        (self.parent.is_none() || self.kind == Kind::Server || self.is_run()) && !self.is_look()
    }

    /// Whether it stands for itself in the list of operations. Work that goes on by itself is part of the request that
    /// began it, where that is known.
    pub(crate) fn is_listed(&self) -> bool {
        self.is_root() && !(self.is_run() && self.text(Text::ParentRequest).is_some())
    }

    /// Whether it asks how something is that is a session of its own.
    fn is_look(&self) -> bool {
        self.kind == Kind::Server
            && self.text(Text::Request) != Some(session_id(&self.session))
            && self.text(Text::Method).is_some_and(|method| method.starts_with("tasks/"))
    }

    fn is_run(&self) -> bool {
        self.kind == Kind::Internal && self.text(Text::Request) == Some(session_id(&self.session))
    }
}

/// Texts one behind the other.
#[derive(Debug, Clone, PartialEq)]
struct Texts {
    all: String,
    /// Where each ends, which is where the next begins.
    ends: [u32; TEXTS],
    /// Which of them there are, a bit each: an empty text is not the same as none.
    there: u32,
}

impl Texts {
    fn with_capacity(bytes: usize) -> Self {
        Self { all: String::with_capacity(bytes), ends: [0; TEXTS], there: 0 }
    }

    /// Texts come in their order.
    fn push(&mut self, which: Text, text: &str) {
        self.write(which, |out| out.push_str(text));
    }

    fn write(&mut self, which: Text, write: impl FnOnce(&mut String)) {
        write(&mut self.all);
        let end = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        if let Some(ends) = self.ends.get_mut(which as usize..) {
            ends.fill(end);
        }
        self.there |= 1 << which as u32;
    }

    fn whole(mut self) -> Self {
        self.all.shrink_to_fit();
        self
    }

    fn get(&self, which: Text) -> Option<&str> {
        let place = which as usize;
        if self.there & (1 << place) == 0 {
            return None;
        }
        let start =
            place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        let end = self.ends.get(place).copied()?;
        self.all.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }
}

/// What is asked for of a span's attributes, found in one pass over them.
#[derive(Default)]
struct Hot<'a> {
    /// In their order, from [`Text::Method`] to [`Text::Tags`].
    ours: [Option<&'a Value>; HOT],
    /// What stands for one that is not there.
    instead: [Option<&'a Value>; HOT],
    result_tokens: Option<&'a Value>,
    output_bytes: Option<&'a Value>,
    output: Option<&'a Value>,
}

const HOT: usize = Text::Tags as usize;

impl<'a> Hot<'a> {
    fn of(attributes: &'a Sorted<'_>) -> Self {
        let mut hot = Self::default();
        for (name, value) in attributes.iter() {
            let (which, is_ours) = match name {
                names::METHOD => (Text::Method, true),
                otel::METHOD => (Text::Method, false),
                names::TOOL => (Text::Tool, true),
                otel::TOOL => (Text::Tool, false),
                names::OPERATION => (Text::Operation, true),
                names::PEER => (Text::Peer, true),
                names::AGENT => (Text::Agent, true),
                otel::SERVICE => (Text::Agent, false),
                names::CLIENT => (Text::Client, true),
                names::REQUEST_ID => (Text::Request, true),
                names::PARENT_REQUEST_ID => (Text::ParentRequest, true),
                names::ERROR_CODE => (Text::Error, true),
                names::ERROR_TYPE => (Text::Error, false),
                names::CONNECTION => (Text::Connection, true),
                names::PRINCIPAL => (Text::Principal, true),
                names::TRANSPORT => (Text::Transport, true),
                TAGS => (Text::Tags, true),
                names::RESULT_TOKENS => {
                    hot.result_tokens = Some(value);
                    continue;
                }
                OUTPUT_BYTES => {
                    hot.output_bytes = Some(value);
                    continue;
                }
                names::OUTPUT => {
                    hot.output = Some(value);
                    continue;
                }
                _ => continue,
            };
            let places = if is_ours { &mut hot.ours } else { &mut hot.instead };
            if let Some(place) = places.get_mut(which as usize - 1) {
                *place = Some(value);
            }
        }
        hot
    }

    fn write(&self, status: Status, texts: &mut Texts) {
        let of = [
            Text::Method,
            Text::Tool,
            Text::Operation,
            Text::Peer,
            Text::Agent,
            Text::Client,
            Text::Request,
            Text::ParentRequest,
            Text::Error,
            Text::Connection,
            Text::Principal,
            Text::Transport,
        ];
        for (which, (ours, instead)) in of.into_iter().zip(self.ours.iter().zip(&self.instead)) {
            let said = ours.is_some_and(|value| short(which, value, texts))
                || instead.is_some_and(|value| short(which, value, texts));
            if !said && which == Text::Error && status == Status::Error {
                texts.push(which, "error");
            }
        }
        let [.., given] = self.ours;
        if let Some(tags) = given.and_then(tags) {
            texts.push(Text::Tags, &tags);
        }
    }

    /// What the result costs a model: as it was counted, or estimated from how long it is.
    fn tokens(&self) -> Option<i64> {
        let whole = |value: Option<&Value>| value.and_then(Value::as_i64);
        let kept = || i64::try_from(self.output?.as_str()?.len()).ok();
        whole(self.result_tokens)
            .or_else(|| Some(whole(self.output_bytes).or_else(kept)?.max(0) / BYTES_A_TOKEN))
    }
}

/// Adds a value as a short text, if it is one; an empty one is none.
fn short(which: Text, value: &Value, texts: &mut Texts) -> bool {
    match value {
        Value::String(text) if !text.is_empty() => texts.push(which, cut(text, TEXT_BYTES_MAX)),
        Value::Number(_) | Value::Bool(_) => texts.write(which, |out| {
            let _ = write!(out, "{value}");
        }),
        _ => return false,
    }
    true
}

fn tags(given: &Value) -> Option<String> {
    let tags: Vec<&str> = match given {
        Value::String(text) => text.split(',').map(str::trim).collect(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let tags = tags.into_iter().filter(|tag| !tag.is_empty()).map(|tag| cut(tag, 64));
    let tags: Vec<&str> = tags.take(TAGS_MAX).collect();
    serde_json::to_string(&tags).ok().filter(|_| !tags.is_empty())
}

/// So much of a text that no character is split.
pub(super) fn cut(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}

/// The session's id as it is kept. Nobody needs a longer one.
pub(super) fn session_id(session: &str) -> &str {
    cut(session, TEXT_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::trace::otlp::tests::{some_span, span};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn what_was_packed_is_there_again(span in span()) {
            prop_assert_eq!(Packed::of(&span).span(), span);
        }
    }

    fn with<const COUNT: usize>(attributes: [(&'static str, Value); COUNT]) -> Packed {
        Packed::of(&Span { attributes: attributes.into(), ..some_span() })
    }

    #[test]
    fn what_lists_ask_for_is_found_by_either_name() {
        let both =
            with([(names::TOOL, json!("ours")), (otel::TOOL, json!("theirs")), (otel::METHOD, json!("m"))]);
        assert_eq!((both.text(Text::Tool), both.text(Text::Method)), (Some("ours"), Some("m")));
        let empty = with([(names::TOOL, json!("")), (otel::TOOL, json!("theirs"))]);
        assert_eq!(empty.text(Text::Tool), Some("theirs"), "an empty text is none");
        let other =
            with([(names::RPC_ID, json!(7)), (names::ERROR_CODE, json!(-32602)), (names::PEER, json!([1]))]);
        assert_eq!((other.text(Text::Error), other.text(Text::Peer)), (Some("-32602"), None));
        let long = with([(names::AGENT, json!("ä".repeat(1000))), (names::TRANSPORT, json!(true))]);
        assert_eq!(long.text(Text::Agent), Some("ä".repeat(128).as_str()), "no character is split");
        assert_eq!(long.text(Text::Transport), Some("true"));
        assert_eq!((long.text(Text::Events), long.name()), (None, "tools/call search"));
    }

    #[test]
    fn an_error_without_a_code_is_one() {
        let failed = Span { status: Status::Error, ..some_span() };
        assert_eq!(Packed::of(&failed).text(Text::Error), Some("error"));
        assert_eq!(Packed::of(&some_span()).text(Text::Error), None);
    }

    #[test]
    fn results_are_counted_or_estimated() {
        let output = || (names::OUTPUT, json!("x".repeat(40)));
        assert_eq!(with([]).tokens, None);
        assert_eq!(with([output()]).tokens, Some(10));
        assert_eq!(
            with([output(), (OUTPUT_BYTES, json!(400))]).tokens,
            Some(100),
            "the whole of what was cut"
        );
        assert_eq!(with([output(), (OUTPUT_BYTES, json!(-4))]).tokens, Some(0));
        assert_eq!(with([output(), (names::RESULT_TOKENS, json!(7))]).tokens, Some(7));
    }

    #[test]
    fn tags_are_a_list_or_have_commas() {
        let tags = |given: Value| with([(TAGS, given)]).text(Text::Tags).map(str::to_owned);
        assert_eq!(tags(json!("a, b,,")).as_deref(), Some("[\"a\",\"b\"]"));
        assert_eq!(tags(json!(["a", 1, "b"])).as_deref(), Some("[\"a\",\"b\"]"));
        assert_eq!((tags(json!("")), tags(json!(1))), (None, None));
    }
}
