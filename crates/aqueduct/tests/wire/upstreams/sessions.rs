//! Servers that keep state: with `per_session`, every session has its own.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{INITIALIZE, Place, Remote, answered, echoes, runs, wait_until};
use crate::harness::{Client, Era, Link, Wire};

fn pid(client: &mut Client) -> u64 {
    answered(client, "one_starts", json!({}))["pid"].as_u64().unwrap()
}

fn end(client: &Client) {
    let Link::Http(link) = &client.link else { panic!("not over HTTP") };
    let headers = client.headers("", &Value::Null);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert!((200..300).contains(&link.server.delete(&headers).status));
}

#[test]
fn every_session_has_a_process_of_its_own_which_ends_with_it() {
    for era in ["initialize", "discover"] {
        let place = Place::new().stdio("one", &["--era", era], "per_session = true");
        let server = place.setup().http();
        let mut first = Client::http(Arc::clone(&server), INITIALIZE);
        let mut second = Client::http(Arc::clone(&server), INITIALIZE);
        let (of_first, of_second) = (pid(&mut first), pid(&mut second));
        assert_ne!(of_first, of_second, "{era}");
        assert_eq!((pid(&mut first), pid(&mut second)), (of_first, of_second), "{era}");
        end(&first);
        wait_until("the process of the session that ended", || (!runs(of_first)).then_some(()));
        assert_eq!(pid(&mut second), of_second, "{era}: the other one goes on");
        let mut third = Client::http(server, INITIALIZE);
        let of_third = pid(&mut third);
        assert!(of_third != of_first && of_third != of_second, "{era}");
    }
}

#[test]
fn every_session_has_a_session_of_its_own_over_http() {
    let place = Place::new();
    let remote = Remote::start(&place, "one", &["--era", "initialize"]);
    let place = place.http("one", &remote.url, "per_session = true");
    let server = place.setup().http();
    let mut first = Client::http(Arc::clone(&server), INITIALIZE);
    let mut second = Client::http(server, INITIALIZE);
    let session = |client: &mut Client| {
        answered(client, "one_remember", json!({"text": "x"}))["session"].as_str().unwrap().to_owned()
    };
    let (of_first, of_second) = (session(&mut first), session(&mut second));
    assert_ne!(of_first, of_second);
    assert_eq!((session(&mut first), session(&mut second)), (of_first.clone(), of_second));
    end(&first);
    place.event("one", "the session is given back", |event| {
        event["event"] == "session deleted" && event["session"] == of_first.as_str()
    });
    echoes(&mut second, "one");
}

#[test]
fn without_it_all_sessions_share_one() {
    let place = Place::new().stdio("one", &[], "");
    let server = place.setup().http();
    let pids: Vec<u64> = [INITIALIZE, INITIALIZE, Era::Stateless]
        .into_iter()
        .map(|era| pid(&mut Client::http(Arc::clone(&server), era)))
        .collect();
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
    assert_eq!(place.starts("one").len(), 1);
}

#[test]
fn a_connection_over_stdio_is_a_session() {
    for era in [INITIALIZE, Era::Stateless] {
        let place = Place::new().stdio("one", &[], "per_session = true");
        let mut client = place.connect(Wire::Stdio(era));
        let first = pid(&mut client);
        assert_eq!(pid(&mut client), first);
        client.stdio().stdin = None;
        client.stdio().process.wait();
        for pid in place.starts("one") {
            wait_until("all processes end", || (!runs(pid)).then_some(()));
        }
    }
}
