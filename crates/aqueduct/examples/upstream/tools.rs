//! The tools: what servers do, and what they should not do.

use std::{
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};

use crate::{
    protocol::{From, Out},
    results::{self, text},
    state::State,
};

/// A result, or the protocol's error.
type Answer = Result<Value, Value>;

/// One call of a tool.
pub(crate) struct Call<'a> {
    pub(crate) state: &'a Arc<State>,
    pub(crate) id: &'a Value,
    pub(crate) params: &'a Value,
    pub(crate) from: &'a From,
    pub(crate) out: &'a dyn Out,
    pub(crate) cancelled: &'a AtomicBool,
}

/// A parameter's name and type. One that begins with `?` may be left out.
type Parameter = (&'static str, &'static str);

/// Names, descriptions and parameters.
const TOOLS: [(&str, &str, &[Parameter]); 24] = [
    ("echo", "Say a text back.", &[("text", "string")]),
    ("sleep", "Wait, then answer.", &[("milliseconds", "integer")]),
    ("fail", "Fail with a text.", &[("text", "string")]),
    ("rpc_error", "Answer with an error of the protocol.", &[("code", "integer"), ("message", "string")]),
    ("content", "Answer with content of a kind.", &[("kind", "string")]),
    ("list_things", "List things.", &[("count", "integer"), ("?note", "integer")]),
    ("big", "Answer with much text.", &[("bytes", "integer")]),
    ("progress", "Tell how far it is.", &[("steps", "integer"), ("milliseconds", "integer")]),
    ("die", "End in the middle of the call.", &[("?words", "string")]),
    ("never", "Never answer.", &[]),
    ("twice", "Answer twice.", &[("text", "string")]),
    ("wrong_id", "Answer somebody else first.", &[("text", "string")]),
    ("hostile", "Send something bad.", &[("kind", "string")]),
    ("announce", "Say that the tools have changed.", &[]),
    ("environment", "Tell the environment and the working directory.", &[]),
    ("headers", "Tell the HTTP headers of this call.", &[]),
    ("starts", "Tell the process and how often it was started.", &[]),
    ("calls", "Count the calls, and how many ran at once.", &[]),
    ("grandchild", "Start a process that would outlive this one.", &[]),
    ("remember", "Remember a text.", &[("text", "string")]),
    ("noise", "Print much that is no message.", &[]),
    ("getUserName", "Get a name by a parameter in another notation.", &[("userId", "string")]),
    ("delete_thing", "Delete a thing.", &[("thing_id", "string")]),
    ("ask", "Ask the client something before answering.", &[("method", "string"), ("?question", "string")]),
];

fn definition(name: &str, description: &str, params: &[(&str, &str)]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (param, kind) in params {
        let param_name = param.trim_start_matches('?');
        properties
            .insert(param_name.to_owned(), json!({"type": kind, "description": format!("The {param_name}")}));
        if !param.starts_with('?') {
            required.push(param_name);
        }
    }
    json!({"name": name, "description": description,
           "inputSchema": {"type": "object", "properties": properties, "required": required, "additionalProperties": false}})
}

/// The definitions as they are now: the tests may have left others in the file `definitions`.
fn definitions(state: &State) -> Vec<Value> {
    let mut tools: Vec<Value> =
        TOOLS.iter().map(|(name, says, params)| definition(name, says, params)).collect();
    let changed = state.file("definitions").and_then(|path| std::fs::read_to_string(path).ok());
    let Some(Value::Object(changed)) = changed.and_then(|text| serde_json::from_str(&text).ok()) else {
        return tools;
    };
    for (name, change) in changed {
        let place = tools.iter().position(|tool| tool["name"] == name.as_str());
        match (place, change) {
            (Some(place), Value::Null) => drop(tools.remove(place)),
            (Some(place), Value::Object(change)) => {
                tools[place].as_object_mut().unwrap().extend(change);
            }
            (None, Value::Object(new)) => {
                let mut tool = definition(&name, "Something new.", &[("text", "string")]);
                tool.as_object_mut().unwrap().extend(new);
                tools.push(tool);
            }
            _ => {}
        }
    }
    tools
}

/// One page of the list.
pub(crate) fn list(state: &State, cursor: &Value) -> Value {
    let from: usize =
        cursor.as_str().and_then(|cursor| cursor.strip_prefix("from-")?.parse().ok()).unwrap_or(0);
    if let Some(kind) = &state.flags.endless {
        let next = if kind == "same" { 1 } else { from + 1 };
        let tool = definition(&format!("tool_{from}"), "One of many.", &[]);
        return json!({"tools": [tool], "nextCursor": format!("from-{next}")});
    }
    let all = definitions(state);
    let size = state.flags.page.unwrap_or(all.len());
    let page: Vec<Value> = all.iter().skip(from).take(size).cloned().collect();
    let mut answer = json!({"tools": page});
    if from + size < all.len() {
        answer["nextCursor"] = json!(format!("from-{}", from + size));
    }
    answer
}

impl Call<'_> {
    fn argument(&self, name: &str) -> &Value {
        &self.params["arguments"][name]
    }

    fn text(&self, name: &str) -> &str {
        self.argument(name).as_str().unwrap_or_default()
    }

    fn number(&self, name: &str) -> u64 {
        self.argument(name).as_u64().unwrap_or_default()
    }

    /// Waits; false if nobody waits for the answer any more.
    fn wait(&self, milliseconds: u64) -> bool {
        let until = Instant::now() + Duration::from_millis(milliseconds);
        while Instant::now() < until {
            if self.cancelled.load(Ordering::SeqCst) || self.out.is_closed() {
                self.state.note("given up", json!({"tool": self.params["name"], "id": self.id}));
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Does what the tool does. Without an answer, nothing is sent.
    pub(crate) fn run(&self) -> Option<Answer> {
        let state = self.state;
        Some(Ok(match self.params["name"].as_str().unwrap_or_default() {
            "echo" => text(self.text("text")),
            "sleep" => {
                if !self.wait(self.number("milliseconds")) {
                    return None;
                }
                state.note("slept", json!({}));
                text("slept")
            }
            "fail" => json!({"isError": true, "content": [{"type": "text", "text": self.text("text")}]}),
            "rpc_error" => {
                let (code, message) = (self.argument("code"), self.argument("message"));
                return Some(Err(json!({"code": code, "message": message, "data": {"why": "asked to"}})));
            }
            "content" => results::content(self.text("kind")),
            "list_things" => {
                results::things(self.number("count"), self.number("note"), state.calls.load(Ordering::SeqCst))
            }
            "big" => text(&"x".repeat(usize::try_from(self.number("bytes")).unwrap())),
            "progress" => return self.progress(),
            "die" => {
                eprintln!("error: {}", self.argument("words").as_str().unwrap_or("asked to die"));
                std::process::exit(3);
            }
            "never" => {
                while self.wait(1000) {}
                return None;
            }
            "twice" => {
                self.answer(self.id, &text(self.text("text")));
                self.answer(self.id, &text("the second answer"));
                return None;
            }
            "wrong_id" => {
                for id in
                    [json!(999_999), json!(self.id.to_string()), json!(null), json!(-1), json!({"a": 1})]
                {
                    self.answer(&id, &text("for somebody else"));
                }
                text(self.text("text"))
            }
            "hostile" => {
                results::hostile(self.text("kind"), self.id, self.out);
                return None;
            }
            "announce" => {
                let told = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
                state.tell_listeners(&told);
                text("announced")
            }
            "environment" => {
                let variables: Map<String, Value> = std::env::vars().map(|(k, v)| (k, json!(v))).collect();
                results::structured(json!({"cwd": std::env::current_dir().unwrap(), "variables": variables,
                                           "args": std::env::args().collect::<Vec<_>>()}))
            }
            "headers" => results::structured(json!({"headers": self.from.headers})),
            "starts" => {
                let path = state.file("starts");
                let starts = path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
                results::structured(json!({"pid": std::process::id(), "starts": starts.lines().count()}))
            }
            "calls" => results::structured(json!({"calls": state.calls.load(Ordering::SeqCst),
                                                  "most_at_once": state.most_at_once.load(Ordering::SeqCst)})),
            "grandchild" => {
                let mut command = Command::new("sleep");
                command.arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                results::structured(json!({"pid": command.spawn().unwrap().id()}))
            }
            "remember" => {
                state.append("memory", self.text("text"));
                results::structured(json!({"pid": std::process::id(), "session": self.from.session}))
            }
            "noise" => {
                for line in 0..2000 {
                    self.out.raw(format!("line {line} of a banner\n").as_bytes());
                    eprintln!("warning {line}: nothing is wrong");
                }
                text("loud")
            }
            "ask" => return self.ask(),
            "getUserName" => text(&format!("user {}", self.text("userId"))),
            "delete_thing" => text(&format!("deleted {}", self.text("thing_id"))),
            other => text(&format!("{other} called with {}", self.params["arguments"])),
        }))
    }

    /// Asks the client and tells what it said, or only how where the question is to be kept quiet: while the call runs, or by an answer that has to be answered.
    fn ask(&self) -> Option<Answer> {
        let method = self.text("method");
        let given = self.params["arguments"]["question"].as_str();
        let params = match method {
            _ if given.is_some() => serde_json::from_str(given.unwrap_or_default()).unwrap_or_default(),
            "elicitation/create" => json!({"message": "Who?", "requestedSchema": {"type": "object",
                "properties": {"name": {"type": "string"}}, "required": ["name"]}}),
            "sampling/createMessage" => {
                json!({"maxTokens": 5, "modelPreferences": {"hints": [{"name": "small"}], "speedPriority": 0.9}, "messages": [
                {"role": "user", "content": {"type": "text", "text": "Say something"}}]})
            }
            _ => json!({}),
        };
        let is_quiet = params["quiet"] == true;
        let told = |said: &Value| if is_quiet { json!({"action": said["action"]}) } else { said.clone() };
        if crate::protocol::is_self_contained(&json!({"params": self.params})) {
            let said = &self.params["inputResponses"]["who"];
            return Some(Ok(match (said, self.params["requestState"].as_str()) {
                (Value::Null, _) => json!({"resultType": "input_required", "requestState": "where I was",
                    "inputRequests": {"who": {"method": method, "params": params}}}),
                (said, Some("where I was")) => results::structured(json!({"said": told(said)})),
                (_, state) => {
                    json!({"isError": true, "content": [{"type": "text", "text": format!("state {state:?}")}]})
                }
            }));
        }
        let id = format!("question-{}", self.id);
        self.out.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        while self.wait(10) {
            if let Some(answer) = self.state.answers.lock().unwrap().remove(&id) {
                let said = answer.get("result").map(told);
                return Some(Ok(results::structured(
                    json!({"said": said, "refused": answer["error"]["message"]}),
                )));
            }
        }
        None
    }

    fn answer(&self, id: &Value, result: &Value) {
        self.out.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    /// Its own numbers: two for each step, of twice as many as there are steps.
    fn progress(&self) -> Option<Answer> {
        let (steps, token) = (self.number("steps"), &self.params["_meta"]["progressToken"]);
        for step in 1..=steps {
            if !token.is_null() {
                let params = json!({"progressToken": token, "progress": step * 2, "total": steps * 2,
                                    "message": format!("step {step}")});
                self.out
                    .send(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
            }
            if !self.wait(self.number("milliseconds")) {
                return None;
            }
        }
        Some(Ok(results::structured(json!({"steps": steps, "asked": !token.is_null()}))))
    }
}
