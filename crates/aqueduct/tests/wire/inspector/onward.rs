//! What is told to others: spans sent on by OTLP and taken in by another gateway, and what Prometheus reads.

use std::{path::Path, sync::Arc};

use serde_json::{Value, json};

use super::recorded::{exported, finished};
use crate::{
    harness::{Client, Era, HttpServer, Setup, data},
    operator::{address, bytes, key_of, send, settings},
    upstreams::{Place, answered, refused, wait_until},
};

fn get(server: &HttpServer, directory: &Path, path: &str) -> Value {
    let bearer = format!("Bearer {}", key_of(directory));
    let answer = send(&address(&server.welcome), "GET", path, &[("authorization", bearer.as_str())], b"");
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

/// A gateway that others report to, and where.
fn collector(directory: &Path) -> (Arc<HttpServer>, String) {
    let config = settings("[inspector]\notlp_http = '127.0.0.1:0'\notlp_grpc = 'off'\n");
    let server = Setup::new(directory).config(&config).http();
    let health = get(&server, directory, "/api/v1/health");
    let listens = health["listeners"]["otlp_http"].as_str().unwrap_or_else(|| panic!("{health}"));
    let url = format!("http://{listens}");
    (server, url)
}

/// REQ-IATTR-08 Spans that are sent on are the same where they come in.
#[test]
fn what_is_sent_on_by_otlp_is_read_back_equal_by_another_gateway() {
    let there = data();
    let (collecting, url) = collector(there.path());
    let export = settings(&format!("[inspector.export.next]\nurl = {}\n", json!(url)));
    let place = Place::new().stdio("near", &[], "").lines(&export);
    let server = place.setup().http();
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    place.wait_for(&mut client, &["near"]);
    answered(&mut client, "near_echo", json!({"text": "the whale ñ"}));
    refused(&mut client, "near_echo", json!({"text": 5}));
    let ours: Vec<Value> = [("tools/call near_echo", 2), ("tools/call echo", 1)]
        .into_iter()
        .flat_map(|(name, count)| finished(place.path(), name, count))
        .collect();
    assert_eq!(ours.len(), 3, "{ours:?}");
    for span in &ours {
        let theirs = wait_until("the span at the other gateway", || {
            exported(there.path()).into_iter().find(|found| found["span_id"] == span["span_id"])
        });
        assert_eq!(&theirs, span);
        let path = format!("/api/v1/traces/{}", span["trace_id"].as_str().unwrap());
        let trace = get(&collecting, there.path(), &path);
        assert!(trace["spans"].as_array().unwrap().iter().all(|span| span["reported"] == true), "{trace}");
    }
    let told = wait_until("what is said of it", || {
        let health = get(&server, place.path(), "/api/v1/health");
        (health["collectors"][0]["sent"].as_u64() >= Some(3)).then_some(health)
    });
    let next = &told["collectors"][0];
    assert_eq!((&next["name"], &next["dropped"], &next["failed"]), (&json!("next"), &json!(0), &json!(0)));
}

/// Who gets nothing is told of where people look.
#[test]
fn a_collector_that_is_not_there_is_told_of_and_holds_nothing_up() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let export = settings(&format!("[inspector.export.gone]\nurl = 'http://{free}'\n"));
    let place = Place::new().stdio("near", &[], "").lines(&export);
    let server = place.setup().http();
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    place.wait_for(&mut client, &["near"]);
    answered(&mut client, "near_echo", json!({"text": "hello"}));
    let gone = wait_until("the trouble", || {
        let health = get(&server, place.path(), "/api/v1/health");
        let gone = health["collectors"][0].clone();
        (!gone["trouble"].is_null()).then_some(gone)
    });
    assert_eq!((&gone["name"], &gone["sent"]), (&json!("gone"), &json!(0)), "{gone}");
    answered(&mut client, "near_echo", json!({"text": "still here"}));
}

#[test]
fn prometheus_reads_how_many_calls_there_were_and_how_long_they_took() {
    let place = Place::new().stdio("near", &[], "").lines(&settings(""));
    let server = place.setup().http();
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    place.wait_for(&mut client, &["near"]);
    (0..3).for_each(|_| drop(answered(&mut client, "near_echo", json!({"text": "hello"}))));
    finished(place.path(), "tools/call echo", 3);
    let bearer = format!("Bearer {}", key_of(place.path()));
    let counted = wait_until("three calls of the server", || {
        let page = bytes(&address(&server.welcome), "/metrics", &[("authorization", bearer.as_str())]);
        let page = String::from_utf8(page.body).unwrap();
        let of_server = |line: &&str| {
            line.starts_with("mcp_client_operation_duration_seconds_count") && line.contains("\"echo\"")
        };
        let count: f64 = page.lines().find(of_server)?.rsplit_once(' ')?.1.parse().ok()?;
        (count >= 3.0).then_some((count, page))
    });
    assert_eq!(counted.0, 3.0, "{}", counted.1);
    let value = |name: &str| -> Option<f64> {
        counted.1.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    };
    assert_eq!(value("mcp_inspector_spans_dropped_total"), Some(0.0), "{}", counted.1);
    assert!(value("mcp_inspector_spans_recorded_total") >= Some(6.0), "{}", counted.1);
}
