//! What looks like a secret in a text, word by word: by the name before it, by its place, or by itself.

mod value;

use self::value::{Brackets, Quote};
use super::{
    address, pem, plain,
    secrets::{
        QUOTES, announces, is_counting_key, is_encoded, is_header, is_looking, is_scheme, secrecy,
        tells_apart,
    },
};
use crate::{
    adopt::{self, Secrecy},
    discover::redact::{KNOWN_KEY_BYTES_MIN, REDACTED},
};

/// Names of secrets are shorter.
const NAME_BYTES_MAX: usize = 128;
/// What stands between a name and what joins it to its value is not longer.
const BETWEEN_BYTES_MAX: usize = 8;

/// A text without what looks like a secret in it. The name is that of the member which holds it.
pub(super) fn text(name: &str, text: &str) -> String {
    if plain::are_words(name, text) {
        return text.to_owned();
    }
    long_way(name, text)
}

/// The same, word by word.
pub(super) fn long_way(name: &str, text: &str) -> String {
    let text = pem::hidden(text);
    let mut words = Words::new(name, &text);
    let mut start = 0;
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end_matches(char::is_whitespace);
        if !word.is_empty() {
            words.word(start, start + word.len());
        }
        start += piece.len();
        if piece.ends_with(['\n', '\r']) {
            words.line_ends();
        }
    }
    words.shown()
}

/// Whether the word between these places of a text with this name stays as it is, and says nothing of the next one.
pub(super) fn is_unchanged(name: &str, text: &str, start: usize, end: usize) -> bool {
    let mut words = Words::new(name, text);
    words.word(start, end);
    let begins_key = text.get(start..end).is_some_and(|word| word.ends_with(pem::BEGIN));
    words.shown.is_none() && words.next == Next::Plain && !begins_key
}

/// What the word before says of the next one.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Plain,
    /// It is secret, unless it is another flag.
    Argument,
    /// It is the value of a secret's name, as far as it stands in the same line or anywhere.
    Value {
        anywhere: bool,
        may_be_call: bool,
    },
    /// It is, if it looks like something encoded.
    Encoded,
    /// So is everything to the end of the line, as behind the name of a header.
    Line,
    /// So is everything to where this ends, in the same line.
    Until(Quote),
    /// The same for a list or an object.
    Within(Brackets),
}

/// A text that is looked through, and what is shown of it as far as that differs.
struct Words<'t> {
    text: &'t str,
    /// Whether the text tells things apart, so that it may look random.
    told: bool,
    next: Next,
    shown: Option<String>,
    /// Of the text, how much is shown already.
    done: usize,
}

impl<'t> Words<'t> {
    fn new(name: &str, text: &'t str) -> Self {
        Self { text, told: tells_apart(name), next: Next::Plain, shown: None, done: 0 }
    }

    fn shown(self) -> String {
        match self.shown {
            Some(mut shown) => {
                shown.push_str(self.text.get(self.done..).unwrap_or_default());
                shown
            }
            None => self.text.to_owned(),
        }
    }

    fn part(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn byte(&self, place: usize) -> u8 {
        self.text.as_bytes().get(place).copied().unwrap_or_default()
    }

    fn put(&mut self, start: usize, end: usize, instead: &str) {
        if start >= end || self.part(start, end) == instead {
            return;
        }
        let before = self.part(self.done, start);
        let shown = self.shown.get_or_insert_default();
        shown.push_str(before);
        shown.push_str(instead);
        self.done = end;
    }

    /// What is hidden already stays as it is.
    fn hide(&mut self, start: usize, end: usize) {
        let around = self.part(start.saturating_sub(1), end + 1);
        if self.part(start, end) != REDACTED.trim_matches(QUOTES) || around != REDACTED {
            self.put(start, end, REDACTED);
        }
    }

    fn line_ends(&mut self) {
        if !matches!(
            self.next,
            Next::Plain | Next::Argument | Next::Encoded | Next::Value { anywhere: true, .. }
        ) {
            self.next = Next::Plain;
        }
    }

    fn word(&mut self, start: usize, end: usize) {
        let (from, to) = self.core(start, end);
        let core = self.part(from, to);
        let mut place = start;
        match std::mem::replace(&mut self.next, Next::Plain) {
            Next::Line => {
                self.hide(from, to);
                self.next = Next::Line;
                return;
            }
            Next::Until(quote) => match self.closing(quote, start, end) {
                Some(at) => {
                    self.hide(start, at);
                    place = at;
                }
                None => {
                    self.hide(from, to);
                    self.next = Next::Until(quote);
                    return;
                }
            },
            Next::Within(brackets) => match self.bracket(brackets, start, end) {
                Ok(at) => {
                    self.hide(start, at);
                    place = at;
                }
                Err(open) => {
                    self.hide(start, end);
                    self.next = Next::Within(open);
                    return;
                }
            },
            Next::Argument if !core.starts_with('-') => place = self.value(start, end, false),
            // A name of its own, as in YAML.
            Next::Value { anywhere: true, .. } if is_name_with_colon(self.part(start, end)) => {}
            Next::Value { may_be_call, .. } if core.bytes().any(|byte| byte != b'-') => {
                place = self.value(start, end, may_be_call);
            }
            Next::Encoded => {
                let length = core.find(QUOTES).unwrap_or(core.len());
                if is_encoded(core.get(..length).unwrap_or_default()) {
                    self.hide(from, from + length);
                    place = from + length;
                }
            }
            Next::Plain | Next::Argument | Next::Value { .. } => {}
        }
        if place == start {
            if announces(core) {
                self.next = Next::Argument;
                return;
            }
            if is_scheme(core) {
                self.next = Next::Encoded;
                return;
            }
            place = self.behind_name(start, end);
        }
        self.pairs(place, end);
    }

    /// Where a word begins and ends without what stands around it.
    fn core(&self, start: usize, end: usize) -> (usize, usize) {
        let word = self.part(start, end);
        let from = end - word.trim_start_matches(QUOTES).len();
        let to = start + word.trim_end_matches(QUOTES).len();
        if from < to { (from, to) } else { (from, from) }
    }

    /// Looks at a word that begins as what joins a name and its value, with the name in the word before. Tells how much
    /// of it is dealt with.
    fn behind_name(&mut self, start: usize, end: usize) -> usize {
        let word = self.part(start, end);
        let is_joint = matches!(word, "=" | ":" | ":=" | "=>");
        if !is_joint && (!word.starts_with('=') || word.starts_with("==")) {
            return start;
        }
        let before =
            self.part(0, start).trim_end_matches(|c: char| c.is_whitespace() && c != '\n' && c != '\r');
        let word_before = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        let name = name_in(word_before.trim_matches(QUOTES));
        let is_quoted = word_before.ends_with(QUOTES);
        if !is_secret_in_text(name, is_quoted || word != ":") {
            return start;
        }
        if !is_joint {
            return self.value(start + 1, end, false);
        }
        let is_line = word == ":" && is_header(name) && !is_quoted;
        self.next =
            if is_line { Next::Line } else { Next::Value { anywhere: false, may_be_call: word != ":" } };
        end
    }

    /// Looks at the names and values of a word, from there on.
    fn pairs(&mut self, start: usize, end: usize) {
        let (mut from, mut at) = (start, start);
        let closing = start + self.part(start, end).trim_end_matches(QUOTES).len();
        // The piece before, which is a name where a quote is all that stands between.
        let (mut name, mut is_value) = ((start, start), false);
        while at < end {
            let byte = self.byte(at);
            if is_separator(byte) {
                self.look(from, at, is_value);
                if from < at {
                    name = (from, at);
                }
                (from, at) = (at + 1, at + 1);
                is_value = false;
                continue;
            }
            if !matches!(byte, b'=' | b':') {
                at += 1;
                continue;
            }
            let rest = self.part(at, end);
            let run = rest.len() - rest.trim_start_matches(char::from(byte)).len();
            if byte == b':' && run > 1 {
                // Of a path in a program.
                at += run;
                continue;
            }
            if from < at && rest.starts_with("://") {
                at = self.address(from, at, end);
                (from, is_value) = (at, false);
                continue;
            }
            if from < at {
                name = (from, at);
            }
            let between = self.part(name.1, at);
            // Whoever writes thousands of these must not have all before each of them looked at.
            let begin = self.text.floor_char_boundary(name.0.max(name.1.saturating_sub(NAME_BYTES_MAX)));
            let known = name_in(self.part(begin.max(name.0), name.1));
            let is_name = between.len() <= BETWEEN_BYTES_MAX
                && between.bytes().all(|byte| b"\"'`\\]".contains(&byte))
                && is_secret_in_text(known, byte == b'=' || !between.is_empty())
                && !(is_counting_key(known) && counts(rest));
            // Of an address with a password in it, the rest stays.
            let is_hidden = || adopt::is_secret_name(known) || !self.is_address(at + 1, end);
            if is_name && is_hidden() {
                at = self.named(known, at, end, !between.is_empty());
                (from, is_value) = (at, false);
                name = (at, at);
                if self.next != Next::Plain {
                    return;
                }
                continue;
            }
            let fills = byte == b'=' && (at + run >= closing || ends_piece(self.byte(at + run)));
            self.look(from, if fills { at + run } else { at }, is_value);
            is_value = true;
            at += run;
            from = at;
        }
        self.look(from, end, is_value);
    }

    /// Shows an address as it may be seen. Tells where it ends: at the quote that it began behind, or with the word.
    fn address(&mut self, from: usize, colon: usize, end: usize) -> usize {
        let mark = self.byte(from.wrapping_sub(1));
        let rest = self.part(colon, end);
        let quoted = matches!(mark, b'"' | b'\'' | b'`').then(|| rest.find(char::from(mark))).flatten();
        let to = match quoted {
            Some(length) => colon + rest.get(..length).unwrap_or_default().trim_end_matches('\\').len(),
            None => self.core(from, end).1,
        };
        let shown = address::shown(self.part(from, to));
        self.put(from, to, &shown);
        to
    }

    fn is_address(&self, start: usize, end: usize) -> bool {
        let value = self.part(start, end);
        let value = value.strip_prefix(QUOTES).unwrap_or(value);
        let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = value.bytes().take_while(is_of_scheme).count();
        length > 0 && value.get(length..).is_some_and(|rest| rest.starts_with("://"))
    }

    fn look(&mut self, from: usize, to: usize, is_value: bool) {
        if to - from >= KNOWN_KEY_BYTES_MIN && is_looking(self.part(from, to), self.told && !is_value) {
            self.put(from, to, REDACTED);
        }
    }
}

/// Whether a byte stands between the pieces of a word.
pub(super) const fn is_separator(byte: u8) -> bool {
    matches!(
        byte,
        b'"' | b'\''
            | b'`'
            | b','
            | b';'
            | b'('
            | b')'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'<'
            | b'>'
            | b'&'
            | b'?'
            | b'|'
    )
}

/// Whether what has this name in a text is secret. Prose says `pass:` and `tokens:` of other things, unless these are
/// surely names.
fn is_secret_in_text(name: &str, is_surely_name: bool) -> bool {
    match secrecy(name) {
        Secrecy::None => false,
        Secrecy::Texts => is_surely_name,
        Secrecy::All => true,
    }
}

/// Whether only a number stands behind what joins.
fn counts(joint: &str) -> bool {
    let value = joint.get(1..).unwrap_or_default().trim_start_matches(QUOTES);
    let length = value.bytes().take_while(|byte| byte.is_ascii_digit() || b".,".contains(byte)).count();
    length > 0 && value.as_bytes().get(length).is_none_or(|byte| is_separator(*byte))
}

/// Whether this stands behind a piece, so that what joins only fills it up.
fn ends_piece(next: u8) -> bool {
    matches!(next, b',' | b';' | b')' | b']' | b'}' | b'>' | b'&' | b'?' | b'|')
}

/// Whether a word is a name that something follows.
fn is_name_with_colon(word: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.\"'".contains(&byte);
    word.strip_suffix(':').is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || "\"'_".contains(c))
            && name.bytes().all(is_of_name)
    })
}

/// The name in what stands before its value. Ends of lines may be written out before it.
fn name_in(text: &str) -> &str {
    let text = text.trim_end_matches('\\');
    match text.rsplit_once('\\') {
        Some((_, behind)) => behind.strip_prefix(['n', 'r', 't']).unwrap_or(behind),
        None => text,
    }
}

#[cfg(test)]
mod tests;
