//! JSON as it is written most often here: names and short texts without anything to escape.

use serde_json::Value;

/// Writes a text as JSON.
pub(crate) fn push_text(out: &mut String, text: &str) {
    // No early end, so that many bytes are looked at together.
    let is_plain =
        text.bytes().fold(true, |plain, byte| plain & (byte >= b' ') & (byte != b'"') & (byte != b'\\'));
    if is_plain {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        push(out, text);
    }
}

/// Writes attributes as an object.
pub(crate) fn push_attributes<'v>(
    out: &mut String,
    attributes: impl IntoIterator<Item = (&'v str, &'v Value)>,
) {
    let mut before = '{';
    for (name, value) in attributes {
        out.push(before);
        before = ',';
        push_text(out, name);
        out.push(':');
        match value {
            Value::String(text) => push_text(out, text),
            other => push(out, other),
        }
    }
    out.push_str(if before == '{' { "{}" } else { "}" });
}

/// Values and texts cannot fail to be written.
pub(crate) fn push(out: &mut String, value: &(impl serde::Serialize + ?Sized)) {
    out.push_str(&serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trace::Attributes;

    #[test]
    fn what_is_written_is_what_was_there() {
        let values = [
            json!("plain ä 🦀"),
            json!("a\"b\\c\n\u{0}\u{7f}"),
            json!(1.5),
            json!(null),
            json!([1, {"x": "\""}]),
        ];
        let names = ["mcp.name", "a\"b", "", "\t", "ü"];
        let all: Attributes = names.into_iter().map(str::to_owned).zip(values).collect();
        for all in [all, Attributes::new()] {
            let mut out = String::new();
            push_attributes(&mut out, all.iter());
            assert_eq!(serde_json::from_str::<Attributes>(&out).unwrap(), all);
        }
        for text in ["", "plain", "\u{1f}", "\"", "\\", "x".repeat(100).as_str()] {
            let mut out = String::new();
            push_text(&mut out, text);
            assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
        }
    }
}
