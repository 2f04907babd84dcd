//! A server's failures, in its own words and with the code that fits them best.

use serde_json::{Value, json};

use super::{CLIENTS, Place, Remote, call, echoes, refused};

/// LREQ-ERR-22 LREQ-ERR-24
#[test]
fn what_a_tool_says_of_its_failure_decides_the_code() {
    let place = Place::new();
    let remote = Remote::start(&place, "remote", &["--era", "initialize"]);
    let place = place.stdio("process", &[], "").http("remote", &remote.url, "");
    for wire in CLIENTS {
        let mut client = place.connect(wire);
        for server in ["process", "remote"] {
            for (text, code) in [
                ("ENOENT: no such file or directory, open '/x'", "NOT_FOUND_RESOURCE"),
                ("Error: Access denied - path outside allowed directories: /etc/shadow", "PERMISSION_DENIED"),
                ("HTTP 429: Too Many Requests", "RATE_LIMIT_EXCEEDED"),
                ("A repository with this name already exists", "CONFLICT_ALREADY_EXISTS"),
                ("MCP error -32602: Invalid arguments for tool fail", "VALIDATION_INVALID_TYPE"),
                ("connect ECONNREFUSED 127.0.0.1:5432", "INTERNAL_UNAVAILABLE"),
                ("boom\nat line 7 of /srv/app.py", "INTERNAL_ERROR"),
                ("", "INTERNAL_ERROR"),
                ("ünïcode 👩‍👩‍👧 \u{202e}", "INTERNAL_ERROR"),
            ] {
                let error = refused(&mut client, &format!("{server}_fail"), json!({"text": text}));
                assert_eq!(error["code"], code, "{wire:?} {server} {text}");
                let upstream = &error["details"]["upstream_error"];
                assert_eq!(upstream, &json!({"server": server, "tool": "fail", "message": text}), "{error}");
                assert!(error["details"]["hint"].is_string(), "{error}");
                assert!(error["details"]["session_id"].is_string(), "{error}");
            }
        }
    }
}

#[test]
fn an_error_of_the_protocol_keeps_its_code_and_data() {
    let place = Place::new();
    let remote = Remote::start(&place, "remote", &[]);
    let place = place.stdio("process", &[], "").http("remote", &remote.url, "");
    let mut client = place.client();
    for server in ["process", "remote"] {
        for (number, message, code) in [
            (-32602, "Invalid params: text is required", "VALIDATION_INVALID_TYPE"),
            (-32002, "Resource not found", "NOT_FOUND_RESOURCE"),
            (-32603, "Something broke", "INTERNAL_ERROR"),
            (7, "", "INTERNAL_ERROR"),
        ] {
            let params = json!({"code": number, "message": message});
            let error = refused(&mut client, &format!("{server}_rpc_error"), params);
            assert_eq!(error["code"], code, "{server} {error}");
            let upstream = &error["details"]["upstream_error"];
            assert_eq!((&upstream["code"], &upstream["message"]), (&json!(number), &json!(message)));
            assert_eq!(upstream["data"], json!({"why": "asked to"}), "{error}");
        }
        echoes(&mut client, server);
    }
}

/// A failure may be long, or say nothing.
#[test]
fn failures_of_any_size_are_told() {
    let place = Place::new().stdio("one", &[], "");
    let mut client = place.client();
    let error = refused(&mut client, "one_fail", json!({"text": "ü".repeat(100_000)}));
    let told = error["details"]["upstream_error"]["message"].as_str().unwrap();
    assert!(
        (1000..10_000).contains(&told.len()) && told.chars().all(|letter| "ü …".contains(letter)),
        "{}",
        told.len()
    );
    let error = refused(&mut client, "one_content", json!({"kind": "error_without_text"}));
    assert_eq!(error["code"], "INTERNAL_ERROR", "{error}");
}

/// Results that are none.
#[test]
fn a_result_that_cannot_be_read_is_an_error_of_the_server() {
    let place = Place::new();
    let remote = Remote::start(&place, "remote", &[]);
    let place = place.stdio("process", &[], "").http("remote", &remote.url, "");
    let mut client = place.client();
    for server in ["process", "remote"] {
        for kind in ["not_a_result", "null_result", "content_no_list"] {
            let error = refused(&mut client, &format!("{server}_content"), json!({"kind": kind}));
            assert_eq!(error["code"], "INTERNAL_ERROR", "{server} {kind}: {error}");
            let told = error["details"]["upstream_error"]["message"].as_str().unwrap();
            let words = ["cannot be read", "neither result nor error"];
            assert!(words.iter().any(|words| told.contains(words)), "{server} {kind}: {error}");
        }
        echoes(&mut client, server);
    }
}

/// What fails in a batch fails alone.
#[test]
fn a_failing_call_leaves_the_rest_of_its_batch_alone() {
    let place = Place::new().stdio("one", &[], "");
    let mut client = place.client();
    let batch = json!({"operations": [
        {"operation": "one_fail", "params": {"text": "not found"}},
        {"operation": "one_echo", "params": {"text": "after"}},
    ]});
    let answer = client.call("mcp_aql", batch);
    let results = answer["results"].as_array().unwrap();
    let codes: Vec<&Value> = results.iter().map(|one| &one["result"]["error"]["code"]).collect();
    assert_eq!(codes, [&json!("NOT_FOUND_RESOURCE"), &Value::Null], "{answer}");
    assert_eq!(results[1]["result"]["data"], "after", "{answer}");
    let unknown = call(&mut client, "one_no_such_tool", json!({}));
    assert_eq!(unknown["error"]["code"], "NOT_FOUND_OPERATION", "{unknown}");
}
