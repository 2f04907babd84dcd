//! When servers are started, how often, and what happens while they cannot be.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::{Value, json};

use super::{
    CLIENTS, Place, Remote, answered, begin, call, echoes, finish, operations, refused, runs, upstream,
    wait_until,
};

/// A program of ours under a name that a test may change.
fn installed(place: &Place) -> std::path::PathBuf {
    let program = place.path().join("server");
    replace(&program, &fs::read(upstream()).unwrap());
    program
}

/// Puts another program in its place, as an upgrade does.
fn replace(program: &Path, bytes: &[u8]) {
    let new = program.with_extension("new");
    fs::write(&new, bytes).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(new, program).unwrap();
}

#[test]
fn what_a_server_offers_is_known_before_it_is_started() {
    for wire in CLIENTS {
        let place = Place::new();
        let program = installed(&place);
        let place = place.program("one", &program, &[], "");
        place.learn(&["one"]);
        fs::remove_file(&program).unwrap();
        fs::remove_file(place.state("one").join("starts")).unwrap();

        let mut client = place.connect(wire);
        assert_eq!(client.tool_names(), ["mcp_aql"], "{wire:?}");
        let names = operations(&mut client);
        assert!(
            names.contains(&"one_echo".to_owned()) && names.contains(&"one_delete_thing".to_owned()),
            "{names:?}"
        );
        let details = answered(&mut client, "introspect", json!({"query": "operations", "name": "one_echo"}));
        assert_eq!(details["operation"]["parameters"][0]["name"], "text", "{details}");
        assert!(place.starts("one").is_empty(), "nothing was called");

        let error = refused(&mut client, "one_echo", json!({"text": "x"}));
        assert_eq!(error["code"], "INTERNAL_UNAVAILABLE", "{error}");
        let why = error["details"]["upstream_error"]["message"].as_str().unwrap();
        assert!(why.contains("was not found"), "{error}");
        assert!(error["details"]["hint"].as_str().unwrap().contains("doctor"), "{error}");

        replace(&program, &fs::read(upstream()).unwrap());
        wait_until("the server is back", || {
            (call(&mut client, "one_echo", json!({"text": "x"}))["success"] == true).then_some(())
        });
    }
}

/// Nobody has to wait by himself until a server that is new has said what it offers.
#[test]
fn a_call_waits_for_a_server_that_is_asked_for_the_first_time() {
    for wire in CLIENTS {
        let place = Place::new().stdio("one", &["--slow-start", "500"], "");
        echoes(&mut place.setup().connect(wire), "one");
    }
}

#[test]
fn a_server_is_started_by_its_first_call_and_once_for_many() {
    let place = Place::new().stdio("one", &["--slow-start", "300"], "").stdio("other", &[], "");
    place.learn(&["one", "other"]);
    let learned = (place.starts("one").len(), place.starts("other").len());
    assert_eq!(learned, (1, 1), "asking what it offers takes one start");
    let mut client = place.client();
    let calls: Vec<u64> =
        (0..20).map(|n| begin(&mut client, "one_echo", json!({"text": n.to_string()}))).collect();
    for (n, id) in calls.into_iter().enumerate() {
        assert_eq!(finish(&mut client, id)["data"], n.to_string());
    }
    assert_eq!(place.starts("one").len(), 2);
    assert_eq!(place.starts("other").len(), 1, "nobody has called it");
}

/// Starts grow with the time that passes, not with the calls that come.
#[test]
fn a_server_that_fails_to_start_is_left_alone_for_a_while() {
    let place = Place::new();
    let program = installed(&place);
    let place = place.program("one", &program, &[], "").stdio("other", &[], "");
    place.learn(&["one", "other"]);
    fs::remove_file(place.state("one").join("starts")).unwrap();
    replace(&program, b"#!/bin/sh\necho $$ >> \"$2/starts\"\necho 'Error: no licence' >&2\nexit 4\n");
    let mut client = place.client();
    let mut waits: Vec<Value> = Vec::new();
    for _ in 0..60 {
        let error = refused(&mut client, "one_echo", json!({"text": "x"}));
        assert_eq!(error["code"], "INTERNAL_UNAVAILABLE", "{error}");
        let why = error["details"]["upstream_error"]["message"].as_str().unwrap();
        assert!(why.contains("exit code 4") && why.contains("no licence"), "{error}");
        waits.extend(error["details"].get("retry_after_seconds").cloned());
    }
    assert!(waits.iter().all(|seconds| (1..=60).contains(&seconds.as_u64().unwrap())), "{waits:?}");
    let starts = place.starts("one").len();
    assert!((1..=8).contains(&starts), "{starts} starts for 60 calls");
    echoes(&mut client, "other");
    replace(&program, &fs::read(upstream()).unwrap());
    wait_until("it is tried again", || {
        (call(&mut client, "one_echo", json!({"text": "x"}))["success"] == true).then_some(())
    });
}

/// A server that starts well and falls over at every call is no better.
#[test]
fn a_server_that_keeps_dying_does_not_cause_a_storm_of_starts() {
    let place = Place::new().stdio("one", &[], "");
    let mut client = place.client();
    for _ in 0..40 {
        let error = refused(&mut client, "one_die", json!({}));
        assert_eq!(error["code"], "INTERNAL_UNAVAILABLE", "{error}");
    }
    let starts = place.starts("one").len();
    assert!((1..=8).contains(&starts), "{starts} starts for 40 calls");
}

#[test]
fn a_server_killed_in_the_middle_of_a_call_is_started_again_by_the_next() {
    for wire in CLIENTS {
        let place = Place::new().stdio("one", &[], "").stdio("other", &[], "");
        let mut client = place.connect(wire);
        let error = refused(&mut client, "one_die", json!({"words": "disk full"}));
        assert_eq!(error["code"], "INTERNAL_UNAVAILABLE", "{wire:?}: {error}");
        assert!(error["message"].as_str().unwrap().contains("ended while 'die' was running"), "{error}");
        let why = error["details"]["upstream_error"]["message"].as_str().unwrap();
        assert!(why.contains("exit code 3") && why.contains("disk full"), "{error}");
        assert!(error["details"]["hint"].as_str().unwrap().contains("had an effect"), "{error}");
        echoes(&mut client, "other");
        echoes(&mut client, "one");
        assert_eq!(place.starts("one").len(), 2, "{wire:?}");
    }
}

/// All calls under way are told, and none of them waits for its timeout.
#[test]
fn everybody_who_waits_is_told_when_a_server_is_killed() {
    let place = Place::new().stdio("one", &[], "timeout_seconds = 3600");
    let mut client = place.client();
    let waiting: Vec<u64> = (0..5).map(|_| begin(&mut client, "one_never", json!({}))).collect();
    let never = |event: &Value| event["params"]["name"] == "never";
    wait_until("all calls are under way", || (place.count("one", never) == 5).then_some(()));
    let pid = place.starts("one")[0];
    assert!(std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
    for id in waiting {
        let answer = finish(&mut client, id);
        assert_eq!(answer["error"]["code"], "INTERNAL_UNAVAILABLE", "{answer}");
        let why = answer["error"]["details"]["upstream_error"]["message"].as_str().unwrap();
        assert!(why.contains("killed"), "{answer}");
    }
    echoes(&mut client, "one");
    assert_eq!(place.count("one", never), 5, "no call is made twice");
}

/// Whoever waited for one that hangs would wait an hour here.
#[test]
fn a_server_that_hangs_delays_nobody_else() {
    for wire in CLIENTS {
        let place = Place::new();
        let hung =
            Remote::start(&place, "hung_remote", &["--silent", "server/discover", "--silent", "initialize"]);
        let patient = "start_timeout_seconds = 3600\ntimeout_seconds = 3600";
        let place = place
            .stdio("hung", &["--silent", "server/discover", "--silent", "initialize"], patient)
            .http("hung_remote", &hung.url, patient)
            .stdio("unlisted", &["--silent", "tools/list"], patient)
            .program("absent", Path::new("/nowhere/at-all"), &[], patient)
            .stdio("well", &[], "");
        let mut client = place.setup().connect(wire);
        assert_eq!(client.tool_names(), ["mcp_aql"], "{wire:?}");
        place.wait_for(&mut client, &["well"]);
        echoes(&mut client, "well");
        let names = operations(&mut client);
        assert!(names.contains(&"well_echo".to_owned()), "{names:?}");
        assert!(
            !names.iter().any(|name| name.starts_with("hung") || name.starts_with("absent")),
            "{names:?}"
        );
    }
}

/// A server that says something new is heard while another one hangs.
#[test]
fn news_of_one_server_do_not_wait_for_another() {
    let place = Place::new()
        .stdio(
            "hung",
            &["--silent", "server/discover", "--silent", "initialize"],
            "start_timeout_seconds = 3600",
        )
        .stdio("well", &[], "definitions = \"follow\"");
    let mut client = place.setup().connect(CLIENTS[0]);
    place.wait_for(&mut client, &["well"]);
    echoes(&mut client, "well");
    place.define("well", &json!({"novelty": {}}));
    answered(&mut client, "well_announce", json!({}));
    wait_until("the new tool", || {
        place.catalogue("well").filter(|kept| kept["tools"].to_string().contains("novelty"))
    });
    let said = wait_until("the new operation", || {
        let answer = call(&mut client, "well_novelty", json!({"text": "x"}));
        (answer["success"] == true).then(|| answer["data"].clone())
    });
    assert!(said.as_str().unwrap().starts_with("novelty called with"), "{said}");
}

#[test]
fn a_call_of_a_server_that_hangs_does_not_hold_up_calls_of_it_and_others() {
    let place = Place::new().stdio("one", &[], "timeout_seconds = 3600").stdio("other", &[], "");
    let mut client = place.client();
    let never = begin(&mut client, "one_never", json!({}));
    place.event("one", "the call", |event| event["params"]["name"] == "never");
    echoes(&mut client, "one");
    echoes(&mut client, "other");
    assert_eq!(client.tool_names(), ["mcp_aql"]);
    assert!(!client.stdio().early.iter().any(|answer| answer["id"] == never));
}

/// It takes a minute: no server may be stopped earlier.
#[test]
fn a_server_that_nobody_uses_is_stopped_until_somebody_does() {
    let place = Place::new();
    let remote = Remote::start(&place, "remote", &["--era", "initialize"]);
    let place = place
        .stdio("process", &[], "idle_minutes = 1")
        .http("remote", &remote.url, "idle_minutes = 1")
        .stdio("kept", &[], "idle_minutes = 0");
    let mut client = place.client();
    for server in ["process", "remote", "kept"] {
        echoes(&mut client, server);
    }
    let pid = place.starts("process")[0];
    crate::harness::wait_for(std::time::Duration::from_secs(58));
    wait_until("the process ends", || (!runs(pid)).then_some(()));
    place.event("remote", "the session is given back", |event| event["event"] == "session deleted");
    assert!(runs(place.starts("kept")[0]));
    for server in ["process", "remote", "kept"] {
        echoes(&mut client, server);
    }
    assert_eq!((place.starts("process").len(), place.starts("kept").len()), (2, 1));
}
