//! Clients of both eras in front, servers of both eras behind, over both transports.

use serde_json::{Value, json};

use super::{CLIENTS, Place, Remote, answered, echoes};

const ERAS: [&str; 3] = ["initialize", "discover", "both"];

/// Everything an upstream of an era was asked after its connection was opened.
fn asked(events: &[Value]) -> Vec<&Value> {
    let opening = ["server/discover", "initialize"];
    let received = events.iter().filter(|event| event["event"] == "received");
    received.filter(|event| !opening.contains(&event["method"].as_str().unwrap())).collect()
}

#[test]
fn every_client_reaches_every_server() {
    for wire in CLIENTS {
        let mut place = Place::new();
        let mut remotes = Vec::new();
        let mut names = Vec::new();
        for era in ERAS {
            let name = format!("process_{era}");
            place = place.stdio(&name, &["--era", era], "");
            names.push((name, era));
            for (kind, flags) in [("json", vec!["--era", era]), ("sse", vec!["--era", era, "--sse"])] {
                let name = format!("{kind}_{era}");
                let remote = Remote::start(&place, &name, &flags);
                place = place.http(&name, &remote.url, "");
                remotes.push(remote);
                names.push((name, era));
            }
        }
        let mut client = place.connect(wire);
        for (name, era) in &names {
            echoes(&mut client, name);
            let renamed = answered(&mut client, &format!("{name}_get_user_name"), json!({"user_id": "7"}));
            assert_eq!(renamed, "user 7", "{wire:?} {name}");
            let spoken = if *era == "initialize" { "initialize" } else { "discover" };
            let events = place.events(name);
            let asked = asked(&events);
            assert!(asked.len() >= 3, "{wire:?} {name}: {events:?}");
            for event in &asked {
                assert_eq!(event["era"], spoken, "{wire:?} {name}: {event}");
            }
            let initialized =
                asked.iter().filter(|event| event["method"] == "notifications/initialized").count();
            assert_eq!(initialized, usize::from(spoken == "initialize"), "{wire:?} {name}");
        }
    }
}

#[test]
fn requests_over_http_carry_what_their_era_wants_in_headers() {
    let place = Place::new();
    let older = Remote::start(&place, "older", &["--era", "initialize"]);
    let today = Remote::start(&place, "today", &["--era", "discover"]);
    let more = "[upstream.NAME.headers]\nX-Team = \"water\"";
    let place = place.http("older", &older.url, &more.replace("NAME", "older")).http(
        "today",
        &today.url,
        &more.replace("NAME", "today"),
    );
    let mut client = place.client();
    let headers = answered(&mut client, "older_headers", json!({}))["headers"].clone();
    assert_eq!(
        (&headers["mcp-protocol-version"], &headers["x-team"]),
        (&json!("2025-11-25"), &json!("water"))
    );
    assert!(headers["mcp-session-id"].as_str().is_some_and(|id| id.starts_with('s')), "{headers}");
    assert!(headers.get("mcp-method").is_none(), "{headers}");

    let headers = answered(&mut client, "today_headers", json!({}))["headers"].clone();
    assert_eq!(
        (&headers["mcp-protocol-version"], &headers["x-team"]),
        (&json!("2026-07-28"), &json!("water"))
    );
    assert_eq!((&headers["mcp-method"], &headers["mcp-name"]), (&json!("tools/call"), &json!("headers")));
    assert!(headers.get("mcp-session-id").is_none(), "{headers}");
    let accept = headers["accept"].as_str().unwrap();
    assert!(accept.contains("application/json") && accept.contains("text/event-stream"), "{accept}");
}

/// What is said in a request of today, the upstream sees as ours and not as the client's.
#[test]
fn a_request_of_today_names_the_gateway_as_its_client() {
    let place = Place::new().stdio("one", &["--era", "discover"], "");
    let mut client = place.client();
    echoes(&mut client, "one");
    let called = place.event("one", "the call", |event| event["method"] == "tools/call");
    let meta = &called["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "aqueduct", "{called}");
    assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object(), "{called}");
}

#[test]
fn the_era_that_worked_is_tried_first_the_next_time() {
    let place =
        Place::new().stdio("older", &["--era", "initialize"], "").stdio("today", &["--era", "discover"], "");
    place.learn(&["older", "today"]);
    for name in ["older", "today"] {
        std::fs::remove_file(place.state(name).join("events")).unwrap();
    }
    let mut client = place.client();
    echoes(&mut client, "older");
    echoes(&mut client, "today");
    assert_eq!(place.count("older", |event| event["method"] == "server/discover"), 0);
    assert_eq!(place.count("today", |event| event["method"] == "initialize"), 0);
}

#[test]
fn a_server_that_was_renewed_since_is_reached_in_its_new_era() {
    for (before, after) in [("initialize", "discover"), ("discover", "initialize")] {
        let place = Place::new();
        let remote = Remote::start(&place, "one", &["--era", before]);
        let place = place.http("one", &remote.url, "");
        place.learn(&["one"]);
        let address = remote.kill();
        let _renewed = Remote::start_on(&place, "one", &address, &["--era", after]);
        echoes(&mut place.client(), "one");
    }
}

/// Older servers do not know `server/discover`: some say nothing to it, some end. Others only need long to start, and
/// hear both questions at once.
#[test]
fn a_server_that_takes_the_first_question_badly_is_reached_all_the_same() {
    for (era, flags) in [
        ("initialize", ["--silent", "server/discover"]),
        ("initialize", ["--dies-on", "server/discover"]),
        ("initialize", ["--slow-start", "4000"]),
        ("discover", ["--slow-start", "4000"]),
        ("both", ["--slow-start", "4000"]),
    ] {
        let place = Place::new().stdio("one", &[&["--era", era], &flags[..]].concat(), "");
        place.learn(&["one"]);
        assert!(place.starts("one").len() <= 2, "{era} {flags:?}: {:?}", place.starts("one"));
        echoes(&mut place.client(), "one");
    }
}
