//! Calls the language the way the server does, and checks of every answer what holds for all answers.

use std::sync::{Arc, LazyLock};

use aql::{
    batch::{Batch, Next},
    error::{Code, Error},
    introspect,
    registry::{Endpoint, INTROSPECT, Registry, ValidRequest},
    request::{Call, Request},
    response::{Answer, Data},
    scan,
    warning::Told,
};
use regex::Regex;
use serde_json::{Map, Value, json};

use crate::{fixture, schemas};

pub(crate) const SESSION: &str = "session-1";

/// A registry and what stands in for handlers: each answers with the parameters it was given.
pub(crate) struct Adapter {
    pub(crate) registry: Arc<Registry>,
    /// Calls of this operation wait for a person.
    pub(crate) gated: Option<&'static str>,
}

pub(crate) fn items() -> Adapter {
    Adapter::of(fixture::registry())
}

impl Adapter {
    pub(crate) fn of(registry: Arc<Registry>) -> Self {
        Self { registry, gated: None }
    }

    /// Calls a tool and gives the answer.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Value {
        self.call_raw(tool, arguments.to_string().as_bytes())
    }

    /// The same with arguments as they stand on the wire.
    #[track_caller]
    pub(crate) fn call_raw(&self, tool: &str, arguments: &[u8]) -> Value {
        let (answer, kind) = self.answer(tool, arguments);
        let parsed = parsed(&answer);
        no_leak(&parsed);
        well_formed(&parsed, kind);
        parsed
    }

    /// Calls through the tool that introspection names for the operation.
    #[track_caller]
    pub(crate) fn run(&self, operation: &str, params: Value) -> Value {
        let details = self.details(operation);
        let tool = details["mcpTool"].as_str().unwrap().to_owned();
        self.call(&tool, json!({"operation": operation, "params": params}))
    }

    /// The parameters a handler would see.
    #[track_caller]
    pub(crate) fn accepted(&self, operation: &str, params: Value) -> Value {
        let answer = self.run(operation, params);
        assert_eq!(answer["success"], true, "{answer:#}");
        answer["data"].clone()
    }

    /// The error that a call is refused with.
    #[track_caller]
    pub(crate) fn refused(&self, operation: &str, params: Value) -> Value {
        let shown = params.to_string();
        let answer = self.run(operation, params);
        assert_eq!(answer["success"], false, "{operation} takes {shown}");
        answer["error"].clone()
    }

    /// The data that introspection answers with.
    #[track_caller]
    pub(crate) fn introspect(&self, params: Value) -> Value {
        let answer = self.introspection(params);
        assert_eq!(answer["success"], true, "{answer:#}");
        answer["data"].clone()
    }

    #[track_caller]
    pub(crate) fn introspection(&self, params: Value) -> Value {
        let operation = self.registry.get(self.registry.id(INTROSPECT).unwrap()).unwrap();
        let tool = self.registry.tool_name(operation);
        self.call(&tool, json!({"operation": INTROSPECT, "params": params}))
    }

    #[track_caller]
    pub(crate) fn list(&self) -> Vec<Value> {
        self.introspect(json!({"query": "operations"}))["operations"].as_array().unwrap().clone()
    }

    #[track_caller]
    pub(crate) fn details(&self, operation: &str) -> Value {
        let data = self.introspect(json!({"query": "operations", "name": operation}));
        assert!(data["operation"].is_object(), "{operation} has no details");
        data["operation"].clone()
    }

    /// Every operation's details.
    pub(crate) fn all_details(&self) -> Vec<Value> {
        self.list().iter().map(|info| self.details(info["name"].as_str().unwrap())).collect()
    }

    #[track_caller]
    pub(crate) fn param(&self, operation: &str, name: &str) -> Value {
        let details = self.details(operation);
        let found = details["parameters"].as_array().unwrap().iter().find(|p| p["name"] == name);
        found.unwrap_or_else(|| panic!("{operation} lists no {name}")).clone()
    }

    /// Every type's details.
    pub(crate) fn all_types(&self) -> Vec<Value> {
        let data = self.introspect(json!({"query": "types"}));
        let names = data["types"].as_array().unwrap().iter().map(|info| info["name"].clone());
        names.map(|name| self.introspect(json!({"query": "types", "name": name}))["type"].clone()).collect()
    }

    pub(crate) fn endpoint(&self, tool: &str) -> Endpoint {
        self.registry.endpoint(tool).unwrap_or_else(|| panic!("no tool {tool}"))
    }

    /// A call's whole way, as far as this crate goes.
    pub(crate) fn answer(&self, tool: &str, arguments: &[u8]) -> (Answer, Kind) {
        let endpoint = self.endpoint(tool);
        let arguments = match scan::arguments(arguments, self.registry.limits()) {
            Ok(arguments) => arguments,
            Err(error) => return (Answer::failure(error, None), Kind::Operation),
        };
        let batched = arguments.contains_key("operations");
        match Request::read(arguments) {
            Ok(Request::One(call)) => {
                let kind = kind_of(&call);
                (self.one(endpoint, call, true), kind)
            }
            Ok(Request::Batch(entries)) => {
                let mut batch = Batch::new(entries.len(), self.registry.limits());
                let mut entries = entries.into_iter().enumerate();
                for (index, entry) in entries.by_ref() {
                    let operation = entry.operation().to_owned();
                    let answer = match entry.call {
                        Ok(call) => self.one(endpoint, call, false),
                        Err(error) => Answer::failure(error, Some(SESSION)),
                    };
                    if batch.record(index, &operation, &answer) == Next::Halt {
                        break;
                    }
                }
                let pending: Vec<_> = entries.collect();
                (batch.finish(&pending, self.registry.limits()), Kind::Batch)
            }
            Err(error) if batched => (Answer::bare_failure(&error), Kind::Batch),
            Err(error) => (Answer::failure(error, None), Kind::Operation),
        }
    }

    fn one(&self, endpoint: Endpoint, call: Call, with_warnings: bool) -> Answer {
        let introspecting = call.operation == INTROSPECT;
        let answer = self.registry.validate(endpoint, call).and_then(|valid| self.work(valid, with_warnings));
        match answer {
            Ok(answer) => answer,
            Err(error) if introspecting => Answer::bare_failure(&bare(error)),
            Err(error) => Answer::failure(error, Some(SESSION)),
        }
    }

    fn work(&self, mut valid: ValidRequest, with_warnings: bool) -> Result<Answer, Error> {
        let name = valid.operation().name().to_string();
        if name == INTROSPECT {
            return introspect::answer(&self.registry, valid.params(), SESSION);
        }
        if self.gated == Some(name.as_str()) && !valid.params().contains_key("confirmation_token") {
            let error = Error::new(Code::ConfirmationRequired, "This operation requires confirmation");
            return Err(error.with("operation", name));
        }
        let (params, warnings) = (valid.take_params(), valid.take_warnings());
        let warnings = if with_warnings { Told::default().arrange(warnings) } else { Vec::new() };
        Ok(Answer::success(&Data::Value(Value::Object(params)), &warnings, self.registry.limits()))
    }
}

/// Which schema an answer is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Operation,
    Introspection,
    /// An extra query of ours, which the closed schema has no room for.
    ExtraIntrospection,
    Batch,
}

fn kind_of(call: &Call) -> Kind {
    let extra = [json!("danger"), json!("adapter_info"), json!("quota_status")];
    match (call.operation == INTROSPECT, call.params.get("query").is_some_and(|query| extra.contains(query)))
    {
        (false, _) => Kind::Operation,
        (true, false) => Kind::Introspection,
        (true, true) => Kind::ExtraIntrospection,
    }
}

fn bare(mut error: Error) -> Error {
    error.details.clear();
    error
}

pub(crate) fn parsed(answer: &Answer) -> Value {
    serde_json::from_str(&answer.to_text()).unwrap()
}

#[track_caller]
pub(crate) fn well_formed(answer: &Value, kind: Kind) {
    match kind {
        Kind::Operation | Kind::ExtraIntrospection => schemas::check(&schemas::RESULT, answer),
        Kind::Introspection => {
            schemas::check(&schemas::INTROSPECTION, answer);
            schemas::check(&schemas::RESULT, answer);
        }
        Kind::Batch => schemas::check(&schemas::BATCH, answer),
    }
    let object = answer.as_object().unwrap();
    match object["success"].as_bool() {
        Some(true) => assert!(object.contains_key("data") && !object.contains_key("error"), "{answer}"),
        Some(false) => {
            assert!(object.contains_key("error") && !object.contains_key("data"), "{answer}");
            assert!(!object.contains_key("warnings"), "{answer}");
            let code = answer["error"]["code"].as_str().unwrap();
            assert!(Code::ALL.iter().any(|known| known.as_str() == code), "{code} is not registered");
            assert!(!answer["error"]["message"].as_str().unwrap().is_empty(), "{answer}");
        }
        None => panic!("no boolean success: {answer}"),
    }
    let known = ["success", "data", "error", "warnings"];
    let batch = ["results", "summary", "halted_at", "pending_operations"];
    for key in object.keys().map(String::as_str) {
        let expected =
            known.contains(&key) || key.starts_with('_') || kind == Kind::Batch && batch.contains(&key);
        assert!(expected, "unexpected key {key}");
    }
}

/// What no message may look like: the patterns of the published conformance runner, then our own language's.
static LEAKS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        "(?i)typeerror",
        "(?i)referenceerror",
        "(?i)syntaxerror",
        r"(?i)at\s+\S+",
        "/src/",
        "/node_modules/",
        r"\.ts:\d+",
        r"\.js:\d+",
        r"panicked|unwrap|serde|backtrace|\.rs:\d+|/home/|[a-z_]+::[A-Za-z_]+",
    ]
    .iter()
    .map(|pattern| Regex::new(pattern).unwrap())
    .collect()
});

#[track_caller]
pub(crate) fn no_leak_in(message: &str) {
    for pattern in LEAKS.iter() {
        assert!(!pattern.is_match(message), "'{message}' matches {pattern}");
    }
}

/// Looks for leaks in every message of an answer, and for our own language's in details too.
#[track_caller]
fn no_leak(answer: &Value) {
    let mut results = vec![answer];
    results.extend(answer["results"].as_array().into_iter().flatten().map(|entry| &entry["result"]));
    results.push(&answer["halted_at"]["result"]);
    for result in results {
        if let Some(message) = result["error"]["message"].as_str() {
            no_leak_in(message);
            let details = result["error"]["details"].to_string();
            assert!(!LEAKS[8].is_match(&details), "{details}");
        }
        for warning in result["warnings"].as_array().into_iter().flatten() {
            no_leak_in(warning["message"].as_str().unwrap());
        }
    }
}

#[track_caller]
pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

/// The code of an error, for comparison.
pub(crate) fn code(error: &Value) -> &str {
    error["code"].as_str().unwrap_or_default()
}

/// The names under a key of an array's entries, in order.
pub(crate) fn names<'a>(entries: &'a Value, key: &str) -> Vec<&'a str> {
    entries.as_array().unwrap().iter().map(|entry| entry[key].as_str().unwrap()).collect()
}

/// Strings of a JSON array, sorted, since the order of an object's keys is not promised.
pub(crate) fn sorted(strings: &Value) -> Vec<String> {
    let mut strings: Vec<String> =
        strings.as_array().unwrap().iter().map(|s| s.as_str().unwrap().to_owned()).collect();
    strings.sort();
    strings
}
