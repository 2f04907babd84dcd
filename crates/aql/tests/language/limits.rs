//! How large a request may be, each limit to its last byte.

use aql::limits::{ARRAY_ELEMENTS, Limits, NESTING_DEPTH, REQUEST_SIZE, RESPONSE_SIZE, STRING_LENGTH};
use serde_json::{Value, json};

use crate::{
    drive::{Adapter, code, items, no_leak_in},
    fixture,
};

const MIB: usize = 1_048_576;

fn with(limits: Limits) -> Adapter {
    Adapter::of(fixture::built(fixture::builder().limits(limits)))
}

/// Arguments of exactly so many bytes.
fn sized(bytes: usize) -> Vec<u8> {
    let around = r#"{"operation":"execute_job","params":{"job_name":""}}"#;
    around.replace("\"\"", &format!("\"{}\"", "x".repeat(bytes - around.len()))).into_bytes()
}

/// Arguments nested so deep.
fn nested(levels: usize) -> Vec<u8> {
    let inner = levels - 2;
    format!(
        r#"{{"operation":"execute_job","params":{{"job_name":"j","arguments":{}{}}}}}"#,
        r#"{"a":"#.repeat(inner - 1) + "{}",
        "}".repeat(inner - 1)
    )
    .into_bytes()
}

fn array(elements: usize) -> Vec<u8> {
    let arguments = json!({"job_name": "j", "arguments": {"deep": {"list": vec![0; elements]}}});
    json!({"operation": "execute_job", "params": arguments}).to_string().into_bytes()
}

#[track_caller]
fn too_large(answer: &Value, limit_type: &str, limit: usize, actual: usize, unit: &str) {
    let error = &answer["error"];
    assert_eq!(code(error), "VALIDATION_PAYLOAD_TOO_LARGE", "{answer}");
    let expected =
        json!({"limit_type": limit_type, "limit_value": limit, "actual_value": actual, "unit": unit});
    assert_eq!(error["details"], expected);
    let start = format!("Payload exceeds {limit_type} limit of {limit}");
    assert!(error["message"].as_str().unwrap().starts_with(&start), "{error}");
}

/// REQ-LIMIT-01 REQ-LIMIT-08 LREQ-ERR-09
#[test]
fn the_arguments_are_measured_as_received() {
    let adapter = items();
    assert_eq!(adapter.call_raw("mcp_aql_execute", &sized(MIB))["success"], true);
    too_large(&adapter.call_raw("mcp_aql_execute", &sized(MIB + 1)), "request_size", MIB, MIB + 1, "bytes");
    let padded = [br#"{"operation":"list_items"}"#.as_slice(), &vec![b' '; MIB]].concat();
    assert_eq!(code(&adapter.call_raw("mcp_aql_read", &padded)["error"]), "VALIDATION_PAYLOAD_TOO_LARGE");
}

/// REQ-LIMIT-02 REQ-LIMIT-08
#[test]
fn an_answer_over_its_limit_is_replaced_whole() {
    let roomy =
        Limits::default().with_max_request_size(10 * MIB).and_then(|l| l.with_max_string_length(10 * MIB));
    let roomy = roomy.and_then(|l| l.with_max_response_size(MIB)).unwrap();
    let answer = with(roomy).call_raw("mcp_aql_execute", &sized(2 * MIB));
    let error = &answer["error"];
    assert_eq!(code(error), "VALIDATION_PAYLOAD_TOO_LARGE");
    assert_eq!(
        (&error["details"]["limit_type"], &error["details"]["limit_value"]),
        (&json!("response_size"), &json!(MIB))
    );
    assert!(error["details"]["actual_value"].as_u64().unwrap() > MIB as u64);
    assert!(answer.to_string().len() < 1000, "no part of the data is left");
}

/// REQ-LIMIT-03 REQ-LIMIT-08
#[test]
fn strings_are_capped() {
    let adapter = with(Limits::default().with_max_request_size(10 * MIB).unwrap());
    let named = |bytes: usize| json!({"operation": "execute_job", "params": {"job_name": "ü".repeat(bytes / 2) + &"x".repeat(bytes % 2)}});
    assert_eq!(adapter.call("mcp_aql_execute", named(MIB))["success"], true);
    too_large(&adapter.call("mcp_aql_execute", named(MIB + 1)), "string_length", MIB, MIB + 1, "bytes");
}

/// REQ-LIMIT-04 REQ-LIMIT-08
#[test]
fn arrays_are_capped_wherever_they_stand() {
    let adapter = items();
    assert_eq!(adapter.call_raw("mcp_aql_execute", &array(10_000))["success"], true);
    too_large(
        &adapter.call_raw("mcp_aql_execute", &array(10_001)),
        "array_elements",
        10_000,
        10_001,
        "elements",
    );
}

/// REQ-LIMIT-05 REQ-LIMIT-06 REQ-LIMIT-08
#[test]
fn nesting_is_capped_and_counted_from_the_arguments_themselves() {
    let adapter = items();
    assert_eq!(adapter.call_raw("mcp_aql_execute", &nested(32))["success"], true);
    too_large(&adapter.call_raw("mcp_aql_execute", &nested(33)), "nesting_depth", 32, 33, "levels");
    too_large(&adapter.call_raw("mcp_aql_execute", &nested(100_000)), "nesting_depth", 32, 100_000, "levels");
    for (text, depth) in [(r#"{"a":{"b":{"c":{}}}}"#, 4), ("{}", 1), (r#"{"a":[[1]]}"#, 3)] {
        assert_eq!(aql::scan::depth(text.as_bytes()), depth);
    }
}

/// REQ-LIMIT-07
#[test]
fn a_limit_is_set_within_its_range_and_then_in_force() {
    for (limit, range) in [
        (&REQUEST_SIZE, 65_536..=10_485_760),
        (&RESPONSE_SIZE, 1_048_576..=104_857_600),
        (&STRING_LENGTH, 65_536..=10_485_760),
        (&ARRAY_ELEMENTS, 100..=100_000),
        (&NESTING_DEPTH, 8..=64),
    ] {
        assert_eq!(limit.range, range, "{}", limit.key);
        for outside in [range.start() - 1, range.end() + 1] {
            let message = limit.check(outside).unwrap_err().to_string();
            no_leak_in(&message);
            for part in [limit.key, &range.start().to_string(), &range.end().to_string()] {
                assert!(message.contains(part), "{message}");
            }
        }
    }
    let shallow = with(Limits::default().with_max_nesting_depth(8).unwrap());
    assert_eq!(shallow.call_raw("mcp_aql_execute", &nested(8))["success"], true);
    too_large(&shallow.call_raw("mcp_aql_execute", &nested(9)), "nesting_depth", 8, 9, "levels");
    let short = with(Limits::default().with_max_array_elements(100).unwrap());
    too_large(&short.call_raw("mcp_aql_execute", &array(101)), "array_elements", 100, 101, "elements");
    let deep = with(Limits::default().with_max_nesting_depth(64).unwrap());
    assert_eq!(deep.call_raw("mcp_aql_execute", &nested(64))["success"], true);
}

/// REQ-LIMIT-09 REQ-LIMIT-10
#[test]
fn the_limits_in_force_are_introspected() {
    let protocol =
        |adapter: &Adapter| adapter.introspect(json!({"query": "operations"}))["_protocol"]["limits"].clone();
    let defaults = json!({
        "max_request_size": 1_048_576, "max_response_size": 10_485_760, "max_string_length": 1_048_576,
        "max_array_elements": 10_000, "max_nesting_depth": 32
    });
    assert_eq!(protocol(&items()), defaults);
    let shallow = with(Limits::default().with_max_nesting_depth(16).unwrap());
    assert_eq!(protocol(&shallow)["max_nesting_depth"], 16);
}
