//! Results that are one text, as most are: read in one pass, and passed on without another.

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use bytes::Bytes;
use memchr::memmem::Finder;
use serde::Deserialize;
use serde_json::value::RawValue;

/// What has this is more than a text; looking for it costs less than finding out by reading.
static STRUCTURED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"structuredContent\":{"));

/// Where in a message the one text of a tool's result stands.
#[derive(Debug, Clone)]
pub(super) struct OneText {
    text: Range<usize>,
    meta: Option<Range<usize>>,
}

/// An answer whose result is one text and says nothing else that matters. What has to be told apart from it does not
/// fit, and is read as any other message.
#[derive(Deserialize)]
struct Answer<'a> {
    id: u64,
    #[serde(default, rename = "method")]
    _method: Option<Absent>,
    #[serde(default, rename = "error")]
    _error: Option<Absent>,
    #[serde(borrow)]
    result: ToldResult<'a>,
}

/// Nothing is read as this, so that an optional one is missing or `null`.
enum Absent {}

impl<'de> Deserialize<'de> for Absent {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("this is not expected here"))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToldResult<'a> {
    #[serde(borrow)]
    content: (Block<'a>,),
    #[serde(default, rename = "structuredContent")]
    _structured_content: Option<Absent>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(borrow, default)]
    result_type: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: &'a RawValue,
}

impl OneText {
    /// The number of the request that a message answers, and its text, if that is all there is to it.
    pub(super) fn read(message: &[u8]) -> Option<(u64, Self)> {
        if STRUCTURED.find(message).is_some() {
            return None;
        }
        let whole = std::str::from_utf8(message).ok()?;
        let Answer { id, result, .. } = serde_json::from_str(whole).ok()?;
        let ToldResult { content: (Block { kind, text },), is_error, result_type, meta, .. } = result;
        let is_complete = result_type.is_none_or(|kind| kind == "complete");
        if kind != "text" || !text.get().starts_with('"') || is_error == Some(true) || !is_complete {
            return None;
        }
        let place = |part: &RawValue| {
            let start = (part.get().as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
            let end = start.checked_add(part.get().len()).filter(|end| *end <= whole.len())?;
            Some(start..end)
        };
        let meta = match meta {
            Some(meta) => Some(place(meta)?),
            None => None,
        };
        Some((id, Self { text: place(text)?, meta }))
    }

    /// The text as JSON, a part of the message that it was read from.
    pub(super) fn text(&self, message: &Bytes) -> Bytes {
        message.slice(self.text.clone())
    }

    /// The `_meta` of the result.
    pub(super) fn meta<'a>(&self, message: &'a Bytes) -> Option<&'a RawValue> {
        serde_json::from_slice(message.get(self.meta.clone()?)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(message: &str) -> Option<(u64, String, Option<String>)> {
        let message = Bytes::from(message.to_owned());
        let (id, one) = OneText::read(&message)?;
        let text = String::from_utf8(one.text(&message).to_vec()).unwrap();
        Some((id, text, one.meta(&message).map(|meta| meta.get().to_owned())))
    }

    #[test]
    fn the_text_is_found_wherever_it_stands() {
        let text = r#""a \"b\" \\ ü\n""#;
        for (result, meta) in [
            (format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#), None),
            (
                format!(
                    r#"{{"isError":false,"content":[{{"text":{text} ,"annotations":{{}},"type":"text"}}]}}"#
                ),
                None,
            ),
            (
                format!(
                    r#"{{"resultType":"complete","structuredContent":null,"content":[{{"type":"text","text":{text}}}],"_meta":{{"x":1}},"y":[]}}"#
                ),
                Some(r#"{"x":1}"#.to_owned()),
            ),
        ] {
            for message in [
                format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#),
                format!("{{\"result\":{result},\"jsonrpc\":\"2.0\",\"error\":null,\"id\":7}}\r\n"),
            ] {
                assert_eq!(text_of(&message), Some((7, text.to_owned(), meta.clone())), "{message}");
            }
        }
    }

    /// Everything else is left to whoever reads all messages.
    #[test]
    fn what_is_not_one_text_or_not_json_is_left_to_others() {
        let block = r#"{"type":"text","text":"a"}"#;
        for result in [
            r#"{"content":[]}"#.to_owned(),
            format!(r#"{{"content":[{block},{block}]}}"#),
            format!(r#"{{"content":[{block}],"structuredContent":{{"a":1}}}}"#),
            format!(r#"{{"content":[{block}],"isError":true}}"#),
            format!(r#"{{"content":[{block}],"content":[{block}]}}"#),
            format!(r#"{{"content":[{block}],"resultType":"input_required"}}"#),
            r#"{"content":[{"type":"text","text":7}]}"#.to_owned(),
            r#"{"content":[{"type":"image","text":"a"}]}"#.to_owned(),
            r#"{"content":[{"type":"text"}]}"#.to_owned(),
            "{\"content\":[{\"type\":\"text\",\"text\":\"a\nb\"}]}".to_owned(),
            r#"{"content":[{"type":"text","text":"a\x"}]}"#.to_owned(),
            r#"{"tools":[]}"#.to_owned(),
            "null".to_owned(),
        ] {
            assert_eq!(
                text_of(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)),
                None,
                "{result}"
            );
        }
        let result = format!(r#"{{"content":[{block}]}}"#);
        for message in [
            format!(r#"{{"id":"7","result":{result}}}"#),
            format!(r#"{{"id":-7,"result":{result}}}"#),
            format!(r#"{{"result":{result}}}"#),
            format!(r#"{{"id":7,"method":"ping","result":{result}}}"#),
            format!(r#"{{"id":7,"error":{{"code":1}},"result":{result}}}"#),
            format!(r#"{{"id":7,"result":{result}}}x"#),
            format!(r#"{{"id":7,"result":{result}"#),
            format!(r#"[7,{result}]"#),
        ] {
            assert_eq!(text_of(&message), None, "{message}");
        }
        assert!(
            OneText::read(b"{\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}}")
                .is_none()
        );
    }
}
