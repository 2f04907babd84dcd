//! Texts that need no further look for secrets, found by one pass over their bytes. Everything that is recorded is looked
//! through, and most of it is words.

use super::{
    pem,
    secrets::{QUOTES, is_looking, is_scheme, may_be_json},
    words::{is_separator, is_unchanged},
};
use crate::discover::redact::KNOWN_KEY_BYTES_MIN;

/// Whether there is nothing in a text that has to be hidden, whatever it is called. Where this says no, there may still be
/// nothing.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    !may_be_json(text) && are_words("", text)
}

/// The same for what tells things apart, which may look random.
#[must_use]
pub fn is_plain_id(text: &str) -> bool {
    !may_be_json(text) && are_words("id", text)
}

/// What bytes are in a word.
#[derive(Clone, Copy, PartialEq)]
struct Kinds(u8);

impl Kinds {
    const NONE: Self = Self(0);
    /// Between words.
    const BLANK: Self = Self(1);
    /// Between a name and its value.
    const JOINT: Self = Self(1 << 1);
    /// What may stand around a word, and between its pieces.
    const QUOTE: Self = Self(1 << 2);
    /// Of a letter that is not ASCII, which may be a blank.
    const FOREIGN: Self = Self(1 << 3);

    const fn of(byte: u8) -> Self {
        match byte {
            b'\t'..=b'\r' | b' ' => Self::BLANK,
            b':' | b'=' => Self::JOINT,
            _ if is_separator(byte) => Self::QUOTE,
            128.. => Self::FOREIGN,
            _ => Self::NONE,
        }
    }

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The kind of every byte.
static KINDS: [Kinds; 256] = {
    let mut kinds = [Kinds::NONE; 256];
    let mut byte = 0_u8;
    loop {
        #[expect(clippy::indexing_slicing, reason = "there is one for every byte")]
        {
            kinds[byte as usize] = Kinds::of(byte);
        }
        if byte == u8::MAX {
            break kinds;
        }
        byte += 1;
    }
};

/// Whether every word of a text with this name stays as it is, and none says anything of the next.
pub(super) fn are_words(name: &str, text: &str) -> bool {
    let kind = |byte: u8| KINDS.get(usize::from(byte)).copied().unwrap_or(Kinds::FOREIGN);
    let (mut start, mut kinds) = (0, Kinds::NONE);
    for (place, kind) in text.bytes().map(kind).enumerate() {
        if kind == Kinds::BLANK {
            if !is_word(name, text, start, place, kinds) {
                return false;
            }
            (start, kinds) = (place + 1, Kinds::NONE);
        } else {
            kinds.0 |= kind.0;
        }
    }
    is_word(name, text, start, text.len(), kinds)
}

/// Whether the word between these places, with such bytes in it, is neither secret nor says anything of the next one.
fn is_word(name: &str, text: &str, start: usize, end: usize, kinds: Kinds) -> bool {
    // Short ones are neither keys nor random. Of these only flags and ways to authenticate say anything.
    let is_short = kinds == Kinds::NONE && end - start < KNOWN_KEY_BYTES_MIN;
    if is_short && !matches!(text.as_bytes().get(start), Some(b'-' | b'b' | b'B')) {
        return true;
    }
    let word = text.get(start..end).unwrap_or_default();
    if kinds.has(Kinds::FOREIGN) {
        // There may be several.
        let mut from = start;
        return word.split(char::is_whitespace).all(|word| {
            let place = from;
            from += word.len();
            from += text.get(from..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
            word.is_empty() || is_unchanged(name, text, place, place + word.len())
        });
    }
    if kinds.has(Kinds::JOINT) {
        return is_unchanged(name, text, start, end);
    }
    let core = if kinds.has(Kinds::QUOTE) { word.trim_matches(QUOTES) } else { word };
    if core.starts_with('-') || core.ends_with(pem::BEGIN) {
        return is_unchanged(name, text, start, end);
    }
    if core.len() < KNOWN_KEY_BYTES_MIN {
        return !is_scheme(core);
    }
    let is_looked_at = if kinds.has(Kinds::QUOTE) {
        let mut pieces = word.as_bytes().split(|byte| is_separator(*byte));
        pieces.any(|piece| {
            piece.len() >= KNOWN_KEY_BYTES_MIN
                && std::str::from_utf8(piece).is_ok_and(|piece| is_looking(piece, false))
        })
    } else {
        is_looking(core, false)
    };
    !is_looked_at || is_unchanged(name, text, start, end)
}
