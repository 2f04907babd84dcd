//! What an item of a list says of those behind it.

use serde_json::Value;

use super::{pem, secrets};

/// A list that is gone through.
#[derive(Default)]
pub(super) struct List {
    next: Next,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Next {
    #[default]
    Plain,
    /// It is the secret that a flag announced.
    Argument,
    /// So is all, to the last line of a private key.
    Key,
}

impl List {
    /// Whether the next item is hidden, because of one before.
    pub(super) fn hides(&mut self, item: &Value) -> bool {
        let Some(text) = item.as_str() else {
            self.next = Next::Plain;
            return false;
        };
        let hidden = match self.next {
            Next::Plain => false,
            Next::Argument => !text.starts_with('-'),
            Next::Key if pem::closes(text) => false,
            Next::Key => return true,
        };
        self.next = Next::Plain;
        if secrets::announces(text) {
            self.next = Next::Argument;
        } else if pem::is_open(text) {
            self.next = Next::Key;
        }
        hidden
    }
}
