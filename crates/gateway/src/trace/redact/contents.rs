//! Contents of resources, images and sounds, of which nothing is kept but what they are.

use serde_json::{Map, Value};

use super::LEFT_OUT;

/// The members of a resource or a picture that are its contents.
const CONTENTS: [&str; 3] = ["text", "blob", "data"];
/// JSON in a text in JSON, and so on. What is deeper is not recorded where it may hold contents.
const TEXTS_WITHIN_MAX: usize = 4;

/// Whether JSON may have contents in it, found in one pass. Where this says no, there are none, unless something in it is
/// escaped otherwise than quotes are.
pub(in crate::trace) fn may_hold(json: &str) -> bool {
    json.split('"').any(|piece| {
        let piece = if piece.ends_with('\\') { piece.trim_end_matches('\\') } else { piece };
        matches!(piece, "resource" | "image" | "audio" | "contents")
    })
}

/// Takes out the contents of resources, images and sounds, wherever they are: in content blocks, in what reading a
/// resource gives, and in JSON within texts. Tells whether there were any.
pub(in crate::trace) fn leave_out(value: &mut Value) -> bool {
    within(value, 0, false)
}

/// The same for a text, which may be JSON. Nothing where it stays as it is.
pub(in crate::trace) fn left_out(text: &str) -> Option<String> {
    of_text(text, 0)
}

/// Of what was cut, the last resource may lack its address.
fn within(value: &mut Value, texts: usize, is_cut: bool) -> bool {
    match value {
        Value::Array(values) => {
            let mut found = false;
            // Every one of them, not only the first.
            values.iter_mut().for_each(|value| found |= within(value, texts, is_cut));
            found
        }
        Value::Object(object) => {
            let mut found = of_object(object, is_cut);
            object.values_mut().for_each(|value| found |= within(value, texts, is_cut));
            found
        }
        Value::String(text) => match of_text(text, texts) {
            Some(shown) => {
                *text = shown;
                true
            }
            None => false,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn of_object(object: &mut Map<String, Value>, is_cut: bool) -> bool {
    let kind = object.get("type").and_then(Value::as_str);
    let is_typed = kind == Some("resource");
    let mut found = matches!(kind, Some("image" | "audio")) && empty(object);
    if let Some(Value::Object(resource)) = object.get_mut("resource")
        && (is_typed || is_cut || resource.contains_key("uri"))
    {
        found |= empty(resource);
    }
    let contents = match object.get_mut("contents") {
        Some(Value::Array(contents)) => contents.as_mut_slice(),
        Some(one) => std::slice::from_mut(one),
        None => &mut [],
    };
    let last = contents.len().saturating_sub(1);
    for (place, content) in contents.iter_mut().enumerate() {
        let Some(content) = content.as_object_mut() else { continue };
        let is_one = content.contains_key("uri") || (is_cut && place == last);
        found |= is_one && empty(content);
    }
    found
}

fn empty(holder: &mut Map<String, Value>) -> bool {
    let mut found = false;
    for name in CONTENTS {
        if let Some(content) = holder.get_mut(name)
            && !content.is_null()
            && !content.as_str().is_some_and(|content| LEFT_OUT.starts_with(content))
        {
            *content = LEFT_OUT.into();
            found = true;
        }
    }
    found
}

fn of_text(text: &str, texts: usize) -> Option<String> {
    if !text.trim_start().starts_with(['{', '[']) || !(may_hold(text) || text.contains("\\u")) {
        return None;
    }
    if texts >= TEXTS_WITHIN_MAX {
        return Some(LEFT_OUT.to_owned());
    }
    let whole = serde_json::from_str::<Value>(text).ok().map(|whole| (whole, false));
    let Some((mut inner, is_cut)) = whole.or_else(|| Some((completed(text)?, true))) else {
        // Several documents, or what nobody understands.
        let has =
            |name: &str| text.contains(&format!("\"{name}\"")) || text.contains(&format!("\\\"{name}\\\""));
        let holds = has("uri") && CONTENTS.iter().any(|name| has(name));
        return (holds && may_hold(text)).then(|| LEFT_OUT.to_owned());
    };
    within(&mut inner, texts + 1, is_cut).then(|| inner.to_string())
}

/// JSON that was cut somewhere, with what it lacks at its end.
fn completed(text: &str) -> Option<Value> {
    let (mut open, mut in_text, mut is_escaped, mut escape) = (Vec::new(), false, false, 0);
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => (is_escaped, escape) = (true, place),
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' => open.push('}'),
            b'[' => open.push(']'),
            b'}' | b']' => {
                open.pop()?;
            }
            _ => {}
        }
    }
    // A letter that is written out may be cut as well.
    let kept = if in_text && text.len() - escape < 6 { text.get(..escape)? } else { text };
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let without_word = || kept.trim_end().trim_end_matches(is_of_word).trim_end().trim_end_matches(',');
    let mut whole = if in_text { kept } else { without_word() }.to_owned();
    if in_text {
        whole.push('"');
    }
    let closing: String = open.iter().rev().collect();
    let read = |ending: &&str| serde_json::from_str(&format!("{whole}{ending}{closing}")).ok();
    ["", ":null", "null"].iter().find_map(read)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn contents_are_left_out_wherever_they_are() {
        let read = json!({"contents": [{"uri": "file:///a", "mimeType": "text/plain", "text": "MARKER"}]});
        let bare = json!({"resource": {"uri": "file:///a", "blob": "MARKER"}});
        let typed = json!({"type": "resource", "resource": {"uri": "file:///a", "text": "MARKER"}});
        for value in [
            read.clone(),
            bare.clone(),
            json!({"a": [{"type": "tool_result", "content": [typed]}]}),
            json!({"type": "text", "text": read.to_string()}),
            json!([json!({"deep": json!([bare]).to_string()}).to_string()]),
            json!({"contents": {"uri": "file:///a", "data": "MARKER"}}),
        ] {
            let mut shown = value.clone();
            assert!(leave_out(&mut shown), "{value}");
            let text = shown.to_string();
            assert!(!text.contains("MARKER") && text.contains("file:///a"), "{text}");
            assert!(!leave_out(&mut shown), "twice is once");
            let text = left_out(&value.to_string());
            assert!(
                text.is_some_and(|text| !text.contains("MARKER") && text.contains("file:///a")),
                "{value}"
            );
        }
        let lines = format!("{read}\n{read}");
        assert_eq!(left_out(&lines).as_deref(), Some(LEFT_OUT));
        let escaped = "{\"\\u0063ontents\":[{\"uri\":\"a\",\"text\":\"MARKER\"}]}";
        assert!(left_out(escaped).is_some_and(|text| !text.contains("MARKER")));
    }

    /// Others cut what they report, and what was cut here is read back as it was.
    #[test]
    fn json_may_be_cut_anywhere() {
        let read = json!({"a": 1, "contents": [{"uri": "file:///a", "text": "MARKER\\u00e9 \"x\" MARKER"}, 12, true]});
        let mut shown = read.clone();
        assert!(leave_out(&mut shown));
        let (read, shown) = (read.to_string(), shown.to_string());
        for end in (0..read.len()).filter(|end| read.is_char_boundary(*end)) {
            let cut = &read[..end];
            let left = left_out(cut).unwrap_or_else(|| cut.to_owned());
            assert!(!left.contains("MARKER"), "{cut}: {left}");
        }
        for end in 0..shown.len() {
            assert_eq!(left_out(&shown[..end]), None, "{}", &shown[..end]);
        }
    }

    #[test]
    fn what_is_no_content_stays() {
        for value in [
            json!({"contents": ["a", "b"], "resource": "file:///a", "text": "kept"}),
            json!({"contents": [{"title": "a", "text": "kept"}]}),
            json!({"resource": {"name": "cpu", "data": [1, 2]}}),
            json!({"type": "text", "text": "a \"resource\" and \"contents\""}),
            json!({"uri": "file:///a", "text": "kept"}),
        ] {
            let mut shown = value.clone();
            assert!(!leave_out(&mut shown) && shown == value, "{shown}");
            assert_eq!(left_out(&value.to_string()), None);
        }
        assert_eq!(left_out("{\"contents\" of a drawer"), None);
    }
}
