//! Calls under way: cancelled, followed, given up, and how many of them at once.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{CLIENTS, INITIALIZE, Place, Remote, answered, begin, echoes, finish, refused, wait_until};
use crate::{
    harness::{Client, Era, Wire},
    slow::abandon,
};

/// Upstreams of both eras over both transports, and their names.
fn everywhere(more: &str) -> (Place, Vec<Remote>, Vec<String>) {
    let (mut place, mut remotes, mut names) = (Place::new(), Vec::new(), Vec::new());
    for era in ["initialize", "discover"] {
        let (process, remote) = (format!("process_{era}"), format!("remote_{era}"));
        place = place.stdio(&process, &["--era", era], more);
        let started = Remote::start(&place, &remote, &["--era", era]);
        place = place.http(&remote, &started.url, more);
        remotes.push(started);
        names.extend([process, remote]);
    }
    (place, remotes, names)
}

fn is_call(tool: &str) -> impl Fn(&Value) -> bool {
    move |event| event["event"] == "received" && event["params"]["name"] == tool
}

#[test]
fn a_cancelled_call_is_cancelled_behind_the_gateway_too() {
    for era in [INITIALIZE, Era::Stateless] {
        let (place, _remotes, names) = everywhere("timeout_seconds = 3600");
        let mut client = place.connect(Wire::Stdio(era));
        for name in &names {
            let id = begin(&mut client, &format!("{name}_sleep"), json!({"milliseconds": 3_600_000}));
            place.event(name, "the call", is_call("sleep"));
            client.notify("notifications/cancelled", json!({"requestId": id, "reason": "changed my mind"}));
            place.event(name, "that it is given up", |event| event["event"] == "given up");
            echoes(&mut client, name);
            assert_eq!(place.count(name, |event| event["event"] == "slept"), 0, "{era:?} {name}");
        }
    }
}

#[test]
fn a_cancelled_call_over_http_is_cancelled_behind_the_gateway_too() {
    for era in [INITIALIZE, Era::Stateless] {
        let (place, _remotes, names) = everywhere("timeout_seconds = 3600");
        let server = place.setup().http();
        let mut client = Client::http(Arc::clone(&server), era);
        for name in &names {
            // Everything is known and open.
            echoes(&mut client, name);
            let id = client.new_id();
            let arguments =
                json!({"operation": format!("{name}_sleep"), "params": {"milliseconds": 3_600_000}});
            let frame = client.frame(id, "tools/call", json!({"name": "mcp_aql", "arguments": arguments}));
            let headers = client.headers("tools/call", &frame);
            let url = server.url.clone();
            // Where there are no sessions, hanging up is how a call is cancelled.
            let stay =
                if era == Era::Stateless { Duration::from_millis(700) } else { Duration::from_secs(5) };
            let asking = std::thread::spawn(move || abandon(&url, &headers, &frame.to_string(), stay));
            place.event(name, "the call", is_call("sleep"));
            if era != Era::Stateless {
                client.notify("notifications/cancelled", json!({"requestId": id}));
            }
            place.event(name, "that it is given up", |event| event["event"] == "given up");
            asking.join().unwrap();
            echoes(&mut client, name);
        }
    }
}

/// LREQ-MCP-13 LREQ-MCP-16
#[test]
fn progress_reaches_the_client_with_the_servers_own_numbers() {
    for wire in CLIENTS {
        let (place, _remotes, names) = everywhere("");
        let mut client = place.connect(wire);
        for name in &names {
            echoes(&mut client, name);
            let arguments =
                json!({"operation": format!("{name}_progress"), "params": {"steps": 3, "milliseconds": 100}});
            let asked =
                json!({"name": "mcp_aql", "arguments": arguments, "_meta": {"progressToken": "mine"}});
            let answer = client.request("tools/call", asked);
            assert_eq!(answer["result"]["isError"], false, "{wire:?} {name}: {answer}");
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            let data = serde_json::from_str::<Value>(text).unwrap()["data"].clone();
            assert_eq!(data, json!({"steps": 3, "asked": true}), "{wire:?} {name}");
            let told = std::mem::take(client.notifications());
            let told: Vec<&Value> = told
                .iter()
                .filter(|message| message["method"] == "notifications/progress")
                .map(|message| &message["params"])
                .collect();
            let expected: Vec<Value> = (1..=3)
                .map(|step| json!({"progressToken": "mine", "progress": step * 2, "total": 6, "message": format!("step {step}")}))
                .collect();
            let same = told.len() == 3
                && told.iter().zip(&expected).all(|(told, expected)| {
                    told["progressToken"] == expected["progressToken"]
                        && told["progress"].as_f64() == expected["progress"].as_f64()
                        && told["total"].as_f64() == expected["total"].as_f64()
                        && told["message"] == expected["message"]
                });
            assert!(same, "{wire:?} {name}: {told:?}");
            let quiet =
                answered(&mut client, &format!("{name}_progress"), json!({"steps": 1, "milliseconds": 1}));
            assert_eq!(quiet["asked"], false, "{wire:?} {name}: nobody wants to know");
        }
    }
}

#[test]
fn a_call_that_takes_too_long_is_given_up_on_both_sides() {
    let (place, _remotes, names) = everywhere("timeout_seconds = 1");
    for wire in [CLIENTS[0], CLIENTS[3]] {
        let mut client = place.connect(wire);
        for name in &names {
            let error = refused(&mut client, &format!("{name}_never"), json!({}));
            assert_eq!(error["code"], "INTERNAL_UNAVAILABLE", "{wire:?} {name}: {error}");
            assert!(error["message"].as_str().unwrap().contains("'never' within 1 s"), "{error}");
            assert!(error["details"]["hint"].as_str().unwrap().contains("timeout_seconds"), "{error}");
            place.event(name, "that it is given up", |event| event["event"] == "given up");
            echoes(&mut client, name);
        }
    }
}

#[test]
fn a_server_gets_as_many_calls_at_once_as_it_takes() {
    let (place, _remotes, names) = everywhere("max_concurrent_calls = 2");
    let mut client = place.client();
    for name in &names {
        let calls: Vec<u64> = (0..8)
            .map(|_| begin(&mut client, &format!("{name}_sleep"), json!({"milliseconds": 100})))
            .collect();
        for id in calls {
            assert_eq!(finish(&mut client, id)["data"], "slept");
        }
        let counted = answered(&mut client, &format!("{name}_calls"), json!({}));
        assert_eq!((&counted["most_at_once"], &counted["calls"]), (&json!(2), &json!(9)), "{name}");
    }
}

/// Cancelling a call that still waits for its turn takes it out of the queue.
#[test]
fn a_call_that_waits_for_its_turn_can_be_cancelled() {
    let place = Place::new().stdio("one", &[], "max_concurrent_calls = 1\ntimeout_seconds = 3600");
    let mut client = place.client();
    let running = begin(&mut client, "one_sleep", json!({"milliseconds": 3_600_000}));
    place.event("one", "the first call", is_call("sleep"));
    let queued = begin(&mut client, "one_remember", json!({"text": "never"}));
    let last = begin(&mut client, "one_echo", json!({"text": "last"}));
    client.notify("notifications/cancelled", json!({"requestId": queued}));
    client.notify("notifications/cancelled", json!({"requestId": running}));
    assert_eq!(finish(&mut client, last)["data"], "last");
    assert_eq!(place.count("one", is_call("remember")), 0);
}

/// What answers late, after its call was given up, does not answer another.
#[test]
fn late_answers_go_to_nobody() {
    let place = Place::new().stdio("one", &[], "timeout_seconds = 1");
    let mut client = place.client();
    for text in ["a", "b", "c"] {
        let error = refused(&mut client, "one_hostile", json!({"kind": "late"}));
        assert!(error["message"].as_str().unwrap().contains("within 1 s"), "{error}");
        assert_eq!(answered(&mut client, "one_echo", json!({"text": text})), text);
    }
    wait_until("the late answers", || (place.starts("one").len() == 1).then_some(()));
    for text in ["d", "e", "f"] {
        assert_eq!(answered(&mut client, "one_twice", json!({"text": text})), text);
        assert_eq!(answered(&mut client, "one_wrong_id", json!({"text": text})), text);
    }
}
