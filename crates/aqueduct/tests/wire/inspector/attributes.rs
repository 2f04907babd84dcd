//! What is known of a call beside that it was made.

use std::{path::Path, sync::Arc};

use gateway::store::{
    TraceStore,
    traces::{EventRow, Options},
};
use serde_json::{Value, json};

use super::recorded::{exported, finished};
use crate::{
    harness::{Client, Era, Setup, Wire, aqueduct, data},
    operator::data_of,
    upstreams::{Place, wait_until},
};

/// The live events of a name, once there are so many.
fn events(directory: &Path, name: &str, count: usize) -> Vec<EventRow> {
    let store = TraceStore::open(&data_of(directory), Options::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    wait_until(&format!("{count} events called {name}"), || {
        let all = runtime.block_on(store.events_after(0, 10_000)).unwrap();
        let found: Vec<EventRow> = all.into_iter().filter(|event| event.name == name).collect();
        (found.len() >= count).then_some(found)
    })
}

fn told(event: &EventRow) -> Value {
    gateway::inspect::event_data(event)
}

/// REQ-IATTR-05 REQ-ISEC-01
#[test]
fn structured_output_is_kept_as_it_is_and_contents_of_resources_are_not() {
    let place = Place::new().stdio("near", &[], "");
    let mut client = place.client();
    for kind in ["structured", "json", "embedded"] {
        let arguments = json!({"operation": "near_content", "params": {"kind": kind}});
        let answer = client.request("tools/call", json!({"name": "mcp_aql", "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    let spans = finished(place.path(), "tools/call content", 3);
    let of = |kind: &str| {
        let input = json!({"kind": kind}).to_string();
        spans.iter().find(|span| span["attributes"]["mcp.tool.input_json"] == input.as_str()).unwrap()
    };
    let structured = of("structured")["attributes"]["mcp.tool.structured_output_json"].as_str().unwrap();
    let expected =
        json!({"city": "Ålesund", "degrees": -3.5, "none": null, "deep": {"list": [1, {"a": []}]}});
    assert_eq!(serde_json::from_str::<Value>(structured).unwrap(), expected);
    assert!(of("json")["attributes"]["mcp.tool.structured_output_json"].is_null());
    let both = [spans.clone(), finished(place.path(), "tools/call near_content", 3)];
    let all = json!(both).to_string();
    assert!(
        all.contains("test://1") && !all.contains("inside"),
        "what a resource holds is not recorded: {all}"
    );
}

/// REQ-IATTR-10 REQ-IEVT-06
#[test]
fn progress_is_told_with_its_token_and_not_too_often() {
    let place = Place::new().stdio("near", &[], "");
    let mut client = place.client();
    let arguments = json!({"operation": "near_progress", "params": {"steps": 40, "milliseconds": 10}});
    let asked = json!({"name": "mcp_aql", "arguments": arguments, "_meta": {"progressToken": "p1"}});
    let answer = client.request("tools/call", asked);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let inbound = finished(place.path(), "tools/call near_progress", 1).remove(0);
    assert_eq!(inbound["attributes"]["mcp.progress.token"], "p1");
    let seconds = inbound["attributes"]["mcp.rpc.duration_ms"].as_f64().unwrap() / 1000.0;
    let progress = events(place.path(), "ProgressUpdate", 1);
    assert!((progress.len() as f64) <= 2.0 * seconds + 2.0, "{} in {seconds} s", progress.len());
    assert!(progress.iter().all(|event| told(event)["token"] == "p1"), "{progress:?}");
    // The spans say no more of it than who watches is told.
    let outbound = finished(place.path(), "tools/call progress", 1).remove(0);
    let kept = outbound["events"].as_array().unwrap().len();
    assert!((1..=progress.len()).contains(&kept), "{kept} of {}", progress.len());
    // The last value is told whatever came before it.
    let last = told(progress.last().unwrap());
    assert_eq!((last["progress"].as_f64(), last["total"].as_f64()), (Some(80.0), Some(80.0)), "{last}");
}

/// REQ-IEVT-03 REQ-IEVT-05
#[test]
fn a_tool_that_is_not_there_is_told_and_what_is_no_request_is_no_span() {
    let directory = data();
    let setup = Setup::new(directory.path());
    let server = setup.http();
    let mut client = Client::http(Arc::clone(&server), Era::Stateless);
    client.request("tools/call", json!({"name": "nope", "arguments": {}}));
    let events = events(directory.path(), "McpRequestFinished", 1);
    let unknown = events.iter().map(told).find(|event| event["tool"] == "nope").unwrap();
    assert_eq!((&unknown["status"], &unknown["error_code"]), (&json!("ERROR"), &json!("UNKNOWN_TOOL")));
    let before = exported(directory.path()).len();
    for body in [&b"{"[..], b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"tools/call\"}", b"[]"] {
        let headers =
            [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        assert_eq!(server.post(&headers, body).status, 400);
    }
    client.read("list_entities", json!({}));
    finished(directory.path(), "tools/call list_entities", 1);
    assert_eq!(exported(directory.path()).len(), before + 1, "only the request that was one");
}

/// REQ-ISESS-05 REQ-IUI-02
#[test]
fn one_call_through_two_gateways_is_one_trace() {
    let far = Place::new().stdio("near", &[], "").lines("[server]\nmode = 'single'");
    far.learn(&["near"]);
    let config = far.path().join("chained.toml");
    let (data, state) = (data_of(far.path()), far.state("near"));
    let program = crate::upstreams::upstream();
    std::fs::write(
        &config,
        format!(
            "[server]\nmode = 'single'\n[inspector]\nserver_id = 'far'\n[upstream.near]\ncommand = {}\nargs = {}\n",
            json!(program),
            json!(["--state", state])
        ),
    )
    .unwrap();
    let args = json!(["serve", "--stdio", "--config", config, "--data", data]);
    let place = Place::new().lines(&format!(
        "[upstream.far]\ncommand = {}\nargs = {args}\ntrust = 'certified'\nenv = {{ AQUEDUCT_CONFIRMATION = 'off' }}\ntools.mcp_aql.danger = 'safe'\n",
        json!(aqueduct())
    ));
    let mut client = place.setup().connect(Wire::Stdio(Era::Stateless));
    place.wait_for(&mut client, &["far"]);
    // The names of its parameters are ours already.
    let arguments = json!({"operation_param": "near_echo", "params_param": {"text": "over two hops"}});
    let answer = crate::upstreams::call(&mut client, "far_mcp_aql", arguments);
    assert!(answer.to_string().contains("over two hops"), "{answer}");
    let first = finished(place.path(), "tools/call mcp_aql", 1).remove(0);
    let second = finished(far.path(), "tools/call near_echo", 1)
        .into_iter()
        .find(|span| span["trace_id"] == first["trace_id"])
        .expect("the same trace on the other side");
    assert_eq!(second["parent_id"], first["span_id"]);
    assert_eq!(second["session_id"], first["attributes"]["mcp.request_id"], "joined by the request's id");
    let third = finished(far.path(), "tools/call echo", 1)
        .into_iter()
        .find(|span| span["trace_id"] == first["trace_id"])
        .expect("and behind it");
    assert_eq!(third["parent_id"], second["span_id"]);
    assert_eq!(third["attributes"]["mcp.agent.server_id"], "far");
}

/// REQ-IATTR-18
#[test]
fn methods_are_recorded_as_the_protocol_spells_them() {
    let place = Place::new().stdio("near", &[], "");
    let mut client = place.client();
    // Requests of the protocol's revision 2025-06-18, and those about tasks that came later.
    const METHODS: [&str; 17] = [
        "completion/complete",
        "elicitation/create",
        "initialize",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "roots/list",
        "sampling/createMessage",
        "tasks/cancel",
        "tasks/get",
        "tasks/update",
        "tools/call",
        "tools/list",
    ];
    let asked = [
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "test://1"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "near_greet", "arguments": {"who": "you"}})),
        (
            "tools/call",
            json!({"name": "mcp_aql", "arguments": {"operation": "near_echo", "params": {"text": "a"}}}),
        ),
    ];
    for (method, params) in asked {
        client.request(method, params);
        wait_until(method, || {
            let is_it =
                |span: &Value| span["attributes"]["mcp.rpc.method"] == method && !span["ended_ns"].is_null();
            exported(place.path()).into_iter().find(is_it)
        });
    }
    let spans = exported(place.path());
    for span in &spans {
        let method = span["attributes"]["mcp.rpc.method"].as_str().unwrap();
        assert!(METHODS.contains(&method), "{method}");
        assert!(span["name"].as_str().unwrap().starts_with(method), "{span}");
    }
    // What an agent saw of us is there as well, as the protocol writes it.
    let listed = spans.iter().find(|span| span["name"] == "tools/list").unwrap();
    let listed = listed["attributes"]["mcp.tool.output_json"].as_str().unwrap();
    let listed: Value = serde_json::from_str(listed).unwrap();
    assert!(listed["tools"][0]["inputSchema"].is_object(), "{listed}");
}
