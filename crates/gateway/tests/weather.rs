//! The example for library users works as its first lines say.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that meets the unexpected has failed"
)]

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

/// REQ-MCP-04 REQ-VALID-05
#[test]
fn thirty_lines_of_rust_are_a_server() {
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().unwrap().parent().unwrap().join("examples/weather");
    let mut server = Command::new(example)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut call = |arguments: Value| -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": "mcp_aql_read", "arguments": arguments, "_meta": meta});
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
            .unwrap();
        let reply: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
        serde_json::from_str(reply["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
    };
    let forecast = |params: Value| json!({"operation": "get_forecast", "params": params});
    assert_eq!(
        call(forecast(json!({"city": "Rome", "days": 2})))["data"],
        json!({"city": "Rome", "days": ["sunny", "sunny"]})
    );
    assert_eq!(call(forecast(json!({"days": 2})))["error"]["details"]["param_name"], "city");
    assert_eq!(
        call(forecast(json!({"city": "Rome", "days": 15})))["error"]["code"],
        "VALIDATION_OUT_OF_RANGE"
    );
    assert_eq!(call(forecast(json!({"city": "Atlantis"})))["error"]["code"], "NOT_FOUND_RESOURCE");
    let detail =
        call(json!({"operation": "introspect", "params": {"query": "operations", "name": "get_forecast"}}));
    let days = &detail["data"]["operation"]["parameters"][1];
    assert_eq!((&days["name"], &days["minimum"], &days["maximum"]), (&json!("days"), &json!(1), &json!(14)));
    drop(input);
    assert!(server.wait().unwrap().success());
}
