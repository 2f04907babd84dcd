//! Spans as `ReadableSpan.to_json()` of OpenTelemetry's Python library has them, which the original Inspector keeps in
//! its files.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Brought;
use crate::trace::{Nanos, otlp};

#[derive(Deserialize)]
struct Python {
    name: String,
    context: Context,
    #[serde(default)]
    kind: String,
    parent_id: Option<String>,
    start_time: Option<Time>,
    end_time: Option<Time>,
    #[serde(default)]
    status: Status,
    #[serde(default)]
    attributes: Option<Map<String, Value>>,
    #[serde(default)]
    events: Vec<Event>,
    #[serde(default)]
    links: Vec<Link>,
    #[serde(default)]
    resource: Resource,
}

#[derive(Deserialize)]
struct Context {
    trace_id: String,
    span_id: String,
}

/// A date, or nanoseconds.
#[derive(Deserialize)]
#[serde(untagged)]
enum Time {
    Date(jiff::Timestamp),
    Nanos(u64),
}

#[derive(Deserialize, Default)]
struct Status {
    #[serde(default)]
    status_code: String,
    description: Option<String>,
}

#[derive(Deserialize)]
struct Event {
    name: String,
    timestamp: Option<Time>,
    #[serde(default)]
    attributes: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Link {
    context: Context,
    #[serde(default)]
    attributes: Option<Map<String, Value>>,
}

#[derive(Deserialize, Default)]
struct Resource {
    #[serde(default)]
    attributes: Map<String, Value>,
}

/// Made into a request of OTLP, so that the same names and limits hold as for any report.
pub(super) fn read(text: &[u8], now: Nanos) -> Result<Brought, &'static str> {
    let python: Python = serde_json::from_slice(text)
        .map_err(|_| "it is no span as OpenTelemetry's Python library writes it")?;
    let mut span = serde_json::json!({
        "traceId": id(&python.context.trace_id),
        "spanId": id(&python.context.span_id),
        "parentSpanId": python.parent_id.as_deref().map(id),
        "name": python.name,
        "kind": python.kind.replace("SpanKind.", "SPAN_KIND_"),
        "startTimeUnixNano": nanos(python.start_time.as_ref()),
        "endTimeUnixNano": nanos(python.end_time.as_ref()),
        "status": {
            "code": format!("STATUS_CODE_{}", python.status.status_code.trim_start_matches("StatusCode.")),
            "message": python.status.description.unwrap_or_default(),
        },
    });
    let events = python.events.into_iter().map(|event| {
        serde_json::json!({"name": event.name, "timeUnixNano": nanos(event.timestamp.as_ref()),
            "attributes": otlp::attributes_json(event.attributes.unwrap_or_default())})
    });
    let links = python.links.into_iter().map(|link| {
        serde_json::json!({"traceId": id(&link.context.trace_id), "spanId": id(&link.context.span_id),
            "attributes": otlp::attributes_json(link.attributes.unwrap_or_default())})
    });
    let (events, links) = (events.collect(), links.collect());
    if let Some(members) = span.as_object_mut() {
        members.insert("events".to_owned(), events);
        members.insert("links".to_owned(), links);
        let attributes = otlp::attributes_json(python.attributes.unwrap_or_default());
        members.insert("attributes".to_owned(), attributes);
    }
    let resource = otlp::attributes_json(python.resource.attributes);
    let request = serde_json::json!({
        "resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"spans": [span]}]}],
    });
    let received = otlp::read::json(request.to_string().as_bytes(), now).map_err(|_| "it cannot be read")?;
    match received.why {
        Some(why) => Err(why),
        None => Ok(Brought { spans: received.spans, rejected: 0 }),
    }
}

fn id(text: &str) -> &str {
    text.strip_prefix("0x").unwrap_or(text)
}

fn nanos(time: Option<&Time>) -> String {
    match time {
        None => "0".to_owned(),
        Some(Time::Nanos(nanos)) => nanos.to_string(),
        Some(Time::Date(date)) => date.as_nanosecond().max(0).to_string(),
    }
}
