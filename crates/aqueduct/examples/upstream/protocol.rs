//! The methods of the protocol, as strict as a server may be.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};

use crate::{state::State, tools};

/// Where answers go.
pub(crate) trait Out: Send + Sync {
    fn send(&self, message: &Value);
    /// A message as bytes.
    fn raw(&self, bytes: &[u8]);
    /// Bytes of a message that has no end.
    fn pour(&self, bytes: &[u8]);
    /// Whether nobody waits any more.
    fn is_closed(&self) -> bool;
}

/// Where a message came from.
pub(crate) struct From {
    pub(crate) session: Option<String>,
    /// The HTTP headers.
    pub(crate) headers: Value,
}

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Whether a request says everything itself.
pub(crate) fn is_self_contained(message: &Value) -> bool {
    message["params"]["_meta"][META_VERSION] == "2026-07-28"
}

/// Under which key a call can be cancelled.
fn key(from: &From, id: &Value) -> String {
    format!("{} {id}", from.session.as_deref().unwrap_or_default())
}

/// Makes a request known before its work begins, so that it can be cancelled from then on.
pub(crate) fn announce(state: &State, message: &Value, from: &From) {
    let flag = Arc::new(AtomicBool::new(false));
    state.running.lock().unwrap().insert(key(from, &message["id"]), flag);
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn server_info() -> Value {
    json!({"name": "test-upstream", "version": "1.2.3"})
}

fn capabilities(state: &State) -> Value {
    let mut capabilities = json!({"tools": {"listChanged": true}});
    if state.flags.offers {
        capabilities["resources"] = json!({});
        capabilities["prompts"] = json!({});
    }
    capabilities
}

/// What is offered besides tools. Who asks in today's way is asked first who they are.
fn offered(method: &str, params: &Value) -> Option<Value> {
    let given = match method {
        "resources/list" => return Some(json!({"resources": [{"uri": "note://one", "name": "one"}]})),
        "resources/templates/list" => return Some(json!({"resourceTemplates": []})),
        "prompts/list" => return Some(json!({"prompts": [{"name": "greet"}]})),
        "resources/read" => {
            json!({"contents": [{"uri": "note://one", "mimeType": "text/plain", "text": "contents"}]})
        }
        "prompts/get" => {
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Greet me"}}]})
        }
        _ => return None,
    };
    if is_self_contained(&json!({"params": params})) && params["inputResponses"].is_null() {
        let question = json!({"method": "elicitation/create", "params": {"message": "Who?",
            "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}});
        return Some(json!({"resultType": "input_required", "requestState": "where I was",
                           "inputRequests": {"who": question}}));
    }
    Some(given)
}

pub(crate) fn handle(state: &Arc<State>, message: &Value, from: &From, out: &dyn Out) {
    if let (None, Some(id)) = (message.get("method"), message.get("id").and_then(Value::as_str)) {
        state.answers.lock().unwrap().insert(id.to_owned(), message.clone());
        return;
    }
    let method = message["method"].as_str().unwrap_or_default();
    let era = if is_self_contained(message) { "discover" } else { "initialize" };
    state.note(
        "received",
        json!({"method": method, "era": era, "id": message["id"], "params": message["params"], "headers": from.headers}),
    );
    if state.flags.dies_on.iter().any(|deadly| deadly == method) {
        eprintln!("error: cannot handle '{method}' now");
        std::process::exit(1);
    }
    if state.flags.silent.iter().any(|silent| silent == method) {
        return;
    }
    let Some(id) = message.get("id") else {
        if method == "notifications/cancelled" {
            cancelled(state, from, &message["params"]["requestId"]);
        }
        return;
    };
    let spoken = state.flags.era.as_deref().unwrap_or("both");
    let refused = match (method, era) {
        ("initialize", _) if spoken == "discover" => Some(-32601),
        ("server/discover", _) if spoken == "initialize" => Some(-32601),
        ("initialize" | "server/discover", _) => None,
        (_, "initialize") if spoken == "discover" => Some(-32020),
        (_, "discover") if spoken == "initialize" => Some(-32600),
        _ => None,
    };
    if let Some(code) = refused {
        return out.send(&error(id, code, &format!("'{method}' is not for me")));
    }
    let answer = match method {
        "initialize" => initialize(state, message),
        "server/discover" => json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": capabilities(state), "serverInfo": server_info(), "ttlMs": 0, "cacheScope": "private"}),
        "ping" => json!({}),
        "tools/list" => tools::list(state, &message["params"]["cursor"]),
        "tools/call" => {
            let flag = state.running.lock().unwrap().entry(key(from, id)).or_default().clone();
            state.begin();
            let call = tools::Call { state, id, params: &message["params"], from, out, cancelled: &flag };
            let answer = call.run();
            state.end();
            state.running.lock().unwrap().remove(&key(from, id));
            let Some(answer) = answer else { return };
            match answer {
                Ok(result) => result,
                Err(refusal) => {
                    return out.send(&json!({"jsonrpc": "2.0", "id": id, "error": refusal}));
                }
            }
        }
        other => match offered(other, &message["params"]).filter(|_| state.flags.offers) {
            Some(answer) => answer,
            None => return out.send(&error(id, -32601, "unknown method")),
        },
    };
    out.send(&json!({"jsonrpc": "2.0", "id": id, "result": answer}));
}

fn initialize(state: &State, message: &Value) -> Value {
    let asked = message["params"]["protocolVersion"].as_str().unwrap_or_default();
    let known = ["2025-11-25", "2025-06-18", "2025-03-26"];
    let version = known.into_iter().find(|known| *known == asked).unwrap_or("2025-11-25");
    json!({"protocolVersion": version, "capabilities": capabilities(state), "serverInfo": server_info(),
           "instructions": "Call the tools."})
}

fn cancelled(state: &State, from: &From, id: &Value) {
    state.note("cancelled", json!({"id": id}));
    if let Some(flag) = state.running.lock().unwrap().get(&key(from, id)) {
        flag.store(true, Ordering::SeqCst);
    }
}
