//! Live events as a stream that goes on where it was cut off.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{RawQuery, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderName, StatusCode, header};
use serde_json::{Map, Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::{Inspect, query::Query};
use crate::{
    operator::listener::reply::Problem,
    store::traces::{EventRow, TraceStore},
};

pub(super) const EVENTS: &[&str] = &["after"];

/// A comment keeps the connection from being taken for a dead one.
const COMMENT_AFTER: Duration = Duration::from_secs(15);
/// How long the store may fail before a stream ends. Who listens comes back by itself.
const RETRY: Duration = Duration::from_millis(500);
const RETRIES_MAX: u32 = 20;
const EVENTS_TOGETHER: u32 = 256;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Events after the number that `Last-Event-ID` or `after` tells; without either, those from now on. Below zero, `after` begins so
/// many before the last.
pub(super) async fn events(
    State(inspect): State<Arc<Inspect>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let query = Query::read(query.as_deref(), EVENTS)?;
    let resumed = headers.get(LAST_EVENT_ID).map(|value| {
        let number = value.to_str().ok().and_then(|text| text.trim().parse::<i64>().ok());
        number.ok_or_else(|| Problem::wrong("'Last-Event-ID' is the number of an event"))
    });
    let after = match (resumed.transpose()?, query.number("after")?) {
        (Some(after), _) => after.max(0),
        (None, Some(after)) if after >= 0 => after,
        (None, before) => inspect.store.last_event().await?.saturating_add(before.unwrap_or_default()).max(0),
    };
    let Ok(place) = Arc::clone(&inspect.streams).try_acquire_owned() else {
        let message = "too many listen already; try again in a moment";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "BUSY", message));
    };
    let listener = Listener { store: inspect.store.clone(), after, greeted: false, _place: place };
    let chunks = stream::unfold(listener, Listener::next);
    let content_type = (header::CONTENT_TYPE, "text/event-stream");
    Ok(([content_type], Body::from_stream(Box::pin(chunks))).into_response())
}

struct Listener {
    store: TraceStore,
    after: i64,
    greeted: bool,
    _place: OwnedSemaphorePermit,
}

impl Listener {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if !self.greeted {
            self.greeted = true;
            return Some((Ok(Bytes::from_static(b"retry: 2000\n\n")), self));
        }
        let mut retries = 0;
        loop {
            let next = self.store.next_events(self.after, EVENTS_TOGETHER);
            match tokio::time::timeout(COMMENT_AFTER, next).await {
                Err(_) => return Some((Ok(Bytes::from_static(b": nothing new\n\n")), self)),
                Ok(Ok(events)) => {
                    let mut text = String::new();
                    for event in &events {
                        self.after = event.seq;
                        text.push_str(&written(event));
                    }
                    return Some((Ok(Bytes::from(text)), self));
                }
                Ok(Err(error)) => {
                    retries += 1;
                    if retries > RETRIES_MAX {
                        tracing::warn!(%error, "live events cannot be read");
                        return None;
                    }
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }
}

/// What is told of an event.
#[must_use]
pub fn data(event: &EventRow) -> Value {
    let mut data = match &event.data {
        Value::Object(fields) => fields.clone(),
        Value::Null => Map::new(),
        other => Map::from_iter([("data".to_owned(), other.clone())]),
    };
    data.insert("at_us".to_owned(), json!(event.at.div_euclid(1000)));
    data.insert("session_id".to_owned(), json!(event.session));
    data.insert("trace_id".to_owned(), json!(event.trace));
    data.insert("span_id".to_owned(), json!(event.span));
    Value::Object(data)
}

fn written(event: &EventRow) -> String {
    let name: String = event.name.chars().filter(|c| !c.is_control()).collect();
    format!("id: {}\nevent: {name}\ndata: {}\n\n", event.seq, data(event))
}
