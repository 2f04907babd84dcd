//! JSON-RPC frames as bytes, before any library has looked at them.
//!
//! Libraries drop what they cannot parse; here every frame that can be answered is. A tool call is understood as far
//! as its way can be decided, its arguments still unread; everything else is only recognised.

use std::{borrow::Cow, fmt, marker::PhantomData, sync::LazyLock};

use memchr::memmem::Finder;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::value::RawValue;

use super::reply;
use crate::trace::ids::Given;

/// A frame, as far as it had to be understood.
pub(crate) enum Frame<'a> {
    Call(ToolCall<'a>),
    /// A legacy cancellation of the request with that id, which the library is told of as well.
    Cancelled(Cow<'a, str>),
    /// A request for the library, unless another server can answer it.
    Request {
        id: Cow<'a, str>,
        opens: Opens,
        elsewhere: Option<Elsewhere<'a>>,
    },
    /// A notification or response for the library.
    Notice,
    /// No frame: this is the answer.
    Refused(Vec<u8>),
    /// A tool call whose text is not UTF-8; the offset is that of the first wrong byte.
    NotUtf8 {
        id: String,
        tool: String,
        era: Era,
        offset: usize,
    },
}

/// A request that another server may answer.
pub(crate) struct Elsewhere<'a> {
    pub(crate) method: &'static str,
    /// What the request is about, as headers repeat it.
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) params: Option<&'a RawValue>,
    pub(crate) era: Era,
    pub(crate) within: Within<'a>,
}

/// The methods that are other servers' to answer.
const ELSEWHERE: [&str; 7] = [
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
];

/// Whether a request begins the life of a connection, which the library insists on before anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opens {
    Nothing,
    Initialize,
    /// A request that carries its own protocol metadata.
    SelfContained,
}

/// A `tools/call` request.
pub(crate) struct ToolCall<'a> {
    /// As JSON, in the one spelling that every id of the same value has.
    pub(crate) id: Cow<'a, str>,
    pub(crate) tool: Cow<'a, str>,
    pub(crate) arguments: Option<&'a RawValue>,
    pub(crate) era: Era,
    /// What its client can be asked for, where the request says so and that is anything at all.
    pub(crate) capabilities: Option<&'a RawValue>,
    /// Nothing in it needs more than an answer: no progress wanted, no task, no input responses.
    pub(crate) plain: bool,
    /// What it says of what it is part of.
    pub(crate) within: Within<'a>,
}

/// What a request says in `_meta` of itself and of what it is part of. Only who records it looks at it, so that nothing is
/// refused for it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Within<'a> {
    request_id: Option<&'a RawValue>,
    traceparent: Option<&'a RawValue>,
    client: Option<&'a RawValue>,
}

impl<'a> Within<'a> {
    pub(crate) fn given(self) -> Given<'a> {
        let text = |raw: &'a RawValue| raw.get().strip_prefix('"')?.strip_suffix('"');
        Given {
            request_id: self.request_id.and_then(text),
            traceparent: self.traceparent.and_then(text),
            client: self.client.map(RawValue::get),
        }
    }
}

/// Which life a request says it leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// No protocol metadata: the connection or session was initialized.
    Initialized,
    /// 2026-07-28: the request says everything itself.
    SelfContained,
    /// Metadata that is incomplete or names another version; the library knows what to say.
    Unclear,
}

/// What every tool call has in it.
static CALL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"tools/call\""));

/// The revision without sessions.
pub(crate) const STATELESS_VERSION: &str = "2026-07-28";

#[derive(Deserialize)]
#[serde(bound(deserialize = "P: Deserialize<'de>"))]
struct Envelope<'a, P> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    /// Absent in a notification; null is no id.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    params: P,
}

/// An object. Derived readers would also take an array for one, field by field.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Object<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(Members(PhantomData))
    }
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    task: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "inputResponses")]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestState")]
    request_state: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct Meta<'a> {
    #[serde(borrow, default, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    protocol_version: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    client_capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientInfo")]
    client_info: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "X-MCP-Request-Id")]
    request_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    traceparent: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct OnlyMeta<'a> {
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CancelParams<'a> {
    #[serde(borrow, rename = "requestId")]
    request_id: &'a RawValue,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn object<'a, T: Deserialize<'a>>(json: &'a str) -> Option<T> {
    serde_json::from_str(json).ok().map(|Object(read)| read)
}

impl<'a> Meta<'a> {
    fn within(&self) -> Within<'a> {
        Within { request_id: self.request_id, traceparent: self.traceparent, client: self.client_info }
    }

    fn era(&self) -> Era {
        match (self.protocol_version.as_deref(), self.client_capabilities) {
            (None, None) => Era::Initialized,
            (Some(STATELESS_VERSION), Some(capabilities)) if is_capabilities(capabilities.get()) => {
                Era::SelfContained
            }
            _ => Era::Unclear,
        }
    }
}

/// Whether the library can read the capabilities too; most clients of ours have none.
fn is_capabilities(json: &str) -> bool {
    json == "{}" || object::<rmcp::model::ClientCapabilities>(json).is_some()
}

/// Recognises a frame.
pub(crate) fn read(bytes: &[u8]) -> Frame<'_> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return not_utf8(bytes, error.valid_up_to()),
    };
    if let Some(frame) = well_formed_call(text) {
        return frame;
    }
    let envelope: Envelope<'_, Option<&RawValue>> = match serde_json::from_str(text) {
        Ok(Object(envelope)) => envelope,
        Err(_) if serde_json::from_str::<&RawValue>(text).is_ok_and(|json| !json.get().starts_with('{')) => {
            return Frame::Refused(reply::error(
                "null",
                reply::INVALID_REQUEST,
                "The message is no JSON object",
            ));
        }
        Err(error) if error.is_data() => {
            return Frame::Refused(reply::error(
                "null",
                reply::INVALID_REQUEST,
                "The message is no JSON-RPC request",
            ));
        }
        Err(_) => {
            return Frame::Refused(reply::error("null", reply::PARSE_ERROR, "The message is not valid JSON"));
        }
    };
    let id = match envelope.id.map(|id| request_id(id.get())) {
        Some(Some(id)) => Some(id),
        None => None,
        Some(None) => {
            let message = "The message's 'id' must be a string or an integer";
            return Frame::Refused(reply::error("null", reply::INVALID_REQUEST, message));
        }
    };
    if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        let message = "The message must say \"jsonrpc\": \"2.0\"";
        return Frame::Refused(reply::error(
            id.as_deref().unwrap_or("null"),
            reply::INVALID_REQUEST,
            message,
        ));
    }
    match (envelope.method.as_deref(), id, envelope.params) {
        (Some("tools/call"), Some(id), params) => match object(params.map_or("", RawValue::get)) {
            Some(params) => tool_call(id, params),
            None => {
                let message = "tools/call needs an object with the tool's 'name'";
                Frame::Refused(reply::error(&id, reply::INVALID_PARAMS, message))
            }
        },
        (Some("notifications/cancelled"), None, Some(params)) => {
            match object::<CancelParams<'_>>(params.get()) {
                Some(params) => request_id(params.request_id.get()).map_or(Frame::Notice, Frame::Cancelled),
                None => Frame::Notice,
            }
        }
        (Some("initialize"), Some(id), _) => Frame::Request { id, opens: Opens::Initialize, elsewhere: None },
        (Some(method), Some(id), params) => {
            Frame::Request { id, opens: opens(method, params), elsewhere: elsewhere(method, params) }
        }
        (Some(_), None, _) | (None, Some(_), _) => Frame::Notice,
        (None, None, _) => {
            let message = "The message is neither a request, a notification nor a response";
            Frame::Refused(reply::error("null", reply::INVALID_REQUEST, message))
        }
    }
}

/// Reads a tool call as most are in one pass. Whatever is odd about one is told by who reads it step by step.
fn well_formed_call(text: &str) -> Option<Frame<'_>> {
    CALL.find(text.as_bytes())?;
    let Object(envelope): Object<Envelope<'_, Object<CallParams<'_>>>> = serde_json::from_str(text).ok()?;
    let Envelope { jsonrpc, id, method, params: Object(params) } = envelope;
    let is_call = jsonrpc?.get() == "\"2.0\"" && method? == "tools/call";
    let id = request_id(id?.get()).filter(|_| is_call)?;
    Some(tool_call(id, params))
}

fn tool_call<'a>(id: Cow<'a, str>, params: CallParams<'a>) -> Frame<'a> {
    let refused = |message: &str| Frame::Refused(reply::error(&id, reply::INVALID_PARAMS, message));
    if params.input_responses.is_some_and(|value| !value.get().starts_with('{'))
        || params.request_state.is_some_and(|value| !value.get().starts_with('"'))
    {
        return refused("'inputResponses' must be an object and 'requestState' a string");
    }
    let meta = match params.meta {
        None => Meta::default(),
        Some(meta) => match object(meta.get()) {
            Some(meta) => meta,
            None => return refused("'_meta' must be an object with well-formed protocol metadata"),
        },
    };
    let plain = meta.progress_token.is_none()
        && params.task.is_none()
        && params.input_responses.is_none()
        && params.request_state.is_none();
    let capabilities = meta.client_capabilities.filter(|declared| declared.get() != "{}");
    let (tool, arguments, era) = (params.name, params.arguments, meta.era());
    let within = meta.within();
    Frame::Call(ToolCall { id, tool, arguments, era, capabilities, plain, within })
}

fn elsewhere<'a>(method: &str, params: Option<&'a RawValue>) -> Option<Elsewhere<'a>> {
    #[derive(Deserialize, Default)]
    struct About<'a> {
        #[serde(borrow, default)]
        name: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        uri: Option<Cow<'a, str>>,
        #[serde(borrow, default, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    let method = ELSEWHERE.into_iter().find(|known| *known == method)?;
    let about: About<'a> = match params {
        Some(params) => object(params.get())?,
        None => About::default(),
    };
    let meta: Meta<'a> = match about.meta {
        Some(meta) => object(meta.get())?,
        None => Meta::default(),
    };
    let (era, within) = (meta.era(), meta.within());
    Some(Elsewhere { method, name: about.name.or(about.uri), params, era, within })
}

fn opens(method: &str, params: Option<&RawValue>) -> Opens {
    let meta = params.and_then(|params| object::<OnlyMeta<'_>>(params.get())?.meta);
    match meta.and_then(|meta| object::<Meta<'_>>(meta.get())).map(|meta| meta.era()) {
        Some(Era::SelfContained) if method != "server/discover" => Opens::SelfContained,
        _ => Opens::Nothing,
    }
}

/// The id of a damaged tool call is looked for in a copy with the damage painted over.
fn not_utf8<'a>(bytes: &[u8], offset: usize) -> Frame<'a> {
    const MESSAGE: &str = "The message is not valid UTF-8";
    let repaired = String::from_utf8_lossy(bytes);
    match read(repaired.as_bytes()) {
        Frame::Call(ToolCall { id, tool, era, .. }) if !id.contains('\u{FFFD}') => {
            Frame::NotUtf8 { id: id.into_owned(), tool: tool.into_owned(), era, offset }
        }
        Frame::Request { id, .. } if !id.contains('\u{FFFD}') => {
            Frame::Refused(reply::error(&id, reply::PARSE_ERROR, MESSAGE))
        }
        _ => Frame::Refused(reply::error("null", reply::PARSE_ERROR, MESSAGE)),
    }
}

/// A string or an integer in its one canonical spelling, so that the same id is the same text wherever it comes from.
fn request_id(raw: &str) -> Option<Cow<'_, str>> {
    if raw.starts_with('"') {
        if !raw.contains('\\') {
            return Some(Cow::Borrowed(raw));
        }
        let text: String = serde_json::from_str(raw).ok()?;
        return serde_json::to_string(&text).ok().map(Cow::Owned);
    }
    let number: i64 = raw.parse().ok()?;
    let canonical = number.to_string();
    Some(if canonical == raw { Cow::Borrowed(raw) } else { Cow::Owned(canonical) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(frame: Frame<'_>) -> serde_json::Value {
        match frame {
            Frame::Refused(reply) => serde_json::from_slice(&reply).unwrap(),
            _ => panic!("not refused"),
        }
    }

    /// LREQ-MCP-12
    #[test]
    fn what_is_no_message_gets_the_protocols_error() {
        for (bytes, code) in [
            (&b"{"[..], -32700),
            (b"not json", -32700),
            (b"\xFF\xFE", -32700),
            (b"[]", -32600),
            (b"[\"2.0\",1,\"ping\"]", -32600),
            (b"{}", -32600),
            (b"{\"jsonrpc\":\"2.0\"}", -32600),
            (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
            (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", -32600),
            (b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", -32600),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", -32602),
            (
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"arguments\":{}}}",
                -32602,
            ),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[\"t\"]}", -32602),
        ] {
            let reply = refused(read(bytes));
            assert_eq!(reply["error"]["code"], code, "{}", String::from_utf8_lossy(bytes));
        }
    }

    /// REQ-ENC-02
    #[test]
    fn a_damaged_call_keeps_its_id_wherever_it_stands() {
        for bytes in [
            &b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{\"a\":\"\xE2\x82\"}}}"[..],
            b"{\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{\"a\":\"\xFF\"}},\"jsonrpc\":\"2.0\",\"id\":7}",
        ] {
            assert!(matches!(read(bytes), Frame::NotUtf8 { id, .. } if id == "7"));
        }
        let in_id =
            b"{\"jsonrpc\":\"2.0\",\"id\":\"\xFF\",\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}";
        assert_eq!(refused(read(in_id))["id"], serde_json::Value::Null);
    }

    #[test]
    fn one_id_has_one_spelling() {
        for (raw, canonical) in [("\"\\u0061\"", "\"a\""), ("-0", "0"), ("7", "7"), ("\"x\"", "\"x\"")] {
            assert_eq!(request_id(raw).as_deref(), Some(canonical));
        }
        for bad in ["1.5", "1e3", "null", "{}", "[1]", "true", "99999999999999999999"] {
            assert_eq!(request_id(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_call_is_plain_only_if_an_answer_is_all_it_wants() {
        let read_call = |params: &str| -> (bool, Era) {
            let text =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{params}}}");
            match read(text.as_bytes()) {
                Frame::Call(call) => (call.plain, call.era),
                _ => panic!("a call"),
            }
        };
        let version = "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"";
        let capabilities = "\"io.modelcontextprotocol/clientCapabilities\":{}";
        for (params, expected) in [
            ("{\"name\":\"t\"}".to_owned(), (true, Era::Initialized)),
            ("{\"name\":\"t\",\"_meta\":{\"x\":1}}".to_owned(), (true, Era::Initialized)),
            ("{\"name\":\"t\",\"_meta\":{\"progressToken\":1}}".to_owned(), (false, Era::Initialized)),
            ("{\"name\":\"t\",\"task\":{}}".to_owned(), (false, Era::Initialized)),
            (
                format!("{{\"name\":\"t\",\"_meta\":{{{version},{capabilities}}}}}"),
                (true, Era::SelfContained),
            ),
            (format!("{{\"name\":\"t\",\"_meta\":{{{version}}}}}"), (true, Era::Unclear)),
            (
                format!(
                    "{{\"name\":\"t\",\"_meta\":{{{version},\"io.modelcontextprotocol/clientCapabilities\":{{\"roots\":5}}}}}}"
                ),
                (true, Era::Unclear),
            ),
        ] {
            assert_eq!(read_call(&params), expected, "{params}");
        }
    }
}
