//! What an upstream's tool returned, as lean as it can be: its JSON once, and what is not text behind it.

use std::collections::BTreeMap;

use aql::response::{Data, Text};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::dispatch::Outcome;

/// A result, as far as it has to be understood.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolResult<'a> {
    #[serde(borrow, default)]
    pub(super) content: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) structured_content: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) is_error: Option<bool>,
    /// Only today's revision has it.
    #[serde(borrow, default)]
    pub(super) result_type: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default, rename = "_meta")]
    pub(super) meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: std::borrow::Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

/// One block of content: its text as JSON, or something else that stays as it is.
enum Part<'a> {
    Text { whole: &'a RawValue, text: &'a RawValue },
    Other { whole: &'a RawValue, kind: String },
}

fn parts<'a>(content: &[&'a RawValue]) -> Vec<Part<'a>> {
    content.iter().map(|whole| part(whole)).collect()
}

fn part(whole: &RawValue) -> Part<'_> {
    match serde_json::from_str::<Block<'_>>(whole.get()) {
        Ok(Block { kind, text: Some(text) }) if kind == "text" && text.get().starts_with('"') => {
            Part::Text { whole, text }
        }
        Ok(block) => Part::Other { whole, kind: block.kind.into_owned() },
        Err(_) => Part::Other { whole, kind: "unknown".to_owned() },
    }
}

/// What its text says, all of it.
pub(super) fn text(content: &[&RawValue]) -> String {
    let mut texts = Vec::new();
    for part in parts(content) {
        if let Part::Text { text, .. } = part
            && let Ok(text) = serde_json::from_str::<String>(text.get())
        {
            texts.push(text);
        }
    }
    texts.join("\n")
}

/// Makes the outcome of a call of a result that is no error.
pub(super) fn outcome(result: &ToolResult<'_>) -> Outcome {
    let meta = result.meta.and_then(passed_on);
    // What most tools return.
    if let ([whole], None) = (result.content.as_slice(), result.structured_content)
        && let Part::Text { text, .. } = part(whole)
    {
        return Outcome { meta, ..Outcome::from(one_text(text)) };
    }
    let parts = parts(&result.content);
    let structured = result.structured_content.filter(|structured| structured.get() != "null");
    let attached: Vec<Box<RawValue>> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Other { whole, .. } => Some((*whole).to_owned()),
            // Text beside structured content is mostly the same once more; where it is not, it is not lost.
            Part::Text { whole, text } => {
                structured.is_some_and(|data| !says(text, data)).then(|| (*whole).to_owned())
            }
        })
        .collect();
    let data = match (structured, parts.as_slice()) {
        (Some(structured), _) => Data::Raw(structured.to_owned()),
        (_, [Part::Text { text, .. }]) => one_text(text),
        (_, several) => Data::Raw(listed(several)),
    };
    Outcome { content: attached, meta, ..Outcome::from(data) }
}

/// The same of a result that is one text, given as JSON.
pub(super) fn of_one_text(text: Bytes, meta: Option<&RawValue>) -> Outcome {
    let found = std::str::from_utf8(&text).ok().and_then(json_in);
    let data = found.map_or_else(|| Data::Text(Text::new(text)), Data::Raw);
    Outcome { meta: meta.and_then(passed_on), ..Outcome::from(data) }
}

/// What belongs to the protocol between the upstream and us.
const PROTOCOLS_OWN: &str = "io.modelcontextprotocol/";

/// The members of `_meta` that are meant for whoever called the tool.
fn passed_on(meta: &RawValue) -> Option<Box<RawValue>> {
    let mut members: BTreeMap<String, &RawValue> = serde_json::from_str(meta.get()).ok()?;
    members.retain(|key, _| !key.starts_with(PROTOCOLS_OWN));
    if members.is_empty() { None } else { serde_json::value::to_raw_value(&members).ok() }
}

/// Whether a text says the same as the data, or nothing.
fn says(text: &RawValue, data: &RawValue) -> bool {
    let Ok(text) = serde_json::from_str::<String>(text.get()) else { return false };
    if text.trim().is_empty() || text == data.get() {
        return true;
    }
    let Ok(data) = serde_json::from_str::<Value>(data.get()) else { return false };
    let same = |read: Value| {
        // Servers wrap what is no object, and write the inside as text.
        let inside = data.as_object().filter(|data| data.len() == 1).and_then(|data| data.values().next());
        read == data || inside == Some(&read)
    };
    serde_json::from_str(&text).is_ok_and(same)
        || data.as_object().is_some_and(|data| data.values().any(|value| *value == text))
}

/// The JSON that a text holds, or the text itself.
fn one_text(text: &RawValue) -> Data {
    Data::Raw(json_in(text.get()).unwrap_or_else(|| text.to_owned()))
}

/// The JSON that a text holds, itself given as JSON.
fn json_in(text: &str) -> Option<Box<RawValue>> {
    let may_be_json = text.get(1..).is_some_and(|inside| {
        let inside = inside.trim_start_matches(['\\', 'n', 't', 'r', ' ']);
        inside.starts_with('{') || inside.starts_with('[')
    });
    if !may_be_json {
        return None;
    }
    strict(serde_json::from_str::<String>(text).ok()?.trim())
}

/// An object or array, if the text is one and nothing else.
fn strict(text: &str) -> Option<Box<RawValue>> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    RawValue::from_string(text.to_owned()).ok()
}

/// Several blocks, in their order; of those that follow as content only the kind is repeated.
fn listed(parts: &[Part<'_>]) -> Box<RawValue> {
    let mut out = String::from("{\"content\":[");
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        match part {
            Part::Text { whole, .. } => out.push_str(whole.get()),
            Part::Other { kind, .. } => out.push_str(&serde_json::json!({"type": kind}).to_string()),
        }
    }
    out.push_str("]}");
    RawValue::from_string(out).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shaped(result: &Value) -> (Value, Vec<Value>) {
        let text = result.to_string();
        let result: ToolResult<'_> = serde_json::from_str(&text).unwrap();
        let outcome = outcome(&result);
        let Data::Raw(raw) = outcome.data else { panic!("a value where JSON was expected") };
        let content =
            outcome.content.iter().map(|block| serde_json::from_str(block.get()).unwrap()).collect();
        (serde_json::from_str(raw.get()).unwrap(), content)
    }

    fn block(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn data_is_the_leanest_form_that_loses_nothing() {
        for (result, data) in [
            (json!({"structuredContent": {"a": 1}, "content": [block("{\"a\":1}")]}), json!({"a": 1})),
            (json!({"content": [block(" \n{\"a\": [1, 2]}\n")]}), json!({"a": [1, 2]})),
            (json!({"content": [block("[]")]}), json!([])),
            (json!({"content": [block("12")]}), json!("12")),
            (json!({"content": [block("{oops")]}), json!("{oops")),
            (json!({"content": [block("[1] and more")]}), json!("[1] and more")),
            (json!({"content": [block("Echo: \"hi\"\n")]}), json!("Echo: \"hi\"\n")),
            (json!({"content": [block("")]}), json!("")),
            (json!({"content": []}), json!({"content": []})),
            (json!({}), json!({"content": []})),
            (json!({"structuredContent": null, "content": [block("x")]}), json!("x")),
            (json!({"content": [block("a"), block("b")]}), json!({"content": [block("a"), block("b")]})),
        ] {
            assert_eq!(shaped(&result), (data, vec![]), "{result}");
        }
    }

    /// A long text becomes what a short one does.
    #[test]
    fn one_text_is_told_as_several_parts_are() {
        for text in
            ["", "plain \"words\"\n", " \n{\"a\": [1, 2]}\n", "[]", "{oops", "[1] and more", "12", "ü\u{1}"]
        {
            let (short, _) = shaped(&json!({"content": [block(text)]}));
            let outcome = of_one_text(Bytes::from(json!(text).to_string()), None);
            let long: Value = match outcome.data {
                Data::Text(text) => serde_json::from_slice(text.json()).unwrap(),
                Data::Raw(raw) => serde_json::from_str(raw.get()).unwrap(),
                Data::Value(_) => panic!("a value where JSON was expected"),
            };
            assert_eq!(long, short, "{text}");
        }
        let meta = RawValue::from_string("{\"x\":1}".to_owned()).unwrap();
        assert!(of_one_text(Bytes::from_static(b"\"a\""), Some(&meta)).meta.is_some());
    }

    #[test]
    fn what_is_no_text_follows_unchanged_in_its_order() {
        let image = json!({"type": "image", "data": "QUJD", "mimeType": "image/png", "x-new": {"a": 1}});
        let link = json!({"type": "resource_link", "uri": "a://b", "name": "b"});
        let odd = json!({"type": "hologram", "depth": 3});
        let result = json!({"content": [block("before"), image, link, odd, block("after")]});
        let (data, content) = shaped(&result);
        assert_eq!(content, [image.clone(), link, odd]);
        assert_eq!(
            data,
            json!({"content": [block("before"), {"type": "image"}, {"type": "resource_link"}, {"type": "hologram"},
                               block("after")]})
        );
        let one = json!({"content": [image]});
        assert_eq!(shaped(&one), (json!({"content": [{"type": "image"}]}), vec![image]));
    }

    #[test]
    fn text_that_says_more_than_the_structured_content_follows_it() {
        let warning = block("only 3 of 900 rows");
        for (texts, attached) in [
            (json!([block("{\"rows\": [1]}")]), vec![]),
            (json!([block("[1]")]), vec![]),
            (json!([block("")]), vec![]),
            (json!([warning]), vec![warning.clone()]),
            (json!([block("{\"rows\":[1]}"), warning]), vec![warning.clone()]),
        ] {
            let result = json!({"structuredContent": {"rows": [1]}, "content": texts});
            assert_eq!(shaped(&result), (json!({"rows": [1]}), attached), "{result}");
        }
        let wrapped = json!({"structuredContent": {"result": "done"}, "content": [block("done")]});
        assert_eq!(shaped(&wrapped), (json!({"result": "done"}), vec![]));
    }

    #[test]
    fn metadata_of_the_protocol_stays_behind() {
        let meta = |meta: Value| {
            let text = json!({"content": [], "_meta": meta}).to_string();
            let outcome = outcome(&serde_json::from_str(&text).unwrap());
            outcome.meta.map(|meta| serde_json::from_str::<Value>(meta.get()).unwrap())
        };
        assert_eq!(
            meta(json!({"io.modelcontextprotocol/serverInfo": {}, "x": {"y": 1}})),
            Some(json!({"x": {"y": 1}}))
        );
        assert_eq!(meta(json!({"io.modelcontextprotocol/serverInfo": {}})), None);
        assert_eq!(meta(json!({})), None);
        assert_eq!(meta(json!(7)), None);
    }

    #[test]
    fn blocks_that_are_broken_are_passed_on() {
        for broken in [
            json!(1),
            json!("x"),
            json!({"type": 5}),
            json!({"type": "text", "text": 7}),
            json!({"text": "x"}),
        ] {
            let (_, content) = shaped(&json!({"content": [broken]}));
            assert_eq!(content, [broken]);
        }
    }
}
