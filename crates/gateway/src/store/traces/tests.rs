mod blocks;
mod figures;
mod hostile;
mod keeping;
mod lost;
mod reading;
mod reporting;
mod searching;
mod writing;

use std::path::Path;

use serde_json::{Value, json};

use super::{
    Batch, Options, Packed, Page, TraceStore,
    day::{Part, Source},
};
use crate::trace::{Engine, Event, Kind, Nanos, Span, SpanId, Status, TraceId, names};

/// Noon of 2026-11-16.
const NOW: Nanos = (1_794_787_200 + 43_200) * 1_000_000_000;
const SECOND: Nanos = 1_000_000_000;
const DAY: Nanos = 86_400 * SECOND;

const ALL: Page = Page { limit: 500, after: None };

fn open(dir: &Path) -> TraceStore {
    TraceStore::open(dir, Options::default())
}

/// A span that has ended well, the only one of its session and trace.
fn span(number: u64) -> Span {
    let mut trace = [7; 16];
    trace[8..].copy_from_slice(&number.to_be_bytes());
    Span {
        trace: TraceId(trace),
        id: SpanId(number.to_be_bytes()),
        parent: None,
        session: format!("r-{number}"),
        engine: Engine::Inbound,
        name: "tools/call search_code".to_owned(),
        kind: Kind::Server,
        status: Status::Ok,
        started: NOW + number as i64 * SECOND,
        ended: Some(NOW + number as i64 * SECOND + SECOND / 2),
        waited: 0,
        attributes: attributes(&[(names::AGENT, json!("alpha")), (names::METHOD, json!("tools/call"))]),
        events: Vec::new(),
        links: Vec::new(),
    }
}

fn attributes(pairs: &[(&str, Value)]) -> crate::trace::Attributes {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn running(mut span: Span) -> Span {
    span.ended = None;
    span.status = Status::Running;
    span
}

/// A call that `parent` makes of `peer`.
fn call(number: u64, parent: &Span, peer: &str) -> Span {
    let mut call = span(number);
    call.trace = parent.trace;
    call.parent = Some(parent.id);
    call.session = parent.session.clone();
    call.kind = Kind::Client;
    call.attributes.insert(names::PEER.to_owned(), json!(peer));
    call.attributes.insert(names::TOOL.to_owned(), json!("look"));
    call
}

fn event(number: i64) -> Event {
    Event {
        name: names::event::REQUEST_STARTED,
        at: NOW + number,
        session: "r".to_owned(),
        trace: TraceId([1; 16]),
        span: SpanId([2; 8]),
        data: json!({"method": "tools/call", "number": number}).to_string(),
    }
}

fn batch(spans: impl IntoIterator<Item = Span>) -> Batch {
    Batch { spans: spans.into_iter().collect(), ..Batch::default() }
}

fn reported(spans: impl IntoIterator<Item = Span>) -> Batch {
    Batch { reported: spans.into_iter().map(|span| Packed::of(&span)).collect(), ..Batch::default() }
}

/// The file of today.
fn ours_today() -> Part {
    Part { day: super::day::Day::of(NOW), source: Source::Ours }
}

async fn session_ids(store: &TraceStore) -> Vec<String> {
    let (sessions, _) = store.sessions(super::SessionFilter::default(), ALL).await.unwrap();
    sessions.into_iter().map(|session| session.session_id).collect()
}
