//! JSON-RPC answers, written straight into bytes.

use aql::response::{Answer, Questions};
use serde_json::json;

pub(crate) const PARSE_ERROR: i32 = -32700;
pub(crate) const INVALID_REQUEST: i32 = -32600;
pub(crate) const INVALID_PARAMS: i32 = -32602;
pub(crate) const INTERNAL_ERROR: i32 = -32603;

/// The protocol's own error, for what is no MCP request at all. `id` is raw JSON.
pub(crate) fn error(id: &str, code: i32, message: &str) -> Vec<u8> {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{}}}}}",
        json!(message)
    )
    .into_bytes()
}

/// The result of a tool call: the answer as text content. `id` is raw JSON.
pub(crate) fn tool_result(id: &str, answer: &Answer, self_contained: bool) -> Vec<u8> {
    if let Some(questions) = answer.questions() {
        return input_required(id, questions);
    }
    let attached: usize = answer.content().iter().map(|block| block.get().len() + 1).sum();
    let mut out = Vec::with_capacity(answer.size() + answer.size() / 4 + attached + 160);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b",\"result\":{");
    if self_contained {
        out.extend_from_slice(b"\"resultType\":\"complete\",");
    }
    out.extend_from_slice(b"\"content\":[{\"type\":\"text\",\"text\":\"");
    answer.write_escaped(&mut out);
    out.extend_from_slice(b"\"}");
    for block in answer.content() {
        out.push(b',');
        extend_on_one_line(&mut out, block.get());
    }
    out.push(b']');
    if let Some(meta) = answer.meta() {
        out.extend_from_slice(b",\"_meta\":");
        extend_on_one_line(&mut out, meta.get());
    }
    out.extend_from_slice(b",\"isError\":");
    out.extend_from_slice(if answer.is_error() { b"true" } else { b"false" });
    out.extend_from_slice(b"}}");
    out
}

/// The answer to a call whose client has to be asked something first.
fn input_required(id: &str, questions: &Questions) -> Vec<u8> {
    let mut result = json!({"resultType": "input_required", "inputRequests": questions.requests});
    if let (Some(state), Some(result)) = (&questions.state, result.as_object_mut()) {
        result.insert("requestState".to_owned(), json!(state));
    }
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}").into_bytes()
}

/// Appends JSON that came from elsewhere. A line feed in it can only stand between its tokens, where a space does as well.
fn extend_on_one_line(out: &mut Vec<u8>, json: &str) {
    let plain = |byte: u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte };
    out.extend(json.bytes().map(plain));
}
