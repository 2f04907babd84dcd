//! Connections that only take up room, on both listeners.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::json;

use super::{Desk, delete_in_background, settings};
use crate::harness::{HttpServer, PATIENCE, Setup, data};

const HALF_A_HEAD: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
const HALF_A_BODY: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
    Content-Length: 1000\r\n\r\n{";
const HALF_AN_ANSWER: &str =
    "POST /api/webhook/answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{";

fn mcp(server: &HttpServer) -> &str {
    server.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap()
}

/// More connections than a listener holds, each with half a request.
fn crowd(address: &str, number: usize) -> Vec<TcpStream> {
    let halves = ["", HALF_A_HEAD, HALF_A_BODY, HALF_AN_ANSWER];
    let each = halves.iter().cycle().take(number);
    each.map(|half| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(half.as_bytes()).unwrap();
        stream
    })
    .collect()
}

fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut told = Vec::new();
    match stream.read_to_end(&mut told) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn a_crowd_on_both_listeners_does_not_stop_an_approval() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")).asking());
    let mut client = desk.client();
    let item = client.new_item("one");
    let mut held = (crowd(mcp(&desk.server), 1400), crowd(&desk.address, 200));
    let deleting = delete_in_background(client, item);
    let id = desk.waiting()["id"].as_str().unwrap().to_owned();
    held.1.extend(crowd(&desk.address, 200));
    let approved = desk.post(&format!("/api/v1/approvals/{id}/approve"), &json!({}));
    assert_eq!(approved.status, 200, "{}", approved.body);
    assert_eq!(deleting.join().unwrap()["success"], true);
    // Some are answered at once, such as those without a key. Of the others, the first had to make room.
    for (number, stream) in held.0.iter_mut().take(100).chain(held.1.iter_mut().take(100)).enumerate() {
        assert!(is_closed(stream), "{number}");
    }
}

#[test]
fn half_a_request_to_the_operator_is_closed_after_a_while() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    let halves = ["", HALF_A_HEAD, HALF_AN_ANSWER, "GET /api/blocks HTTP/1.1\r\nHost: localhost\r\n\r\n"];
    let streams = halves.map(|half| {
        let mut stream = TcpStream::connect(&desk.address).unwrap();
        stream.write_all(half.as_bytes()).unwrap();
        stream
    });
    for (mut stream, half) in streams.into_iter().zip(halves) {
        assert!(is_closed(&mut stream), "{half}");
    }
    assert_eq!(desk.get("/api/v1/blocks").status, 200);
}
