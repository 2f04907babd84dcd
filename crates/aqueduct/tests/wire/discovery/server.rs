//! A small MCP server over HTTP that notes everything it is asked.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

/// A server of the era of `initialize`, whose list comes in pages of two tools.
pub(super) struct Server {
    pub(super) url: String,
    state: Arc<State>,
}

struct State {
    tools: Mutex<Vec<Value>>,
    asked: Mutex<Vec<Asked>>,
}

#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) authorization: Option<String>,
}

impl Server {
    pub(super) fn start(tools: Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let state = Arc::new(State { tools: Mutex::default(), asked: Mutex::default() });
        let server = Self { url, state: Arc::clone(&state) };
        server.offer(tools);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&state);
                std::thread::spawn(move || serve(&state, &stream));
            }
        });
        server
    }

    pub(super) fn offer(&self, tools: Value) {
        let Value::Array(tools) = tools else { panic!("no list") };
        *self.state.tools.lock().unwrap() = tools;
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    pub(super) fn methods(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.method).collect()
    }
}

fn serve(state: &State, stream: &TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream.try_clone().unwrap();
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let (mut length, mut authorization) = (0, None);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').unwrap();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap(),
                "authorization" => authorization = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let (status, answer) = match first.split(' ').next() {
            Some("POST") => answer(state, &serde_json::from_slice(&body).unwrap(), authorization),
            _ => ("405 Method Not Allowed", None),
        };
        let text = answer.map(|answer| answer.to_string()).unwrap_or_default();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            text.len()
        );
        if writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(text.as_bytes())).is_err() {
            return;
        }
    }
}

fn answer(state: &State, frame: &Value, authorization: Option<String>) -> (&'static str, Option<Value>) {
    let method = frame["method"].as_str().unwrap_or_default().to_owned();
    let params = frame["params"].clone();
    state.asked.lock().unwrap().push(Asked { method: method.clone(), params: params.clone(), authorization });
    if frame.get("id").is_none() {
        return ("202 Accepted", None);
    }
    let result = match method.as_str() {
        "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "sample-server", "version": "7.1"}}),
        "tools/list" => {
            let tools = state.tools.lock().unwrap();
            let from: usize = params["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
            let page: Vec<&Value> = tools.iter().skip(from).take(2).collect();
            let mut result = json!({"tools": page, "_meta": {"page": from}});
            if from + 2 < tools.len() {
                result["nextCursor"] = json!((from + 2).to_string());
            }
            result
        }
        "tools/call" => json!({"content": [{"type": "text", "text": json!({"called": params}).to_string()}]}),
        "ping" => json!({}),
        _ => {
            let error = json!({"code": -32601, "message": "unknown"});
            return ("200 OK", Some(json!({"jsonrpc": "2.0", "id": frame["id"], "error": error})));
        }
    };
    ("200 OK", Some(json!({"jsonrpc": "2.0", "id": frame["id"], "result": result})))
}
