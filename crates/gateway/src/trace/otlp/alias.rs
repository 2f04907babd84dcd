//! What others call the things that we have names for. The original stays beside ours, so that nothing is lost.

use std::{collections::HashMap, sync::LazyLock};

use serde_json::Value;

use crate::trace::{
    Attributes, Kind,
    names::{self, llm, otel},
    preview,
};

/// Their name, and ours. Where several say the same, the first is taken.
const ALIASES: &[(&str, &str)] = &[
    // OpenTelemetry, as it is and as it was.
    (otel::METHOD, names::METHOD),
    (otel::RPC_ID, names::RPC_ID),
    ("rpc.jsonrpc.request_id", names::RPC_ID),
    ("jsonrpc.protocol.version", names::JSONRPC_VERSION),
    ("rpc.jsonrpc.version", names::JSONRPC_VERSION),
    (otel::STATUS_CODE, names::ERROR_CODE),
    ("rpc.jsonrpc.error_code", names::ERROR_CODE),
    ("rpc.jsonrpc.error_message", names::ERROR_MESSAGE),
    (otel::TOOL, names::TOOL),
    (otel::ARGUMENTS, names::INPUT),
    (otel::RESULT, names::OUTPUT),
    (otel::PROMPT, names::PROMPT),
    ("gen_ai.provider.name", llm::PROVIDER),
    ("gen_ai.system", llm::PROVIDER),
    ("gen_ai.request.model", llm::MODEL),
    ("gen_ai.response.model", llm::RESPONSE_MODEL),
    ("gen_ai.response.model", llm::MODEL),
    ("gen_ai.input.messages", llm::PROMPT),
    ("gen_ai.prompt", llm::PROMPT),
    ("gen_ai.output.messages", llm::RESPONSE),
    ("gen_ai.completion", llm::RESPONSE),
    ("gen_ai.usage.input_tokens", llm::INPUT_TOKENS),
    ("gen_ai.usage.prompt_tokens", llm::INPUT_TOKENS),
    ("gen_ai.usage.output_tokens", llm::OUTPUT_TOKENS),
    ("gen_ai.usage.completion_tokens", llm::OUTPUT_TOKENS),
    ("gen_ai.usage.total_tokens", llm::TOTAL_TOKENS),
    ("gen_ai.response.finish_reasons", names::STOP_REASON),
    (otel::OPERATION, llm::OPERATION),
    ("gen_ai.conversation.id", llm::CONVERSATION),
    ("gen_ai.agent.name", llm::AGENT),
    ("gen_ai.workflow.name", names::WORKFLOW),
    ("peer.service", names::PEER),
    ("mcp.server.name", names::PEER),
    // OpenInference.
    ("tool.name", names::TOOL),
    ("tool.input", names::INPUT),
    ("tool.output", names::OUTPUT),
    ("tool_call.function.name", names::TOOL),
    ("tool_call.function.arguments", names::INPUT),
    ("llm.provider", llm::PROVIDER),
    ("llm.system", llm::PROVIDER),
    ("llm.vendor", llm::PROVIDER),
    ("llm.model_name", llm::MODEL),
    ("llm.request.model", llm::MODEL),
    ("llm.token_count.prompt", llm::INPUT_TOKENS),
    ("llm.token_count.completion", llm::OUTPUT_TOKENS),
    ("llm.token_count.total", llm::TOTAL_TOKENS),
    ("llm.invocation_parameters", llm::PARAMETERS),
    ("llm.finish_reason", names::STOP_REASON),
    // Others that are often met.
    ("traceloop.workflow.name", names::WORKFLOW),
    ("ai.toolCall.name", names::TOOL),
    ("ai.toolCall.args", names::INPUT),
    ("ai.toolCall.result", names::OUTPUT),
    ("ai.model.id", llm::MODEL),
    ("ai.model.provider", llm::PROVIDER),
    ("ai.usage.promptTokens", llm::INPUT_TOKENS),
    ("ai.usage.completionTokens", llm::OUTPUT_TOKENS),
    ("ai.response.finishReason", names::STOP_REASON),
];

/// Where in the table each of their names stands: a span has few of them, and the table is long.
static PLACES: LazyLock<HashMap<&str, Vec<usize>, foldhash::fast::RandomState>> = LazyLock::new(|| {
    let mut places: HashMap<_, Vec<usize>, _> = HashMap::default();
    for (place, (theirs, _)) in ALIASES.iter().enumerate() {
        places.entry(*theirs).or_default().push(place);
    }
    places
});

/// Whole families of names, as far as nothing in the table above has them. Only short values: the long ones would be
/// kept twice for nobody.
const FAMILIES: [(&str, &str); 3] = [("gen_ai.", "mcp.llm."), ("llm.", "mcp.llm."), ("tool.", "mcp.tool.")];
const SHORT_BYTES_MAX: usize = 256;
/// Messages that are taken apart into hundreds of attributes stay where they are.
const APART: [&str; 4] =
    ["llm.input_messages.", "llm.output_messages.", "gen_ai.prompt.", "gen_ai.completion."];

/// Adds our names to what has others.
pub(super) fn add(kind: Kind, attributes: &mut Attributes) {
    let mut added = Attributes::new();
    let mut places: Vec<usize> =
        attributes.keys().filter_map(|name| PLACES.get(name.as_str())).flatten().copied().collect();
    places.sort_unstable();
    for (theirs, ours) in places.iter().filter_map(|place| ALIASES.get(*place)) {
        named(attributes, theirs, ours, &mut added);
    }
    rpc(attributes, &mut added);
    transport(attributes, &mut added);
    open_inference(attributes, &mut added);
    if kind == Kind::Client && attributes.contains_key(otel::METHOD) {
        named(attributes, "server.address", names::PEER, &mut added);
    }
    families(attributes, &mut added);
    for (name, value) in added {
        attributes.entry(name).or_insert(value);
    }
}

/// Remote calls of every kind have a method; ours are those over JSON-RPC.
fn rpc(attributes: &Attributes, added: &mut Attributes) {
    let system = attributes.get("rpc.system.name").or_else(|| attributes.get("rpc.system"));
    let system = system.and_then(Value::as_str).unwrap_or("jsonrpc");
    if ["jsonrpc", "mcp"].contains(&system) {
        named(attributes, "rpc.method", names::METHOD, added);
        named(attributes, "rpc.service", names::PEER, added);
    }
}

fn transport(attributes: &Attributes, added: &mut Attributes) {
    let is_ours = attributes.contains_key(otel::METHOD) || attributes.contains_key(names::METHOD);
    let network = attributes.get(otel::NETWORK).and_then(Value::as_str);
    let transport = match network {
        Some("pipe") => "stdio",
        Some("tcp" | "quic") => "http",
        _ => return,
    };
    if is_ours && !attributes.contains_key(names::TRANSPORT) {
        added.insert(names::TRANSPORT.to_owned(), transport.into());
    }
}

/// There `input.value` and `output.value` belong to whatever the span is about.
fn open_inference(attributes: &Attributes, added: &mut Attributes) {
    let known = |name: &str, added: &Attributes| attributes.contains_key(name) || added.contains_key(name);
    let kind = attributes.get("openinference.span.kind").or_else(|| attributes.get("traceloop.span.kind"));
    let kind = kind.and_then(Value::as_str).map(str::to_ascii_lowercase);
    let (input, output) = match kind.as_deref() {
        Some("tool") => (names::INPUT, names::OUTPUT),
        Some("llm") => (llm::PROMPT, llm::RESPONSE),
        Some(_) => return,
        None if known(names::TOOL, added) => (names::INPUT, names::OUTPUT),
        None if known(llm::MODEL, added) => (llm::PROMPT, llm::RESPONSE),
        None => return,
    };
    for name in ["input.value", "traceloop.entity.input"] {
        named(attributes, name, input, added);
    }
    for name in ["output.value", "traceloop.entity.output"] {
        named(attributes, name, output, added);
    }
    if kind.as_deref() == Some("tool") {
        named(attributes, "traceloop.entity.name", names::TOOL, added);
    }
}

fn families(attributes: &Attributes, added: &mut Attributes) {
    let is_short = |value: &Value| match value {
        Value::String(text) => text.len() <= SHORT_BYTES_MAX,
        Value::Number(_) | Value::Bool(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    for (name, value) in attributes {
        let family = FAMILIES.iter().find_map(|(start, ours)| Some((name.strip_prefix(start)?, ours)));
        let Some((rest, ours)) = family else { continue };
        let is_known = PLACES.contains_key(name.as_str());
        if !is_known && is_short(value) && !APART.iter().any(|start| name.starts_with(start)) {
            added.entry(format!("{ours}{rest}")).or_insert_with(|| value.clone());
        }
    }
}

fn named(attributes: &Attributes, theirs: &str, ours: &str, added: &mut Attributes) {
    let is_known = attributes.contains_key(ours) || added.contains_key(ours);
    if let Some(value) = attributes.get(theirs).filter(|value| !is_known && !value.is_null()) {
        copy(attributes, theirs, ours, value, added);
    }
}

/// Copies a value, and what is said of one that was cut.
fn copy(attributes: &Attributes, theirs: &str, ours: &str, value: &Value, added: &mut Attributes) {
    added.insert(ours.to_owned(), fitting(ours, value));
    // What was cut is a text, and shorter than the limit by a part of a character at most.
    if value.as_str().is_none_or(|text| text.len() < preview::PREVIEW_BYTES - 4) {
        return;
    }
    for mark in [names::TRUNCATED, names::BYTES, names::HASH] {
        if let Some(value) = attributes.get(&format!("{theirs}{mark}")) {
            added.insert(format!("{ours}{mark}"), value.clone());
        }
    }
}

/// Names that end in `_json` hold texts of JSON, and there is one reason to stop.
fn fitting(ours: &str, value: &Value) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if ours.ends_with("_json") => Value::String(value.to_string()),
        Value::Array(reasons) if ours == names::STOP_REASON => {
            let reasons: Vec<_> = reasons.iter().filter_map(Value::as_str).collect();
            Value::String(reasons.join(", "))
        }
        _ => value.clone(),
    }
}
