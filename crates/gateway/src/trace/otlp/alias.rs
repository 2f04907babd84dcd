//! What others call the things that we have names for. The original stays beside ours, so that nothing is lost.

use std::{borrow::Cow, sync::LazyLock};

use serde_json::Value;

use super::known::{Gathered, Seen};
use crate::trace::{
    Kind, Sorted,
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

/// Lines of the table, a bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Lines(u64);

const _: () = assert!(ALIASES.len() <= 64, "a bit for each line");

impl Lines {
    pub(super) fn add(&mut self, more: Self) {
        self.0 |= more.0;
    }

    fn of(fits: impl Fn(&(&str, &str)) -> bool) -> Self {
        let fitting = ALIASES.iter().enumerate().filter(|(_, line)| fits(line));
        Self(fitting.fold(0, |lines, (place, _)| lines | 1 << place))
    }

    /// Those with this name of theirs.
    pub(super) fn theirs(name: &str) -> Self {
        Self::of(|(theirs, _)| *theirs == name)
    }

    /// Those with this name of ours.
    pub(super) fn ours(name: &str) -> Self {
        Self::of(|(_, ours)| *ours == name)
    }
}

/// For each line, those with the same name of ours.
static ALIKE: LazyLock<Vec<Lines>> =
    LazyLock::new(|| ALIASES.iter().map(|(_, ours)| Lines::ours(ours)).collect());

/// Whole families of names, as far as nothing in the table above has them. Only short values: the long ones would be
/// kept twice for nobody.
const FAMILIES: [(&str, &str); 3] = [("gen_ai.", "mcp.llm."), ("llm.", "mcp.llm."), ("tool.", "mcp.tool.")];
const SHORT_BYTES_MAX: usize = 256;
/// Messages that are taken apart into hundreds of attributes stay where they are.
const APART: [&str; 4] =
    ["llm.input_messages.", "llm.output_messages.", "gen_ai.prompt.", "gen_ai.completion."];

/// Names that mean something only beside others.
const BESIDE: [&str; 9] = [
    "rpc.method",
    "rpc.service",
    "server.address",
    "input.value",
    "output.value",
    "traceloop.entity.input",
    "traceloop.entity.output",
    "traceloop.entity.name",
    otel::NETWORK,
];

/// Whether a name means something only beside others.
pub(super) fn is_beside(name: &str) -> bool {
    BESIDE.contains(&name)
}

/// What a name of a whole family is with us.
pub(super) fn family(name: &str) -> Option<String> {
    let (rest, ours) = FAMILIES.iter().find_map(|(start, ours)| Some((name.strip_prefix(start)?, ours)))?;
    let is_apart =
        Lines::theirs(name) != Lines::default() || APART.iter().any(|start| name.starts_with(start));
    (!is_apart).then(|| format!("{ours}{rest}"))
}

/// Adds our names to what has others. What is known of their names tells what to look for.
pub(super) fn add(kind: Kind, attributes: &mut Sorted<'_>, gathered: Gathered) {
    let mut added = Added::default();
    let Gathered { seen, theirs, ours: mut known } = gathered;
    let mut left = theirs.0 & !known.0;
    while left != 0 {
        let place = left.trailing_zeros() as usize;
        left &= left - 1;
        let (Some((theirs, ours)), Some(alike)) = (ALIASES.get(place), ALIKE.get(place)) else { break };
        if let Some(value) = attributes.get(theirs).filter(|value| !value.is_null()) {
            copy(attributes, theirs, ours, value, &mut added);
            known.add(*alike);
            left &= !known.0;
        }
    }
    if seen.has(Seen::BESIDE) {
        rpc(attributes, &mut added);
        transport(attributes, &mut added);
        open_inference(attributes, &mut added);
        if kind == Kind::Client && attributes.contains_key(otel::METHOD) {
            named(attributes, "server.address", names::PEER, &mut added);
        }
    }
    if seen.has(Seen::FAMILY) {
        families(attributes, &mut added);
    }
    // The first of a name is the one that counts, and here the last would be.
    added.0.reverse();
    attributes.add_missing(added.0.into_iter().collect());
}

/// What is added, a few names at most.
#[derive(Default)]
struct Added(Vec<(Cow<'static, str>, Value)>);

impl Added {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    fn add(&mut self, name: impl Into<Cow<'static, str>>, value: Value) {
        self.0.push((name.into(), value));
    }
}

/// Remote calls of every kind have a method; ours are those over JSON-RPC.
fn rpc(attributes: &Sorted<'_>, added: &mut Added) {
    let system = attributes.get("rpc.system.name").or_else(|| attributes.get("rpc.system"));
    let system = system.and_then(Value::as_str).unwrap_or("jsonrpc");
    if ["jsonrpc", "mcp"].contains(&system) {
        named(attributes, "rpc.method", names::METHOD, added);
        named(attributes, "rpc.service", names::PEER, added);
    }
}

fn transport(attributes: &Sorted<'_>, added: &mut Added) {
    let is_ours = attributes.contains_key(otel::METHOD) || attributes.contains_key(names::METHOD);
    let network = attributes.get(otel::NETWORK).and_then(Value::as_str);
    let transport = match network {
        Some("pipe") => "stdio",
        Some("tcp" | "quic") => "http",
        _ => return,
    };
    if is_ours && !attributes.contains_key(names::TRANSPORT) {
        added.add(names::TRANSPORT, transport.into());
    }
}

/// There `input.value` and `output.value` belong to whatever the span is about.
fn open_inference(attributes: &Sorted<'_>, added: &mut Added) {
    let known = |name: &str, added: &Added| attributes.contains_key(name) || added.has(name);
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

fn families(attributes: &Sorted<'_>, added: &mut Added) {
    let is_short = |value: &Value| match value {
        Value::String(text) => text.len() <= SHORT_BYTES_MAX,
        Value::Number(_) | Value::Bool(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    for (name, value) in attributes.iter().filter(|(_, value)| is_short(value)) {
        if let Some(ours) = family(name) {
            added.add(ours, value.clone());
        }
    }
}

fn named(attributes: &Sorted<'_>, theirs: &str, ours: &'static str, added: &mut Added) {
    let is_known = attributes.contains_key(ours) || added.has(ours);
    if let Some(value) = attributes.get(theirs).filter(|value| !is_known && !value.is_null()) {
        copy(attributes, theirs, ours, value, added);
    }
}

/// Copies a value, and what is said of one that was cut.
fn copy(attributes: &Sorted<'_>, theirs: &str, ours: &'static str, value: &Value, added: &mut Added) {
    added.add(ours, fitting(ours, value));
    // What was cut is a text, and shorter than the limit by a part of a character at most.
    if value.as_str().is_none_or(|text| text.len() < preview::PREVIEW_BYTES - 4) {
        return;
    }
    for mark in [names::TRUNCATED, names::BYTES, names::HASH] {
        if let Some(value) = attributes.get(&format!("{theirs}{mark}")) {
            added.add(format!("{ours}{mark}"), value.clone());
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
