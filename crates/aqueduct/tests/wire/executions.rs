//! Work that goes on after the call that started it: its states, its end, and what happens when others end first.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Client, Era, Setup, WIRES, data, fixture_setup, wait_for};

const CORE: [&str; 5] = ["pending", "running", "completed", "failed", "cancelled"];

fn start(client: &mut Client, operation: &str, params: Value) -> String {
    let answer = client.execute(operation, params);
    assert_eq!(answer["success"], true, "{answer}");
    answer["data"]["execution_id"].as_str().unwrap().to_owned()
}

fn get(client: &mut Client, id: &str) -> Value {
    let answer = client.read("get_execution", json!({"execution_id": id}));
    check(&answer["data"]);
    answer["data"].clone()
}

fn wait(client: &mut Client, id: &str) -> Value {
    let answer = client.read("get_execution", json!({"execution_id": id, "wait_seconds": 20}));
    check(&answer["data"]);
    answer["data"].clone()
}

/// Waits until the execution is in that state.
fn until(client: &mut Client, id: &str, status: &str) -> Value {
    for _ in 0..400 {
        let execution = get(client, id);
        if execution["status"] == status {
            return execution;
        }
        wait_for(Duration::from_millis(50));
    }
    panic!("never became {status}: {}", get(client, id));
}

/// What is true of every execution that is ever shown.
fn check(execution: &Value) {
    assert!(execution["execution_id"].is_string(), "{execution}");
    let status = execution["status"].as_str().unwrap();
    assert!(CORE.contains(&status) || ["queued", "paused"].contains(&status), "{execution}");
    let time = |key: &str| execution[key].as_str();
    for key in ["created_at", "started_at", "finished_at"] {
        assert!(time(key).is_none_or(|time| time.ends_with('Z')), "{execution}");
    }
    let is_over = ["completed", "failed", "cancelled"].contains(&status);
    assert_eq!(time("finished_at").is_some(), is_over, "{execution}");
    if let (Some(started), Some(finished)) = (time("started_at"), time("finished_at")) {
        assert!(finished >= started, "{execution}");
    }
    assert_eq!(execution.get("error").is_some(), status == "failed", "{execution}");
    if status == "failed" {
        assert!(execution["error"]["code"].is_string() && execution["error"]["message"].is_string());
    }
    if let Some(progress) = execution.get("progress") {
        let known = ["percentage", "message"].iter().any(|key| progress.get(key).is_some());
        assert!(known || progress.get("current").is_some(), "{execution}");
        assert_eq!(progress.get("current").is_some(), progress.get("total").is_some(), "{execution}");
        let percentage = progress["percentage"].as_f64().unwrap_or(0.0);
        assert!((0.0..=100.0).contains(&percentage), "{execution}");
    }
}

/// REQ-LIFE-01 REQ-LIFE-02 REQ-LIFE-05 REQ-LIFE-06 REQ-LIFE-07
#[test]
fn a_job_runs_by_itself_to_its_end_and_tells_how_far_it_is() {
    for wire in WIRES {
        let directory = data();
        let mut client = fixture_setup(directory.path()).connect(wire);
        let id = start(&mut client, "execute_job", json!({"steps": 4, "step_milliseconds": 400}));
        let mut seen = vec![get(&mut client, &id)];
        while seen.last().unwrap()["finished_at"].is_null() {
            wait_for(Duration::from_millis(100));
            seen.push(get(&mut client, &id));
        }
        let states: Vec<&str> = seen.iter().map(|execution| execution["status"].as_str().unwrap()).collect();
        assert!(states.contains(&"running"), "{states:?}");
        let done = seen.last().unwrap();
        assert_eq!((&done["status"], &done["result"]["steps"]), (&json!("completed"), &json!(4)));
        let told: Vec<f64> = seen.iter().filter_map(|e| e["progress"]["percentage"].as_f64()).collect();
        assert!(told.len() > 1 && told.is_sorted(), "{told:?}");
        let quick =
            client.execute("execute_job", json!({"steps": 0, "step_milliseconds": 0, "wait_seconds": 10}));
        assert_eq!(quick["data"]["status"], "completed", "a call that waits is told the end: {quick}");
    }
}

/// REQ-LIFE-02 REQ-LIFE-08 REQ-LIFE-12
#[test]
fn what_is_cancelled_stops_and_what_never_ran_never_runs() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(WIRES[0]);
    let job = |steps: u32| json!({"steps": steps, "step_milliseconds": 100});
    // The fixture runs one at a time, so that the second one waits.
    let running = start(&mut client, "execute_job", job(500));
    let (pending, queued) =
        (start(&mut client, "execute_job", job(1)), start(&mut client, "execute_job", job(1)));
    until(&mut client, &running, "running");
    assert_eq!(get(&mut client, &pending)["status"], "pending");
    let moved = client.execute("move_job", json!({"execution_id": queued, "state": "queued"}));
    assert_eq!(moved["data"]["status"], "queued", "{moved}");
    let paused = client.execute("move_job", json!({"execution_id": running, "state": "paused"}));
    assert_eq!(paused["data"]["status"], "paused", "{paused}");
    wait_for(Duration::from_millis(1500));

    for id in [&pending, &queued, &running] {
        let answer = client.execute("cancel_execution", json!({"execution_id": id, "reason": "Enough"}));
        assert_eq!(answer["data"]["status"], "cancelled", "{answer}");
        assert_eq!(answer["data"]["progress"]["message"], "Enough");
        check(&answer["data"]);
    }
    assert!(get(&mut client, &running)["progress"]["percentage"].as_f64().unwrap() > 0.0, "progress is kept");
    for id in [&pending, &queued] {
        assert!(get(&mut client, id).get("started_at").is_none(), "it never ran");
    }
    let worked = |client: &mut Client| client.read("count_worked", json!({}))["data"]["worked"].clone();
    let before = worked(&mut client);
    wait_for(Duration::from_millis(500));
    assert_eq!(worked(&mut client), before, "nothing goes on working");
    // The place is free again.
    let next = start(&mut client, "execute_job", job(1));
    assert_eq!(wait(&mut client, &next)["status"], "completed");
}

/// REQ-LIFE-03 REQ-LIFE-04
#[test]
fn what_is_over_stays_as_it_is_but_for_a_retry_of_what_failed() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(WIRES[0]);
    let refused = |client: &mut Client, operation: &str, id: &str| {
        let before = get(client, id);
        let answer = client.execute(operation, json!({"execution_id": id}));
        assert_eq!(answer["error"]["code"], "CONFLICT_INVALID_STATE", "{answer}");
        assert!(answer["error"]["details"]["hint"].is_string());
        assert_eq!(get(client, id), before, "{operation} changed it");
    };
    let work = |failing: u32| json!({"steps": 1, "step_milliseconds": 0, "failing_attempts": failing, "wait_seconds": 10});
    let completed = start(&mut client, "execute_job", work(0));
    for operation in ["cancel_execution", "retry_execution"] {
        refused(&mut client, operation, &completed);
    }
    let failed = start(&mut client, "execute_job", work(1));
    let error = get(&mut client, &failed)["error"].clone();
    assert_eq!(error["code"], "NOT_FOUND_RESOURCE");
    refused(&mut client, "cancel_execution", &failed);
    let retried = client.execute("retry_execution", json!({"execution_id": failed}));
    check(&retried["data"]);
    assert_eq!(retried["data"]["attempt"], 2, "{retried}");
    assert_eq!(wait(&mut client, &failed)["result"]["attempts"], 2, "the checkpoint of the first was kept");

    let once = start(&mut client, "execute_once", work(1));
    refused(&mut client, "retry_execution", &once);
    let endless = start(&mut client, "execute_once", json!({"steps": 3, "step_milliseconds": 200}));
    refused_cancel(&mut client, &endless);
    assert_eq!(wait(&mut client, &endless)["status"], "completed");

    let panicking = json!({"steps": 1, "step_milliseconds": 0, "panics": true, "wait_seconds": 10});
    let panicked = client.execute("execute_job", panicking)["data"].clone();
    assert_eq!(
        (&panicked["status"], &panicked["error"]["code"]),
        (&json!("failed"), &json!("INTERNAL_ERROR"))
    );
    assert!(!panicked.to_string().contains("secret internals"), "{panicked}");
}

fn refused_cancel(client: &mut Client, id: &str) {
    let answer = client.execute("cancel_execution", json!({"execution_id": id}));
    assert_eq!(answer["error"]["code"], "CONFLICT_INVALID_STATE", "{answer}");
}

/// REQ-LIFE-10 REQ-LIFE-11 REQ-LIFE-13 REQ-LIFE-14
#[test]
fn introspection_shows_the_states_and_what_can_be_done() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(WIRES[0]);
    let details = |client: &mut Client, name: &str| {
        client.introspect(json!({"query": "operations", "name": name}))["data"]["operation"].clone()
    };
    let job = details(&mut client, "execute_job");
    let expected: Vec<&str> = CORE.into_iter().chain(["queued", "paused"]).collect();
    assert_eq!(
        job["lifecycle"],
        json!({"states": expected, "supports_cancel": true, "supports_retry": true, "progress_reporting": true})
    );
    let description = job["description"].as_str().unwrap();
    assert!(description.contains("'queued' counts as pending"), "{description}");
    let once = details(&mut client, "execute_once");
    assert_eq!(once["lifecycle"]["supports_retry"], false);
    for name in ["get_execution", "list_executions"] {
        assert!(details(&mut client, name).get("lifecycle").is_none(), "{name}");
    }
    for (name, words) in [
        ("cancel_execution", "pending or running becomes cancelled"),
        ("retry_execution", "failed becomes running"),
    ] {
        let description = details(&mut client, name)["description"].as_str().unwrap().to_owned();
        assert!(description.contains(words), "{description}");
    }
}

/// REQ-LIFE-10: a state that is not declared is never entered.
#[test]
fn an_undeclared_state_is_refused() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(WIRES[0]);
    let id = start(&mut client, "execute_job", json!({"steps": 20, "step_milliseconds": 100}));
    until(&mut client, &id, "running");
    for state in ["napping", "queued", "completed"] {
        let answer = client.execute("move_job", json!({"execution_id": id, "state": state}));
        assert_eq!(answer["error"]["code"], "CONFLICT_INVALID_STATE", "{state}: {answer}");
    }
    assert_eq!(get(&mut client, &id)["status"], "running");
}

/// REQ-SESS-09: the end of a session is the end of what it runs, and what is over survives.
#[test]
fn the_end_of_a_session_fails_what_runs_and_cancels_what_waits() {
    for era in [Era::Initialize("2025-06-18"), Era::Stateless] {
        let directory = data();
        let setup = fixture_setup(directory.path());
        let mut client = setup.stdio(era);
        let done = start(
            &mut client,
            "execute_job",
            json!({"steps": 0, "step_milliseconds": 0, "wait_seconds": 10}),
        );
        let running = start(&mut client, "execute_job", json!({"steps": 900, "step_milliseconds": 100}));
        let pending = start(&mut client, "execute_job", json!({"steps": 1, "step_milliseconds": 0}));
        until(&mut client, &running, "running");
        let link = client.stdio();
        link.stdin = None;
        assert!(link.process.wait().success());

        let mut client = setup.stdio(era);
        assert_eq!(get(&mut client, &done)["result"], json!({"steps": 0, "attempts": 1}));
        let failed = get(&mut client, &running);
        assert_eq!(
            (&failed["status"], &failed["error"]["details"]["reason"]),
            (&json!("failed"), &json!("session_ended"))
        );
        assert_eq!(get(&mut client, &pending)["status"], "cancelled");
    }
}

/// REQ-SESS-09 over HTTP, where the server goes on after the session.
#[test]
fn closing_a_session_over_http_ends_its_executions_only() {
    let directory = data();
    let server = fixture_setup(directory.path()).http();
    let mut one = Client::http(server.clone(), Era::Initialize("2025-11-25"));
    let mut other = Client::http(server.clone(), Era::Initialize("2025-11-25"));
    let running = start(&mut one, "execute_job", json!({"steps": 900, "step_milliseconds": 100}));
    let waiting = start(&mut other, "execute_job", json!({"steps": 1, "step_milliseconds": 0}));
    until(&mut one, &running, "running");
    let headers = one.headers("tools/list", &json!({}));
    let headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    server.delete(&headers);
    until(&mut other, &running, "failed");
    assert_eq!(wait(&mut other, &waiting)["status"], "completed");
}

/// Whoever gives up a call before it was answered could never stop what it started.
#[test]
fn a_cancelled_call_takes_its_execution_along() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).stdio(Era::Initialize("2025-06-18"));
    let params = json!({"name": "mcp_aql_execute", "arguments": {"operation": "execute_job", "params":
        {"steps": 900, "step_milliseconds": 100, "wait_seconds": 50}}});
    let frame = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params});
    client.stdio().send(frame.to_string().as_bytes());
    let found = loop {
        let list = client.read("list_executions", json!({}));
        match list["data"]["items"].as_array().unwrap().first() {
            Some(execution) if execution["status"] == "running" => break execution["execution_id"].clone(),
            _ => wait_for(Duration::from_millis(20)),
        }
    };
    client.notify("notifications/cancelled", json!({"requestId": 77, "reason": "changed my mind"}));
    until(&mut client, found.as_str().unwrap(), "cancelled");
}

/// REQ-PARAM-08 REQ-PARAM-11 LREQ-AGG-01: executions are a collection like any other.
#[test]
fn executions_can_be_listed_filtered_and_counted() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(WIRES[0]);
    for failing in [0, 1, 0, 1, 0] {
        let work =
            json!({"steps": 0, "step_milliseconds": 0, "failing_attempts": failing, "wait_seconds": 10});
        start(&mut client, "execute_job", work);
    }
    let failed =
        client.read("list_executions", json!({"filter": {"status": "failed"}, "fields": ["status"]}));
    assert_eq!(failed["data"]["items"], json!([{"status": "failed"}, {"status": "failed"}]));
    let counted =
        client.read("list_executions", json!({"aggregate": {"by": {"group_by": "status", "count": true}}}));
    assert_eq!(counted["data"]["aggregations"]["by"], json!({"completed": 3, "failed": 2}));
    let newest =
        client.read("list_executions", json!({"first": 2, "fields": ["created_at"]}))["data"]["items"]
            .clone();
    assert!(newest[0]["created_at"].as_str() > newest[1]["created_at"].as_str(), "{newest}");
    let error = client.read("list_executions", json!({"filter": {"state": "failed"}}))["error"].clone();
    assert!(error["code"].as_str().unwrap().starts_with("VALIDATION_"));
    assert!(error.to_string().contains("status"), "{error}");
}

/// Executions belong to a principal; nobody else learns that they are there.
#[test]
fn an_execution_of_another_principal_is_not_there() {
    let directory = data();
    let config = "
        [[auth.tokens]]
        principal = \"ann\"
        sha256 = \"dfa603dfa2ef13eb23a30434d7feef5de20829cb6c5181623c8028a74eaf4971\"
        [[auth.tokens]]
        principal = \"bob\"
        sha256 = \"97dd3707015dcf069cf73022ed7173b1165db6eff24b441cb57fd069a8c4e525\"
    ";
    let server = Setup::new(directory.path()).config(config).http();
    let ask = |token: &str, operation: &str, tool: &str, params: Value| -> Value {
        let frame = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": tool, "arguments": {"operation": operation, "params": params},
            "_meta": crate::harness::stateless_meta()}});
        let bearer = format!("Bearer {token}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", tool),
            ("mcp-param-operation", operation),
        ];
        let answer = server.post(&headers, frame.to_string().as_bytes());
        let frame = answer.messages().pop().unwrap();
        serde_json::from_str(frame["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
    };
    let steps = json!([{"name": "look", "operation": "list_entities"}]);
    let workflow = json!({"entity_name": "Look", "entity_type": "workflow", "description": "d", "metadata": {"steps": steps}});
    let made = ask("ann-token", "create_entity", "mcp_aql_create", workflow);
    assert_eq!(made["success"], true, "{made}");
    let run = ask("ann-token", "execute_workflow", "mcp_aql_execute", json!({"entity_name": "Look"}));
    let id = &run["data"]["execution_id"];
    assert_eq!(run["data"]["status"], "completed", "{run}");
    assert_eq!(
        ask("ann-token", "get_execution", "mcp_aql_read", json!({"execution_id": id}))["success"],
        true
    );
    let hidden = ask("bob-token", "get_execution", "mcp_aql_read", json!({"execution_id": id}));
    assert_eq!(hidden["error"]["code"], "NOT_FOUND_RESOURCE", "{hidden}");
    for operation in ["cancel_execution", "retry_execution"] {
        let refused = ask("bob-token", operation, "mcp_aql_execute", json!({"execution_id": id}));
        assert_eq!(refused["error"]["code"], "NOT_FOUND_RESOURCE", "{refused}");
    }
    assert_eq!(ask("bob-token", "list_executions", "mcp_aql_read", json!({}))["data"]["items"], json!([]));
}

/// A refused retry is no reason to stop what runs.
#[test]
fn retrying_what_runs_leaves_it_running() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).connect(WIRES[0]);
    let id = start(&mut client, "execute_job", json!({"steps": 600, "step_milliseconds": 50}));
    until(&mut client, &id, "running");
    for _ in 0..5 {
        let refused = client.execute("retry_execution", json!({"execution_id": id}));
        assert_eq!(refused["error"]["code"], "CONFLICT_INVALID_STATE", "{refused}");
    }
    wait_for(Duration::from_millis(500));
    assert_eq!(get(&mut client, &id)["status"], "running");
    client.execute("cancel_execution", json!({"execution_id": id}));
}

/// Calls given up at any moment leave nothing behind that nobody runs.
#[test]
fn what_was_given_up_comes_to_an_end() {
    let directory = data();
    let mut client = fixture_setup(directory.path()).stdio(Era::Initialize("2025-06-18"));
    for n in 0..60 {
        let id = format!("given-up-{n}");
        let params = json!({"name": "mcp_aql_execute", "arguments": {"operation": "execute_job", "params":
            {"steps": 600, "step_milliseconds": 100, "wait_seconds": 50}}});
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        client.stdio().send(frame.to_string().as_bytes());
        wait_for(Duration::from_millis(n % 5));
        client.notify("notifications/cancelled", json!({"requestId": id}));
    }
    let open =
        json!({"filter": {"status": {"in": ["pending", "running"]}}, "include_total": true, "first": 1});
    for _ in 0..400 {
        if client.read("list_executions", open.clone())["data"]["pageInfo"]["totalCount"] == 0 {
            return;
        }
        wait_for(Duration::from_millis(50));
    }
    panic!("{}", client.read("list_executions", open));
}

/// Two executions of one batch tell their own progress, and giving the batch up ends both.
#[test]
fn executions_of_a_batch_are_their_own() {
    let directory = data();
    let mut client = Setup::new(directory.path()).stdio(Era::Initialize("2025-06-18"));
    let step = |name: &str, count: usize| {
        let names: Vec<String> = (0..count).map(|n| format!("{name}{n}")).collect();
        json!({"name": name, "operation": "create_entity", "for_each": names, "params":
            {"entity_name": {"$from": "/item"}, "entity_type": "item", "description": "d"}})
    };
    for (name, steps) in [("Long", json!([step("a", 1000), step("b", 1)])), ("Short", json!([step("c", 1)]))]
    {
        let made = client.create(
            "create_entity",
            json!({"entity_name": name, "entity_type": "workflow",
            "description": "d", "metadata": {"steps": steps}}),
        );
        assert_eq!(made["success"], true, "{made}");
    }
    let run = |name: &str, wait: u64| json!({"operation": "execute_workflow", "params": {"entity_name": name, "wait_seconds": wait}});
    let batch = json!({"operations": [run("Long", 0), run("Short", 20)]});
    let answer = client.call("mcp_aql_execute", batch);
    let of = |n: usize| answer["results"][n]["result"]["data"].clone();
    assert_eq!(of(1)["status"], "completed", "{answer}");
    let long = of(0)["execution_id"].as_str().unwrap().to_owned();
    let cancelled = client.execute("cancel_execution", json!({"execution_id": long}));
    let percentage = cancelled["data"]["progress"]["percentage"].as_f64().unwrap_or_default();
    assert!(percentage < 100.0, "{cancelled}");

    let given_up = json!({"operations": [run("Long", 0), run("Long", 50)]});
    let params = json!({"name": "mcp_aql_execute", "arguments": given_up});
    let frame = json!({"jsonrpc": "2.0", "id": "batch", "method": "tools/call", "params": params});
    client.stdio().send(frame.to_string().as_bytes());
    wait_for(Duration::from_millis(300));
    client.notify("notifications/cancelled", json!({"requestId": "batch"}));
    let open = json!({"filter": {"status": {"in": ["pending", "running"]}}});
    for _ in 0..400 {
        if client.read("list_executions", open.clone())["data"]["items"] == json!([]) {
            return;
        }
        wait_for(Duration::from_millis(50));
    }
    panic!("{}", client.read("list_executions", open));
}
