//! The Inspector's API and commands with the real binary, over spans that the store's own library wrote.

mod again;
mod api;
mod attributes;
mod command;
mod document;
mod inputs;
mod live;
mod onward;
mod page;
pub(crate) mod recorded;
mod resources;
mod within;

use std::{path::Path, sync::LazyLock};

use gateway::{
    inspect::now,
    store::{
        TraceStore,
        traces::{Appender, Batch, Options},
    },
    trace::{Attributes, Engine, Event, Kind, Nanos, Span, SpanId, Status, TraceId, names},
};
use serde_json::{Value, json};

use crate::operator::data_of;

const SECOND: Nanos = 1_000_000_000;

/// Another process that writes to the data directory of a test.
fn writer(directory: &Path) -> Appender {
    TraceStore::open(&data_of(directory), Options::default()).appender()
}

fn trace_id(number: u64) -> TraceId {
    let mut id = [9; 16];
    id[8..].copy_from_slice(&number.to_be_bytes());
    TraceId(id)
}

fn attributes(pairs: &[(&str, Value)]) -> Attributes {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// When everything began.
static BEGUN: LazyLock<Nanos> = LazyLock::new(|| now() - 60 * SECOND);

/// A request that was served a minute ago and took half a second.
fn served(number: u64) -> Span {
    let started = *BEGUN + number as Nanos * 1000;
    Span {
        trace: trace_id(number),
        id: SpanId((number + 1_000_000).to_be_bytes()),
        parent: None,
        session: format!("r-{number}"),
        engine: Engine::Inbound,
        name: "tools/call search_code".to_owned(),
        kind: Kind::Server,
        status: Status::Ok,
        started,
        ended: Some(started + SECOND / 2),
        waited: 0,
        attributes: attributes(&[
            (names::REQUEST_ID, json!(format!("r-{number}"))),
            (names::AGENT, json!("alpha")),
            (names::METHOD, json!("tools/call")),
            (names::OPERATION, json!("search_code")),
            (names::CLIENT, json!("desktop")),
        ]),
        events: Vec::new(),
        links: Vec::new(),
    }
}

/// A call to `peer` within it.
fn call(number: u64, parent: &Span, peer: &str) -> Span {
    let mut call = served(number);
    call.trace = parent.trace;
    call.parent = Some(parent.id);
    call.session = parent.session.clone();
    call.kind = Kind::Client;
    call.attributes.remove(names::REQUEST_ID);
    call.attributes.insert(names::PEER.to_owned(), json!(peer));
    call
}

fn event(number: i64) -> Event {
    Event {
        name: names::event::REQUEST_STARTED,
        at: now(),
        session: "r-1".to_owned(),
        trace: trace_id(1),
        span: SpanId([5; 8]),
        data: json!({"method": "tools/call", "direction": "inbound", "number": number}).to_string(),
    }
}

fn spans(spans: impl IntoIterator<Item = Span>) -> Batch {
    Batch { spans: spans.into_iter().collect(), ..Batch::default() }
}

fn events(numbers: impl IntoIterator<Item = i64>) -> Batch {
    Batch { events: numbers.into_iter().map(event).collect(), ..Batch::default() }
}
