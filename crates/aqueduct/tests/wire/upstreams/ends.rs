//! Nothing that was started for us stays behind, however it ends.

use serde_json::json;

use super::{CLIENTS, Place, Remote, answered, echoes, refused, runs, wait_until};
use crate::harness::{Client, Link, Wire};

fn signal(client: &Client, name: &str) {
    match &client.link {
        Link::Stdio(link) => link.process.signal(name),
        Link::Http(link) => link.server.process.lock().unwrap().signal(name),
    }
}

fn wait_for_end(client: &mut Client) {
    match &mut client.link {
        Link::Stdio(link) => drop(link.process.wait()),
        Link::Http(link) => drop(link.server.process.lock().unwrap().wait()),
    }
}

fn gone(what: &str, pids: &[u64]) {
    for pid in pids {
        wait_until(&format!("the end of {what}, process {pid}"), || (!runs(*pid)).then_some(()));
    }
}

/// The processes of an upstream: itself, and one that it started.
fn family(client: &mut Client, place: &Place, server: &str) -> Vec<u64> {
    let grandchild = answered(client, &format!("{server}_grandchild"), json!({}))["pid"].as_u64().unwrap();
    let mut family = place.starts(server);
    family.push(grandchild);
    assert!(family.iter().all(|pid| runs(*pid)), "{family:?}");
    family
}

#[test]
fn what_a_server_started_ends_with_it() {
    let place = Place::new().stdio("one", &[], "");
    let mut client = place.client();
    let family = family(&mut client, &place, "one");
    refused(&mut client, "one_die", json!({}));
    gone("a server that died", &family);
    echoes(&mut client, "one");
}

/// Also servers that go on when their input is closed, and those that do not listen to requests to end.
#[test]
fn a_stop_of_the_gateway_ends_all_servers_and_what_they_started() {
    for wire in CLIENTS {
        for name in ["-TERM", "-INT"] {
            let place = Place::new().stdio("mild", &[], "").stdio("stubborn", &["--stubborn"], "");
            let deaf = format!(
                "[upstream.deaf]\ncommand = \"sh\"\nargs = [\"-c\", {}]\n",
                json!(format!(
                    "trap '' TERM INT; {} --stubborn --state {}",
                    super::upstream().display(),
                    place.state("deaf").display()
                ))
            );
            let place = Place { config: format!("{}{deaf}", place.config), ..place };
            let mut client = place.connect(wire);
            place.wait_for(&mut client, &["deaf"]);
            let mut all = Vec::new();
            for server in ["mild", "stubborn", "deaf"] {
                all.extend(family(&mut client, &place, server));
            }
            signal(&client, name);
            wait_for_end(&mut client);
            gone(&format!("servers of a gateway that was sent {name} over {wire:?}"), &all);
        }
    }
}

#[test]
fn servers_end_when_the_client_closes_the_connection() {
    let place = Place::new().stdio("mild", &[], "").stdio("stubborn", &["--stubborn"], "");
    let mut client = place.client();
    let mut all = family(&mut client, &place, "mild");
    all.extend(family(&mut client, &place, "stubborn"));
    client.stdio().stdin = None;
    wait_for_end(&mut client);
    gone("servers whose client has left", &all);
}

/// Nobody can clean up then, but the servers' input is closed.
#[test]
fn servers_end_when_the_gateway_is_killed() {
    for wire in [CLIENTS[0], CLIENTS[2]] {
        let place = Place::new().stdio("one", &[], "").stdio("other", &[], "");
        let mut client = place.connect(wire);
        echoes(&mut client, "one");
        echoes(&mut client, "other");
        let all: Vec<u64> = [place.starts("one"), place.starts("other")].concat();
        signal(&client, "-KILL");
        wait_for_end(&mut client);
        gone("servers of a gateway that was killed", &all);
    }
}

/// A stop does not wait for calls that will never be answered.
#[test]
fn a_stop_in_the_middle_of_a_call_comes_to_its_end() {
    let place = Place::new()
        .stdio("one", &[], "timeout_seconds = 3600")
        .lines("[server]\nshutdown_grace_seconds = 1");
    let mut client = place.client();
    super::begin(&mut client, "one_never", json!({}));
    place.event("one", "the call", |event| event["params"]["name"] == "never");
    signal(&client, "-TERM");
    wait_for_end(&mut client);
    gone("a server in the middle of a call", &place.starts("one"));
}

#[test]
fn sessions_over_http_are_given_back_at_the_end() {
    let place = Place::new();
    let remote = Remote::start(&place, "remote", &["--era", "initialize"]);
    let place = place.http("remote", &remote.url, "");
    let mut client = place.connect(Wire::Stdio(super::INITIALIZE));
    echoes(&mut client, "remote");
    signal(&client, "-TERM");
    wait_for_end(&mut client);
    place.event("remote", "the session is given back", |event| event["event"] == "session deleted");
}
