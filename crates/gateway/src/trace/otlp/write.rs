//! Spans of ours as export requests of OTLP, with OpenTelemetry's names beside ours.

use prost::Message;
use serde_json::Value;

use super::{
    own, value,
    wire::{self, KeyValue, kind, status},
};
use crate::trace::{
    Attributes, Kind, Span, Status,
    names::{self, otel},
};

/// What we are called where nothing else is said.
const SERVICE: &str = "aqueduct";

/// An export request in protobuf.
#[must_use]
pub fn protobuf(spans: &[Span]) -> Vec<u8> {
    request(spans).encode_to_vec()
}

/// The same in OTLP/JSON.
pub fn json(spans: &[Span]) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&request(spans))
}

/// One resource for each agent, in the order in which they first appear.
fn request(spans: &[Span]) -> wire::Request {
    let mut agents: Vec<(&str, Vec<wire::Span>)> = Vec::new();
    for span in spans {
        let agent = span.attributes.get(names::AGENT).and_then(Value::as_str).unwrap_or(SERVICE);
        let written = write(span);
        match agents.iter_mut().find(|(known, _)| *known == agent) {
            Some((_, spans)) => spans.push(written),
            None => agents.push((agent, vec![written])),
        }
    }
    let scope = || wire::Scope {
        name: SERVICE.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        attributes: Vec::new(),
    };
    let resource_spans = agents.into_iter().map(|(agent, spans)| wire::ResourceSpans {
        resource: Some(wire::Resource { attributes: vec![value::pair(otel::SERVICE, &agent.into())] }),
        scope_spans: vec![wire::ScopeSpans { scope: Some(scope()), spans }],
    });
    wire::Request { resource_spans: resource_spans.collect() }
}

pub(super) fn write(span: &Span) -> wire::Span {
    wire::Span {
        trace_id: span.trace.0.to_vec(),
        span_id: span.id.0.to_vec(),
        parent_span_id: span.parent.map(|parent| parent.0.to_vec()).unwrap_or_default(),
        name: span.name.clone(),
        kind: of_kind(span.kind),
        start_time_unix_nano: nanos(span.started),
        end_time_unix_nano: span.ended.map(nanos).unwrap_or_default(),
        attributes: attributes(span),
        events: span
            .events
            .iter()
            .map(|event| wire::Event {
                time_unix_nano: nanos(event.at),
                name: event.name.clone(),
                attributes: value::write(&event.attributes),
            })
            .collect(),
        links: span
            .links
            .iter()
            .map(|link| wire::Link {
                trace_id: link.trace.0.to_vec(),
                span_id: link.span.0.to_vec(),
                attributes: value::write(&link.attributes),
            })
            .collect(),
        status: Some(came_out(span)),
        ..wire::Span::default()
    }
}

fn attributes(span: &Span) -> Vec<KeyValue> {
    let added = for_others(span);
    let mut written = value::write(&span.attributes);
    written.extend(value::write(&added));
    let own = [
        (own::SESSION, Value::from(span.session.as_str())),
        (own::ENGINE, span.engine.as_str().into()),
        (own::STATUS, span.status.as_str().into()),
        (own::WAITED, span.waited.into()),
        (own::ADDED, added.keys().collect()),
    ];
    written.extend(own.iter().map(|(name, value)| value::pair(name, value)));
    written
}

/// What other tools look for, as far as the span does not say it already.
fn for_others(span: &Span) -> Attributes {
    let known = &span.attributes;
    let mut added = Attributes::new();
    let mut add = |name: &'static str, value: Option<Value>| {
        if let Some(value) = value.filter(|_| !known.contains_key(name)) {
            added.insert(name, value);
        }
    };
    let same = |name: &str| known.get(name).cloned();
    add(otel::METHOD, same(names::METHOD));
    add(otel::RPC_ID, known.get(names::RPC_ID).map(text));
    add(otel::TOOL, same(names::TOOL));
    add(otel::OPERATION, known.get(names::TOOL).map(|_| "execute_tool".into()));
    add(otel::ARGUMENTS, same(names::INPUT));
    add(otel::RESULT, same(names::OUTPUT));
    add(otel::PROMPT, same(names::PROMPT));
    add(otel::STATUS_CODE, known.get(names::ERROR_CODE).map(text));
    add(otel::SESSION, Some(span.session.as_str().into()));
    let network = known.get(names::TRANSPORT).and_then(Value::as_str).map(|transport| match transport {
        "stdio" => "pipe",
        _ => "tcp",
    });
    add(otel::NETWORK, network.map(Value::from));
    if matches!(span.status, Status::Error | Status::Cancelled) {
        let kind = if span.status == Status::Cancelled { "cancelled".into() } else { "_OTHER".into() };
        add(names::ERROR_TYPE, Some(known.get(names::ERROR_CODE).map_or(kind, text)));
    }
    added
}

/// Where OpenTelemetry has texts for what may be a number with us.
fn text(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.clone()),
        other => Value::String(other.to_string()),
    }
}

fn came_out(span: &Span) -> wire::Status {
    let code = match span.status {
        Status::Ok => status::OK,
        Status::Error | Status::Cancelled => status::ERROR,
        Status::Running | Status::Waiting => status::UNSET,
    };
    let message = span.attributes.get(names::ERROR_MESSAGE).and_then(Value::as_str);
    let message = message.filter(|_| code == status::ERROR).unwrap_or_default().to_owned();
    wire::Status { message, code }
}

fn of_kind(of: Kind) -> i32 {
    match of {
        Kind::Internal => kind::INTERNAL,
        Kind::Server => kind::SERVER,
        Kind::Client => kind::CLIENT,
        Kind::Producer => kind::PRODUCER,
        Kind::Consumer => kind::CONSUMER,
    }
}

/// Nothing that we recorded lies before 1970.
fn nanos(nanos: i64) -> u64 {
    u64::try_from(nanos).unwrap_or_default()
}
