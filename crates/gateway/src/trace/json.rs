//! JSON as it is written most often here: names and short texts without anything to escape.

use std::fmt::Write as _;

use serde_json::Value;

/// Writes a text as JSON.
pub(crate) fn push_text(out: &mut String, text: &str) {
    out.push('"');
    if is_plain(text.as_bytes()) {
        out.push_str(text);
    } else {
        escape(out, text);
    }
    out.push('"');
}

/// Whether nothing is to escape, eight bytes at a time.
fn is_plain(bytes: &[u8]) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    // The highest bit of a byte is set where it was zero, of others it may be behind one.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let special = |word: u64| {
        let controls = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        controls | zeros(word ^ (ONES * 0x22)) | zeros(word ^ (ONES * 0x5c))
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [b' '; 8];
    for (byte, left) in last.iter_mut().zip(rest) {
        *byte = *left;
    }
    // No early end: texts with something to escape are few.
    let found = words.iter().fold(0, |found, word| found | special(u64::from_ne_bytes(*word)));
    found | special(u64::from_ne_bytes(last)) == 0
}

/// Writes what stands between the quotes.
fn escape(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(place) = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        let (before, special) = rest.split_at(place);
        out.push_str(before);
        let Some((special, after)) = special.split_at_checked(1) else { break };
        match special {
            "\"" => out.push_str("\\\""),
            "\\" => out.push_str("\\\\"),
            "\n" => out.push_str("\\n"),
            "\r" => out.push_str("\\r"),
            "\t" => out.push_str("\\t"),
            other => {
                let _ = write!(out, "\\u{:04x}", other.bytes().next().unwrap_or_default());
            }
        }
        rest = after;
    }
    out.push_str(rest);
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
            Value::Number(number) => {
                let _ = write!(out, "{number}");
            }
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
    }

    fn written(text: &str) -> String {
        let mut out = String::new();
        push_text(&mut out, text);
        out
    }

    /// Each byte that is escaped, and its neighbours, in each place of a word.
    #[test]
    fn every_special_byte_is_found_wherever_it_stands() {
        for special in (0..0x80_u8).map(char::from).chain(['\u{80}', 'ä', '\u{2028}', '🦀']) {
            for place in 0..20 {
                let text = format!("{}{special}{}", "x".repeat(place), "y".repeat(19 - place));
                assert_eq!(serde_json::from_str::<String>(&written(&text)).unwrap(), text, "{special:?}");
                assert_eq!(is_plain(text.as_bytes()), special >= ' ' && !['"', '\\'].contains(&special));
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn texts_are_read_as_they_were(text in "(?s).{0,40}", more in "[\u{0}-\u{30}\"\\\\]{0,20}") {
            for text in [text.clone() + &more, more + &text] {
                proptest::prop_assert_eq!(serde_json::from_str::<String>(&written(&text)).unwrap(), text);
            }
        }
    }
}
