use std::io::Cursor;

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::trace::otlp::tests::{NOW, some_span, span};

fn lines(text: impl Into<Vec<u8>>) -> Vec<Result<Brought, Mistake>> {
    read(Cursor::new(text.into()), NOW).unwrap().collect()
}

fn spans(text: impl Into<Vec<u8>>) -> Vec<Span> {
    lines(text).into_iter().flat_map(|brought| brought.unwrap().spans).map(|span| span.span()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read_back_equal(written in prop::collection::vec(span(), 0..5)) {
        let mut text = Vec::new();
        for span in &written {
            write(span, &mut text).unwrap();
        }
        prop_assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), written.len());
        prop_assert_eq!(spans(text.clone()), written.clone());
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(&text).unwrap();
        prop_assert_eq!(spans(packer.finish().unwrap()), written);
    }
}

#[test]
fn otlp_is_read_whole_or_by_lines() {
    let span = some_span();
    let line = otlp::write::json(std::slice::from_ref(&span)).unwrap();
    let two = [line.as_slice(), b"\r\n\n", &line].concat();
    assert_eq!(spans(two), [span.clone(), span.clone()]);
    let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
    assert_eq!(spans(serde_json::to_string_pretty(&value).unwrap()), [span]);
}

#[test]
fn spans_of_the_python_library_are_read() {
    let line = json!({
        "name": "tool.call",
        "context": {"trace_id": "0x5b8efff798038103d269b633813fc60c", "span_id": "0xeee19b7ec3c1b174", "trace_state": "[]"},
        "kind": "SpanKind.CLIENT",
        "parent_id": "0xeee19b7ec3c1b173",
        "start_time": "2026-11-16T10:00:00.123456Z",
        "end_time": "2026-11-16T10:00:01.000000Z",
        "status": {"status_code": "ERROR", "description": "too slow"},
        "attributes": {"tool.name": "search", "session.id": "s-1", "n": [1, 2]},
        "events": [{"name": "tick", "timestamp": "2026-11-16T10:00:00.500000Z", "attributes": {"a": true}}],
        "links": [],
        "resource": {"attributes": {"service.name": "planner"}, "schema_url": ""},
    });
    let [span] = <[Span; 1]>::try_from(spans(line.to_string())).unwrap();
    assert_eq!((span.kind, span.status, span.session.as_str()), (Kind::Client, Status::Error, "s-1"));
    assert_eq!(span.id.to_string(), "eee19b7ec3c1b174");
    assert_eq!(span.parent.unwrap().to_string(), "eee19b7ec3c1b173");
    assert_eq!(span.ended.unwrap() - span.started, 876_544_000);
    assert_eq!(span.attributes["mcp.tool.name"], "search");
    assert_eq!(span.attributes["mcp.agent.server_id"], "planner");
    assert_eq!(span.attributes["mcp.error.message"], "too slow");
    assert_eq!(span.attributes["n"], json!([1, 2]));
    assert_eq!(span.events[0].attributes["a"], true);
}

#[test]
fn a_mistake_names_its_line_and_the_rest_is_read() {
    let mut good = Vec::new();
    write(&some_span(), &mut good).unwrap();
    let mut zero = Vec::new();
    write(&Span { id: SpanId([0; 8]), ..some_span() }, &mut zero).unwrap();
    let mut early = Vec::new();
    write(&Span { started: 1, ..some_span() }, &mut early).unwrap();
    let text = [&good, &b"{\n"[..], b"{}\n", b"null\n", b"{\"context\":1}\n", &zero, &early, &good].concat();
    let read = lines(text);
    let wrong: Vec<_> = read.iter().filter_map(|line| Some(line.as_ref().err()?.line)).collect();
    assert_eq!(wrong, [2, 3, 4, 5, 6, 7]);
    assert_eq!(read.iter().flatten().map(|brought| brought.spans.len()).sum::<usize>(), 2);
    for mistake in read.iter().filter_map(|line| line.as_ref().err()) {
        assert!(!mistake.to_string().contains(" at "), "{mistake}");
    }
    assert!(lines("").is_empty());
    assert_eq!(lines(b"\x1f\x8bbroken".to_vec()).iter().filter(|line| line.is_err()).count(), 1);
}

#[test]
fn secrets_and_long_values_of_a_file_are_not_taken_over() {
    let mut span = some_span();
    span.attributes.insert("http.request.header.authorization".to_owned(), "Basic abc".into());
    span.attributes.insert("long".to_owned(), "x".repeat(40_000).into());
    let mut text = Vec::new();
    write(&span, &mut text).unwrap();
    let read = spans(text).remove(0);
    assert_eq!(read.attributes["http.request.header.authorization"], "[redacted]");
    assert_eq!(read.attributes["long_truncated"], true);
}

/// As in what is reported by OTLP.
#[test]
fn ends_are_likely_and_no_sooner_than_beginnings() {
    let line = |ended| {
        let mut text = Vec::new();
        write(&Span { ended, ..some_span() }, &mut text).unwrap();
        lines(text).remove(0)
    };
    for unlikely in [i64::MIN, -1, 0, 1, NOW + 2 * 86_400_000_000_000, i64::MAX] {
        let mistake = line(Some(unlikely)).unwrap_err();
        assert!(mistake.to_string().contains("it ends"), "{unlikely}: {mistake}");
    }
    let started = some_span().started;
    for (ended, read) in [(started - 1, started), (started, started), (started + 1, started + 1)] {
        assert_eq!(line(Some(ended)).unwrap().spans[0].ended, Some(read));
    }
    assert_eq!(line(None).unwrap().spans[0].ended, None);
}

#[test]
fn session_ids_are_cleared_of_secrets() {
    let mut text = Vec::new();
    for session in ["login password=hunter2", "https://me:hunter2@host/x", "chat-7"] {
        write(&Span { session: session.to_owned(), ..some_span() }, &mut text).unwrap();
    }
    let read = spans(text);
    assert!(read.iter().all(|span| !span.session.contains("hunter2")), "{read:?}");
    assert_eq!((read[2].session.as_str(), &read[2].events), ("chat-7", &some_span().events));
}
