//! Workflows: stored steps that the server runs by itself, and what is left of them when it dies.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    harness::{Client, Era, Setup, WIRES, data, stateless_meta, wait_for},
    inspector::recorded::finished,
    upstreams::wait_until,
};

const LEGACY: Era = Era::Initialize("2025-11-25");

fn store(client: &mut Client, name: &str, metadata: Value) -> Value {
    client.create(
        "create_entity",
        json!({"entity_name": name, "entity_type": "workflow", "description": "d", "metadata": metadata}),
    )
}

fn run(client: &mut Client, name: &str, input: Value) -> Value {
    client.execute("execute_workflow", json!({"entity_name": name, "input": input, "wait_seconds": 50}))["data"].clone()
}

/// A step that creates an item.
fn make(step: &str, item: Value) -> Value {
    json!({"name": step, "operation": "create_entity",
           "params": {"entity_name": item, "entity_type": "item", "description": "made"}})
}

/// A step that creates many, one after the other.
fn make_many(step: &str, prefix: &str, count: usize) -> Value {
    let names: Vec<String> = (0..count).map(|n| format!("{prefix}{n}")).collect();
    let mut step = make(step, json!({"$from": "/item"}));
    step["for_each"] = json!(names);
    step
}

fn items(client: &mut Client) -> u64 {
    let counted =
        client.read("list_entities", json!({"entity_type": "item", "aggregate": {"n": {"count": true}}}));
    counted["data"]["aggregations"]["n"].as_u64().unwrap_or_else(|| panic!("{counted}"))
}

fn until(client: &mut Client, id: &Value, done: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..3000 {
        let execution = client.read("get_execution", json!({"execution_id": id}))["data"].clone();
        if done(&execution) {
            return execution;
        }
        wait_for(Duration::from_millis(20));
    }
    panic!("{}", client.read("get_execution", json!({"execution_id": id})));
}

#[test]
fn steps_take_what_earlier_steps_and_the_input_gave() {
    for wire in WIRES {
        let directory = data();
        let mut client = Setup::new(directory.path()).connect(wire);
        let metadata = json!({
            "input": {"team": {"description": "Whose"}, "level": {"default": 7}},
            "steps": [
                make("first", json!({"$from": "/input/team"})),
                {"name": "again", "operation": "get_entity",
                 "params": {"entity_id": {"$from": "/steps/first/data/entity_id"}, "fields": ["entity_id", "priority"]}},
                {"name": "missing", "operation": "get_entity", "on_error": "continue", "params": {"entity_id": "nope"}},
                {"name": "all", "operation": "list_entities", "params": {"entity_type": "item", "fields": "minimal"}},
                {"name": "raise", "operation": "update_entity", "for_each": {"$from": "/steps/all/data/items"},
                 "params": {"entity_id": {"$from": "/item/entity_id"}, "input": {"priority": {"$from": "/input/level"}}}},
            ],
            "output": {"id": {"$from": "/steps/again/data/entity_id"},
                       "missing": {"$from": "/steps/missing/error/code"},
                       "priority": {"$from": "/steps/raise/items/0/data/priority"},
                       "none": {"$from": "/steps/missing/data/x", "default": "none"}},
        });
        assert_eq!(store(&mut client, "Team", metadata)["success"], true);
        let done = run(&mut client, "Team", json!({"team": "Billing"}));
        assert_eq!(done["status"], "completed", "{done}");
        assert_eq!(done["result"]["missing"], "NOT_FOUND_RESOURCE");
        assert_eq!((&done["result"]["priority"], &done["result"]["none"]), (&json!(7), &json!("none")));
        assert_eq!(done["progress"]["current"], 5);
        let made = client.read("get_entity", json!({"entity_id": done["result"]["id"]}));
        assert_eq!((&made["data"]["entity_name"], &made["data"]["priority"]), (&json!("Billing"), &json!(7)));

        let error = client
            .execute("execute_workflow", json!({"entity_name": "Team", "input": {"taem": "x"}}))["error"]
            .clone();
        assert!(error["code"].as_str().unwrap().starts_with("VALIDATION_"), "{error}");
        assert!(error.to_string().contains("team"), "{error}");
        let dry = client.execute(
            "execute_workflow",
            json!({"entity_name": "Team", "input": {"team": "X"}, "dry_run": true}),
        );
        assert_eq!(dry["data"]["result"]["steps"][0], json!({"name": "first", "operation": "create_entity"}));
        assert_eq!(items(&mut client), 1, "a dry run makes nothing");
    }
}

#[test]
fn what_cannot_run_is_told_when_it_is_stored() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let step = |more: Value| {
        let mut step = json!({"name": "look", "operation": "list_entities"});
        step.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        step
    };
    for (metadata, place, words) in [
        (json!({}), "steps", "steps"),
        (json!({"steps": []}), "steps", "step"),
        (
            json!({"steps": [step(json!({"operation": "list_entites"}))]}),
            "steps[0].operation",
            "list_entities",
        ),
        (
            json!({"steps": [step(json!({"operation": "execute_workflow"}))]}),
            "steps[0].operation",
            "execute_workflow",
        ),
        (
            json!({"steps": [step(json!({"operation": "retry_execution"}))]}),
            "steps[0].operation",
            "retry_execution",
        ),
        (json!({"steps": [step(json!({"params": {"frist": 1}}))]}), "steps[0].params", "first"),
        (json!({"steps": [step(json!({"operation": "get_entity"}))]}), "steps[0].params", "entity_id"),
        (
            json!({"steps": [step(json!({"params": {"entity_type": "thing"}}))]}),
            "steps[0].params",
            "entity_type",
        ),
        (
            json!({"steps": [step(json!({"params": {"first": {"$from": "/steps/late/data/n"}}})), step(json!({"name": "late"}))]}),
            "steps[0].params",
            "later",
        ),
        (
            json!({"steps": [step(json!({"params": {"first": {"$from": "/steps/look/data/n"}}}))]}),
            "steps[0].params",
            "look",
        ),
        (
            json!({"steps": [step(json!({"params": {"first": {"$from": "/steps/nowhere/data"}}}))]}),
            "steps[0].params",
            "nowhere",
        ),
        (
            json!({"steps": [step(json!({"params": {"first": {"$from": "/item/n"}}}))]}),
            "steps[0].params",
            "for_each",
        ),
        (
            json!({"steps": [step(json!({"params": {"first": {"$from": "input"}}}))]}),
            "steps[0].params",
            "input",
        ),
        (json!({"steps": [step(json!({"on_eror": "fail"}))]}), "steps[0]", "on_error"),
        (json!({"steps": [step(json!({"on_error": "ignore"}))]}), "steps[0].on_error", "continue"),
        (json!({"steps": [step(json!({})), step(json!({}))]}), "steps[1].name", "look"),
    ] {
        let refused = store(&mut client, "W", metadata.clone());
        let error = &refused["error"];
        assert!(
            error["code"].as_str().unwrap_or_default().starts_with("VALIDATION_"),
            "{metadata}: {refused}"
        );
        let problems = error["details"]["problems"].to_string();
        assert!(problems.contains(place) && problems.contains(words), "{metadata}: {problems}");
    }
    let listed = client.read("list_entities", json!({"entity_type": "workflow"}));
    assert_eq!(listed["data"]["items"], json!([]), "nothing of it was stored");

    let id = store(&mut client, "W", json!({"steps": [step(json!({}))]}))["data"]["entity_id"].clone();
    let broken =
        json!({"entity_id": id, "input": {"metadata": {"steps": [step(json!({"operation": "nope"}))]}}});
    assert_eq!(
        client.update("update_entity", broken)["error"]["details"]["problems"][0]["place"],
        "steps[0].operation"
    );
    let renamed =
        client.update("update_entity", json!({"entity_id": id, "input": {"entity_name": "Better"}}));
    assert_eq!(renamed["success"], true, "{renamed}");
    assert_eq!(run(&mut client, "Better", json!({}))["status"], "completed");
    let item = client.new_item("Item");
    let error = client.execute("execute_workflow", json!({"entity_id": item}))["error"].clone();
    assert_eq!(error["code"], "NOT_FOUND_RESOURCE");
    assert!(error["details"]["hint"].as_str().unwrap().contains("is a 'item'"), "{error}");
}

/// REQ-LIFE-03: what was done stays done.
#[test]
fn a_retry_goes_on_from_the_step_that_failed() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let steps =
        json!([make("one", json!("One")), make("two", json!("Taken")), make("three", json!("Three"))]);
    store(&mut client, "W", json!({"steps": steps}));
    let taken = client.new_item("Taken");
    let failed = run(&mut client, "W", json!({}));
    assert_eq!(
        (&failed["status"], &failed["error"]["details"]["step"]),
        (&json!("failed"), &json!("two")),
        "{failed}"
    );
    assert_eq!(failed["progress"]["current"], 1);
    // The way is cleared, and the entity changed meanwhile, which does not matter to what was started.
    client.delete("delete_entity", json!({"entity_id": taken}));
    let id = &failed["execution_id"];
    let retried =
        client.execute("retry_execution", json!({"execution_id": id, "wait_seconds": 30}))["data"].clone();
    assert_eq!((&retried["status"], &retried["attempt"]), (&json!("completed"), &json!(2)), "{retried}");
    assert_eq!(items(&mut client), 3, "the first step was not repeated");
}

/// REQ-LIFE-02 REQ-LIFE-08
#[test]
fn a_workflow_is_cancelled_in_the_middle() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    store(&mut client, "Long", json!({"steps": [make_many("many", "n", 1000)]}));
    let started =
        client.execute("execute_workflow", json!({"entity_name": "Long", "wait_seconds": 0}))["data"].clone();
    let id = &started["execution_id"];
    while items(&mut client) < 5 {
        wait_for(Duration::from_millis(5));
    }
    let cancelled = client.execute("cancel_execution", json!({"execution_id": id}));
    assert_eq!(cancelled["data"]["status"], "cancelled", "{cancelled}");
    wait_for(Duration::from_millis(200));
    assert!(cancelled["data"]["progress"]["percentage"].as_f64().is_none_or(|reached| reached < 100.0));
    let left = items(&mut client);
    assert!((5..1000).contains(&left), "{left}");
    wait_for(Duration::from_millis(300));
    assert_eq!(items(&mut client), left, "it stopped");
}

#[test]
fn every_step_passes_the_gate() {
    let directory = data();
    let mut free = Setup::new(directory.path()).connect(WIRES[0]);
    store(
        &mut free,
        "W",
        json!({"steps": [make("one", json!("One")), {"name": "gone", "operation": "delete_entity",
        "params": {"entity_id": {"$from": "/steps/one/data/entity_id"}}}]}),
    );
    drop(free);
    let mut guarded =
        Setup::new(directory.path()).config("[safety]\ndeny = [\"delete_*\"]\n").connect(WIRES[0]);
    let refused = guarded.execute("execute_workflow", json!({"entity_name": "W"}));
    // What may not be called is as good as not there.
    assert_eq!(refused["error"]["details"]["problems"][0]["place"], "steps[1].operation", "{refused}");
    drop(guarded);
    let config = "[safety]\nmax_calls_per_minute = 3\n";
    let mut slow = Setup::new(directory.path()).config(config).connect(WIRES[0]);
    let limited = run(&mut slow, "W", json!({}));
    assert_eq!(limited["status"], "completed", "three calls: this one and two steps: {limited}");
    let limited = slow.execute("execute_workflow", json!({"entity_name": "W"}));
    assert_eq!(limited["error"]["code"], "RATE_LIMIT_EXCEEDED", "{limited}");
}

/// LREQ-MCP-14
#[test]
fn progress_is_told_for_each_step() {
    let directory = data();
    let mut client = Setup::new(directory.path()).stdio(LEGACY);
    let steps: Vec<Value> = (0..4).map(|n| make_many(&format!("part{n}"), &format!("p{n}x"), 150)).collect();
    store(&mut client, "Long", json!({"steps": steps}));
    let params = json!({"name": "mcp_aql_execute", "_meta": {"progressToken": "t"}, "arguments": {
        "operation": "execute_workflow", "params": {"entity_name": "Long", "wait_seconds": 50}}});
    let answer = client.request("tools/call", params);
    let text: Value = serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text["data"]["status"], "completed", "{text}");
    let told: Vec<String> = client
        .notifications()
        .iter()
        .filter(|notice| notice["method"] == "notifications/progress")
        .map(|notice| notice["params"]["message"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert!(told.iter().any(|message| message.contains("part") && message.contains("items")), "{told:?}");
}

/// Three processes share the directory, as three desktop clients do.
#[test]
fn three_processes_share_their_executions_and_leave_each_other_alone() {
    let directory = data();
    let setup = Setup::new(directory.path()).config("[executions]\nlease_seconds = 2\n");
    let mut clients: Vec<Client> = (0..3).map(|_| setup.stdio(LEGACY)).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        let metadata = json!({"steps": [make_many("many", &format!("c{n}x"), 1000)]});
        store(client, &format!("Long{n}"), metadata);
    }
    let start = |client: &mut Client, n: usize| {
        let params = json!({"entity_name": format!("Long{n}"), "wait_seconds": 0});
        client.execute("execute_workflow", params)["data"]["execution_id"].clone()
    };
    let ids: Vec<Value> = (0..3).map(|n| start(&mut clients[n], n)).collect();
    for id in &ids {
        until(&mut clients[0], id, |execution| execution["status"] == "running");
    }
    // One process cancels what another runs.
    let cancelled = clients[0].execute("cancel_execution", json!({"execution_id": ids[1]}));
    assert_eq!(cancelled["data"]["status"], "cancelled", "{cancelled}");
    // One process dies without a word. The others fail what it ran, once its lease is over, and nothing of their own.
    clients[2].stdio().process.signal("-9");
    clients[2].stdio().process.wait();
    let ended = until(&mut clients[1], &ids[2], |execution| execution["status"] != "running");
    assert_eq!(
        (&ended["status"], &ended["error"]["details"]["reason"]),
        (&json!("failed"), &json!("owner_lost")),
        "{ended}"
    );
    let own = clients[1].read("get_execution", json!({"execution_id": ids[0]}))["data"].clone();
    assert!(["running", "completed"].contains(&own["status"].as_str().unwrap()), "{own}");
    assert_eq!(
        clients[0].read("get_execution", json!({"execution_id": ids[1]}))["data"]["status"],
        "cancelled"
    );
    // What the dead one ran goes on elsewhere, from where it was.
    let before = ended["attempt"].as_u64().unwrap();
    let retried =
        clients[1].execute("retry_execution", json!({"execution_id": ids[2], "wait_seconds": 0}))["data"]
            .clone();
    assert_eq!(retried["attempt"].as_u64().unwrap(), before + 1, "{retried}");
    let over = until(&mut clients[0], &ids[2], |execution| execution["status"] != "running");
    // An item made right before the death and not yet noted is found to be there already.
    let name_taken = over["error"]["code"] == "CONFLICT_ALREADY_EXISTS";
    assert!(over["status"] == "completed" || name_taken, "{over}");
}

/// REQ-LIFE-02 REQ-LIFE-04: whatever moment the process dies in, what is left is legal and comes to an end.
#[test]
fn a_death_in_any_state_leaves_a_legal_one() {
    let points = [
        "creating",
        "created",
        "starting",
        "started",
        "reporting",
        "reported",
        "checkpointing",
        "checkpointed",
        "completing",
        "completed",
        "failing",
        "failed",
        "cancelling",
        "cancelled",
        "retrying",
        "retried",
        "renewing",
        "renewed",
        "ending_session",
        "session_ended",
    ];
    let mut threads = Vec::new();
    for chunk in points.chunks(5) {
        let chunk = chunk.to_vec();
        threads.push(std::thread::spawn(move || chunk.into_iter().for_each(die_in)));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn die_in(point: &str) {
    let directory = data();
    let setup = Setup::new(directory.path()).config("[executions]\nlease_seconds = 2\nmax_running = 1\n");
    let mut client = setup.stdio(LEGACY);
    store(&mut client, "Long", json!({"steps": [make_many("many", "n", 1000)]}));
    store(&mut client, "Short", json!({"steps": [make("one", json!("Short1"))]}));
    store(&mut client, "Fails", json!({"steps": [make("one", json!("Taken"))]}));
    client.new_item("Taken");
    let failed = run(&mut client, "Fails", json!({}))["execution_id"].clone();
    drop(client);

    let mut doomed = setup.clone().env("AQUEDUCT_FAILPOINT", &format!("execution.{point}")).stdio(LEGACY);
    let send = |doomed: &mut Client, id: &str, operation: &str, params: Value| {
        let params =
            json!({"name": "mcp_aql_execute", "arguments": {"operation": operation, "params": params}});
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        doomed.stdio().try_send(frame.to_string().as_bytes())
    };
    let name = match point {
        "failing" | "failed" => "Fails",
        "reporting" | "reported" | "renewing" | "renewed" | "cancelling" | "cancelled" | "ending_session"
        | "session_ended" => "Long",
        _ => "Short",
    };
    match point {
        "retrying" | "retried" => {
            send(&mut doomed, "r", "retry_execution", json!({"execution_id": failed}));
        }
        "cancelling" | "cancelled" => {
            let params = json!({"entity_name": name, "wait_seconds": 0});
            let id = doomed.execute("execute_workflow", params)["data"]["execution_id"].clone();
            until(&mut doomed, &id, |execution| execution["status"] == "running");
            send(&mut doomed, "c", "cancel_execution", json!({"execution_id": id}));
        }
        "ending_session" | "session_ended" => {
            // What runs may come to an end by itself; what waits for its turn is ended with the session.
            for _ in 0..2 {
                doomed.execute("execute_workflow", json!({"entity_name": name, "wait_seconds": 0}));
            }
            doomed.stdio().stdin = None;
        }
        _ => {
            send(&mut doomed, "e", "execute_workflow", json!({"entity_name": name, "wait_seconds": 50}));
        }
    }
    let status = doomed.stdio().process.wait();
    assert!(!status.success(), "execution.{point} was not reached");
    drop(doomed);

    let mut client = setup.stdio(LEGACY);
    let states = ["pending", "running", "completed", "failed", "cancelled"];
    let list = client.read("list_executions", json!({"fields": "full"}))["data"]["items"].clone();
    for execution in list.as_array().unwrap() {
        assert!(states.contains(&execution["status"].as_str().unwrap()), "{point}: {execution}");
        let id = &execution["execution_id"];
        let over = until(&mut client, id, |execution| execution.get("finished_at").is_some());
        let is_failed = over["status"] == "failed";
        assert_eq!(over.get("error").is_some(), is_failed, "{point}: {over}");
        // What was over before the death is as it was.
        if execution.get("finished_at").is_some() {
            assert_eq!(over["status"], execution["status"], "{point}");
        }
        if is_failed {
            let again = client.execute("retry_execution", json!({"execution_id": id, "wait_seconds": 0}));
            assert_eq!(
                again["data"]["attempt"].as_u64(),
                over["attempt"].as_u64().map(|n| n + 1),
                "{point}: {again}"
            );
        }
    }
    let expected = match point {
        "creating" | "retrying" | "retried" => 1,
        "ending_session" | "session_ended" => 3,
        _ => 2,
    };
    assert_eq!(list.as_array().unwrap().len(), expected, "{point}: {list}");
}

fn with_tasks() -> Value {
    let mut meta = stateless_meta();
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    meta
}

/// A client that offers tasks gets one for what goes on, and an answer for what is done.
#[test]
fn clients_that_know_tasks_get_tasks() {
    let directory = data();
    let mut client = Setup::new(directory.path()).stdio(Era::Stateless);
    store(&mut client, "Long", json!({"steps": [make_many("many", "n", 300)]}));
    store(&mut client, "Endless", json!({"steps": [make_many("many", "e", 1000)]}));
    store(&mut client, "Short", json!({"steps": [make("one", json!("Short1"))]}));
    let discovered = client.request("server/discover", json!({"_meta": stateless_meta()}));
    assert!(discovered.to_string().contains("io.modelcontextprotocol/tasks"), "{discovered}");
    let call = |client: &mut Client, name: &str, wait: u64, meta: Value| {
        let arguments =
            json!({"operation": "execute_workflow", "params": {"entity_name": name, "wait_seconds": wait}});
        client
            .request("tools/call", json!({"name": "mcp_aql_execute", "arguments": arguments, "_meta": meta}))
    };
    let short = call(&mut client, "Short", 10, with_tasks());
    assert_eq!(short["result"]["resultType"], "complete", "what is done needs no task: {short}");
    let plain = call(&mut client, "Short", 0, stateless_meta());
    assert_ne!(plain["result"]["resultType"], "task", "{plain}");

    let created = call(&mut client, "Long", 0, with_tasks());
    assert_eq!(
        (&created["result"]["resultType"], &created["result"]["status"]),
        (&json!("task"), &json!("working")),
        "{created}"
    );
    let id = created["result"]["taskId"].clone();
    let get = |client: &mut Client, id: &Value| {
        client.request("tasks/get", json!({"taskId": id, "_meta": with_tasks()}))["result"].clone()
    };
    let done = loop {
        let task = get(&mut client, &id);
        if task["status"] != "working" {
            break task;
        }
        wait_for(Duration::from_millis(50));
    };
    assert_eq!(done["status"], "completed", "{done}");
    let text: Value = serde_json::from_str(done["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&text["success"], &text["data"]["execution_id"]), (&json!(true), &id));

    let endless = call(&mut client, "Endless", 0, with_tasks())["result"]["taskId"].clone();
    let cancelled = client.request("tasks/cancel", json!({"taskId": endless, "_meta": with_tasks()}));
    assert!(cancelled.get("error").is_none(), "{cancelled}");
    assert_eq!(get(&mut client, &endless)["status"], "cancelled");
    let unknown = client.request("tasks/get", json!({"taskId": "nope", "_meta": with_tasks()}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    // These are requests like any other, and recorded.
    wait_until("the task that is not there", || {
        let asked = finished(directory.path(), "tasks/get", 3);
        asked.into_iter().find(|span| span["status"] == "error")
    });
    // What a task resulted in stands with what it ran, which may be recorded less.
    let asked = finished(directory.path(), "tasks/get", 3);
    assert!(asked.iter().all(|span| span["attributes"]["mcp.tool.output_json"].is_null()));
    assert_eq!(finished(directory.path(), "tasks/cancel", 1)[0]["status"], "ok");
}

/// What was done when the session ended is not done again.
#[test]
fn a_retry_after_the_end_of_a_session_repeats_nothing() {
    let directory = data();
    let setup = Setup::new(directory.path());
    let mut client = setup.stdio(LEGACY);
    let mut many = make_many("many", "n", 1000);
    // Large enough that results are not noted after every call.
    many["params"]["metadata"] = json!({"text": "x".repeat(8_000)});
    store(&mut client, "Long", json!({"steps": [many], "output": "done"}));
    let id = client.execute("execute_workflow", json!({"entity_name": "Long", "wait_seconds": 0}))["data"]["execution_id"].clone();
    while items(&mut client) < 60 {
        wait_for(Duration::from_millis(10));
    }
    client.stdio().stdin = None;
    assert!(client.stdio().process.wait().success());
    let mut client = setup.stdio(LEGACY);
    let ended = client.read("get_execution", json!({"execution_id": id}))["data"].clone();
    assert_eq!(
        (&ended["status"], &ended["error"]["details"]["reason"]),
        (&json!("failed"), &json!("session_ended")),
        "{ended}"
    );
    client.execute("retry_execution", json!({"execution_id": id, "wait_seconds": 0}));
    let done = until(&mut client, &id, |execution| execution["status"] != "running");
    assert_eq!(done["status"], "completed", "{}", done["error"]);
    assert_eq!(items(&mut client), 1000);
}

/// A step that would wait for its own execution is answered at once.
#[test]
fn a_step_does_not_wait_for_executions() {
    let directory = data();
    let mut client = Setup::new(directory.path()).connect(WIRES[0]);
    let steps = json!([
        {"name": "which", "operation": "list_executions", "params": {"filter": {"status": "running"}, "first": 1}},
        {"name": "wait", "operation": "get_execution", "params": {
            "execution_id": {"$from": "/steps/which/data/items/0/execution_id"}, "wait_seconds": 50}},
    ]);
    store(&mut client, "Waits", json!({"steps": steps}));
    let done =
        client.execute("execute_workflow", json!({"entity_name": "Waits", "wait_seconds": 20}))["data"]
            .clone();
    assert_eq!(done["status"], "completed", "{done}");
}

/// The command line waits for the end and tells by its exit code how it was.
#[test]
fn the_command_line_tells_how_a_workflow_ended() {
    let directory = data();
    let setup = Setup::new(directory.path());
    let mut client = setup.stdio(LEGACY);
    store(&mut client, "Once", json!({"steps": [make("one", json!("One"))]}));
    drop(client);
    let call = |arguments: &[&str]| {
        let mut command = crate::harness::command(&crate::harness::aqueduct(), directory.path());
        let output =
            command.arg("call").args(arguments).env("AQUEDUCT_DATA", directory.path().join("data")).output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = call(&["execute_workflow", "entity_name=Once", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = call(&["execute_workflow", "entity_name=Once", "--json"]);
    assert_eq!(code, Some(1), "the name is taken now: {text}");
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["data"]["status"], "failed");
    let id = format!("execution_id={}", answer["data"]["execution_id"].as_str().unwrap());
    assert_eq!(call(&["get_execution", &id]).0, Some(0), "looking at it works");
}
