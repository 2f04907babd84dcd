//! The operator's side with the real binary: who is let in, who answers, and what nobody else ever sees.

mod access;
mod asked;
mod command;
mod crowd;
mod webhooks;

use std::{path::Path, process::Output, sync::Arc};

use serde_json::{Value, json};

use crate::harness::{AGENT, Client, Era, HttpServer, PATIENCE, Setup, aqueduct, command as base, pause};

/// A server with a listener for the operator, and somebody who has the key.
pub(crate) struct Desk {
    pub(crate) server: Arc<HttpServer>,
    pub(crate) address: String,
    pub(crate) key: String,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Value,
}

/// No desktop and a free port; `more` goes before the tables of webhooks.
pub(crate) fn settings(more: &str) -> String {
    format!("[operator]\nhttp = '127.0.0.1:0'\ndialog = false\n{more}")
}

pub(crate) fn data_of(directory: &Path) -> std::path::PathBuf {
    directory.join("data")
}

pub(crate) fn key_of(directory: &Path) -> String {
    std::fs::read_to_string(data_of(directory).join("operator.key")).unwrap().trim().to_owned()
}

/// Where the welcome says that the operator's listener is.
pub(crate) fn address(welcome: &str) -> String {
    let line = welcome.lines().find_map(|line| line.trim().strip_prefix("Operator")).unwrap();
    let url = line.split_whitespace().next().unwrap();
    url.strip_prefix("http://")
        .unwrap_or_else(|| panic!("no address: {line}"))
        .trim_end_matches('/')
        .to_owned()
}

impl Desk {
    pub(crate) fn open(setup: &Setup) -> Self {
        let server = setup.http();
        let address = address(&server.welcome);
        Self { address, key: key_of(&setup.directory), server }
    }

    pub(crate) fn client(&self) -> Client {
        Client::http(Arc::clone(&self.server), Era::Initialize("2025-06-18"))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[("authorization", &format!("Bearer {}", self.key))], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {}", self.key);
        self.send("POST", path, &[("authorization", &bearer)], body.to_string().as_bytes())
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        send(&self.address, method, path, headers, body)
    }

    /// The first call that waits.
    pub(crate) fn waiting(&self) -> Value {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            let answer = self.get("/api/v1/approvals?state=pending");
            assert_eq!(answer.status, 200, "{}", answer.body);
            if let Some(first) = answer.body["approvals"].as_array().and_then(|all| all.first()) {
                return first.clone();
            }
            assert!(std::time::Instant::now() < deadline, "nothing waits");
            pause();
        }
    }
}

pub(crate) fn send(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut request = http::Request::builder().method(method).uri(format!("http://{address}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut answer = AGENT.run(request.body(body.to_vec()).unwrap()).unwrap();
    let text = answer.body_mut().with_config().limit(100_000_000).read_to_string().unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Answer { status: answer.status().as_u16(), headers: answer.headers().clone(), body }
}

/// What is answered as it came.
pub(crate) struct Bytes {
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Asks without reading what is answered.
pub(crate) fn bytes(address: &str, path: &str, headers: &[(&str, &str)]) -> Bytes {
    let mut request = http::Request::builder().uri(format!("http://{address}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut answer = AGENT.run(request.body(()).unwrap()).unwrap();
    let body = answer.body_mut().with_config().limit(100_000_000).read_to_vec().unwrap();
    Bytes { headers: answer.headers().clone(), body }
}

/// Runs `aqueduct operator` on the data of a test.
pub(crate) fn operator(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = base(&aqueduct(), directory);
    command.env("AQUEDUCT_DATA", data_of(directory)).env("USER", "alice");
    command.arg("operator").args(arguments).output().unwrap()
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.clone(), output.stderr.clone()].concat()).into_owned()
}

/// Deletes an entity in the background; what came of it.
pub(crate) fn delete_in_background(mut client: Client, id: String) -> std::thread::JoinHandle<Value> {
    std::thread::spawn(move || client.delete("delete_entity", json!({"entity_id": id})))
}
