//! How far a value goes that stands behind a secret's name.

use super::{Next, Words, is_separator};
use crate::{
    confirm::secrets::{QUOTES, is_header, is_scheme_of_header, is_whole_header},
    discover::redact::REDACTED,
};

/// What stands around a value.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Quote {
    mark: u8,
    /// A backslash stands before it, in JSON within JSON.
    is_escaped: bool,
}

/// A list or an object that has begun and not ended.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Brackets {
    depth: u32,
    /// Within a text, which ends with this.
    quote: Option<u8>,
}

impl Words<'_> {
    /// Where a list or an object ends, or what is still open there.
    pub(super) fn bracket(&self, open: Brackets, from: usize, end: usize) -> Result<usize, Brackets> {
        let Brackets { mut depth, mut quote } = open;
        let mut is_escaped = false;
        for place in from..end {
            let byte = self.byte(place);
            match (byte, quote) {
                _ if is_escaped => {}
                (b'"' | b'\'', None) => quote = Some(byte),
                (_, Some(mark)) if mark == byte => quote = None,
                (b'{' | b'[', None) => depth += 1,
                (b'}' | b']', None) => {
                    depth -= depth.min(1);
                    if depth == 0 {
                        return Ok(place);
                    }
                }
                _ => {}
            }
            is_escaped = byte == b'\\' && !is_escaped;
        }
        Err(Brackets { depth, quote })
    }

    /// Hides the value behind a secret's name and what joins them. Tells how far it goes.
    pub(super) fn named(&mut self, name: &str, joint: usize, end: usize, is_quoted: bool) -> usize {
        let is_colon = self.byte(joint) == b':';
        let is_line = is_colon && !is_quoted && is_header(name);
        if joint + 1 == end {
            self.next =
                if is_line { Next::Line } else { Next::Value { anywhere: is_colon, may_be_call: false } };
            return end;
        }
        let value_end = self.value(joint + 1, end, false);
        let is_scheme = || is_scheme_of_header(self.part(joint + 1, value_end).trim_matches(QUOTES));
        if is_line && (is_whole_header(name) || is_scheme()) {
            let (from, to) = self.core(value_end, end);
            if from < to {
                self.hide(value_end, to);
            }
            self.next = Next::Line;
            return end;
        }
        value_end
    }

    /// Hides a value, as far as it goes: to its closing quote, to the next name with a value, or to the end of the word.
    pub(super) fn value(&mut self, start: usize, end: usize, may_be_call: bool) -> usize {
        let word = self.part(start, end);
        if word.starts_with(REDACTED) {
            // It is hidden already.
            return start + REDACTED.len();
        }
        let bare = word.trim_start_matches(|c| c == '\\' || QUOTES.contains(&c));
        let from = end - bare.len();
        let lead = self.part(start, from);
        if let Some(place) = lead.find(['"', '\'', '`', '{', '['])
            && matches!(self.byte(start + place), b'{' | b'[')
        {
            // All of a list or an object is meant, whatever is in it.
            let from = start + place + 1;
            return match self.bracket(Brackets { depth: 1, quote: None }, from, end) {
                Ok(at) => {
                    self.hide(from, at);
                    at
                }
                Err(open) => {
                    self.hide(from, end);
                    self.next = Next::Within(open);
                    end
                }
            };
        }
        if let Some(place) = lead.find(['"', '\'', '`']) {
            let is_escaped = lead.get(..place).is_some_and(|before| before.ends_with('\\'));
            let quote = Quote { mark: self.byte(start + place), is_escaped };
            let from = start + place + 1;
            return match self.closing(quote, from, end) {
                Some(at) => {
                    self.hide(from, at);
                    at
                }
                None => {
                    let (from, to) = self.core(from, end);
                    self.hide(from, to);
                    self.next = Next::Until(quote);
                    end
                }
            };
        }
        if may_be_call && is_call(bare) {
            return start;
        }
        let stop = self.next_pair(from, end);
        let to = start + self.part(start, stop).trim_end_matches(|c| c == '\\' || QUOTES.contains(&c)).len();
        let value = self.part(from, to);
        // In code a token is often of the type `Token`.
        if stop == end && is_scheme_of_header(value) && !value.eq_ignore_ascii_case("token") {
            self.next = Next::Value { anywhere: false, may_be_call: false };
        }
        self.hide(from, to.max(from));
        stop
    }

    /// Where a quoted value ends, if it does so before there.
    pub(super) fn closing(&self, quote: Quote, from: usize, end: usize) -> Option<usize> {
        let mut backslashes = 0;
        for place in from..end {
            let byte = self.byte(place);
            if byte == quote.mark && quote.is_escaped == (backslashes % 2 == 1) {
                return Some(place - usize::from(quote.is_escaped));
            }
            backslashes = if byte == b'\\' { backslashes + 1 } else { 0 };
        }
        None
    }

    /// Where another name with a value begins in a word.
    fn next_pair(&self, from: usize, end: usize) -> usize {
        let is_split = |place: &usize| b"&;,?{([|#".contains(&self.byte(*place));
        (from..end).filter(is_split).find(|place| begins_pair(self.part(place + 1, end))).unwrap_or(end)
    }
}

/// What stands around names is not longer. Whoever writes thousands must not have each of them looked at from each.
const AROUND_BYTES_MAX: usize = 8;

/// Whether a name and what joins it to its value come first.
fn begins_pair(text: &str) -> bool {
    let around = text.bytes().take(AROUND_BYTES_MAX).take_while(|byte| *byte == b'\\' || is_separator(*byte));
    let text = text.get(around.count()..).unwrap_or_default();
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.$@".contains(byte);
    let length = text.bytes().take_while(is_of_name).count();
    let begins =
        text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || b"_-$@".contains(&byte));
    let rest = text.get(length..).unwrap_or_default().trim_start_matches(['\\', '"', '\'', '`']);
    begins && rest.starts_with(['=', ':']) && !rest.starts_with("://")
}

/// Whether a word is code that calls something: `next_token(a,`.
fn is_call(word: &str) -> bool {
    let length = word.bytes().take_while(|byte| byte.is_ascii_alphabetic() || b"_.:".contains(byte)).count();
    length >= 2 && word.get(length..).is_some_and(|rest| rest.starts_with('('))
}
