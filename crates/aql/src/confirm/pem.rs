//! Private keys as files hold them, between two lines that say so.

use std::borrow::Cow;

use crate::discover::redact::REDACTED;

/// What the first line begins with, and the last one. A blank follows both.
pub(super) const BEGIN: &str = "-----BEGIN";
const END: &str = "-----END";
const DASHES: &str = "-----";
/// The longest names of keys have fewer.
const LABEL_BYTES_MAX: usize = 64;
/// A line of a key has more letters than this, but for the last one.
const LINE_BYTES_MIN: usize = 16;
/// Words before the key itself, which say how it is encrypted.
const HEADER_WORDS_MAX: usize = 8;

/// The text without what stands between the lines of a private key.
pub(super) fn hidden(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut rest = text;
    let last_end = text.rfind(END).map(|place| text.len() - place);
    while let Some(start) = body(rest) {
        let (before, from) = rest.split_at(start);
        // None is looked for behind the last one, which takes long where there are many beginnings.
        let closed = last_end.filter(|left| from.len() >= *left).and_then(|_| from.find(END));
        let (end, is_key) = match closed {
            Some(end) => (end, holds_key(from.get(..end).unwrap_or_default())),
            None => (matter(from), true),
        };
        let (between, behind) = from.split_at_checked(end).unwrap_or((from, ""));
        shown.push_str(before);
        shown.push_str(if is_key && !between.is_empty() { REDACTED } else { between });
        rest = behind;
    }
    if shown.is_empty() {
        return Cow::Borrowed(text);
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// Whether a text begins a private key and does not end it.
pub(super) fn is_open(text: &str) -> bool {
    let behind = text.rfind(END).map_or(text, |place| text.get(place..).unwrap_or_default());
    body(behind).is_some()
}

/// Whether a text behind its first line may be a line of a key. Whoever only speaks of such lines writes words.
pub(super) fn is_line(text: &str) -> bool {
    let text = text.trim();
    let is_word = !text.contains(char::is_whitespace);
    is_word && (text.len() >= LINE_BYTES_MIN || text.contains(|c: char| c.is_ascii_digit() || c == '='))
}

/// Whether the last line of a key is in a text.
pub(super) fn closes(text: &str) -> bool {
    text.contains(END)
}

/// Where the first line of a private key ends.
fn body(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let begin = from + text.get(from..)?.find(BEGIN)? + BEGIN.len();
        from = begin;
        let rest = text.get(begin..)?;
        let rest = rest.get(..rest.floor_char_boundary(LABEL_BYTES_MAX + DASHES.len()))?;
        let Some(length) = rest.find(DASHES) else { continue };
        let label = rest.get(..length)?;
        if label.starts_with(' ') && label.contains("PRIVATE KEY") {
            return Some(begin + length + DASHES.len());
        }
    }
}

/// Whether there is a line of a key in a text. Whoever only speaks of such lines writes words between them.
fn holds_key(text: &str) -> bool {
    let mut pieces = text.split(|c: char| !is_of_key(c));
    pieces.any(|piece| piece.len() >= LINE_BYTES_MIN)
}

fn is_of_key(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "+/=".contains(letter)
}

/// How much of what follows a first line is a key, where nothing says where it ends.
fn matter(text: &str) -> usize {
    let (mut end, mut lines) = (0, 0);
    for (place, word) in words(text) {
        let is_matter = word.chars().all(is_of_key);
        if is_matter && word.len() >= LINE_BYTES_MIN {
            lines += 1;
        } else if lines == 0 && place.1 < HEADER_WORDS_MAX {
            continue;
        } else if lines == 0 || !is_matter || !super::secrets::is_encoded(word) {
            break;
        }
        end = place.0 + word.len();
    }
    end
}

/// The words of a text, where they begin and how many came before. Ends of lines may be written out as two letters.
fn words(text: &str) -> impl Iterator<Item = ((usize, usize), &str)> {
    let mut at = 0;
    let mut count = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(at..)?;
            let blank = |rest: &str| {
                let written = ["\\n", "\\r", "\\t"].iter().any(|end| rest.starts_with(end));
                if written {
                    2
                } else {
                    rest.chars().next().filter(|c| c.is_whitespace()).map_or(0, char::len_utf8)
                }
            };
            if rest.is_empty() {
                return None;
            }
            let skipped = blank(rest);
            if skipped > 0 {
                at += skipped;
                continue;
            }
            let length =
                rest.char_indices().find(|(place, _)| blank(rest.get(*place..).unwrap_or_default()) > 0);
            let word = rest.get(..length.map_or(rest.len(), |(place, _)| place))?;
            let found = ((at, count), word);
            at += word.len();
            count += 1;
            return Some(found);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "MIIEowIBAAKCAQEA7bq/Jx0+abcdefgh/ijklmnopqrstuvwxABCDEFGHIJKLMNO";

    #[test]
    fn keys_are_hidden_between_their_lines() {
        for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
            for end in ["\n", "\r\n", "\\n", "\\r\\n", " "] {
                let key = format!("-----BEGIN {label}-----{end}{LINE}{end}QIDAQAB={end}");
                let shown = hidden(&key).into_owned();
                assert!(!shown.contains("MIIE") && !shown.contains("QIDAQ"), "{shown}");
                let whole = format!("a {key}-----END {label}-----{end}b");
                let expected = format!("a -----BEGIN {label}-----[redacted]-----END {label}-----{end}b");
                assert_eq!(hidden(&format!("{whole}{whole}")), format!("{expected}{expected}"));
                assert_eq!(hidden(&expected), expected);
            }
        }
        let encrypted = format!(
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n{LINE}\nand more"
        );
        assert_eq!(hidden(&encrypted), "-----BEGIN RSA PRIVATE KEY-----[redacted]\nand more");
    }

    #[test]
    fn what_is_no_key_stays() {
        for text in [
            format!("-----BEGIN CERTIFICATE-----\n{LINE}\n-----END CERTIFICATE-----"),
            format!("-----BEGIN PUBLIC KEY-----\n{LINE}\n-----END PUBLIC KEY-----"),
            "a line -----BEGIN PRIVATE KEY----- and at last -----END PRIVATE KEY----- stand around it"
                .to_owned(),
            "if text.contains(\"-----BEGIN PRIVATE KEY-----\") { return Err(Found::Key); } // and so on"
                .to_owned(),
            "-----BEGIN".to_owned(),
            "-----BEGIN PRIVATE KEY".to_owned(),
            "-----BEGIN PRIVATE KEY-----".to_owned(),
        ] {
            assert_eq!(hidden(&text), text);
        }
    }

    #[test]
    fn many_beginnings_take_no_longer_than_they_are_long() {
        let many = "-----BEGIN PRIVATE KEY----- ".repeat(100_000);
        assert_eq!(hidden(&many), many);
        assert!(is_open(&many));
        assert!(!is_open("-----BEGIN PRIVATE KEY-----x-----END PRIVATE KEY-----"));
    }
}
