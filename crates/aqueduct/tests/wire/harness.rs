//! Servers as processes and clients as raw JSON-RPC, over stdio and HTTP, in both eras of the protocol.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, LazyLock, Mutex, mpsc},
    time::Duration,
};

use serde_json::{Map, Value, json};

/// Longer than anything here takes; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A data directory that goes when the test ends.
pub(crate) fn data() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) fn aqueduct() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_aqueduct"))
}

/// The example of this package that the build puts beside the binary.
pub(crate) fn fixture() -> PathBuf {
    aqueduct().parent().unwrap().join("examples/fixture")
}

/// A command that sees nothing of the environment's own configuration.
pub(crate) fn command(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("AQUEDUCT_") || name.starts_with("MCP_") {
            command.env_remove(name);
        }
    }
    command
        .current_dir(directory)
        .env("XDG_DATA_HOME", directory.join("data-home"))
        .env("XDG_CONFIG_HOME", directory.join("config-home"))
        .env("HOME", directory)
        .env("RUST_BACKTRACE", "0")
        .env_remove("RUST_LOG");
    command
}

/// A process that is killed when the test lets go of it.
pub(crate) struct Process {
    pub(crate) child: Child,
    stderr: Arc<Mutex<String>>,
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stderr = Arc::new(Mutex::new(String::new()));
        let mut pipe = child.stderr.take().unwrap();
        let kept = Arc::clone(&stderr);
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = pipe.read(&mut chunk) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&chunk[..read]));
            }
        });
        Self { child, stderr }
    }

    /// What the process has written to standard error, once it holds `needle`.
    pub(crate) fn stderr_with(&self, needle: &str) -> String {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            let text = self.stderr.lock().unwrap().clone();
            if text.contains(needle) {
                return text;
            }
            assert!(std::time::Instant::now() < deadline, "no '{needle}' in:\n{text}");
            pause();
        }
    }

    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(std::time::Instant::now() < deadline, "the process does not end");
            pause();
        }
    }

    /// Sends a signal by name, as a person or a supervisor would.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a test that polls another process has nothing to await")]
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_millis(5));
}

#[expect(clippy::disallowed_methods, reason = "the other process has to be given this time")]
pub(crate) fn wait_for(duration: Duration) {
    std::thread::sleep(duration);
}

/// How a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// `initialize` with this version, then sessions.
    Initialize(&'static str),
    /// 2026-07-28: every request says everything itself.
    Stateless,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Stdio(Era),
    Http(Era),
}

/// Every way a client of today can reach us.
pub(crate) const WIRES: [Wire; 6] = [
    Wire::Stdio(Era::Initialize("2025-06-18")),
    Wire::Stdio(Era::Initialize("2025-11-25")),
    Wire::Stdio(Era::Stateless),
    Wire::Http(Era::Initialize("2025-06-18")),
    Wire::Http(Era::Initialize("2025-11-25")),
    Wire::Http(Era::Stateless),
];

pub(crate) fn stateless_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    })
}

/// A connected client and, if it started one, its server.
pub(crate) struct Client {
    pub(crate) link: Link,
    era: Era,
    next_id: u64,
    /// The operations' own answer schemas, made from the code.
    schemas: Arc<Schemas>,
}

pub(crate) enum Link {
    Stdio(StdioLink),
    Http(HttpLink),
}

pub(crate) struct StdioLink {
    pub(crate) process: Process,
    pub(crate) stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    /// Answers that came before they were asked for.
    early: Vec<Value>,
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

/// What a test starts: a program, its arguments, a configuration file.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) config: String,
    pub(crate) directory: PathBuf,
}

impl Setup {
    pub(crate) fn new(directory: &Path) -> Self {
        Self {
            program: aqueduct(),
            arguments: Vec::new(),
            environment: Vec::new(),
            config: String::new(),
            directory: directory.to_owned(),
        }
    }

    pub(crate) fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn config(mut self, text: &str) -> Self {
        self.config = text.to_owned();
        self
    }

    pub(crate) fn command(&self, transport: &[&str]) -> Command {
        let mut command = command(&self.program, &self.directory);
        command.envs(self.environment.iter().cloned());
        if self.program == aqueduct() {
            command.arg("serve").args(transport).env("AQUEDUCT_DATA", self.directory.join("data"));
            if !self.config.is_empty() {
                let file = self.directory.join(format!("config-{}.toml", self.config.len()));
                std::fs::write(&file, &self.config).unwrap();
                command.arg("--config").arg(file);
            }
            command.args(&self.arguments);
        }
        command
    }

    pub(crate) fn http(&self) -> Arc<HttpServer> {
        if self.program != aqueduct() {
            return self.http_of_fixture();
        }
        let mut process = Process::start(self.command(&["--http", "127.0.0.1:0"]));
        let mut out = BufReader::new(process.child.stdout.take().unwrap());
        let mut welcome = String::new();
        let url = loop {
            let mut line = String::new();
            let read = out.read_line(&mut line).unwrap();
            assert!(read > 0, "no address in:\n{welcome}\n{}", process.stderr.lock().unwrap());
            welcome.push_str(&line);
            if let Some(url) = line.trim().strip_prefix("MCP ") {
                break url.trim().to_owned();
            }
        };
        while !welcome.contains("Ctrl-C") && out.read_line(&mut welcome).unwrap() > 0 {}
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        Arc::new(HttpServer { process: Mutex::new(process), url, welcome })
    }

    /// The fixture says nothing, so a free port is found first and its server waited for.
    fn http_of_fixture(&self) -> Arc<HttpServer> {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let mut command = self.command(&[]);
        command.arg(address.to_string());
        let process = Process::start(command);
        while std::net::TcpStream::connect(address).is_err() {
            pause();
        }
        let url = format!("http://{address}/mcp");
        Arc::new(HttpServer { process: Mutex::new(process), url, welcome: String::new() })
    }

    pub(crate) fn connect(&self, wire: Wire) -> Client {
        match wire {
            Wire::Stdio(era) => self.stdio(era),
            Wire::Http(era) => Client::http(self.http(), era),
        }
    }

    /// A stdio server that nobody has greeted yet.
    pub(crate) fn stdio_link(&self) -> StdioLink {
        let mut process = Process::start(self.command(&["--stdio"]));
        let out = BufReader::new(process.child.stdout.take().unwrap());
        let stdin = process.child.stdin.take();
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        StdioLink { process, stdin, lines, early: Vec::new(), notifications: Vec::new() }
    }

    pub(crate) fn stdio(&self, era: Era) -> Client {
        let mut client =
            Client { link: Link::Stdio(self.stdio_link()), era, next_id: 1, schemas: Arc::clone(&SCHEMAS) };
        client.greet();
        client
    }
}

/// A setup of the fixture server.
pub(crate) fn fixture_setup(directory: &Path) -> Setup {
    Setup { program: fixture(), ..Setup::new(directory) }
}

impl StdioLink {
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

static AGENT: LazyLock<ureq::Agent> = LazyLock::new(|| {
    ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(PATIENCE)).build().into()
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

impl Client {
    pub(crate) fn http(server: Arc<HttpServer>, era: Era) -> Self {
        let link = Link::Http(HttpLink { server, session: None, notifications: Vec::new() });
        let mut client = Self { link, era, next_id: 1, schemas: Arc::clone(&SCHEMAS) };
        client.greet();
        client
    }

    fn greet(&mut self) {
        let Era::Initialize(version) = self.era else { return };
        let params = json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}
        });
        let answer = self.request("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        self.notify("notifications/initialized", json!({}));
    }

    pub(crate) fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// A request's frame, with everything its era wants in it.
    pub(crate) fn frame(&self, id: u64, method: &str, mut params: Value) -> Value {
        if self.era == Era::Stateless {
            let meta = params.as_object_mut().unwrap().entry("_meta").or_insert_with(|| json!({}));
            let Value::Object(extra) = stateless_meta() else { unreachable!() };
            meta.as_object_mut().unwrap().extend(extra);
        }
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.new_id();
        let frame = self.frame(id, method, params);
        self.send_frame(&frame)
    }

    /// Sends a whole frame and waits for its answer.
    pub(crate) fn send_frame(&mut self, frame: &Value) -> Value {
        self.send_bytes(
            &frame["id"],
            frame["method"].as_str().unwrap_or_default(),
            frame,
            frame.to_string().as_bytes(),
        )
    }

    /// Sends raw bytes that stand for a frame and waits for the answer with that id.
    pub(crate) fn send_bytes(&mut self, id: &Value, method: &str, frame: &Value, bytes: &[u8]) -> Value {
        let headers = self.headers(method, frame);
        match &mut self.link {
            Link::Stdio(link) => {
                link.send(bytes);
                link.answer(id)
            }
            Link::Http(link) => {
                let headers: Vec<(&str, &str)> =
                    headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
                let answer = link.server.post(&headers, bytes);
                if let Some(Value::String(session)) = answer.headers.get("mcp-session-id") {
                    link.session = Some(session.clone());
                }
                let (answers, others): (Vec<Value>, Vec<Value>) =
                    answer.messages().into_iter().partition(|message| message.get("method").is_none());
                link.notifications.extend(others);
                let found =
                    answers.into_iter().find(|message| &message["id"] == id || message["id"].is_null());
                found.unwrap_or_else(|| panic!("no answer to {id}: {} {}", answer.status, answer.body))
            }
        }
    }

    /// The headers that a client of this era sends with a request.
    pub(crate) fn headers(&self, method: &str, frame: &Value) -> Vec<(String, String)> {
        let Link::Http(link) = &self.link else { return Vec::new() };
        let mut headers = Vec::new();
        match self.era {
            Era::Initialize(version) => {
                if let Some(session) = &link.session {
                    headers.push(("mcp-session-id".to_owned(), session.clone()));
                    headers.push(("mcp-protocol-version".to_owned(), version.to_owned()));
                }
            }
            Era::Stateless => {
                headers.push(("mcp-protocol-version".to_owned(), "2026-07-28".to_owned()));
                headers.push(("mcp-method".to_owned(), method.to_owned()));
                if let Some(name) = frame["params"]["name"].as_str() {
                    headers.push(("mcp-name".to_owned(), name.to_owned()));
                }
                if let Some(operation) = frame["params"]["arguments"]["operation"].as_str() {
                    headers.push(("mcp-param-operation".to_owned(), operation.to_owned()));
                }
            }
        }
        headers
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        let frame = json!({"jsonrpc": "2.0", "method": method, "params": params});
        let headers = self.headers(method, &frame);
        match &mut self.link {
            Link::Stdio(link) => link.send(frame.to_string().as_bytes()),
            Link::Http(link) => {
                let headers: Vec<(&str, &str)> =
                    headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
                let answer = link.server.post(&headers, frame.to_string().as_bytes());
                assert!((200..300).contains(&answer.status), "{} {}", answer.status, answer.body);
            }
        }
    }

    pub(crate) fn notifications(&mut self) -> &mut Vec<Value> {
        match &mut self.link {
            Link::Stdio(link) => &mut link.notifications,
            Link::Http(link) => &mut link.notifications,
        }
    }

    /// A tool call's whole result.
    pub(crate) fn result(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        answer.get("result").cloned().unwrap_or_else(|| panic!("no result: {answer}"))
    }

    /// Calls a tool and gives the MCP-AQL answer, checked against every schema there is for it.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments.clone());
        answer_in(&result, &arguments, &self.schemas)
    }

    pub(crate) fn create(&mut self, operation: &str, params: Value) -> Value {
        self.call("mcp_aql_create", json!({"operation": operation, "params": params}))
    }

    pub(crate) fn read(&mut self, operation: &str, params: Value) -> Value {
        self.call("mcp_aql_read", json!({"operation": operation, "params": params}))
    }

    pub(crate) fn update(&mut self, operation: &str, params: Value) -> Value {
        self.call("mcp_aql_update", json!({"operation": operation, "params": params}))
    }

    pub(crate) fn delete(&mut self, operation: &str, params: Value) -> Value {
        self.call("mcp_aql_delete", json!({"operation": operation, "params": params}))
    }

    pub(crate) fn execute(&mut self, operation: &str, params: Value) -> Value {
        self.call("mcp_aql_execute", json!({"operation": operation, "params": params}))
    }

    pub(crate) fn introspect(&mut self, params: Value) -> Value {
        self.read("introspect", params)
    }

    /// A new entity of type item, and its id.
    pub(crate) fn new_item(&mut self, name: &str) -> String {
        let params = json!({"entity_name": name, "entity_type": "item", "description": "made by a test"});
        let answer = self.create("create_entity", params);
        answer["data"]["entity_id"].as_str().unwrap_or_else(|| panic!("not created: {answer}")).to_owned()
    }

    pub(crate) fn tool_names(&mut self) -> Vec<String> {
        let tools = self.request("tools/list", json!({}));
        let tools = tools["result"]["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn session_id(&mut self) -> String {
        let answer = self.introspect(json!({"query": "operations"}));
        answer["data"]["_protocol"]["session_id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn stdio(&mut self) -> &mut StdioLink {
        match &mut self.link {
            Link::Stdio(link) => link,
            Link::Http(_) => panic!("not over stdio"),
        }
    }
}

/// The MCP-AQL answer in a tool result. Whatever test asks for it, it is checked here.
pub(crate) fn answer_in(result: &Value, arguments: &Value, schemas: &Schemas) -> Value {
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{result}");
    assert_eq!(result["content"][0]["type"], "text");
    let text = result["content"][0]["text"].as_str().unwrap();
    let answer: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("no JSON: {text}"));
    schemas.check(&answer, arguments);
    if let Some(error) = answer.get("error") {
        let code = error["code"].as_str().unwrap();
        let unrecoverable = code.starts_with("INTERNAL_") || code == "INTROSPECTION_ERROR";
        assert_eq!(result["isError"], unrecoverable, "{answer}");
        no_leaks(error);
    } else {
        assert_eq!(result["isError"], false, "{answer}");
    }
    answer
}

/// REQ-ERR-07 and the published runner's own patterns, on every failure that any test sees.
fn no_leaks(error: &Value) {
    let message = error["message"].as_str().unwrap();
    let whole = error.to_string();
    for word in [
        "panicked",
        "unwrap",
        "serde",
        "TypeError",
        "ReferenceError",
        "SyntaxError",
        "backtrace",
        "/src/",
        "/home/",
        ".rs:",
    ] {
        assert!(!whole.contains(word), "'{word}' in {whole}");
    }
    let lower = message.to_lowercase();
    for (place, _) in lower.match_indices("at") {
        let rest = &lower[place + 2..];
        let looks_like_a_frame = rest.starts_with(char::is_whitespace) && !rest.trim_start().is_empty();
        assert!(!looks_like_a_frame, "'{message}' looks like a stack frame");
    }
    assert!(!message.contains("::"), "{message}");
}

/// Schemas that answers are held against.
pub(crate) struct Schemas {
    published: Option<Published>,
    own: std::collections::HashMap<String, jsonschema::Validator>,
}

struct Published {
    result: jsonschema::Validator,
    batch: jsonschema::Validator,
    introspection: jsonschema::Validator,
}

pub(crate) static SCHEMAS: LazyLock<Arc<Schemas>> = LazyLock::new(|| Arc::new(Schemas::load()));

/// The specification's files, where they lie beside the project.
pub(crate) fn spec_data() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec-data");
    folder.is_dir().then_some(folder)
}

impl Schemas {
    fn load() -> Self {
        let validator = |path: PathBuf| {
            let schema: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            jsonschema::validator_for(&schema).unwrap()
        };
        let published = spec_data().map(|folder| {
            let schema = |name: &str| validator(folder.join(format!("schemas/{name}.schema.json")));
            Published {
                result: schema("operation-result"),
                batch: schema("batch-operation"),
                introspection: schema("introspection-response"),
            }
        });
        let registry = gateway::aql::registry::Registry::builder("aqueduct")
            .operations(gateway::adapters::entities::definitions())
            .types(gateway::adapters::entities::types())
            .build()
            .unwrap();
        let own = registry
            .operations()
            .map(|(_, operation)| {
                let schema = gateway::aql::answer_schema::answer(&registry, operation);
                (operation.name().to_string(), jsonschema::validator_for(&schema).unwrap())
            })
            .collect();
        Self { published, own }
    }

    fn check(&self, answer: &Value, arguments: &Value) {
        let valid = |validator: &jsonschema::Validator, what: &str| {
            if let Some(error) = validator.iter_errors(answer).next() {
                panic!("{answer}\ndoes not fit {what}: {error}");
            }
        };
        let is_batch = arguments.get("operations").is_some();
        let operation = arguments["operation"].as_str().unwrap_or_default();
        let standard_query = matches!(arguments["params"]["query"].as_str(), Some("operations" | "types"));
        if let Some(published) = &self.published {
            if is_batch {
                valid(&published.batch, "batch-operation");
            } else {
                valid(&published.result, "operation-result");
            }
            if operation == "introspect" && (standard_query || answer["success"] == false) {
                valid(&published.introspection, "introspection-response");
            }
        }
        if let Some(own) = self.own.get(operation).filter(|_| !is_batch) {
            valid(own, "the operation's own schema");
        }
    }
}
