//! What is recorded of arguments and results: nothing that is secret, and nothing of resources' contents.

pub(super) mod contents;

use std::borrow::Cow;

use aql::{autonomy::code, confirm, operation::Operation, profile::Mode, registry::Registry};
use serde_json::{Map, Value, value::RawValue};

use self::contents::leave_out;
use super::levels::Level;

/// What stands where contents stood that are not recorded.
const LEFT_OUT: &str = "[not recorded]";

/// The arguments of a tool call that came in. Tells the operations that they name as well.
pub(super) fn arguments(json: &str, tool: &str, registry: &Registry) -> (Vec<String>, String) {
    if let Some(operations) = as_they_are(json, tool, registry) {
        return (operations, json.to_owned());
    }
    arguments_looked_through(json, tool, registry)
}

fn arguments_looked_through(json: &str, tool: &str, registry: &Registry) -> (Vec<String>, String) {
    let Ok(Value::Object(given)) = serde_json::from_str(json) else {
        return (Vec::new(), LEFT_OUT.to_owned());
    };
    let known = |name: &str| registry.get(registry.id(name)?);
    // Where a tool is an operation, its arguments are the parameters.
    let mut shown = match registry.address(tool) {
        Some(address) => address.arguments(given),
        None => given,
    };
    let mut operations = Vec::new();
    call(&mut shown, &known, &mut operations);
    if let Some(Value::Array(calls)) = shown.get_mut("operations") {
        calls.iter_mut().filter_map(Value::as_object_mut).for_each(|one| call(one, &known, &mut operations));
    }
    (operations, without_contents(&shown))
}

/// The operations that arguments name, where these can stay as they are: nothing in them is hidden or left out, and none
/// of the operations declares anything to be secret.
fn as_they_are(json: &str, tool: &str, registry: &Registry) -> Option<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        #[serde(borrow, default)]
        operation: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        operations: Option<&'a RawValue>,
    }
    // Where a tool is an operation, its arguments are told as those of a call of it.
    let is_operation = registry.mode() == Mode::Discrete && registry.address(tool).is_some();
    if is_operation || !stays(json) {
        return None;
    }
    let named: Named<'_> = serde_json::from_str(json).ok()?;
    let (Some(name), None) = (named.operation, named.operations) else { return None };
    let known = registry.id(&name).and_then(|id| registry.get(id));
    let is_open = known.is_none_or(|known| !known.params().iter().any(|param| param.is_sensitive()));
    is_open.then(|| vec![name.into_owned()])
}

/// Hides what the operation of one call declares to be secret. Parameters may stand beside its name, too.
fn call<'r>(
    call: &mut Map<String, Value>,
    known: &impl Fn(&str) -> Option<&'r Operation>,
    operations: &mut Vec<String>,
) {
    let Some(name) = call.get("operation").and_then(Value::as_str).map(str::to_owned) else { return };
    let operation = known(&name);
    operations.push(name);
    let Some(operation) = operation else { return };
    let hide = |object: &mut Map<String, Value>| {
        *object = match confirm::recorded(Some(operation), object) {
            Value::Object(object) => object,
            _ => Map::new(),
        };
    };
    if let Some(Value::Object(params)) = call.get_mut("params") {
        hide(params);
    }
    hide(call);
}

/// What is told of progress: its numbers, and its words where those may be recorded.
pub(super) fn told(told: Value, level: Level) -> Value {
    match told {
        Value::Object(mut told) => {
            if level != Level::Preview {
                told.remove("message");
            }
            let mut shown = confirm::recorded(None, &told);
            mask(&mut shown);
            shown
        }
        other => other,
    }
}

/// The arguments of a call of another server, in its own spelling. What the operation declares to be secret is so there too.
pub(super) fn sent(json: &str, operation: Option<&Operation>) -> String {
    let declares = operation.is_some_and(|known| known.params().iter().any(|param| param.is_sensitive()));
    if json.starts_with('{') && !declares && stays(json) {
        return json.to_owned();
    }
    sent_looked_through(json, operation)
}

fn sent_looked_through(json: &str, operation: Option<&Operation>) -> String {
    let Ok(Value::Object(mut arguments)) = serde_json::from_str::<Value>(json) else {
        return LEFT_OUT.to_owned();
    };
    let plain = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let sensitive: Vec<String> = operation
        .iter()
        .flat_map(|operation| operation.params())
        .filter(|param| param.is_sensitive())
        .map(|param| plain(param.name()))
        .collect();
    for (name, value) in &mut arguments {
        if sensitive.contains(&plain(name)) {
            *value = "[redacted]".into();
        }
    }
    without_contents(&arguments)
}

/// What a request says beside its own: answers of people, what only the other side understands, and what goes with every
/// message. Answers are between those who gave them and those who asked.
pub(super) const BESIDE: [&str; 3] = ["inputResponses", "requestState", "_meta"];

/// Any other parameters.
pub(super) fn params(json: &str) -> String {
    let Ok(Value::Object(mut params)) = serde_json::from_str::<Value>(json) else {
        return LEFT_OUT.to_owned();
    };
    params.retain(|name, _| !BESIDE.contains(&name.as_str()));
    without_contents(&params)
}

/// A name or an id that somebody else gave: of a tool, a method, a client, a request. Ids may look random; what is a
/// secret by its form or by a name within is hidden, and so are codes.
pub(super) fn name(text: &str) -> Cow<'_, str> {
    let masked = code::masked(text);
    if masked.is_none() && confirm::is_plain_id(text) {
        return Cow::Borrowed(text);
    }
    let value = Value::String(masked.unwrap_or_else(|| text.to_owned()));
    match confirm::recorded_value("id", &value).unwrap_or(value) {
        Value::String(shown) if shown == text => Cow::Borrowed(text),
        Value::String(shown) => Cow::Owned(shown),
        _ => Cow::Borrowed(LEFT_OUT),
    }
}

/// Parameters as text, without secrets and contents.
fn without_contents(params: &Map<String, Value>) -> String {
    let mut shown = confirm::recorded(None, params);
    leave_out(&mut shown);
    written(shown)
}

/// The address of a resource, which may hold a password or a key.
pub(super) fn uri(uri: &str) -> String {
    shown(Value::String(uri.to_owned())).as_str().unwrap_or_default().to_owned()
}

/// A result. Where it is JSON, names in it say what is secret.
pub(super) fn result(json: &str) -> String {
    if stays(json) {
        return json.to_owned();
    }
    let Ok(mut value) = serde_json::from_str::<Value>(json) else {
        return shown(Value::String(json.to_owned())).as_str().unwrap_or_default().to_owned();
    };
    leave_out(&mut value);
    shown(value).to_string()
}

/// Whether JSON has nothing in it that is hidden or left out, as most results do. What is escaped in it is looked at by
/// who reads it.
fn stays(json: &str) -> bool {
    !json.contains('\\')
        && !contents::may_hold(json)
        && code::masked(json).is_none()
        && confirm::is_clean_json(json)
}

/// As text, without the operator's codes: people tell them to agents, who may repeat them anywhere.
fn written(mut value: Value) -> String {
    mask(&mut value);
    value.to_string()
}

fn mask(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(masked) = code::masked(text) {
                *text = masked;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(mask),
        Value::Object(object) => {
            object.values_mut().for_each(mask);
            let hold_codes: Vec<(String, String)> =
                object.keys().filter_map(|name| Some((name.clone(), code::masked(name)?))).collect();
            for (name, masked) in hold_codes {
                if let Some(value) = object.remove(&name) {
                    object.insert(masked, value);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A value without what looks like a secret in it.
fn shown(mut value: Value) -> Value {
    mask(&mut value);
    let mut whole = Map::new();
    whole.insert(String::new(), value);
    match confirm::recorded(None, &whole) {
        Value::Object(shown) => shown.into_iter().next().map(|(_, value)| value).unwrap_or_default(),
        other => other,
    }
}

/// What is known of resources that were read: the type of the first, and how much there was.
pub(super) fn resource(json: &str) -> Option<(Option<String>, usize)> {
    let result: Value = serde_json::from_str(json).ok()?;
    let contents = result.get("contents")?.as_array()?;
    let text = |content: &Value, name: &str| content.get(name).and_then(Value::as_str).map(str::to_owned);
    let kind = contents.first().and_then(|content| text(content, "mimeType"));
    let bytes = contents.iter().flat_map(|content| [text(content, "text"), text(content, "blob")]);
    Some((kind, bytes.flatten().map(|content| content.len()).sum()))
}

#[cfg(test)]
mod tests {
    use aql::{
        category::Category,
        define::{self, Param},
        profile::Mode,
    };
    use serde_json::json;

    use super::*;

    fn registry() -> std::sync::Arc<Registry> {
        built(Mode::Semantic)
    }

    fn built(mode: Mode) -> std::sync::Arc<Registry> {
        let operation = define::Operation::new(Category::Execute, "open_door", "Open a door")
            .param(Param::new("door_pin", "string", "The pin").sensitive())
            .param(Param::new("door", "string", "Which"));
        Registry::builder("test").mode(mode).operation(operation).build().unwrap().into()
    }

    #[test]
    fn declared_secrets_are_hidden_wherever_they_are_given() {
        let registry = registry();
        let call = json!({"operation": "open_door", "params": {"door_pin": "1234", "door": "front"}});
        let batch = json!({"operations": [call]});
        let discrete = json!({"door_pin": "1234", "door": "front"});
        for (tool, mode, arguments_given) in [
            ("mcp_aql_execute", Mode::Semantic, call.clone()),
            ("mcp_aql_execute", Mode::Semantic, batch),
            ("open_door", Mode::Discrete, discrete),
        ] {
            let (_, shown) = arguments(&arguments_given.to_string(), tool, &built(mode));
            assert!(!shown.contains("1234") && shown.contains("front"), "{shown}");
        }
        assert_eq!(arguments(&call.to_string(), "mcp_aql_execute", &registry).0, ["open_door"]);
        let beside = json!({"operation": "open_door", "door_pin": "1234", "door": "front"});
        let (_, shown) = arguments(&beside.to_string(), "mcp_aql_execute", &registry);
        assert!(!shown.contains("1234") && shown.contains("front"), "{shown}");
        let operation = registry.get(registry.id("open_door").unwrap());
        let shown = sent(&json!({"doorPin": "1234", "door": "front"}).to_string(), operation);
        assert!(!shown.contains("1234") && shown.contains("front"), "{shown}");
    }

    /// REQ-ISEC-01
    #[test]
    fn contents_of_resources_are_left_out() {
        let result_given = json!({"content": [
            {"type": "text", "text": "kept"},
            {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "MARKER"}},
            {"type": "image", "mimeType": "image/png", "data": "MARKER"},
        ]});
        let shown = result(&result_given.to_string());
        assert!(
            !shown.contains("MARKER") && shown.contains("kept") && shown.contains("file:///a"),
            "{shown}"
        );
    }

    /// REQ-ISEC-01
    #[test]
    fn contents_of_resources_are_left_out_of_what_is_asked_too() {
        let image = json!({"type": "image", "mimeType": "image/png", "data": "MARKER"});
        let resource = json!({"type": "resource", "resource": {"uri": "file:///a", "text": "MARKER"}});
        let told = json!({"type": "tool_result", "content": [resource], "structuredContent":
            {"contents": [{"uri": "file:///a", "text": "MARKER"}]}});
        for content in [image, resource, told] {
            let asked = json!({"messages": [{"role": "user", "content": [content]}], "maxTokens": 7});
            for shown in [params(&asked.to_string()), sent(&asked.to_string(), None)] {
                assert!(!shown.contains("MARKER") && shown.contains("[not recorded]"), "{shown}");
                assert!(shown.contains("\"maxTokens\":7"), "{shown}");
            }
        }
        let structured = json!({"data": {"resource": {"uri": "file:///a", "text": "MARKER"}}});
        for structured in [structured.clone(), json!({"text": structured.to_string()})] {
            let shown = result(&structured.to_string());
            assert!(!shown.contains("MARKER") && shown.contains("file:///a"), "{shown}");
        }
    }

    #[test]
    fn what_people_answer_is_between_them_and_who_asked() {
        let given = json!({"name": "x", "inputResponses": {"a": {"content": {"pet": "MARKER"}}},
            "requestState": "MARKER", "_meta": {"label": "MARKER"}});
        assert_eq!(params(&given.to_string()), "{\"name\":\"x\"}");
    }

    #[test]
    fn names_and_ids_hold_no_secrets() {
        let code = aql::autonomy::code::write(&[7; 18]);
        for plain in [
            "tools/call",
            "search_code",
            "7",
            "0192f0c1b7a87d3e9c4f5a6b7c8d9e0f",
            "r-A8fk29dLq0Zx7Tn3Vb5M",
            "0192f0c1-b7a8-7d3e-9c4f-5a6b7c8d9e0f",
            "Claude Code 2.1",
            "pt-1",
            "",
            "näher",
        ] {
            assert!(matches!(name(plain), Cow::Borrowed(shown) if shown == plain), "{plain}");
        }
        for (given, secret) in [
            ("sk-live0123456789", "0123456789"),
            ("login password=hunter2", "hunter2"),
            ("{\"password\":\"hunter2\"}", "hunter2"),
            ("Bearer a1b2c3d4e5", "a1b2c3"),
            ("eyJhbGciOiJIUzI1NiJ9.e30.abc", "e30"),
            (code.as_str(), code.as_str()),
        ] {
            assert!(!name(given).contains(secret), "{}", name(given));
        }
    }

    /// REQ-ISEC-02
    #[test]
    fn of_a_resource_its_type_and_size_are_known() {
        let read = json!({"contents": [{"uri": "file:///a", "mimeType": "text/plain", "text": "12345"}]});
        assert_eq!(resource(&read.to_string()), Some((Some("text/plain".to_owned()), 5)));
        assert_eq!(resource("nonsense"), None);
    }

    #[test]
    fn the_short_way_hides_what_the_long_one_does() {
        let code = aql::autonomy::code::write(&[7; 18]);
        for given in [
            json!({"content": [{"type": "text", "text": "Echo: m1001z"}], "isError": false}),
            json!({"content": [{"type": "image", "data": "MARKER"}]}),
            json!({"password": "hunter2", "list": [1, 2.5, null, true]}),
            json!({"list": ["--token", "abc"], "pair": {"name": "API_KEY", "value": "abc"}}),
            json!({"said": format!("use {code}"), code: 1}),
            json!({"text": "{\"password\":\"hunter2\"}"}),
            json!({"key\n": "a\"b"}),
            json!(["plain", {"nested": {"deeply": ["https://me:pw@host/x"]}}]),
            json!("Authorization: Bearer abc123def456"),
            json!(7),
        ] {
            let mut long = given.clone();
            leave_out(&mut long);
            assert_eq!(
                serde_json::from_str::<Value>(&result(&given.to_string())).unwrap(),
                shown(long),
                "{given}"
            );
        }
        assert!(stays(r#"{"content":[{"type":"text","text":"Echo: m1001z"}],"isError":false}"#));
    }

    #[test]
    fn the_short_way_past_arguments_hides_what_the_long_one_does() {
        let code = aql::autonomy::code::write(&[7; 18]);
        let registry = registry();
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into());
        let call = |params: Value| json!({"operation": "other", "params": params});
        for (given, is_short) in [
            (call(json!({"city": "Nîmes", "days": 3, "nested": [{"a": null}]})), true),
            (call(json!({"password": "hunter2"})), false),
            (call(json!({"url": "https://me:pw@host/x"})), false),
            (call(json!({"said": code})), false),
            (call(json!({"quoted": "a\"b"})), false),
            (json!({"operation": "open_door", "params": {"door_pin": "1234"}}), false),
            (json!({"operations": [{"operation": "open_door", "params": {"door_pin": "1234"}}]}), false),
            (json!({"operation": "other", "operations": []}), false),
            (json!({"no": "operation"}), false),
        ] {
            let text = given.to_string();
            let (short, long) = (
                arguments(&text, "mcp_aql_execute", &registry),
                arguments_looked_through(&text, "mcp_aql_execute", &registry),
            );
            assert_eq!((&short.0, read(&short.1)), (&long.0, read(&long.1)), "{given}");
            assert_eq!(as_they_are(&text, "mcp_aql_execute", &registry).is_some(), is_short, "{given}");
            for operation in [None, registry.get(registry.id("open_door").unwrap())] {
                let (short, long) = (sent(&text, operation), sent_looked_through(&text, operation));
                assert_eq!(read(&short), read(&long), "{given}");
            }
        }
        let twice = r#"{"operation":"other","operation":"open_door","params":{"door_pin":"1234"}}"#;
        assert!(!arguments(twice, "mcp_aql_execute", &registry).1.contains("1234"));
        let discrete = json!({"door_pin": "1234"}).to_string();
        assert!(!arguments(&discrete, "open_door", &built(Mode::Discrete)).1.contains("1234"));
        assert_eq!(sent("[1]", None), LEFT_OUT);
    }

    #[test]
    fn tokens_in_results_are_hidden() {
        let shown =
            result(&json!({"data": {"authorization": "Bearer abc123def456"}, "note": "ok"}).to_string());
        assert!(!shown.contains("abc123def456") && shown.contains("ok"), "{shown}");
        let shown = result("curl -H 'Authorization: Bearer abc123def456' done");
        assert!(!shown.contains("abc123def456"), "{shown}");
    }

    /// REQ-OOB-07
    #[test]
    fn codes_are_hidden_wherever_they_are_repeated() {
        let code = aql::autonomy::code::write(&[7; 18]);
        let hint =
            json!({"operation": "open_door", "params": {"door": format!("with\n{code}"), code.clone(): 1}});
        let (_, shown) = arguments(&hint.to_string(), "mcp_aql_execute", &registry());
        assert!(!shown.contains(&code), "{shown}");
        assert!(!sent(&json!({"door": [code]}).to_string(), None).contains(&code));
        assert!(!result(&json!({"said": code}).to_string()).contains(&code));
        assert!(!result(&format!("it was {code}")).contains(&code));
    }
}
