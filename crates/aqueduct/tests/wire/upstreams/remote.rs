//! Servers over HTTP: sessions that get lost, servers that go and come back, answers that are none.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use super::{CLIENTS, Place, Remote, call, echoes, refused, wait_until};

/// Servers forget sessions, and say so with 404 as they should, or with 400 as many do.
#[test]
fn a_lost_session_is_opened_again_unnoticed() {
    for status in ["404", "400"] {
        for wire in CLIENTS {
            let place = Place::new();
            let remote = Remote::start(&place, "one", &["--era", "initialize", "--lost-status", status]);
            let place = place.http("one", &remote.url, "");
            let mut client = place.connect(wire);
            echoes(&mut client, "one");
            for round in 2..4 {
                std::fs::write(place.state("one").join("forget"), "").unwrap();
                // A look at the tools may meet the lost session first; no call ever does.
                wait_until(&format!("session {round} with {status} over {wire:?}"), || {
                    echoes(&mut client, "one");
                    let opening =
                        |event: &Value| event["event"] == "received" && event["method"] == "initialize";
                    (place.count("one", opening) >= round).then_some(())
                });
            }
        }
    }
}

#[test]
fn a_server_that_was_restarted_is_used_again_unnoticed() {
    for era in ["initialize", "discover"] {
        let place = Place::new();
        let remote = Remote::start(&place, "one", &["--era", era]);
        let place = place.http("one", &remote.url, "");
        let mut client = place.client();
        echoes(&mut client, "one");
        let address = remote.kill();
        let _again = Remote::start_on(&place, "one", &address, &["--era", era]);
        echoes(&mut client, "one");
    }
}

#[test]
fn a_server_that_is_down_is_named_and_used_when_it_is_back() {
    for era in ["initialize", "discover"] {
        let place = Place::new();
        let remote = Remote::start(&place, "one", &["--era", era]);
        let place = place.http("one", &remote.url, "").stdio("other", &[], "");
        let mut client = place.client();
        echoes(&mut client, "one");
        let address = remote.kill();
        for _ in 0..10 {
            let error = refused(&mut client, "one_echo", json!({"text": "x"}));
            assert_eq!(error["code"], "INTERNAL_UNAVAILABLE", "{error}");
            let why = error["details"]["upstream_error"]["message"].as_str().unwrap();
            assert!(why.contains("no connection could be made"), "{error}");
        }
        echoes(&mut client, "other");
        let _again = Remote::start_on(&place, "one", &address, &["--era", era]);
        wait_until("it is back", || {
            (call(&mut client, "one_echo", json!({"text": "x"}))["success"] == true).then_some(())
        });
    }
}

/// A call during which the server dies is told at once, and not made twice.
#[test]
fn a_server_that_dies_in_the_middle_of_a_call_is_told() {
    for (era, flag) in
        [("initialize", "--sse"), ("initialize", "--plain"), ("discover", "--sse"), ("discover", "--plain")]
    {
        let place = Place::new();
        let remote = Remote::start(&place, "one", &["--era", era, flag]);
        let place = place.http("one", &remote.url, "timeout_seconds = 3600");
        let mut client = place.client();
        echoes(&mut client, "one");
        let error = refused(&mut client, "one_die", json!({}));
        assert_eq!(error["code"], "INTERNAL_UNAVAILABLE", "{era} {flag}: {error}");
        assert_eq!(place.count("one", |event| event["params"]["name"] == "die"), 1, "{era} {flag}");
        let _again = Remote::start_on(&place, "one", &remote.address, &["--era", era]);
        wait_until("it is back", || {
            (call(&mut client, "one_echo", json!({"text": "x"}))["success"] == true).then_some(())
        });
    }
}

/// Answers every request with the same bytes, and keeps what it was sent.
fn parrot(answer: &'static str) -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let heard = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut bytes = [0; 8192];
            let read = stream.read(&mut bytes).unwrap_or(0);
            kept.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..read]));
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (format!("http://{address}/mcp"), heard)
}

/// What is no MCP server is named for what it is, and its tools are missing; everything else is there.
#[test]
fn addresses_that_lead_elsewhere_are_explained() {
    let (target, heard) = parrot("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let moved: &'static str = Box::leak(
        format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_boxed_str(),
    );
    for (answer, words) in [
        (moved, "redirects elsewhere"),
        (
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "check the path in 'url'",
        ),
        ("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "wants a credential"),
        ("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnope", "HTTP 403): nope"),
        (
            "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "takes no POST",
        ),
        (
            "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 13\r\nConnection: close\r\n\r\n<html></html>",
            "HTTP 502",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\nConnection: close\r\n\r\n<html></html>",
            "before the result",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\nConnection: close\r\n\r\n{",
            "more than",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {}\n\n",
            "before the result",
        ),
        ("SSH-2.0-OpenSSH_9.6\r\n", "one"),
    ] {
        let (url, _heard) = parrot(answer);
        let place = Place::new().http("one", &url, "bearer_env = \"ONE_TOKEN\"").stdio("other", &[], "");
        let mut client = place.setup().env("ONE_TOKEN", "tok-1234567890").connect(CLIENTS[0]);
        let told = client.stdio().process.stderr_with("an upstream could not be reached");
        assert!(told.contains(words), "'{words}' is not in {told}");
        assert!(!told.contains("tok-1234567890"), "{told}");
        echoes(&mut client, "other");
    }
    assert_eq!(*heard.lock().unwrap(), "", "a redirect was followed, with the token");
}

/// What the stream says beside the answer does no harm.
#[test]
fn a_stream_may_hold_more_than_the_answer() {
    let place = Place::new();
    let remote = Remote::start(&place, "one", &["--era", "discover", "--sse"]);
    let place = place.http("one", &remote.url, "");
    let mut client = place.client();
    for (tool, data) in [("one_twice", "a"), ("one_wrong_id", "b")] {
        let answer: Value = call(&mut client, tool, json!({"text": data}));
        assert_eq!(answer["data"], data, "{tool}: {answer}");
    }
    echoes(&mut client, "one");
}
