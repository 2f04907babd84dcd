use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use axum::{Router, response::IntoResponse, routing::post};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use tokio::sync::Notify;

use super::*;
use crate::config::{self, Secret};

/// A collector that does as it is told, and then takes what it gets.
struct Fake {
    answers: Mutex<Vec<StatusCode>>,
    requests: AtomicUsize,
    spans: Mutex<Vec<Span>>,
    came: Notify,
}

async fn fake(answers: &[StatusCode]) -> (Arc<Fake>, config::Export) {
    let fake = Arc::new(Fake {
        answers: Mutex::new(answers.iter().rev().copied().collect()),
        requests: AtomicUsize::new(0),
        spans: Mutex::default(),
        came: Notify::new(),
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    let shared = Arc::clone(&fake);
    let handler = move |headers: HeaderMap, body: Bytes| {
        let fake = Arc::clone(&shared);
        async move {
            fake.requests.fetch_add(1, Ordering::Relaxed);
            assert_eq!(headers["x-api-key"], "key");
            assert_eq!(headers[header::CONTENT_TYPE], "application/x-protobuf");
            assert_eq!(headers[header::CONTENT_ENCODING], "gzip");
            let answer = fake.answers.lock().unwrap().pop();
            if let Some(status) = answer {
                fake.came.notify_one();
                return (status, [(header::RETRY_AFTER, "0")]).into_response();
            }
            let now = i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap();
            let read = read::protobuf(&read::unpack(&body).unwrap(), now.max(NOW)).unwrap();
            fake.spans.lock().unwrap().extend(read.spans.iter().map(Packed::span));
            fake.came.notify_one();
            StatusCode::OK.into_response()
        }
    };
    tokio::spawn(axum::serve(listener, Router::new().route("/v1/traces", post(handler))).into_future());
    let export = config::Export {
        name: "fake".to_owned(),
        url: Secret::new(url),
        headers: vec![("x-api-key".to_owned(), Secret::new("key"))],
    };
    (fake, export)
}

fn numbered(number: u8) -> Span {
    Span { id: SpanId([number; 8]), ..some_span() }
}

#[tokio::test]
async fn spans_reach_a_collector_that_had_to_be_asked_again() {
    let (fake, export) = fake(&[StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS]).await;
    let exporter = Exporter::start(&[export]);
    assert!(exporter.is_on() && !Exporter::start(&[]).is_on());
    let spans: Vec<_> = (1..=3).map(numbered).collect();
    exporter.offer(&Arc::new(vec![spans[0].clone()]));
    exporter.offer(&Arc::new(spans[1..].to_vec()));
    exporter.offer(&Arc::new(vec![Span { ended: None, ..numbered(4) }]));
    exporter.close().await;
    assert_eq!(*fake.spans.lock().unwrap(), spans, "they are the same there");
    assert_eq!(fake.requests.load(Ordering::Relaxed), 3, "one batch, sent three times");
}

#[tokio::test]
async fn what_a_collector_refuses_is_counted_and_not_sent_again() {
    let (fake, export) = fake(&[StatusCode::BAD_REQUEST]).await;
    let exporter = Exporter::start(&[export]);
    exporter.offer(&Arc::new(vec![numbered(1), numbered(2)]));
    fake.came.notified().await;
    let told = loop {
        let told = exporter.collectors().remove(0);
        if told.queued == 0 {
            break told;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!((told.sent, told.failed, told.dropped), (0, 2, 0));
    assert_eq!(told.trouble.unwrap(), "it answered 400");
    exporter.close().await;
    assert_eq!(fake.requests.load(Ordering::Relaxed), 1);
}

/// Nobody listens there, so that everything waits until there is no more room.
#[tokio::test]
async fn a_collector_that_is_gone_costs_only_its_queue() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Secret::new(format!("http://{}/", gone.local_addr().unwrap()));
    drop(gone);
    let export = config::Export { name: "gone".to_owned(), url, headers: Vec::new() };
    let exporter = Exporter::start(&[export]);
    let batch = Arc::new(vec![numbered(1); 1000]);
    for _ in 0..20 {
        exporter.offer(&batch);
    }
    let told = exporter.collectors().remove(0);
    assert_eq!((told.queued, told.dropped), (16_000, 4000));
    drop(exporter);
}
