//! JSON-RPC between us and an upstream, as bytes: results stay as they came until something has to look into them.

use std::{borrow::Cow, ops::Range, sync::Arc};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::one_text::OneText;
use crate::trace::open::End;

/// The revision whose requests say everything themselves.
pub(super) const SELF_CONTAINED: &str = "2026-07-28";
/// The newest revision that begins with `initialize`.
pub(super) const INITIALIZED: &str = "2025-11-25";

/// The code of an answer to a method that is not there.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;

/// A message from the other side.
#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    /// Reads a message; servers also print other things.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace())?;
        if *first == b'{' { serde_json::from_slice(bytes).ok() } else { None }
    }

    /// The number of the request that this answers, if it is one of ours.
    pub(super) fn answers(&self) -> Option<u64> {
        if self.method.is_some() {
            return None;
        }
        self.id?.get().parse().ok()
    }
}

/// An error of the protocol.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RpcError {
    #[serde(default)]
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) data: Option<Value>,
}

impl RpcError {
    pub(super) fn read(raw: &RawValue) -> Self {
        let unreadable = |_| Self { code: 0, message: "an error that cannot be read".to_owned(), data: None };
        serde_json::from_str(raw.get()).unwrap_or_else(unreadable)
    }
}

/// The result in a message that was received, without a copy of it.
#[derive(Debug, Clone)]
pub(super) struct Raw {
    message: Bytes,
    part: Part,
}

#[derive(Debug, Clone)]
enum Part {
    Known(Range<usize>),
    /// Where the text stands; where the result does is looked for when somebody wants more than the text.
    OneText(OneText),
}

impl Raw {
    /// `part` must lie in `message`; if it does not, nothing of it is there.
    pub(super) fn of(message: &Bytes, part: &RawValue) -> Self {
        let start = (part.get().as_ptr() as usize).saturating_sub(message.as_ptr() as usize);
        let end = start.saturating_add(part.get().len());
        if end > message.len() {
            return Self { message: Bytes::from_static(b"null"), part: Part::Known(0..4) };
        }
        Self { message: message.clone(), part: Part::Known(start..end) }
    }

    /// The result that is in `message`, of which only the text is known yet.
    pub(super) fn one_text(message: &Bytes, text: OneText) -> Self {
        Self { message: message.clone(), part: Part::OneText(text) }
    }

    /// The JSON. It was checked when the message was read.
    pub(super) fn get(&self) -> &str {
        match &self.part {
            Part::Known(part) => {
                let bytes = self.message.get(part.clone()).unwrap_or_default();
                std::str::from_utf8(bytes).unwrap_or("null")
            }
            Part::OneText(_) => {
                Message::read(&self.message).and_then(|message| message.result).map_or("null", RawValue::get)
            }
        }
    }

    /// What is recorded of it. Where only the text is known, who has more time looks for the result.
    pub(super) fn end(&self, cover: impl Fn(String) -> String) -> End {
        match &self.part {
            Part::Known(_) => End::ok(Some(cover(self.get().to_owned()))),
            Part::OneText(_) => End::ok_within(cover(String::from_utf8_lossy(&self.message).into_owned())),
        }
    }

    /// The one text that it is, as JSON, and its `_meta`, where that was seen when the message was read.
    pub(super) fn text(&self) -> Option<(Bytes, Option<&RawValue>)> {
        match &self.part {
            Part::Known(_) => None,
            Part::OneText(one) => Some((one.text(&self.message), one.meta(&self.message))),
        }
    }
}

/// What a request or notification says besides its method.
#[derive(Debug, Clone, Default)]
pub(super) struct Params {
    /// Members of `params` as JSON, joined by commas, `_meta` not among them.
    members: Vec<u8>,
    /// What it is about, for the headers of HTTP.
    name: Option<Arc<str>>,
    /// Parameters that the upstream wants in headers as well.
    headers: Vec<(String, String)>,
}

impl Params {
    pub(super) fn none() -> Self {
        Self::default()
    }

    /// Nothing yet, and room for so many bytes.
    pub(super) fn with_room(bytes: usize) -> Self {
        Self { members: Vec::with_capacity(bytes), ..Self::default() }
    }

    /// Adds a member whose value is JSON already. The key needs no escaping.
    #[must_use]
    pub(super) fn raw(mut self, key: &str, json: &str) -> Self {
        self.key(key);
        self.members.extend_from_slice(json.as_bytes());
        self
    }

    #[must_use]
    pub(super) fn value(mut self, key: &str, value: &impl serde::Serialize) -> Self {
        self.key(key);
        // Maps with string keys and plain values cannot fail to be written.
        if serde_json::to_writer(&mut self.members, value).is_err() {
            self.members.extend_from_slice(b"null");
        }
        self
    }

    /// Says what it is about: the tool, the prompt, the resource.
    #[must_use]
    pub(super) fn about(mut self, name: Arc<str>) -> Self {
        self.name = Some(name);
        self
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    #[must_use]
    pub(super) fn in_headers(mut self, headers: Vec<(String, String)>) -> Self {
        self.headers = headers;
        self
    }

    pub(super) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    fn key(&mut self, key: &str) {
        if !self.members.is_empty() {
            self.members.push(b',');
        }
        self.members.push(b'"');
        self.members.extend_from_slice(key.as_bytes());
        self.members.extend_from_slice(b"\":");
    }

    /// All of it as one object.
    pub(super) fn to_json(&self) -> String {
        format!("{{{}}}", String::from_utf8_lossy(&self.members))
    }

    pub(super) fn size(&self) -> usize {
        self.members.len()
    }
}

/// Writes a request, or a notification where there is no id. `meta` are the members of `_meta`, joined by commas.
pub(super) fn frame(id: Option<u64>, method: &str, params: &Params, meta: &[&str]) -> Vec<u8> {
    let meta_bytes: usize = meta.iter().map(|part| part.len() + 1).sum();
    let mut out = Vec::with_capacity(params.size() + meta_bytes + method.len() + 96);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
    if let Some(id) = id {
        out.extend_from_slice(b"\"id\":");
        out.extend_from_slice(id.to_string().as_bytes());
        out.push(b',');
    }
    out.extend_from_slice(b"\"method\":\"");
    out.extend_from_slice(method.as_bytes());
    out.push(b'"');
    let mut meta = meta.iter().filter(|part| !part.is_empty()).peekable();
    if params.size() > 0 || meta.peek().is_some() {
        out.extend_from_slice(b",\"params\":{");
        out.extend_from_slice(&params.members);
        if meta.peek().is_some() {
            if params.size() > 0 {
                out.push(b',');
            }
            out.extend_from_slice(b"\"_meta\":{");
            for (index, part) in meta.enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(part.as_bytes());
            }
            out.push(b'}');
        }
        out.push(b'}');
    }
    out.push(b'}');
    out
}

/// Answers a request of the other side. `id` and `result` are JSON.
pub(super) fn result(id: &RawValue, result: &str) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", id.get()).into_bytes()
}

/// Refuses a request of the other side.
pub(super) fn refusal(id: &RawValue, code: i64, message: &str) -> Vec<u8> {
    let error = json!({"code": code, "message": message});
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}", id.get()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(frame: &[u8]) -> Value {
        serde_json::from_slice(frame).unwrap()
    }

    #[test]
    fn frames_hold_what_they_are_given_and_nothing_else() {
        assert_eq!(
            written(&frame(Some(7), "ping", &Params::none(), &[])),
            json!({"jsonrpc": "2.0", "id": 7, "method": "ping"})
        );
        let params = Params::none().value("name", &"a\"b").raw("arguments", "{\"x\":1}");
        assert_eq!(
            written(&frame(None, "x/y", &params, &["", "\"progressToken\":3", "\"k\":{}"])),
            json!({"jsonrpc": "2.0", "method": "x/y",
                   "params": {"name": "a\"b", "arguments": {"x": 1}, "_meta": {"progressToken": 3, "k": {}}}})
        );
        let only_meta = frame(Some(1), "server/discover", &Params::none(), &["\"a\":1"]);
        assert_eq!(written(&only_meta)["params"], json!({"_meta": {"a": 1}}));
    }

    #[test]
    fn what_is_no_message_is_told_from_one() {
        for noise in ["", "  ", "Server listening", "[1,2]", "{\"id\":", "{\"id\":1}x", "\u{1b}[32mok"] {
            assert!(Message::read(noise.as_bytes()).is_none(), "{noise}");
        }
        assert!(Message::read(b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\"}").is_none());
        let answer = Message::read(b" {\"id\":12,\"result\":{}}").unwrap();
        assert_eq!(answer.answers(), Some(12));
        for other in
            ["{\"id\":\"12\",\"result\":{}}", "{\"id\":12,\"method\":\"ping\"}", "{\"id\":-1,\"result\":1}"]
        {
            assert_eq!(Message::read(other.as_bytes()).unwrap().answers(), None, "{other}");
        }
    }

    #[test]
    fn one_text_is_still_a_whole_result() {
        let message =
            Bytes::from_static(b"{\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}}");
        let (id, one) = OneText::read(&message).unwrap();
        let raw = Raw::one_text(&message, one);
        assert_eq!((id, raw.get()), (1, "{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}"));
        assert_eq!(raw.text().unwrap().0, "\"a\"");
        assert!(Raw::of(&message, Message::read(&message).unwrap().result.unwrap()).text().is_none());
    }

    #[test]
    fn a_part_is_found_again_in_its_message() {
        let message = Bytes::from_static(b"{\"id\":1,\"result\":{\"a\":[1]}}");
        let part = Message::read(&message).unwrap().result.unwrap();
        assert_eq!(Raw::of(&message, part).get(), "{\"a\":[1]}");
        let elsewhere = RawValue::from_string("[1]".to_owned()).unwrap();
        assert!(
            ["null", "[1]"].contains(&Raw::of(&message, &elsewhere).get())
                || Raw::of(&message, &elsewhere).get().len() <= message.len()
        );
    }
}
