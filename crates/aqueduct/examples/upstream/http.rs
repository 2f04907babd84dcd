//! The server over streamable HTTP: a connection for each request, written by hand so that it can also be broken.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

use serde_json::{Map, Value, json};

use crate::{
    protocol::{self, From, Out},
    state::State,
};

struct Request {
    method: String,
    headers: Map<String, Value>,
    body: Vec<u8>,
}

impl Request {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let method = line.split(' ').next()?.to_owned();
        let mut headers = Map::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), json!(value.trim()));
        }
        let length =
            headers.get("content-length").and_then(|value| value.as_str()?.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { method, headers, body })
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(Value::as_str)
    }
}

/// An answer: one JSON document, or a stream of messages.
struct Answer {
    stream: TcpStream,
    sse: bool,
    session: Option<String>,
    /// Lines of headers that the tests want to see.
    more_headers: String,
    begun: AtomicBool,
    writing: Mutex<()>,
}

impl Answer {
    fn write(&self, bytes: &[u8]) {
        // A client that is gone needs no answer.
        let _ = (&self.stream).write_all(bytes).and_then(|()| (&self.stream).flush());
    }

    fn head(&self, status: &str, content_type: &str, length: Option<usize>) {
        let mut head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: {content_type}\r\n");
        if let Some(session) = &self.session {
            head.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
        }
        head.push_str(&self.more_headers);
        if let Some(length) = length {
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        self.write(format!("{head}\r\n").as_bytes());
    }

    fn begin_stream(&self) {
        if !self.begun.swap(true, Ordering::SeqCst) {
            self.head("200 OK", "text/event-stream", None);
        }
    }

    /// The next message of a stream, or the only one.
    fn deliver(&self, status: &str, bytes: &[u8]) {
        let _guard = self.writing.lock().unwrap();
        if self.sse {
            self.begin_stream();
            self.write(b"data: ");
            self.write(bytes);
            self.write(b"\n\n");
        } else if !self.begun.swap(true, Ordering::SeqCst) {
            self.head(status, "application/json", Some(bytes.len()));
            self.write(bytes);
        }
    }

    fn refuse(&self, status: &str, body: &str) {
        self.head(status, "application/json", Some(body.len()));
        self.write(body.as_bytes());
    }
}

impl Out for Answer {
    fn send(&self, message: &Value) {
        // An error of the protocol comes with an HTTP error.
        let status = match message["error"]["code"].as_i64() {
            Some(-32601) => "404 Not Found",
            Some(-32600 | -32020) => "400 Bad Request",
            _ => "200 OK",
        };
        self.deliver(status, message.to_string().as_bytes());
    }

    fn raw(&self, bytes: &[u8]) {
        self.deliver("200 OK", bytes.strip_suffix(b"\n").unwrap_or(bytes));
    }

    fn pour(&self, bytes: &[u8]) {
        if !self.begun.load(Ordering::SeqCst) {
            self.begin_stream();
            self.write(b"data: ");
        }
        self.write(bytes);
    }

    fn is_closed(&self) -> bool {
        let mut byte = [0];
        self.stream.set_nonblocking(true).unwrap();
        let peeked = self.stream.peek(&mut byte);
        self.stream.set_nonblocking(false).unwrap();
        match peeked {
            Ok(read) => read == 0,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        }
    }
}

pub(crate) fn serve(state: &Arc<State>, address: &str) {
    let listener = TcpListener::bind(address).unwrap();
    println!("listening on {}", listener.local_addr().unwrap());
    // Whoever started it and is gone has closed the input.
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(0);
    });
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let state = Arc::clone(state);
        std::thread::spawn(move || answer(&state, stream));
    }
}

/// What the request lacks, as status and words.
fn lacks(state: &State, request: &Request, message: &Value) -> Option<(String, String)> {
    if let Some(file) = &state.flags.bearer {
        let wanted = format!("Bearer {}", std::fs::read_to_string(file).unwrap().trim());
        if request.header("authorization") != Some(wanted.as_str()) {
            return Some(("401 Unauthorized".to_owned(), "{\"error\":\"invalid_token\"}".to_owned()));
        }
    }
    if state.take("forget").is_some() {
        state.sessions.lock().unwrap().clear();
    }
    let bad = |why: &str| {
        let body = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": format!("Bad Request: {why}")}});
        Some(("400 Bad Request".to_owned(), body.to_string()))
    };
    if protocol::is_self_contained(message) {
        let told = [("mcp-protocol-version", &json!("2026-07-28")), ("mcp-method", &message["method"])];
        let wrong = told.iter().find(|(name, value)| request.header(name) != value.as_str());
        if let Some((name, _)) = wrong {
            return bad(&format!("the header {name} does not fit"));
        }
        let name = &message["params"]["name"];
        if message["method"] == "tools/call" && request.header("mcp-name") != name.as_str() {
            return bad("the header mcp-name does not fit");
        }
        return None;
    }
    if message["method"] == "initialize" {
        return None;
    }
    match request.header("mcp-session-id") {
        None => bad("Mcp-Session-Id header is required"),
        Some(given) if !state.sessions.lock().unwrap().contains(given) => {
            let status = if state.flags.lost_status == 404 { "404 Not Found" } else { "400 Bad Request" };
            let body = json!({"jsonrpc": "2.0", "id": null,
                              "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"}});
            Some((status.to_owned(), body.to_string()))
        }
        Some(_) if request.header("mcp-protocol-version").is_none() => bad("no protocol version"),
        Some(_) => None,
    }
}

fn answer(state: &Arc<State>, stream: TcpStream) {
    static SESSIONS: AtomicU64 = AtomicU64::new(1);
    let Some(request) = Request::read(&stream) else { return };
    let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let wants_progress = !message["params"]["_meta"]["progressToken"].is_null();
    let mut answer = Answer {
        stream,
        sse: state.flags.sse || wants_progress,
        session: None,
        more_headers: String::new(),
        begun: AtomicBool::new(false),
        writing: Mutex::default(),
    };
    if let Some((status, body)) = lacks(state, &request, &message) {
        state.note("refused", json!({"status": status, "method": message["method"], "verb": request.method}));
        return answer.refuse(&status, &body);
    }
    // A status and headers for the next call: what a server says that is asked too much.
    if message["method"] == "tools/call"
        && let Some(said) = state.take("pressure")
    {
        let (status, headers) = said.split_once('\n').unwrap_or((&said, ""));
        answer.more_headers = headers.lines().map(|line| format!("{line}\r\n")).collect();
        if !status.starts_with("200") {
            state.note(
                "refused",
                json!({"status": status, "method": message["method"], "verb": request.method}),
            );
            return answer.refuse(status, "{}");
        }
    }
    match request.method.as_str() {
        "GET" => return listen(state, &answer),
        "DELETE" => {
            let session = request.header("mcp-session-id").unwrap_or_default();
            state.sessions.lock().unwrap().remove(session);
            state.note("session deleted", json!({"session": session}));
            return answer.refuse("200 OK", "");
        }
        "POST" => {}
        _ => return answer.refuse("405 Method Not Allowed", ""),
    }
    let mut session = request.header("mcp-session-id").map(str::to_owned);
    if message["method"] == "initialize" && state.flags.era.as_deref() != Some("discover") {
        let new = format!("s{}-{}", std::process::id(), SESSIONS.fetch_add(1, Ordering::SeqCst));
        state.sessions.lock().unwrap().insert(new.clone());
        answer.session = Some(new.clone());
        session = Some(new);
    }
    let from = From { session, headers: Value::Object(request.headers) };
    if message.get("id").is_none() {
        protocol::handle(state, &message, &from, &answer);
        return answer.refuse("202 Accepted", "");
    }
    if answer.sse {
        answer.begin_stream();
    }
    let silent = state.flags.silent.iter().any(|method| message["method"] == method.as_str());
    protocol::announce(state, &message, &from);
    protocol::handle(state, &message, &from, &answer);
    while silent && !answer.is_closed() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The stream of messages that answer nothing.
fn listen(state: &State, answer: &Answer) {
    let (listener, told) = mpsc::channel::<Value>();
    state.listeners.lock().unwrap().push(listener);
    answer.begin_stream();
    state.note("listening", json!({}));
    while !answer.is_closed() {
        if let Ok(message) = told.recv_timeout(Duration::from_millis(50)) {
            answer.write(format!("data: {message}\n\n").as_bytes());
        }
    }
}
