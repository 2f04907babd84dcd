//! Answers: the discriminated union, written as JSON once.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

use crate::{
    error::{Code, Error},
    limits::{self, Limits},
    warning::Warning,
};

/// What an operation returned: a value, or JSON that nobody has needed to look into.
#[derive(Debug)]
pub enum Data {
    Value(Value),
    Raw(Box<RawValue>),
    Text(Text),
}

/// A long text as the JSON string that it came as, quotation marks included. It was checked by whoever read it, and is
/// neither copied nor looked into before it is sent on.
#[derive(Debug, Clone)]
pub struct Text(Bytes);

impl Text {
    /// `json` must be one JSON string.
    #[must_use]
    pub fn new(json: Bytes) -> Self {
        Self(json)
    }

    #[must_use]
    pub fn json(&self) -> &[u8] {
        &self.0
    }
}

impl From<Value> for Data {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

/// A finished answer.
#[derive(Debug)]
pub struct Answer {
    code: Option<Code>,
    body: Body,
    attached: Option<Box<Attached>>,
}

/// What goes with an answer in MCP's own form.
#[derive(Debug, Default)]
struct Attached {
    content: Vec<Box<RawValue>>,
    meta: Option<Box<RawValue>>,
    questions: Option<Questions>,
}

/// What the client has to answer before there is a result, and what it brings back with its answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Questions {
    pub requests: Map<String, Value>,
    pub state: Option<String>,
}

#[derive(Debug)]
enum Body {
    Json(Vec<u8>),
    /// A success whose data is a text, and what follows the data.
    Text {
        text: Text,
        tail: Vec<u8>,
    },
    Spliced {
        parts: Arc<Spliced>,
        session: String,
    },
}

/// A large answer prepared beforehand, complete but for the session's id, in both forms it is written in.
#[derive(Debug, Default)]
pub struct Spliced {
    json: [String; 2],
    escaped: [String; 2],
}

impl Spliced {
    #[must_use]
    pub(crate) fn new(head: String, tail: String) -> Self {
        let escaped = [&head, &tail].map(|part| {
            let mut out = Vec::with_capacity(part.len() + part.len() / 8);
            escape(part.as_bytes(), &mut out);
            String::from_utf8(out).unwrap_or_default()
        });
        Self { json: [head, tail], escaped }
    }
}

#[derive(Serialize)]
struct Failure<'a> {
    success: bool,
    error: ErrorBody<'a>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    code: Code,
    message: &'a str,
    #[serde(skip_serializing_if = "Map::is_empty")]
    details: &'a Map<String, Value>,
}

/// What a success begins with.
const HEAD: &[u8] = b"{\"success\":true,\"data\":";

impl Answer {
    /// A success. Too large a one becomes the failure that says so.
    #[must_use]
    pub fn success(data: &Data, warnings: &[Warning], limits: &Limits) -> Self {
        let mut out;
        match data {
            Data::Value(value) => {
                out = Vec::with_capacity(256);
                out.extend_from_slice(HEAD);
                write_json(&mut out, value);
            }
            Data::Raw(raw) => {
                out = Vec::with_capacity(HEAD.len() + raw.get().len() + 64);
                out.extend_from_slice(HEAD);
                out.extend_from_slice(raw.get().as_bytes());
            }
            Data::Text(_) => out = Vec::new(),
        }
        if !warnings.is_empty() {
            out.extend_from_slice(b",\"warnings\":");
            write_json(&mut out, &warnings);
        }
        out.push(b'}');
        let body = match data {
            Data::Text(text) => Body::Text { text: text.clone(), tail: out },
            Data::Value(_) | Data::Raw(_) => Body::Json(out),
        };
        Self { code: None, body, attached: None }.within(limits)
    }

    /// A failure, told with the session it happened in.
    #[must_use]
    pub fn failure(mut error: Error, session: Option<&str>) -> Self {
        if let Some(session) = session {
            error.details.insert("session_id".to_owned(), session.into());
        }
        Self::bare_failure(&error)
    }

    /// A failure without anything added: batch-level ones and introspection's may carry no details.
    #[must_use]
    pub fn bare_failure(error: &Error) -> Self {
        let body = ErrorBody { code: error.code, message: &error.message, details: &error.details };
        let mut out = Vec::with_capacity(256);
        write_json(&mut out, &Failure { success: false, error: body });
        Self { code: Some(error.code), body: Body::Json(out), attached: None }
    }

    pub(crate) fn from_data(data: &Value) -> Self {
        Self::from_data_text(&data.to_string())
    }

    pub(crate) fn from_data_text(data: &str) -> Self {
        let text = format!("{{\"success\":true,\"data\":{data}}}");
        Self { code: None, body: Body::Json(text.into_bytes()), attached: None }
    }

    pub(crate) fn spliced(parts: Arc<Spliced>, session: &str) -> Self {
        Self { code: None, body: Body::Spliced { parts, session: session.to_owned() }, attached: None }
    }

    pub(crate) fn from_json(json: Vec<u8>) -> Self {
        Self { code: None, body: Body::Json(json), attached: None }
    }

    /// Adds blocks of MCP content that follow the answer, and members of the result's `_meta`.
    #[must_use]
    pub fn with(mut self, content: Vec<Box<RawValue>>, meta: Option<Box<RawValue>>) -> Self {
        if self.code.is_none() && (!content.is_empty() || meta.is_some()) {
            self.attached = Some(Box::new(Attached { content, meta, questions: None }));
        }
        self
    }

    /// No answer yet: the client is asked something and has to call again.
    #[must_use]
    pub fn asks(requests: Map<String, Value>, state: Option<String>) -> Self {
        let attached = Attached { questions: Some(Questions { requests, state }), ..Attached::default() };
        Self { code: None, body: Body::Json(b"null".to_vec()), attached: Some(Box::new(attached)) }
    }

    /// What the client is asked instead of being answered.
    #[must_use]
    pub fn questions(&self) -> Option<&Questions> {
        self.attached.as_ref()?.questions.as_ref()
    }

    /// Takes the blocks that follow it, for a batch that carries them.
    pub fn take_content(&mut self) -> Vec<Box<RawValue>> {
        self.attached.as_mut().map(|attached| std::mem::take(&mut attached.content)).unwrap_or_default()
    }

    /// The blocks that follow it.
    #[must_use]
    pub fn content(&self) -> &[Box<RawValue>] {
        self.attached.as_ref().map_or(&[], |attached| &attached.content)
    }

    #[must_use]
    pub fn meta(&self) -> Option<&RawValue> {
        self.attached.as_ref()?.meta.as_deref()
    }

    /// Replaces an answer over the response limit; no part of it is sent.
    #[must_use]
    pub fn within(self, limits: &Limits) -> Self {
        match self.oversize(limits) {
            Some(error) => Self::bare_failure(&error),
            None => self,
        }
    }

    /// Why the answer is too large to be sent, if it is.
    #[must_use]
    pub fn oversize(&self, limits: &Limits) -> Option<Error> {
        let (size, allowed) = (self.size(), limits.max_response_size());
        let error = || {
            Error::too_large(&limits::RESPONSE_SIZE, allowed, size)
                .hint("Ask for less: name the 'fields' you need, or a smaller page.")
        };
        (size > allowed).then(error)
    }

    /// The code of a failure.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        self.code
    }

    /// MCP's `isError`: only for what the caller cannot mend.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.code.is_some_and(Code::is_unrecoverable)
    }

    #[must_use]
    pub fn size(&self) -> usize {
        match &self.body {
            Body::Json(json) => json.len(),
            Body::Text { text, tail } => HEAD.len() + text.json().len() + tail.len(),
            Body::Spliced { parts, session } => {
                parts.json.iter().map(String::len).sum::<usize>() + session.len()
            }
        }
    }

    /// Appends the JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        match &self.body {
            Body::Json(json) => out.extend_from_slice(json),
            Body::Text { text, tail } => {
                out.reserve(self.size());
                out.extend_from_slice(HEAD);
                out.extend_from_slice(text.json());
                out.extend_from_slice(tail);
            }
            Body::Spliced { parts, session } => {
                let Spliced { json: [head, tail], .. } = parts.as_ref();
                splice(out, head, session, tail);
            }
        }
    }

    /// Appends the JSON as the inside of a JSON string, which is how MCP's text content carries it.
    pub fn write_escaped(&self, out: &mut Vec<u8>) {
        match &self.body {
            Body::Json(json) => escape(json, out),
            Body::Text { text, tail } => {
                escape(HEAD, out);
                escape_text(text.json(), out);
                escape(tail, out);
            }
            Body::Spliced { parts, session } => {
                let Spliced { escaped: [head, tail], .. } = parts.as_ref();
                splice(out, head, session, tail);
            }
        }
    }

    /// The JSON as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = Vec::with_capacity(self.size());
        self.write(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }
}

/// A session's id holds nothing that JSON escapes.
fn splice(out: &mut Vec<u8>, head: &str, session: &str, tail: &str) {
    out.reserve(head.len() + session.len() + tail.len());
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(session.as_bytes());
    out.extend_from_slice(tail.as_bytes());
}

/// Serializing our own shapes into memory cannot fail: no map of theirs has keys that are not strings.
fn write_json(out: &mut Vec<u8>, value: &impl Serialize) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

/// Appends JSON as the inside of a JSON string. Inside its own strings JSON has no raw control characters, so only
/// quotes, backslashes and the white space of JSON that came from elsewhere need care.
fn escape(json: &[u8], out: &mut Vec<u8>) {
    out.reserve(json.len() + json.len() / 4);
    // Long texts have few of these, and compact JSON has no tabs or carriage returns at all.
    let is_compact = memchr::memchr2(b'\t', b'\r', json).is_none();
    let mut rest = json;
    loop {
        let next = match is_compact {
            true => memchr::memchr3(b'"', b'\\', b'\n', rest),
            false => rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | b'\n' | b'\r' | b'\t')),
        };
        let Some((plain, [special, after @ ..])) = next.map(|place| rest.split_at(place)) else { break };
        out.extend_from_slice(plain);
        out.extend_from_slice(match special {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            _ => b"\\t",
        });
        rest = after;
    }
    out.extend_from_slice(rest);
}

/// The same for one JSON string, in which only what a backslash begins needs care, and the quotation marks around it.
/// Lines of text have one every few words, so that calling a search for each would cost more than looking at eight bytes
/// at a time.
fn escape_text(json: &[u8], out: &mut Vec<u8>) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const WIDE: usize = 32;
    let [b'"', inside @ .., b'"'] = json else { return escape(json, out) };
    out.reserve(json.len() + json.len() / 8 + WIDE);
    out.extend_from_slice(b"\\\"");
    let mut rest = inside;
    loop {
        if let Some((block, after)) = rest.split_first_chunk::<WIDE>()
            && !block.iter().fold(false, |found, byte| found | (*byte == b'\\'))
        {
            out.extend_from_slice(block);
            rest = after;
            continue;
        }
        let Some((block, after)) = rest.split_first_chunk::<8>() else { break };
        out.extend_from_slice(block);
        // A byte of this is zero where a backslash stands, and its highest bit is set in `found`; the lowest is exact.
        let differing = u64::from_le_bytes(*block) ^ (EACH * u64::from(b'\\'));
        let found = differing.wrapping_sub(EACH) & !differing & HIGH;
        if found == 0 {
            rest = after;
            continue;
        }
        let plain = found.trailing_zeros() as usize / 8;
        out.truncate(out.len() - block.len() + plain);
        let (_, escape) = rest.split_at(plain);
        rest = escape_pair(escape, out);
    }
    while let [first, after @ ..] = rest {
        if *first == b'\\' {
            rest = escape_pair(rest, out);
        } else {
            out.push(*first);
            rest = after;
        }
    }
    out.extend_from_slice(b"\\\"");
}

/// Appends a backslash and what it escapes, and tells what follows them.
fn escape_pair<'a>(pair: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let (pair, after) = pair.split_at(pair.len().min(2));
    match pair {
        b"\\\"" => out.extend_from_slice(b"\\\\\\\""),
        b"\\\\" => out.extend_from_slice(b"\\\\\\\\"),
        [_, letter] => out.extend_from_slice(&[b'\\', b'\\', *letter]),
        _ => out.extend_from_slice(b"\\\\"),
    }
    after
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn escaped(answer: &Answer) -> String {
        let mut out = b"\"".to_vec();
        answer.write_escaped(&mut out);
        out.push(b'"');
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn both_forms_say_the_same() {
        let raw = RawValue::from_string("{\n\t\"a\": \"x\\n\\\"y\\\\\", \r\n\"b\": 1 }".to_owned()).unwrap();
        for data in [Data::Raw(raw), Data::Value(json!({"text": "line\nquote\"back\\slash \u{1} ü 😀"}))] {
            let answer = Answer::success(&data, &[], &Limits::default());
            assert_eq!(escaped(&answer), answer.to_text());
        }
        let spliced = Spliced::new("{\"id\":\"".to_owned(), "\",\"s\":\"\\n\"}".to_owned());
        let answer = Answer::spliced(Arc::new(spliced), "abc");
        assert_eq!(answer.to_text(), "{\"id\":\"abc\",\"s\":\"\\n\"}");
        assert_eq!(escaped(&answer), answer.to_text());
        assert_eq!(answer.size(), answer.to_text().len());
    }

    /// Backslashes fall on every place of a block, alone and in rows.
    #[test]
    fn a_text_is_sent_on_as_it_came() {
        let parts = [
            "",
            "x",
            "\\",
            "\"",
            "\n",
            "\u{1}",
            "ü😀",
            "\\\\\"",
            "\"\\\"",
            "plain words of a line, and more of them",
        ];
        for before in 0..40 {
            for first in parts {
                for second in parts {
                    let text =
                        format!("{}{first}{second}{}{first}", "a".repeat(before), "b".repeat(before % 11));
                    let json = Value::from(text).to_string();
                    let shared = Data::Text(Text::new(Bytes::from(json.clone())));
                    let raw = Data::Raw(RawValue::from_string(json).unwrap());
                    let [shared, raw] =
                        [shared, raw].map(|data| Answer::success(&data, &[], &Limits::default()));
                    assert_eq!(shared.to_text(), raw.to_text());
                    assert_eq!(shared.size(), raw.size());
                    assert_eq!(escaped(&shared), raw.to_text());
                }
            }
        }
    }

    /// What is no string after all is escaped like everything else.
    #[test]
    fn a_text_that_is_none_is_still_escaped() {
        for json in ["", "\"", "{\"a\":\"b\"}", "7", "\"a\\\"", "\"\\"] {
            let text = Data::Text(Text::new(Bytes::from_static(json.as_bytes())));
            let answer = Answer::success(&text, &[], &Limits::default());
            assert_eq!(escaped(&answer), answer.to_text(), "{json}");
        }
    }

    /// REQ-LIMIT-02
    #[test]
    fn a_response_over_its_limit_is_the_error_and_no_part_of_the_data() {
        let limits = Limits::default();
        let answer = Answer::success(&Data::Value("x".repeat(11 * 1024 * 1024).into()), &[], &limits);
        let parsed: Value = serde_json::from_str(&answer.to_text()).unwrap();
        assert_eq!(parsed["error"]["code"], "VALIDATION_PAYLOAD_TOO_LARGE");
        assert_eq!(parsed["error"]["details"]["limit_type"], "response_size");
        assert!(answer.size() < 1000 && !answer.is_error());
    }

    /// REQ-RESP-02 REQ-RESP-03 REQ-RESP-04 REQ-RESP-05
    #[test]
    fn success_and_failure_never_share_a_key() {
        let success = Answer::success(&Data::Value(Value::Null), &[], &Limits::default()).to_text();
        assert_eq!(success, "{\"success\":true,\"data\":null}");
        let failure = Answer::failure(Error::not_found_resource("item", "item_999"), Some("s1")).to_text();
        let failure: Value = serde_json::from_str(&failure).unwrap();
        assert_eq!(
            failure,
            json!({"success": false, "error": {
                "code": "NOT_FOUND_RESOURCE", "message": "Item 'item_999' not found",
                "details": {"resource_type": "item", "resource_id": "item_999", "session_id": "s1"}
            }})
        );
    }
}
