//! The ways in which one text can be read by the programs that it is handed to.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// So often a text is taken out of its encoding: once for an address in an address, and once more.
const DECODED_TIMES: usize = 3;

/// The text as it is, decoded, with the other kind of slashes, and without what only a shell reads.
pub(super) fn spellings(text: &str) -> Vec<Cow<'_, str>> {
    let mut all = vec![Cow::Borrowed(text)];
    let mut add = |spelling: String| {
        if !all.iter().any(|known| *known == spelling) {
            all.push(Cow::Owned(spelling));
        }
    };
    let mut decoded = text.to_owned();
    for _ in 0..DECODED_TIMES {
        if !decoded.contains('%') {
            break;
        }
        let next = percent_decode_str(&decoded).decode_utf8_lossy().into_owned();
        if next == decoded {
            break;
        }
        decoded = next;
        add(decoded.clone());
    }
    for spelled in [text.to_owned(), decoded] {
        if spelled.contains('\\') {
            add(spelled.replace('\\', "/"));
        }
        if spelled.contains(['\\', '"', '\'', '`', '\t', '\r', '\n']) {
            add(spelled.replace(['\\', '"', '\'', '`', '\t', '\r', '\n'], ""));
        }
        if let Some((before, _)) = spelled.split_once('\0') {
            add(before.to_owned());
        }
    }
    all
}

/// Whether a text could lead anywhere but to a name in the working directory.
pub(super) fn leads(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr3(b'/', b'\\', b'~', bytes).is_some()
        || memchr::memchr3(b'$', b'%', b':', bytes).is_some()
        || bytes.starts_with(b".")
}

/// The parts of a text that could be paths of their own, as in a command.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    const BETWEEN: &[char] = &[
        '"', '\'', '`', ';', '|', '&', '(', ')', '<', '>', '=', '@', ',', ':', '!', '#', '{', '}', '[', ']',
    ];
    text.split(|c: char| c.is_whitespace() || c.is_control() || BETWEEN.contains(&c))
        .filter(|word| !word.is_empty())
}

/// The parts that could be patterns of paths.
pub(super) fn patterns(text: &str) -> impl Iterator<Item = &str> {
    const BETWEEN: &[char] = &['"', '\'', '`', ';', '|', '&', '(', ')', '<', '>', '=', '@'];
    text.split(|c: char| c.is_whitespace() || c.is_control() || BETWEEN.contains(&c))
        .filter(|word| word.contains(['*', '?', '[', '{']))
}
