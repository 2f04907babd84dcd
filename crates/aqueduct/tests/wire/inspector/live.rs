//! Live events over HTTP.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

use super::*;
use crate::{
    harness::{PATIENCE, Setup, data},
    operator::{Desk, settings},
};

/// A stream of events, read line by line.
struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(desk: &Desk, path: &str, header: &str) -> Self {
        let mut stream = TcpStream::connect(&desk.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (host, key) = (&desk.address, &desk.key);
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n{header}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut stream = Self(BufReader::new(stream));
        let status = stream.line();
        assert!(status.starts_with("HTTP/1.1 200"), "{status}");
        while stream.line() != "retry: 2000" {}
        stream
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
        line.trim_end().to_owned()
    }

    /// The number, the name and the data of the next event.
    fn event(&mut self) -> (i64, String, Value) {
        let (mut id, mut name) = (0, String::new());
        loop {
            let line = self.line();
            if let Some(text) = line.strip_prefix("id: ") {
                id = text.parse().unwrap();
            } else if let Some(text) = line.strip_prefix("event: ") {
                name = text.to_owned();
            } else if let Some(text) = line.strip_prefix("data: ") {
                return (id, name, serde_json::from_str(text).unwrap());
            }
        }
    }
}

#[test]
fn events_of_another_process_come_at_once_and_a_stream_goes_on_where_it_was_cut() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    let mut appender = writer(directory.path());
    appender.append(&events(0..3), now()).unwrap();
    let mut fresh = Stream::open(&desk, "/api/v1/events", "");
    appender.append(&events([7]), now()).unwrap();
    let (id, name, data) = fresh.event();
    assert_eq!((id, name.as_str(), &data["number"]), (4, "McpRequestStarted", &json!(7)), "only what is new");
    for (key, value) in [
        ("session_id", json!("r-1")),
        ("trace_id", json!(trace_id(1))),
        ("span_id", json!("0505050505050505")),
        ("method", json!("tools/call")),
        ("direction", json!("inbound")),
    ] {
        assert_eq!(data[key], value, "{key}");
    }
    assert!(data["at_us"].is_i64());
    drop(fresh);
    appender.append(&events([8, 9]), now()).unwrap();
    let mut resumed = Stream::open(&desk, "/api/v1/events?after=1", "Last-Event-ID: 4\r\n");
    assert_eq!([resumed.event().0, resumed.event().0], [5, 6], "nothing is lost and nothing comes twice");
    let mut all = Stream::open(&desk, "/api/v1/events?after=0", "");
    assert_eq!((1..=6).map(|_| all.event().0).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    let mut last = Stream::open(&desk, "/api/v1/events?after=-2", "");
    assert_eq!([last.event().0, last.event().0], [5, 6], "the last two");
    let mut more = Stream::open(&desk, "/api/v1/events?after=-9000", "");
    assert_eq!(more.event().0, 1, "no more than there are");
    appender.append(&events([10]), now()).unwrap();
    assert_eq!((resumed.event().0, all.event().0), (7, 7));
}

#[test]
fn streams_are_refused_with_a_wrong_number_or_without_the_key() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    let bearer = format!("Bearer {}", desk.key);
    let wrong = [("authorization", bearer.as_str()), ("last-event-id", "soon")];
    assert_eq!(desk.send("GET", "/api/v1/events", &wrong, b"").status, 400);
    assert_eq!(desk.get("/api/v1/events?after=x").status, 400);
    assert_eq!(desk.get("/api/v1/events?since=1").status, 400);
    assert_eq!(desk.send("GET", "/api/v1/events", &[], b"").status, 401);
}
