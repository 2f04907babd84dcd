//! Clients as raw JSON-RPC, in both eras of the protocol.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    links::{HttpLink, HttpServer, Link, StdioLink},
    schemas::{SCHEMAS, Schemas, answer_in},
};

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

impl Client {
    pub(crate) fn over_stdio(link: StdioLink, era: Era) -> Self {
        let mut client = Self { link: Link::Stdio(link), era, next_id: 1, schemas: Arc::clone(&SCHEMAS) };
        client.greet();
        client
    }

    /// A client that has introduced itself already.
    pub(crate) fn greeted(link: StdioLink, era: Era) -> Self {
        Self { link: Link::Stdio(link), era, next_id: 1, schemas: Arc::clone(&SCHEMAS) }
    }

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

    /// Where its server is, over HTTP.
    pub(crate) fn url(&self) -> String {
        let Link::Http(link) = &self.link else { panic!("not over HTTP") };
        link.server.url.clone()
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
            let meta = meta.as_object_mut().unwrap();
            for (key, value) in extra {
                meta.entry(key).or_insert(value);
            }
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
