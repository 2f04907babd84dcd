use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::trace::{Engine, SpanId, TraceId};

fn span(kind: Kind, millis: i64, attributes: Value) -> Span {
    Span {
        trace: TraceId([1; 16]),
        id: SpanId([1; 8]),
        parent: None,
        session: "s".to_owned(),
        engine: Engine::Inbound,
        name: "tools/call".to_owned(),
        kind,
        status: Status::Ok,
        started: 1_000_000_000,
        ended: Some(1_000_000_000 + millis * 1_000_000),
        waited: 0,
        attributes: serde_json::from_value(attributes).unwrap(),
        events: Vec::new(),
        links: Vec::new(),
    }
}

fn value(page: &str, line: &str) -> Option<f64> {
    let found = page.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(' '));
    found.map(|number| number.parse().unwrap())
}

#[test]
fn durations_fall_into_their_buckets_on_their_side() {
    let metrics = Metrics::default();
    let labels = json!({"mcp.rpc.method": "tools/call", "mcp.tool.name": "search"});
    for millis in [1, 10, 11, 499, 301_000] {
        metrics.observe(&span(Kind::Server, millis, labels.clone()));
    }
    metrics.observe(&Span { status: Status::Error, ..span(Kind::Client, 5, labels.clone()) });
    let timeout = json!({"mcp.rpc.method": "tools/call", "mcp.peer.server_id": "b", "error.type": "timeout"});
    metrics.observe(&Span { status: Status::Error, ..span(Kind::Client, 5, timeout) });
    // Nothing of these counts.
    metrics.observe(&span(Kind::Internal, 5, labels.clone()));
    metrics.observe(&span(Kind::Server, 5, json!({})));
    metrics.observe(&Span { ended: None, ..span(Kind::Server, 5, labels) });

    let page = metrics.render(&Totals { recorded: 10, dropped: 1, failed: 2, running: 3, queued: 4 });
    let name = "mcp_server_operation_duration_seconds";
    let with = "mcp_method_name=\"tools/call\",gen_ai_tool_name=\"search\"";
    let bucket = |end: &str| value(&page, &format!("{name}_bucket{{{with},le=\"{end}\"}}"));
    assert_eq!(bucket("0.01"), Some(2.0), "{page}");
    assert_eq!(bucket("0.02"), Some(3.0));
    assert_eq!(bucket("0.5"), Some(4.0));
    assert_eq!(bucket("300"), Some(4.0));
    assert_eq!(bucket("+Inf"), Some(5.0));
    assert_eq!(value(&page, &format!("{name}_count{{{with}}}")), Some(5.0));
    assert_eq!(value(&page, &format!("{name}_sum{{{with}}}")), Some(301.521));
    let client = "mcp_client_operation_duration_seconds_count";
    assert_eq!(value(&page, &format!("{client}{{{with},error_type=\"_other\"}}")), Some(1.0));
    let peer = "mcp_method_name=\"tools/call\",mcp_peer_server_id=\"b\",error_type=\"timeout\"";
    assert_eq!(value(&page, &format!("{client}{{{peer}}}")), Some(1.0));
    for (name, count) in [
        ("mcp_inspector_spans_recorded_total", 10.0),
        ("mcp_inspector_spans_dropped_total", 1.0),
        ("mcp_inspector_spans_failed_total", 2.0),
        ("mcp_operations_running", 3.0),
        ("mcp_inspector_spans_queued", 4.0),
    ] {
        assert_eq!(value(&page, name), Some(count), "{name}");
    }
}

#[test]
fn a_flood_of_names_is_counted_together() {
    let metrics = Metrics::default();
    for number in 0..5000 {
        let labels = json!({"mcp.rpc.method": "tools/call", "mcp.tool.name": format!("t{number}{}", "x".repeat(9000))});
        metrics.observe(&span(Kind::Server, 1, labels));
    }
    let page = metrics.render(&Totals::default());
    let counts: Vec<f64> = page
        .lines()
        .filter(|line| line.starts_with("mcp_server_operation_duration_seconds_count"))
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(counts.len(), SERIES_MAX + 1);
    assert_eq!(counts.iter().sum::<f64>(), 5000.0);
    assert!(page.len() < 6 * 1024 * 1024, "{}", page.len());
}

proptest! {
    /// Whatever a caller names a tool, no line of the page is another than it should be.
    #[test]
    fn no_label_breaks_out(tool in "\\PC{0,20}|[\\\\\"\n\r{} ]{0,8}") {
        let metrics = Metrics::default();
        metrics.observe(&span(Kind::Server, 1, json!({"mcp.rpc.method": "m", "mcp.tool.name": tool})));
        let page = metrics.render(&Totals::default());
        for line in page.split('\n').filter(|line| !line.is_empty() && !line.starts_with('#')) {
            prop_assert!(line.starts_with("mcp_"), "{line:?}");
            let Some((_, rest)) = line.split_once('{') else { continue };
            let mut rest = rest;
            while !rest.starts_with('}') {
                let (label, quoted) = rest.split_once("=\"").unwrap();
                prop_assert!(label.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{line:?}");
                let mut end = None;
                let mut escaped = false;
                for (place, c) in quoted.char_indices() {
                    match c {
                        _ if escaped => escaped = false,
                        '\\' => escaped = true,
                        '"' => { end = Some(place); break; }
                        _ => {}
                    }
                }
                let end = end.unwrap();
                if label == "gen_ai_tool_name" {
                    let read = quoted[..end].replace("\\\\", "\0").replace("\\\"", "\"").replace("\\n", "\n").replace('\0', "\\");
                    prop_assert_eq!(&read, short(&tool));
                }
                rest = quoted[end + 1..].trim_start_matches(',');
            }
            prop_assert!(rest[1..].trim_start().parse::<f64>().is_ok(), "{line:?}");
        }
    }
}

#[test]
fn both_tables_of_buckets_agree() {
    for (seconds, nanos) in BUCKETS.iter().zip(BUCKET_NANOS) {
        assert_eq!((seconds * 1e9) as i64, nanos);
    }
}
