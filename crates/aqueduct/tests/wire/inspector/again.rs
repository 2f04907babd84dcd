//! Requests whose clients have to come back: one row each, whatever they are about, and nobody hides behind one.

use std::sync::Arc;

use serde_json::{Value, json};

use super::recorded::{exported, finished};
use crate::{
    harness::{Client, Era, Wire, stateless_meta},
    operator::{address, data_of, key_of, send, settings},
    upstreams::{
        Place, answered, call,
        questions::{ask, everything, reply},
        refused, wait_until,
    },
};

/// Parameters of a client that can be asked everything.
fn asked(mut params: Value) -> Value {
    params["_meta"] = stateless_meta();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = everything();
    params
}

/// The same with what it brings back to a question.
fn again(mut params: Value, asked: &Value, answer: &Value) -> Value {
    let key = asked["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}")).keys().next().unwrap();
    params["inputResponses"] = json!({key: answer});
    params["requestState"] = asked["requestState"].clone();
    params
}

/// REQ-IEVT-01 REQ-ISESS-01
#[test]
fn another_call_with_the_state_of_one_that_waits_is_a_row_of_its_own() {
    for (capture, rows_of_asking) in [("preview", 1), ("off", 0)] {
        let more = format!("capture = '{capture}'");
        let place = Place::new().stdio("one", &["--era", "discover"], &more).stdio("two", &[], "");
        place.learn(&["one", "two"]);
        let mut client = place.connect(Wire::Http(Era::Stateless));
        let first = asked(ask("one_ask", "elicitation/create"));
        let question = client.request("tools/call", first.clone())["result"].clone();
        let arguments = json!({"operation": "two_echo", "params": {"text": "hidden?"}});
        let other = asked(json!({"name": "mcp_aql", "arguments": arguments}));
        let hiding = again(other, &question, &reply("elicitation/create"));
        let answer = client.request("tools/call", hiding);
        assert!(answer.to_string().contains("hidden?"), "{answer}");
        let row = finished(place.path(), "tools/call two_echo", 1).remove(0);
        assert_eq!((&row["status"], &row["kind"]), (&json!("ok"), &json!("server")), "{capture}: {row}");
        assert!(row["attributes"]["mcp.tool.input_json"].to_string().contains("hidden?"), "{row}");
        // The one that waited goes on.
        let done = client.request("tools/call", again(first, &question, &reply("elicitation/create")));
        assert!(done.to_string().contains("Ada"), "{done}");
        answered(&mut client, "two_echo", json!({"text": "last"}));
        finished(place.path(), "tools/call two_echo", 2);
        let rows = exported(place.path());
        let asking = rows.iter().filter(|span| span["name"] == "tools/call one_ask").count();
        assert_eq!(asking, rows_of_asking, "{capture}: {rows:?}");
    }
}

/// What a person says to a server's question is between them, and why a model stopped is known.
///
/// REQ-IATTR-06 REQ-IATTR-10
#[test]
fn resources_and_prompts_that_ask_are_one_row_each_and_keep_no_answer() {
    let place = Place::new().stdio("one", &["--era", "discover", "--offers"], "");
    place.learn(&["one"]);
    let mut client = place.connect(Wire::Stdio(Era::Stateless));
    for (method, params, name) in [
        ("resources/read", json!({"uri": "one+note://one"}), "resources/read"),
        ("prompts/get", json!({"name": "one_greet"}), "prompts/get one_greet"),
    ] {
        let mut first = asked(params);
        first["_meta"]["progressToken"] = json!("p1");
        let answer = client.request(method, first.clone());
        let question = answer["result"].clone();
        assert_eq!(question["resultType"], "input_required", "{method}: {answer}");
        let is_it = |span: &Value| span["name"] == name && span["kind"] == "server";
        let waiting = wait_until("the row that waits", || {
            exported(place.path()).into_iter().find(|span| is_it(span) && span["status"] == "waiting")
        });
        assert_eq!((&waiting["status"], waiting.get("ended_ns")), (&json!("waiting"), None), "{waiting}");
        assert_eq!(waiting["attributes"]["mcp.progress.token"], "p1", "{waiting}");
        let answer = json!({"action": "accept", "content": {"name": "MARKER-7"}});
        let given = client.request(method, again(first, &question, &answer));
        assert_eq!(given["result"]["resultType"], "complete", "{given}");
        let row = wait_until("its end", || {
            exported(place.path()).into_iter().find(|span| is_it(span) && !span["ended_ns"].is_null())
        });
        assert_eq!((&row["span_id"], &row["status"]), (&waiting["span_id"], &json!("ok")), "{row}");
        assert!(row["waited_ns"].as_i64().unwrap() > 0, "{row}");
        let elicited = finished(place.path(), "elicitation/create", 1);
        let elicited = elicited.iter().find(|span| span["parent_id"] == row["span_id"]).unwrap();
        assert_eq!(elicited["attributes"]["mcp.tool.output_json"], "\"accept\"", "{elicited}");
    }
    let all = exported(place.path());
    assert!(!json!(all).to_string().contains("MARKER-7"), "{all:?}");
    let rows =
        |name: &str| all.iter().filter(|span| span["name"] == name && span["kind"] == "server").count();
    assert_eq!((rows("resources/read"), rows("prompts/get one_greet")), (1, 1), "{all:?}");
}

/// REQ-IATTR-06
#[test]
fn what_a_model_was_asked_by_an_answer_is_recorded_with_why_it_stopped() {
    let place = Place::new().stdio("one", &["--era", "discover"], "");
    place.learn(&["one"]);
    let mut client = place.connect(Wire::Http(Era::Stateless));
    let first = asked(ask("one_ask", "sampling/createMessage"));
    let question = client.request("tools/call", first.clone())["result"].clone();
    client.request("tools/call", again(first, &question, &reply("sampling/createMessage")));
    let sampled = finished(place.path(), "sampling/createMessage", 1).remove(0);
    assert_eq!(sampled["attributes"]["mcp.stop_reason"], "endTurn", "{sampled}");
    let preferences = sampled["attributes"]["mcp.model.preferences_json"].as_str().unwrap();
    assert!(preferences.contains("speedPriority"), "{preferences}");
    let row = finished(place.path(), "tools/call one_ask", 1).remove(0);
    assert_eq!(sampled["parent_id"], row["span_id"]);
}

/// REQ-IUI-03
#[test]
fn ending_a_call_whose_client_is_asked_for_consent_refuses_it() {
    let place = Place::new().stdio("near", &[], "trust = 'certified'");
    let place = place.lines(&settings("")).lines("[safety]\nelicitation = true\n");
    place.learn(&["near"]);
    let server = place.setup().asking().http();
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    let arguments = json!({"operation": "near_delete_thing", "params": {"thing_id": "7"}});
    let first = asked(json!({"name": "mcp_aql", "arguments": arguments}));
    let question = client.request("tools/call", first.clone())["result"].clone();
    assert_eq!(question["resultType"], "input_required", "{question}");
    let bearer = format!("Bearer {}", key_of(place.path()));
    let api = |method: &str, path: &str| {
        send(&address(&server.welcome), method, path, &[("authorization", bearer.as_str())], b"")
    };
    let waiting = wait_until("the row that waits", || {
        let rows = api("GET", "/api/v1/operations?status=waiting").body;
        rows["operations"].as_array()?.first().cloned()
    });
    let path = format!("/api/v1/operations/{}/cancel", waiting["span_id"].as_str().unwrap());
    assert_eq!(api("POST", &path).body["cancelled"], true);
    let denied = wait_until("that it is refused", || {
        let all = api("GET", "/api/v1/approvals?state=denied").body;
        all["approvals"].as_array()?.first().cloned()
    });
    let late = api("POST", &format!("/api/v1/approvals/{}/approve", denied["id"].as_str().unwrap()));
    assert_ne!(late.status, 200, "{}", late.body);
    let yes = json!({"action": "accept", "content": {"approve": true}});
    let late = client.request("tools/call", again(first, &question, &yes)).to_string();
    assert!(late.contains("PERMISSION_DENIED"), "{late}");
    answered(&mut client, "near_echo", json!({"text": "later"}));
    finished(place.path(), "tools/call near_echo", 1);
    let made = |span: &Value| span["name"] == "tools/call delete_thing";
    assert!(!exported(place.path()).iter().any(made), "the call was never made");
}

/// A task is one row however often its client looks how it is, and the looks are with what they look at.
///
/// REQ-ISESS-02 REQ-ISESS-03
#[test]
fn looking_at_a_task_is_no_operation_of_its_own_and_sessions_have_their_tags() {
    let place = Place::new()
        .stdio("slow", &[], "")
        .lines(&settings(""))
        .lines("[inspector]\ntags = ['night-shift']\n");
    place.learn(&["slow"]);
    let server = place.setup().http();
    let mut client = place.connect(Wire::Stdio(Era::Stateless));
    let steps = json!([{"name": "wait", "operation": "slow_sleep", "params": {"milliseconds": 300}}]);
    let workflow = json!({"entity_name": "Wait", "entity_type": "workflow", "description": "d",
                          "metadata": {"steps": steps}});
    assert_eq!(call(&mut client, "create_entity", workflow)["success"], true);
    let mut params = json!({"name": "mcp_aql", "arguments": {"operation": "execute_workflow",
        "params": {"entity_name": "Wait", "wait_seconds": 0}}});
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    params["_meta"] = stateless_meta();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    let begun = client.request("tools/call", params.clone());
    let task = begun["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    wait_until("its end", || {
        let look = json!({"taskId": task, "_meta": params["_meta"]});
        (client.request("tasks/get", look)["result"]["status"] == "completed").then_some(())
    });
    finished(place.path(), "tasks/get", 1);
    let bearer = format!("Bearer {}", key_of(place.path()));
    let api = |path: &str| {
        send(&address(&server.welcome), "GET", path, &[("authorization", bearer.as_str())], b"").body
    };
    let rows = wait_until("its row", || {
        let rows = api("/api/v1/operations")["operations"].as_array().unwrap().clone();
        rows.iter().any(|row| row["operation"] == "execute_workflow" && row["status"] == "ok").then_some(rows)
    });
    assert!(!rows.iter().any(|row| row["method"] == "tasks/get"), "{rows:?}");
    let session = api(&format!("/api/v1/sessions/{task}"));
    assert_eq!(
        (&session["session"]["engine"], &session["session"]["status"]),
        (&json!("asyncio"), &json!("ok"))
    );
    assert_eq!(session["session"]["tags"], json!(["night-shift"]), "{session}");
    assert!(
        session["spans"].as_array().unwrap().iter().any(|span| span["method"] == "tasks/get"),
        "{session}"
    );
}

/// REQ-IEVT-02 REQ-IEVT-07
#[test]
fn what_is_refused_before_any_server_is_asked_has_failed() {
    let place = Place::new().stdio("one", &["--offers"], "");
    place.learn(&["one"]);
    let mut client = place.connect(Wire::Http(Era::Initialize("2025-11-25")));
    let own = format!("file://{}/operator.key", data_of(place.path()).display());
    assert_eq!(client.request("resources/read", json!({"uri": own}))["error"]["code"], -32602);
    let row = finished(place.path(), "resources/read", 1).remove(0);
    assert_eq!((&row["status"], &row["attributes"]["mcp.error.code"]), (&json!("error"), &json!("-32602")));
    client.request("resources/subscribe", json!({"uri": "one+note://one"}));
    let row = finished(place.path(), "resources/subscribe", 1).remove(0);
    assert_eq!((&row["status"], &row["attributes"]["mcp.error.code"]), (&json!("error"), &json!("-32601")));
}

/// REQ-IATTR-08
#[test]
fn resources_and_prompts_of_a_server_that_is_not_to_be_recorded_are_not() {
    let place = Place::new().stdio("one", &["--era", "initialize", "--offers"], "capture = 'off'");
    place.learn(&["one"]);
    let mut client = place.connect(Wire::Http(Era::Initialize("2025-11-25")));
    let read = client.request("resources/read", json!({"uri": "one+note://one"}));
    assert!(read["result"]["contents"].is_array(), "{read}");
    let got = client.request("prompts/get", json!({"name": "one_greet"}));
    assert!(got["result"]["messages"].is_array(), "{got}");
    client.request("ping", json!({}));
    finished(place.path(), "ping", 1);
    let all = exported(place.path());
    assert!(!json!(all).to_string().contains("note://one"), "{all:?}");
    assert!(!json!(all).to_string().contains("greet"), "{all:?}");
}

/// REQ-IATTR-12 REQ-IEVT-04
#[test]
fn what_a_server_says_is_told_as_it_says_it_and_our_queue_is_no_work_of_its() {
    let place = Place::new().stdio("one", &[], "max_concurrent_calls = 1\ntimeout_seconds = 5");
    place.learn(&["one"]);
    let server = place.setup().http();
    let calls: Vec<_> = (0..2)
        .map(|_| {
            let mut client = Client::http(Arc::clone(&server), Era::Stateless);
            std::thread::spawn(move || answered(&mut client, "one_sleep", json!({"milliseconds": 600})))
        })
        .collect();
    calls.into_iter().for_each(|call| drop(call.join().unwrap()));
    let spans = finished(place.path(), "tools/call sleep", 2);
    let worked = |span: &Value| {
        let time = |name: &str| span[name].as_i64().unwrap();
        (time("ended_ns") - time("started_ns") - time("waited_ns")) as f64 / 1e9
    };
    assert!(spans.iter().all(|span| worked(span) >= 0.5), "{spans:?}");
    assert!(spans.iter().any(|span| span["waited_ns"].as_i64().unwrap() > 300_000_000), "{spans:?}");
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    refused(&mut client, "one_sleep", json!({"milliseconds": 3_600_000}));
    let row = wait_until("the row of the call", || {
        let rows = finished(place.path(), "tools/call one_sleep", 3);
        rows.into_iter().find(|row| row["status"] == "error")
    });
    assert_eq!(row["attributes"]["error.type"], "timeout", "{row}");
    refused(&mut client, "one_rpc_error", json!({"code": -32050, "message": "bad luck"}));
    let failed = finished(place.path(), "tools/call rpc_error", 1).remove(0);
    let said = |name: &str| failed["attributes"][name].as_str().unwrap_or_else(|| panic!("{failed}"));
    assert_eq!((said("mcp.error.code"), said("mcp.error.message")), ("-32050", "bad luck"));
    refused(&mut client, "one_fail", json!({"text": "no such door"}));
    let failed = finished(place.path(), "tools/call fail", 1).remove(0);
    assert_eq!(failed["attributes"]["mcp.error.message"], "no such door", "{failed}");
}
