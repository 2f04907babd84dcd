//! What happens within a call: questions to its client, work that goes on by itself, connections that are lost, and whose
//! token a server gets.

use std::sync::Arc;

use serde_json::{Value, json};

use super::recorded::{exported, finished};
use crate::{
    harness::{Client, Era, Setup, data, stateless_meta},
    operator::{address, key_of, send, settings},
    upstreams::{
        Place, Remote, call,
        questions::{ask, everything, initialized, reply},
        refused, wait_until,
    },
};

/// REQ-IATTR-06
#[test]
fn questions_to_a_client_are_recorded_and_what_people_answer_is_not() {
    for era in ["initialize", "discover"] {
        let place = Place::new().stdio("one", &["--era", era], "");
        place.learn(&["one"]);
        let mut link = initialized(&place, &everything());
        for (id, method) in (1..).zip(["sampling/createMessage", "elicitation/create"]) {
            let request =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": ask("one_ask", method)});
            link.send(request.to_string().as_bytes());
            let question = link.next();
            link.send(
                json!({"jsonrpc": "2.0", "id": question["id"], "result": reply(method)})
                    .to_string()
                    .as_bytes(),
            );
            link.answer(&json!(id));
        }
        let sampled = finished(place.path(), "sampling/createMessage", 1).remove(0);
        let known = &sampled["attributes"];
        let preferences = known["mcp.model.preferences_json"].as_str().unwrap();
        let preferences: Value = serde_json::from_str(preferences).unwrap();
        assert_eq!(preferences, json!({"hints": [{"name": "small"}], "speedPriority": 0.9}), "{era}");
        assert_eq!(known["mcp.stop_reason"], "endTurn", "{era}");
        assert_eq!((&sampled["kind"], &sampled["status"]), (&json!("client"), &json!("ok")), "{era}");
        let elicited = finished(place.path(), "elicitation/create", 1).remove(0);
        assert_eq!(elicited["attributes"]["mcp.tool.output_json"], "\"accept\"", "{era}");
        let parent = wait_until("the end of the call that asked", || {
            let is_it =
                |span: &Value| span["span_id"] == elicited["parent_id"] && !span["ended_ns"].is_null();
            exported(place.path()).into_iter().find(is_it)
        });
        let waits =
            |name: &str| parent["events"].as_array().unwrap().iter().any(|event| event["name"] == name);
        assert!(waits("WaitingOnSignal") && waits("SignalReceived"), "{era}: {parent}");
        assert!(parent["waited_ns"].as_i64().unwrap() > 0, "{era}: {parent}");
        // However deep within it somebody was waited for, the operation that they were waited for says so.
        let whole = finished(place.path(), "tools/call one_ask", 2);
        let whole = whole.iter().find(|span| span["trace_id"] == elicited["trace_id"]).unwrap();
        let (of_whole, of_parent) = (&whole["waited_ns"], &parent["waited_ns"]);
        assert!(of_whole.as_i64().unwrap() >= of_parent.as_i64().unwrap(), "{era}: {whole}");
        // The call's own answer repeats it here, since the example's tool does; the question's span does not.
        assert!(!elicited.to_string().contains("Ada"), "{era}: {elicited}");
    }
}

/// A call that its client has to make again is one row, which waits meanwhile, and can be ended while it does.
#[test]
fn a_call_that_goes_on_when_its_client_calls_again_is_one_row() {
    for era in ["initialize", "discover"] {
        let place = Place::new().stdio("one", &["--era", era], "").lines(&settings(""));
        place.learn(&["one"]);
        let server = place.setup().http();
        let mut client = Client::http(Arc::clone(&server), Era::Stateless);
        place.wait_for(&mut client, &["one"]);
        let bearer = format!("Bearer {}", key_of(place.path()));
        let api = |method: &str, path: &str| {
            let headers = [("authorization", bearer.as_str())];
            send(&address(&server.welcome), method, path, &headers, b"").body
        };
        let mut meta = stateless_meta();
        meta["io.modelcontextprotocol/clientCapabilities"] = everything();
        let mut first = ask("one_ask", "elicitation/create");
        first["_meta"] = meta;
        let asked = |client: &mut Client, except: &Value| {
            let asked = client.request("tools/call", first.clone())["result"].clone();
            assert_eq!(asked["resultType"], "input_required", "{era}: {asked}");
            let mut again = first.clone();
            let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap();
            again["inputResponses"] = json!({key: reply("elicitation/create")});
            again["requestState"] = asked["requestState"].clone();
            let waiting = wait_until("the row that waits", || {
                let found = api("GET", "/api/v1/operations?status=waiting");
                let is_it = |row: &&Value| row["operation"] == "one_ask" && row["span_id"] != *except;
                found["operations"].as_array()?.iter().find(is_it).cloned()
            });
            (again, waiting)
        };
        let (again, waiting) = asked(&mut client, &Value::Null);
        let (stopped, to_stop) = asked(&mut client, &waiting["span_id"]);
        assert_ne!(again["requestState"], stopped["requestState"], "{era}: each has its own");
        let answer = client.request("tools/call", again);
        assert!(answer.to_string().contains("Ada"), "{era}: {answer}");
        let rows = finished(place.path(), "tools/call one_ask", 1);
        assert_eq!((rows.len(), &rows[0]["status"]), (1, &json!("ok")), "{era}: {rows:?}");
        assert_eq!(rows[0]["span_id"], waiting["span_id"], "{era}");
        assert!(rows[0]["waited_ns"].as_i64().unwrap() > 0, "{era}: {rows:?}");
        // The other one is ended while its client is waited for, and stays so.
        let path = format!("/api/v1/operations/{}/cancel", to_stop["span_id"].as_str().unwrap());
        assert_eq!(api("POST", &path)["cancelled"], true, "{era}");
        for _ in 0..2 {
            let answer = client.request("tools/call", stopped.clone()).to_string();
            assert!(answer.contains("the operator stopped this call"), "{era}: {answer}");
        }
        let rows = finished(place.path(), "tools/call one_ask", 2);
        let row = rows.iter().find(|row| row["span_id"] == to_stop["span_id"]).unwrap();
        assert_eq!((rows.len(), &row["status"]), (2, &json!("cancelled")), "{era}: {rows:?}");
        if era == "initialize" {
            let ended = finished(place.path(), "tools/call ask", 2);
            assert!(
                ended.iter().any(|span| span["status"] == "cancelled"),
                "the server's call is given up, too"
            );
        }
    }
}

/// REQ-ISESS-03
#[test]
fn a_workflow_is_a_session_of_its_own_with_its_steps_and_their_calls() {
    let place = Place::new().stdio("near", &[], "");
    let mut client = place.client();
    let steps = json!([
        {"name": "look", "operation": "near_echo", "params": {"text": "from within"}},
        {"name": "fail", "operation": "get_entity", "params": {"entity_id": "none"}, "on_error": "continue"},
    ]);
    let workflow = json!({"entity_name": "Look", "entity_type": "workflow", "description": "d",
                          "metadata": {"steps": steps}});
    assert_eq!(call(&mut client, "create_entity", workflow)["success"], true);
    let run = call(&mut client, "execute_workflow", json!({"entity_name": "Look", "wait_seconds": 50}));
    assert_eq!(run["data"]["status"], "completed", "{run}");
    let root = finished(place.path(), "workflow Look", 1).remove(0);
    let id = &run["data"]["execution_id"];
    assert_eq!((&root["session_id"], &root["engine"]), (id, &json!("asyncio")), "{root}");
    assert_eq!(root["attributes"]["mcp.workflow.type"], "Look");
    assert_eq!(root["status"], "ok");
    let begun = finished(place.path(), "tools/call execute_workflow", 1).remove(0);
    assert_eq!((&root["trace_id"], &root["parent_id"]), (&begun["trace_id"], &begun["span_id"]));
    assert_eq!(root["attributes"]["mcp.parent_request_id"], begun["attributes"]["mcp.request_id"]);
    let step = finished(place.path(), "near_echo", 1).remove(0);
    assert_eq!((&step["parent_id"], &step["session_id"]), (&root["span_id"], id), "{step}");
    let outbound = finished(place.path(), "tools/call echo", 1).remove(0);
    assert_eq!((&outbound["parent_id"], &outbound["engine"]), (&step["span_id"], &json!("asyncio")));
    let failed = finished(place.path(), "get_entity", 1).remove(0);
    assert_eq!(
        (&failed["status"], &failed["attributes"]["mcp.error.code"]),
        (&json!("error"), &json!("NOT_FOUND_RESOURCE"))
    );
}

/// REQ-IUI-03
#[test]
fn the_operator_ends_a_workflow_like_a_call() {
    let place = Place::new().stdio("slow", &[], "timeout_seconds = 3600").lines(&settings(""));
    let server = place.setup().http();
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    place.wait_for(&mut client, &["slow"]);
    let steps = json!([{"name": "wait", "operation": "slow_sleep", "params": {"milliseconds": 3_600_000}}]);
    let workflow = json!({"entity_name": "Wait", "entity_type": "workflow", "description": "d",
                          "metadata": {"steps": steps}});
    assert_eq!(call(&mut client, "create_entity", workflow)["success"], true);
    let bearer = format!("Bearer {}", key_of(place.path()));
    let api = |method: &str, path: &str| {
        let answer =
            send(&address(&server.welcome), method, path, &[("authorization", bearer.as_str())], b"");
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    };
    for ends_session in [true, false] {
        let run = call(&mut client, "execute_workflow", json!({"entity_name": "Wait", "wait_seconds": 0}));
        let id = run["data"]["execution_id"].as_str().unwrap_or_else(|| panic!("{run}"));
        let step = wait_until("the step that runs", || {
            let runs = |span: &Value| span["name"] == "slow_sleep" && span["session_id"] == id;
            exported(place.path()).into_iter().find(runs)
        });
        // The call was answered, and is one row with what it began.
        let rows = api("GET", "/api/v1/operations?status=running")["operations"].clone();
        assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");
        assert_eq!((&rows[0]["operation"], &rows[0]["kind"]), (&json!("execute_workflow"), &json!("server")));
        assert_eq!(rows[0]["trace_id"], step["trace_id"]);
        if ends_session {
            assert_eq!(api("POST", &format!("/api/v1/sessions/{id}/cancel"))["cancelled"], 1);
        } else {
            let path = format!("/api/v1/operations/{}/cancel", rows[0]["span_id"].as_str().unwrap());
            assert_eq!(api("POST", &path)["cancelled"], true);
        }
        let ended = wait_until("the execution's end", || {
            let execution = call(&mut client, "get_execution", json!({"execution_id": id}))["data"].clone();
            (execution["status"] == "cancelled").then_some(execution)
        });
        assert!(ended.to_string().contains("Stopped by the operator"), "{ended}");
        let count = if ends_session { 1 } else { 2 };
        let of_run = |span: &Value| span["trace_id"] == step["trace_id"];
        let spans = |name: &str| finished(place.path(), name, count).into_iter().find(of_run).unwrap();
        let (run, whole) = (spans("workflow Wait"), spans("tools/call execute_workflow"));
        assert_eq!((&run["status"], &whole["status"]), (&json!("cancelled"), &json!("cancelled")));
        let time = |span: &Value, name: &str| span[name].as_i64().unwrap();
        assert!(time(&whole, "started_ns") <= time(&run, "started_ns"), "{whole}");
        assert!(time(&whole, "ended_ns") >= time(&run, "ended_ns"), "{whole}");
        let (answered, took) =
            (&whole["attributes"]["mcp.rpc.answered_ms"], &whole["attributes"]["mcp.rpc.duration_ms"]);
        assert!(answered.as_f64().unwrap() < took.as_f64().unwrap(), "{whole}");
    }
    let rows = api("GET", "/api/v1/operations?operation=execute_workflow")["operations"].clone();
    assert!(rows.as_array().unwrap().iter().all(|row| row["engine"] == "inbound"), "{rows}");
    place.event("slow", "that it is given up", |event| event["event"] == "given up");
}

/// REQ-IUI-03
#[test]
fn what_a_stopped_call_waited_for_cannot_be_approved_any_more() {
    let place = Place::new().stdio("near", &[], "trust = 'certified'").lines(&settings(""));
    place.learn(&["near"]);
    let server = place.setup().asking().http();
    let mut caller = Client::http(Arc::clone(&server), Era::Stateless);
    let stuck = std::thread::spawn(move || call(&mut caller, "near_delete_thing", json!({"thing_id": "7"})));
    let span = wait_until("the call that waits", || {
        exported(place.path()).into_iter().find(|span| span["status"] == "waiting")
    });
    let asked = span["events"][0]["attributes"]["approval_id"].as_str().unwrap_or_else(|| panic!("{span}"));
    let bearer = format!("Bearer {}", key_of(place.path()));
    let ask = |method: &str, path: &str| {
        send(&address(&server.welcome), method, path, &[("authorization", bearer.as_str())], b"")
    };
    let path = format!("/api/v1/operations/{}/cancel", span["span_id"].as_str().unwrap());
    assert_eq!(ask("POST", &path).body["cancelled"], true);
    assert_eq!(stuck.join().unwrap()["error"]["code"], "PERMISSION_DENIED");
    wait_until("that it is refused", || {
        let all = ask("GET", "/api/v1/approvals?state=denied").body;
        all["approvals"].as_array()?.iter().any(|known| known["id"] == asked).then_some(())
    });
    let late = ask("POST", &format!("/api/v1/approvals/{asked}/approve"));
    assert_ne!(late.status, 200, "{}", late.body);
    let made = |span: &Value| span["name"] == "tools/call delete_thing";
    assert!(!exported(place.path()).iter().any(made), "the call was never made");
}

/// REQ-IATTR-13 REQ-IATTR-14
#[test]
fn attempts_to_reach_a_server_that_is_gone_are_counted() {
    let mut place = Place::new();
    let remote = Remote::start(&place, "far", &[]);
    place = place.http("far", &remote.url, "");
    let mut client = place.client();
    remote.kill();
    let attempts = |span: &Value| span["attributes"]["mcp.transport.reconnect_count"].as_u64().unwrap_or(0);
    wait_until("three attempts", || {
        refused(&mut client, "far_echo", json!({"text": "anybody?"}));
        exported(place.path()).iter().any(|span| attempts(span) >= 3).then_some(())
    });
    let spans = finished(place.path(), "tools/call echo", 3);
    let third = spans.iter().find(|span| attempts(span) == 3).unwrap_or_else(|| panic!("{spans:?}"));
    assert_eq!(third["status"], "error");
    let state = |span: &Value| span["attributes"]["mcp.transport.status"].as_str().unwrap().to_owned();
    assert!(spans.iter().any(|span| state(span) == "disconnected"), "{spans:?}");
    assert!(spans.iter().any(|span| state(span) == "reconnecting"), "{spans:?}");
}

/// What a client calls itself, in both eras.
#[test]
fn a_client_is_known_by_its_name() {
    let directory = data();
    let server = Setup::new(directory.path()).http();
    for era in [Era::Stateless, Era::Initialize("2025-11-25")] {
        Client::http(Arc::clone(&server), era).read("list_entities", json!({}));
    }
    let spans = finished(directory.path(), "tools/call list_entities", 2);
    let names: Vec<&Value> = spans.iter().map(|span| &span["attributes"]["mcp.client.name"]).collect();
    assert!(names.iter().all(|name| name.is_string()), "{names:?}");
}

/// REQ-ISEC-05
#[test]
fn a_server_gets_the_callers_token_where_that_is_wanted_and_nobody_else_does() {
    let mut place = Place::new();
    let secret = |name: &str, text: &str| {
        let file = place.path().join(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    let (anns, ours) = (secret("anns", "ann-token-4711"), secret("ours", "our-token-0815"));
    let near = Remote::start(&place, "near", &["--bearer", anns.to_str().unwrap()]);
    let far = Remote::start(&place, "far", &["--bearer", ours.to_str().unwrap()]);
    let print = |file: &std::path::Path| format!("bearer_command = {}", json!(["cat", file]));
    place = place.http("near", &near.url, &format!("forward_auth = true\n{}", print(&anns))).http(
        "far",
        &far.url,
        &print(&ours),
    );
    // By 'printf %s TOKEN | sha256sum'.
    let tokens = [
        ("ann", "6ba7f809bc4650347612bf6167eddd9cb089444f1427ad2c6c51fa8f18eb2337"),
        ("bob", "80466ffa35ce88d7fe1d49674d734ca9752c4ea29c8ea7565e6a62658e863790"),
    ]
    .map(|(who, hash)| format!("[[auth.tokens]]\nprincipal = '{who}'\nsha256 = '{hash}'\n"));
    place = place.lines(&tokens.concat());
    place.learn(&["near", "far"]);
    let server = place.setup().http();
    let call = |token: &str, operation: &str| -> Value {
        let arguments = json!({"operation": operation, "params": {"text": "hello"}});
        let frame = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "mcp_aql", "arguments": arguments, "_meta": crate::harness::stateless_meta()}});
        let bearer = format!("Bearer {token}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "mcp_aql"),
            ("mcp-param-operation", operation),
        ];
        let answer = server.post(&headers, frame.to_string().as_bytes()).messages().pop().unwrap();
        serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
    };
    assert_eq!(call("ann-token-4711", "near_echo")["data"], "hello");
    // Our own token would have been taken, so Bob's was sent.
    let refused = call("bob-token-1234", "near_echo");
    assert!(refused["error"].to_string().contains("401"), "{refused}");
    // The other server takes our token alone, and gets it for both.
    for token in ["ann-token-4711", "bob-token-1234"] {
        assert_eq!(call(token, "far_echo")["data"], "hello");
    }
    finished(place.path(), "tools/call echo", 4);
    let recorded = json!(exported(place.path())).to_string();
    for token in ["ann-token-4711", "bob-token-1234", "our-token-0815"] {
        assert!(!recorded.contains(token), "{token}");
    }
}

#[test]
fn an_operation_that_is_not_to_be_recorded_is_not_as_a_workflow_either() {
    let place = Place::new()
        .stdio("near", &[], "")
        .lines("[inspector.operations]\nexecute_workflow = 'off'\n'near_*' = 'metadata'");
    let mut client = place.client();
    let steps = json!([{"name": "look", "operation": "near_echo", "params": {"text": "between us"}}]);
    let workflow = json!({"entity_name": "Look", "entity_type": "workflow", "description": "d",
                          "metadata": {"steps": steps}});
    assert_eq!(call(&mut client, "create_entity", workflow)["success"], true);
    let run = call(&mut client, "execute_workflow", json!({"entity_name": "Look", "wait_seconds": 50}));
    assert_eq!(run["data"]["status"], "completed", "{run}");
    call(&mut client, "near_echo", json!({"text": "between us"}));
    finished(place.path(), "tools/call near_echo", 1);
    let all = exported(place.path());
    let names: Vec<&str> = all.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert!(!names.iter().any(|name| name.contains("workflow") || *name == "near_echo"), "{names:?}");
    let of_the_call = |span: &&Value| span["name"] == "tools/call near_echo";
    let shown = all.iter().find(of_the_call).unwrap().to_string();
    assert!(!shown.contains("between us"), "{shown}");
}
