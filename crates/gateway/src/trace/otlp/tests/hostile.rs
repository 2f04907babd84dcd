use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use prost::Message;
use serde_json::json;

use super::*;
use crate::trace::otlp::wire;

fn request(spans: Vec<wire::Span>) -> Vec<u8> {
    let scope_spans = vec![wire::ScopeSpans { scope: None, spans }];
    let resource_spans = vec![wire::ResourceSpans { resource: None, scope_spans }];
    wire::Request { resource_spans }.encode_to_vec()
}

fn reported() -> wire::Span {
    wire::Span {
        trace_id: vec![7; 16],
        span_id: vec![9; 8],
        start_time_unix_nano: NOW.unsigned_abs(),
        end_time_unix_nano: NOW.unsigned_abs(),
        ..wire::Span::default()
    }
}

fn pack(body: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(body).unwrap();
    packer.finish().unwrap()
}

#[test]
fn wrong_ids_and_times_cost_only_their_own_span() {
    let with = |change: &dyn Fn(&mut wire::Span)| {
        let mut span = reported();
        change(&mut span);
        span
    };
    let day = 86_400_000_000_000;
    for (wrong, why) in [
        (with(&|span| span.trace_id = vec![0; 16]), "trace id"),
        (with(&|span| span.trace_id = vec![7; 15]), "trace id"),
        (with(&|span| span.trace_id.clear()), "trace id"),
        (with(&|span| span.span_id = vec![0; 8]), "span id"),
        (with(&|span| span.span_id = vec![9; 9]), "span id"),
        (with(&|span| span.parent_span_id = vec![1; 3]), "span id"),
        (with(&|span| span.start_time_unix_nano = 0), "before the year 2000"),
        (with(&|span| span.start_time_unix_nano = u64::MAX), "a day ahead"),
        (with(&|span| span.start_time_unix_nano = NOW.unsigned_abs() + 2 * day), "a day ahead"),
        (with(&|span| span.end_time_unix_nano = u64::MAX), "a day ahead"),
        (with(&|span| span.end_time_unix_nano = 1), "before the year 2000"),
    ] {
        let read = read::protobuf(&request(vec![reported(), wrong, reported()]), NOW).unwrap();
        assert_eq!((read.spans.len(), read.rejected), (2, 1), "{why}");
        assert!(read.why.unwrap().contains(why), "{why}: {:?}", read.why);
    }
    let backwards = with(&|span| span.end_time_unix_nano -= 1000);
    let read = read::protobuf(&request(vec![backwards]), NOW).unwrap();
    assert_eq!(read.spans[0].ended, Some(read.spans[0].started), "nothing ends before it begins");
    let zero_parent = with(&|span| span.parent_span_id = vec![0; 8]);
    assert_eq!(read::protobuf(&request(vec![zero_parent]), NOW).unwrap().spans[0].parent, None);
}

#[test]
fn a_hundred_thousand_spans_come_in_one_request_and_too_many_do_not() {
    let body = request(vec![reported(); 100_000]);
    let read = read::protobuf(&body, NOW).unwrap();
    assert_eq!((read.spans.len(), read.rejected), (100_000, 0));
    let body = request(vec![reported(); SPANS_MAX + 5]);
    let read = read::protobuf(&body, NOW).unwrap();
    assert_eq!((read.spans.len(), read.rejected), (SPANS_MAX, 5));
    assert!(read.why.unwrap().contains("send fewer"));
}

#[test]
fn bombs_do_not_go_off() {
    let zeros = vec![0; UNPACKED_BYTES_MAX + 1];
    let bomb = pack(&zeros);
    assert!(bomb.len() < BODY_BYTES_MAX);
    assert_eq!(read::unpack(&bomb), Err(Unreadable::TooLong));
    assert_eq!(read::unpack(&pack(&zeros[..UNPACKED_BYTES_MAX])).unwrap().len(), UNPACKED_BYTES_MAX);
    let whole = pack(b"something");
    assert!(matches!(read::unpack(&whole[..whole.len() - 4]), Err(Unreadable::Malformed(_))));
    assert!(matches!(read::unpack(b"no gzip"), Err(Unreadable::Malformed(_))));
}

/// Two bytes are an attribute without name or value, which takes forty times as much when it is made.
#[test]
fn empty_parts_without_end_are_not_made() {
    let mut span = reported().encode_to_vec();
    span.extend([0x4a, 0x00].repeat(4_000_000));
    let mut deep = reported().encode_to_vec();
    let values = wire::KeyValue { key: "k".to_owned(), value: None }.encode_to_vec();
    let array: Vec<u8> = [0x0a, 0x00].repeat(1_000_000);
    let field = |number: u8, bytes: &[u8]| {
        let mut field = vec![(number << 3) | 2];
        prost::encoding::encode_varint(u64::try_from(bytes.len()).unwrap(), &mut field);
        field.extend_from_slice(bytes);
        field
    };
    let key_value = [values, field(2, &field(5, &array))].concat();
    deep.extend(field(9, &key_value));
    for hostile in [span, deep] {
        let scope_spans = [field(2, &hostile), field(2, &reported().encode_to_vec())].concat();
        let body = field(1, &field(2, &scope_spans));
        let read = read::protobuf(&body, NOW).unwrap();
        assert_eq!((read.spans.len(), read.rejected), (1, 1));
        assert!(read.why.unwrap().contains("too many"));
    }
    let resource = field(1, &field(1, &[0x0a, 0x00].repeat(1_000_000)));
    assert!(read::protobuf(&resource, NOW).is_err());
    let scopes = field(1, &[0x12, 0x00].repeat(1_000_000));
    assert!(read::protobuf(&scopes, NOW).is_err());
    let json = format!("{{\"resourceSpans\":[{}{{}}]}}", "{},".repeat(5_000_000));
    assert!(read::json(json.as_bytes(), NOW).unwrap_err().to_string().contains("send fewer"));
}

#[test]
fn depth_without_end_is_refused() {
    let deep = format!(
        "{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{{\"attributes\":[{{\"key\":\"k\",\"value\":{}{}",
        "{\"arrayValue\":{\"values\":[".repeat(200),
        "]}}".repeat(200)
    );
    let read = read::json(format!("{deep}}}]}}]}}]}}]}}").as_bytes(), NOW).unwrap();
    assert_eq!((read.spans.len(), read.rejected), (0, 1));
    let mut value = wire::AnyValue::default();
    for _ in 0..300 {
        value = wire::AnyValue { value: Some(wire::Any::Array(wire::ArrayValue { values: vec![value] })) };
    }
    let attributes = vec![wire::KeyValue { key: "k".to_owned(), value: Some(value) }];
    let read = read::protobuf(&request(vec![wire::Span { attributes, ..reported() }]), NOW).unwrap();
    assert_eq!((read.spans.len(), read.rejected), (0, 1));
}

/// What is said once for a process is not multiplied by its spans without limit.
#[test]
fn a_long_resource_is_not_kept_with_every_span() {
    let text = |bytes: usize| wire::AnyValue { value: Some(wire::Any::Text("x".repeat(bytes))) };
    let pair = |key: &str, bytes| wire::KeyValue { key: key.to_owned(), value: Some(text(bytes)) };
    let attributes = vec![pair("process.command_args", 1_000_000), pair("service.name", 10)];
    let scope_spans = vec![wire::ScopeSpans { scope: None, spans: vec![reported(); 1000] }];
    let resource_spans =
        vec![wire::ResourceSpans { resource: Some(wire::Resource { attributes }), scope_spans }];
    let read = read::protobuf(&wire::Request { resource_spans }.encode_to_vec(), NOW).unwrap();
    let spans = unpacked(&read);
    assert_eq!(spans.len(), 1000);
    assert!(spans.iter().all(|span| span.attributes["mcp.agent.server_id"] == "xxxxxxxxxx"));
    assert!(spans.iter().all(|span| !span.attributes.contains_key("process.command_args")));
}

/// Neither is a name that goes on and on.
#[test]
fn a_long_name_of_who_reports_is_cut() {
    let name = wire::AnyValue { value: Some(wire::Any::Text("ä".repeat(500_000))) };
    let attributes = vec![wire::KeyValue { key: "service.name".to_owned(), value: Some(name) }];
    let scope_spans = vec![wire::ScopeSpans { scope: None, spans: vec![reported(); 10] }];
    let resource_spans =
        vec![wire::ResourceSpans { resource: Some(wire::Resource { attributes }), scope_spans }];
    let read = read::protobuf(&wire::Request { resource_spans }.encode_to_vec(), NOW).unwrap();
    let is_short = |span: &Span| span.attributes["mcp.agent.server_id"] == "ä".repeat(128);
    assert!(read.spans.len() == 10 && unpacked(&read).iter().all(is_short));
}

#[test]
fn every_spelling_of_json_is_read() {
    let plain = json!({"resourceSpans": [{"scopeSpans": [{"spans": [{
        "traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "EEE19B7EC3C1B174", "parentSpanId": "",
        "name": "x", "kind": 2, "startTimeUnixNano": NOW.to_string(), "endTimeUnixNano": NOW.to_string(),
        "attributes": [
            {"key": "int", "value": {"intValue": "7"}}, {"key": "double", "value": {"doubleValue": 7.0}},
            {"key": "bytes", "value": {"bytesValue": "AQI="}}, {"key": "nan", "value": {"doubleValue": "NaN"}},
            {"key": "none", "value": {}},
        ],
        "status": {"code": 2},
    }]}]}]});
    let other = json!({"resource_spans": [{"unknown": [1], "scope_spans": [{"schemaUrl": "u", "spans": [{
        "trace_id": "5b8efff798038103d269b633813fc60c", "span_id": "eee19b7ec3c1b174", "parentSpanId": null,
        "name": "x", "kind": "SPAN_KIND_SERVER", "start_time_unix_nano": NOW, "end_time_unix_nano": NOW,
        "attributes": [
            {"key": "int", "value": {"int_value": 7}}, {"key": "double", "value": {"doubleValue": "7"}},
            {"key": "bytes", "value": {"bytesValue": "AQI=", "newValue": {"deep": []}}},
            {"key": "nan", "value": {"doubleValue": "NaN"}}, {"key": "none", "value": null},
        ],
        "events": null, "status": {"code": "STATUS_CODE_ERROR"}, "flags": 257, "somethingNew": {"a": [1, {}]},
    }]}]}]});
    let read = |request: &Value| read::json(request.to_string().as_bytes(), NOW).unwrap();
    let (plain, other) = (read(&plain), read(&other));
    assert_eq!(plain.why, None);
    assert_eq!(plain, other);
    let span = plain.spans[0].span();
    assert_eq!((span.kind, span.status), (Kind::Server, Status::Error));
    assert_eq!(span.attributes["int"], json!(7));
    assert_eq!(span.attributes["double"], json!(7.0));
    assert_eq!(span.attributes["nan"], "NaN");
    assert_eq!(span.attributes["bytes"], "AQI=");
    assert_eq!(span.attributes["none"], Value::Null);
}

#[test]
fn broken_json_costs_its_span_or_the_request() {
    let spans = json!([
        {"traceId": "zz", "spanId": "eee19b7ec3c1b174", "startTimeUnixNano": NOW},
        {"traceId": 7, "spanId": "eee19b7ec3c1b174", "startTimeUnixNano": NOW},
        {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "startTimeUnixNano": -1},
        "no span",
        {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "startTimeUnixNano": NOW},
    ]);
    let request = json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]});
    let read = read::json(request.to_string().as_bytes(), NOW).unwrap();
    assert_eq!((read.spans.len(), read.rejected), (1, 4));
    assert_eq!(read.spans[0].status, Status::Running, "it has no end");
    for broken in ["", "{", "[]x", "{\"resourceSpans\": 7}", "\u{feff}{}"] {
        let error = read::json(broken.as_bytes(), NOW).unwrap_err().to_string();
        assert!(!error.contains(" at "), "{error}");
    }
    assert_eq!(read::json(b"{}", NOW).unwrap(), Received::default());
    assert_eq!(read::protobuf(b"", NOW).unwrap(), Received::default());
    assert!(read::protobuf(b"{\"resourceSpans\":[]}", NOW).is_err());
}
