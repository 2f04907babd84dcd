//! What an item of a list says of those behind it.

use serde_json::Value;

use super::{pem, secrets};

/// A list that is gone through.
pub(super) struct List {
    next: Next,
    /// Whether its items may be names and values in turns, and which comes now.
    is_paired: bool,
    place: usize,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Next {
    #[default]
    Plain,
    /// It is the secret that a flag announced.
    Argument,
    /// It is the value of a header.
    Header,
    /// So is all, to the last line of a private key.
    Key,
}

impl List {
    pub(super) fn of(items: &[Value]) -> Self {
        Self { next: Next::Plain, is_paired: items.len().is_multiple_of(2), place: 0 }
    }

    /// Whether the next item is hidden, because of one before.
    pub(super) fn hides(&mut self, item: &Value) -> bool {
        let is_name = self.is_paired && self.place.is_multiple_of(2);
        self.place += 1;
        let Some(text) = item.as_str() else {
            self.next = Next::Plain;
            return false;
        };
        let hidden = match self.next {
            Next::Plain => false,
            Next::Argument => !text.starts_with('-'),
            // Some lists are of names alone.
            Next::Header => !is_headers_name(text),
            Next::Key if pem::closes(text) => false,
            Next::Key if pem::is_line(text) => return true,
            // How it is encrypted, which is followed by an empty line.
            Next::Key if text.trim().is_empty() || text.contains(": ") => return false,
            Next::Key => false,
        };
        self.next = Next::Plain;
        if secrets::announces(text) {
            self.next = Next::Argument;
        } else if is_name && secrets::names_header(text) {
            self.next = Next::Header;
        } else if pem::is_open(text) {
            self.next = Next::Key;
        }
        hidden
    }
}

/// Whether a text is written as the names of headers are: `Accept-Language`.
fn is_headers_name(text: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.chars().skip(1).all(|c| c.is_ascii_lowercase())
    };
    text.split('-').all(is_word)
}
