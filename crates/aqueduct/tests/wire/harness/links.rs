//! The two transports, with nothing between a test and the bytes.

use std::{
    io::{BufRead, BufReader, Write},
    process::{ChildStdin, Command},
    sync::{Arc, LazyLock, Mutex, mpsc},
    time::Duration,
};

use serde_json::{Map, Value};

use super::process::{PATIENCE, Process};

pub(crate) enum Link {
    Stdio(StdioLink),
    Http(HttpLink),
}

pub(crate) struct StdioLink {
    pub(crate) process: Process,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) lines: mpsc::Receiver<String>,
    /// Everything that was ever written to the client.
    pub(crate) heard: Arc<Mutex<String>>,
    /// Answers that came before they were asked for.
    pub(crate) early: Vec<Value>,
    pub(crate) notifications: Vec<Value>,
}

pub(crate) struct HttpLink {
    pub(crate) server: Arc<HttpServer>,
    pub(crate) session: Option<String>,
    pub(crate) notifications: Vec<Value>,
}

/// A server over HTTP that several clients can use.
pub(crate) struct HttpServer {
    pub(crate) process: Mutex<Process>,
    pub(crate) url: String,
    pub(crate) welcome: String,
}

impl StdioLink {
    /// Starts whatever speaks MCP on its standard input and output.
    pub(crate) fn start(command: Command) -> Self {
        let mut process = Process::start(command);
        let out = BufReader::new(process.child.stdout.take().unwrap());
        let stdin = process.child.stdin.take();
        let (sender, lines) = mpsc::channel();
        let heard = Arc::new(Mutex::new(String::new()));
        let hears = Arc::clone(&heard);
        std::thread::spawn(move || {
            for line in out.lines() {
                let Ok(line) = line else { break };
                hears.lock().unwrap().push_str(&line);
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { process, stdin, lines, heard, early: Vec::new(), notifications: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        assert!(self.try_send(bytes), "the server takes nothing any more");
    }

    /// Sends a frame if somebody still takes it.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> bool {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).and_then(|()| stdin.write_all(b"\n")).and_then(|()| stdin.flush()).is_ok()
    }

    /// The next message, or nothing if none will come any more.
    pub(crate) fn try_next(&mut self) -> Option<Value> {
        let line = self.lines.recv_timeout(PATIENCE).ok()?;
        // A kill may cut the last line short.
        serde_json::from_str(&line).ok()
    }

    /// The next message, whatever it is.
    pub(crate) fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            panic!("no answer; standard error:\n{}", self.process.stderr.lock().unwrap())
        });
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"))
    }

    /// The answer to a request; notifications are kept, other answers too.
    pub(crate) fn answer(&mut self, id: &Value) -> Value {
        if let Some(place) = self.early.iter().position(|message| &message["id"] == id) {
            return self.early.remove(place);
        }
        loop {
            let message = self.next();
            if message.get("method").is_some() {
                self.notifications.push(message);
            } else if &message["id"] == id {
                return message;
            } else {
                self.early.push(message);
            }
        }
    }

    /// Whether a message comes within the time.
    pub(crate) fn next_within(&mut self, time: Duration) -> Option<Value> {
        self.lines.recv_timeout(time).ok().map(|line| serde_json::from_str(&line).unwrap())
    }
}

/// An HTTP answer, read whole.
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Map<String, Value>,
    pub(crate) body: String,
}

impl HttpAnswer {
    /// The messages in it, whether it is one or a stream of them.
    pub(crate) fn messages(&self) -> Vec<Value> {
        if let Ok(message) = serde_json::from_str(&self.body) {
            return vec![message];
        }
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
        data.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
    }
}

/// One request a connection, and every status is an answer.
pub(crate) static AGENT: LazyLock<ureq::Agent> = LazyLock::new(|| {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(PATIENCE))
        .max_idle_connections(0)
        .build()
        .into()
});

impl HttpServer {
    pub(crate) fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> HttpAnswer {
        let mut request = AGENT
            .post(&self.url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        read(request.send(body))
    }

    pub(crate) fn delete(&self, headers: &[(&str, &str)]) -> HttpAnswer {
        let mut request = AGENT.delete(&self.url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        read(request.call())
    }

    pub(crate) fn get(&self, headers: &[(&str, &str)]) -> HttpAnswer {
        let mut request = AGENT.get(&self.url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        read(request.call())
    }
}

fn read(answer: Result<http::Response<ureq::Body>, ureq::Error>) -> HttpAnswer {
    let mut answer = answer.unwrap();
    let headers = answer
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), Value::from(value.to_str().unwrap_or_default())))
        .collect();
    let status = answer.status().as_u16();
    let body = answer.body_mut().with_config().limit(200_000_000).read_to_string().unwrap();
    HttpAnswer { status, headers, body }
}
