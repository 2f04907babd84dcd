//! From a span of OTLP to one of ours: checked, with our names, and with the session that it belongs to.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{
    alias,
    given::{Given, GivenEvent, GivenLink},
    is_likely,
    known::Seen,
    origin::{Origin, is_core},
    own,
    read::{Received, Unreadable, is_full},
    veil,
    wire::{self, kind, status},
};
use crate::store::traces::Packed;
use crate::trace::{
    Attributes, Engine, Happening, Kind, Link, Nanos, Sorted, Span, SpanId, Status, TraceId,
    names::{self, otel},
    preview,
};

/// Why a span is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Broken,
    TooMuch,
    Ids,
    Times,
    Full,
}

impl Refusal {
    fn why(self) -> &'static str {
        match self {
            Self::Broken => "it cannot be read",
            Self::TooMuch => "it has too many attributes, events or links",
            Self::Ids => "its trace id or span id is missing, zero or of the wrong length",
            Self::Times => {
                "it begins or ends before the year 2000 or more than a day ahead; look for the clock"
            }
            Self::Full => "there are more than 200000 spans in one request; send fewer in one",
        }
    }
}

/// The longest session id; whatever is longer was no id.
const SESSION_BYTES_MAX: usize = 256;
/// The longest name of a span or of what happened in it.
const NAME_BYTES_MAX: usize = 1024;
/// What is said once for all spans of a process is kept with each of them, up to here in one request.
const COPIED_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The libraries that one request may speak for.
const ORIGINS_MAX: usize = 20_000;
/// How far up a span looks for who names the session.
const ANCESTORS_MAX: usize = 64;
/// Where a session is named, best first.
pub(super) const SESSIONS: [&str; 5] = [
    names::REQUEST_ID,
    otel::SESSION,
    "gen_ai.conversation.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
];
/// How libraries say that nobody waited for the end.
const CANCELLED: [&str; 5] = [
    "cancelled",
    "canceled",
    "CancelledError",
    "asyncio.CancelledError",
    "asyncio.exceptions.CancelledError",
];

/// The spans of one request, as they are read.
pub(super) struct Reports {
    now: Nanos,
    received: Received,
    copied: usize,
    origins: usize,
    /// Those whose session nobody has named yet.
    unnamed: Vec<usize>,
}

impl Reports {
    pub(super) fn new(now: Nanos) -> Self {
        Self { now, received: Received::default(), copied: 0, origins: 0, unnamed: Vec::new() }
    }

    /// Each of them is made once more for every library in it, which no real request has many of.
    pub(super) fn count_origin(&mut self) -> Result<(), Unreadable> {
        self.origins += 1;
        if self.origins > ORIGINS_MAX {
            return Err(Unreadable::Malformed(format!("it has more than {ORIGINS_MAX} scopes")));
        }
        Ok(())
    }

    /// Takes one more; it is not even read if there are too many already.
    pub(super) fn take<'a>(&mut self, origin: &Origin, read: impl FnOnce() -> Result<Given<'a>, Refusal>) {
        let made = if is_full(self.received.spans.len()) { Err(Refusal::Full) } else { read() };
        match made.and_then(|span| self.make(origin, span)) {
            Ok((span, is_named)) => {
                if !is_named {
                    self.unnamed.push(self.received.spans.len());
                }
                self.received.spans.push(span);
            }
            Err(refusal) => {
                self.received.rejected += 1;
                self.received.why.get_or_insert(refusal.why());
            }
        }
    }

    /// A span belongs to the session of the nearest span above it that names one, else to its trace.
    pub(super) fn finish(mut self) -> Received {
        let spans = &mut self.received.spans;
        if self.unnamed.len() < spans.len() && !self.unnamed.is_empty() {
            let places: HashMap<_, _, foldhash::fast::RandomState> =
                spans.iter().enumerate().map(|(place, span)| ((span.trace, span.id), place)).collect();
            let mut found = Vec::new();
            for place in &self.unnamed {
                let mut above = spans.get(*place);
                for _ in 0..ANCESTORS_MAX {
                    let parent = above.and_then(|span| Some((span.trace, span.parent?)));
                    above = parent.and_then(|parent| spans.get(*places.get(&parent)?));
                    if let Some(named) = above.filter(|span| !span.session.is_empty()) {
                        found.push((*place, named.session.clone()));
                        break;
                    }
                }
            }
            for (place, session) in found {
                if let Some(span) = spans.get_mut(place) {
                    span.session = session;
                }
            }
        }
        for span in spans.iter_mut().filter(|span| span.session.is_empty()) {
            span.session = span.trace.to_string();
        }
        self.received
    }

    fn make(&mut self, origin: &Origin, span: Given<'_>) -> Result<(Packed, bool), Refusal> {
        let trace = id(&span.trace_id).map(TraceId).filter(|id| !id.is_none()).ok_or(Refusal::Ids)?;
        let id = self::id(&span.span_id).map(SpanId).filter(|id| !id.is_none()).ok_or(Refusal::Ids)?;
        let parent = match span.parent_span_id.as_ref() {
            [] => None,
            bytes => Some(self::id(bytes).map(SpanId).ok_or(Refusal::Ids)?).filter(|id| !id.is_none()),
        };
        let started = self.time(span.start_time_unix_nano).ok_or(Refusal::Times)?;
        // Clocks are set back now and then; nothing ends before it begins.
        let ended = match span.end_time_unix_nano {
            0 => None,
            nanos => Some(self.time(nanos).ok_or(Refusal::Times)?.max(started)),
        };
        let kind = of_kind(span.kind);
        let (mut attributes, mut gathered) = veil::kept(span.attributes);
        let said = if gathered.seen.has(Seen::OWN) { Said::take(&mut attributes) } else { None };
        let reported = span.status;
        let mut made = Span {
            trace,
            id,
            parent,
            session: String::new(),
            engine: Engine::Asyncio,
            name: named(span.name),
            kind,
            status: came_out(reported.code, ended.is_some(), &attributes),
            started,
            ended,
            waited: 0,
            attributes: Attributes::new(),
            events: span.events.into_iter().map(event).collect(),
            links: span.links.into_iter().filter_map(link).collect(),
        };
        if let Some(said) = said {
            made.session = said.session;
            made.engine = said.engine;
            made.status = said.status;
            made.waited = said.waited;
            return Ok((Packed::with(&made, &attributes), true));
        }
        let counts = [
            ("otel.dropped_attributes_count", span.dropped_attributes_count),
            ("otel.dropped_events_count", span.dropped_events_count),
            ("otel.dropped_links_count", span.dropped_links_count),
        ];
        attributes.extend(counts.iter().filter(|(_, n)| *n > 0).map(|(name, n)| (*name, (*n).into())));
        if !span.trace_state.is_empty() {
            attributes.insert("w3c.tracestate", named(span.trace_state).into());
        }
        self.inherit(origin, &mut attributes);
        gathered.join(origin.gathered);
        alias::add(kind, &mut attributes, gathered);
        why(reported, &made.events, made.status, &mut attributes);
        made.session = session(&attributes, gathered.seen);
        made.engine = engine(origin, kind, &attributes, gathered.seen);
        let is_named = !made.session.is_empty();
        Ok((Packed::with(&made, &attributes), is_named))
    }

    fn time(&self, nanos: u64) -> Option<Nanos> {
        let nanos = Nanos::try_from(nanos).ok()?;
        is_likely(nanos, self.now).then_some(nanos)
    }

    /// Adds what is said for all spans, as far as this one does not say otherwise itself.
    fn inherit<'a>(&mut self, origin: &'a Origin, attributes: &mut Sorted<'a>) {
        self.copied = self.copied.saturating_add(origin.bytes);
        let mut all = origin.attributes.borrowed();
        if self.copied > COPIED_BYTES_MAX {
            all.retain(|name, _| is_core(name));
        }
        attributes.add_missing(all);
    }
}

/// What only spans of ours say.
struct Said {
    session: String,
    engine: Engine,
    status: Status,
    waited: Nanos,
}

impl Said {
    /// Takes what we added when the span was written out of it again.
    fn take(attributes: &mut Sorted<'_>) -> Option<Self> {
        let text = |name: &str| attributes.get(name).and_then(Value::as_str);
        let said = Self {
            session: text(own::SESSION).filter(|id| !id.is_empty())?.to_owned(),
            engine: text(own::ENGINE)?.parse().ok()?,
            status: text(own::STATUS)?.parse().ok()?,
            waited: attributes.get(own::WAITED).and_then(Value::as_i64).unwrap_or_default(),
        };
        let added = attributes.remove(own::ADDED);
        let added = added.iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str);
        let gone: HashSet<&str> = added.chain(own::ALL).collect();
        attributes.retain(|name, _| !gone.contains(name));
        Some(Self { session: short(said.session, SESSION_BYTES_MAX), ..said })
    }
}

fn event(event: GivenEvent<'_>) -> Happening {
    let attributes = veil::kept_of(&event.name, event.attributes).0.into_owned();
    Happening {
        name: named(event.name),
        at: Nanos::try_from(event.time_unix_nano).unwrap_or(Nanos::MAX),
        attributes,
    }
}

fn link(link: GivenLink<'_>) -> Option<Link> {
    let trace = id(&link.trace_id).map(TraceId).filter(|id| !id.is_none())?;
    let span = id(&link.span_id).map(SpanId).filter(|id| !id.is_none())?;
    Some(Link { trace, span, attributes: veil::kept(link.attributes).0.into_owned() })
}

fn id<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

fn of_kind(number: i32) -> Kind {
    match number {
        kind::SERVER => Kind::Server,
        kind::CLIENT => Kind::Client,
        kind::PRODUCER => Kind::Producer,
        kind::CONSUMER => Kind::Consumer,
        _ => Kind::Internal,
    }
}

fn came_out(code: i32, has_ended: bool, attributes: &Sorted<'_>) -> Status {
    let error = || attributes.get(names::ERROR_TYPE).and_then(Value::as_str);
    match code {
        _ if !has_ended => Status::Running,
        status::ERROR if error().is_some_and(|error| CANCELLED.contains(&error)) => Status::Cancelled,
        status::ERROR => Status::Error,
        _ => Status::Ok,
    }
}

/// What is said of an error, in the status or by the exception that was the last to happen.
fn why(reported: wire::Status, events: &[Happening], came_out: Status, attributes: &mut Sorted<'_>) {
    if came_out != Status::Error && came_out != Status::Cancelled {
        if !reported.message.is_empty() {
            let mut description = Attributes::from([("otel.status_description", reported.message.into())]);
            veil::veil(&mut description);
            preview::cut(&mut description);
            attributes.extend(description);
        }
        return;
    }
    let exception = events.iter().rev().find(|event| event.name == "exception");
    let of_exception = |name: &str| exception.and_then(|event| event.attributes.get(name)).cloned();
    if !attributes.contains_key(names::ERROR_MESSAGE) {
        let mut message = Attributes::new();
        let said = Some(reported.message).filter(|message| !message.is_empty()).map(Value::String);
        if let Some(said) = said.or_else(|| of_exception("exception.message")) {
            message.insert(names::ERROR_MESSAGE, said);
        }
        veil::veil(&mut message);
        preview::cut(&mut message);
        attributes.extend(message);
    }
    if !attributes.contains_key(names::ERROR_TYPE)
        && let Some(kind) = of_exception("exception.type")
    {
        attributes.insert(names::ERROR_TYPE, kind);
    }
}

/// The session that the span itself names.
fn session(attributes: &Sorted<'_>, seen: Seen) -> String {
    if !seen.has(Seen::SESSION) {
        return String::new();
    }
    let named = SESSIONS.iter().find_map(|name| match attributes.get(name)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    short(named.unwrap_or_default(), SESSION_BYTES_MAX)
}

fn engine(origin: &Origin, kind: Kind, attributes: &Sorted<'_>, seen: Seen) -> Engine {
    if origin.is_temporal || seen.has(Seen::TEMPORAL) {
        return Engine::Temporal;
    }
    if kind == Kind::Server && seen.has(Seen::SESSION) && attributes.contains_key(names::REQUEST_ID) {
        return Engine::Inbound;
    }
    Engine::Asyncio
}

/// A name without secrets, and not too long.
fn named(text: String) -> String {
    let mut text = short(text, NAME_BYTES_MAX);
    veil::text(&mut text);
    text
}

fn short(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}
