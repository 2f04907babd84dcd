//! Values that are too long to be kept, cut so that whoever looks knows it.

use std::borrow::Cow;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    attributes::Sorted,
    names::{BYTES, HASH, TRUNCATED},
};

/// So much of a value is kept.
pub const PREVIEW_BYTES: usize = 30_720;

/// Keeps a text under a name, or its beginning with how long it is and its hash.
pub fn keep<'a>(attributes: &mut Sorted<'a>, name: impl Into<Cow<'a, str>>, text: String) {
    let name = name.into();
    if text.len() <= PREVIEW_BYTES {
        attributes.insert(name, Value::String(text));
        return;
    }
    let hash = Sha256::digest(text.as_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    attributes.insert(format!("{name}{HASH}"), hash.into());
    attributes.insert(format!("{name}{BYTES}"), text.len().into());
    attributes.insert(format!("{name}{TRUNCATED}"), true.into());
    attributes.insert(name, Value::String(beginning(text, PREVIEW_BYTES)));
}

/// Cuts every value that is too long. A long list or object becomes the beginning of its text.
pub fn cut(attributes: &mut Sorted<'_>) {
    let is_long = |value: &Value| match value {
        Value::String(text) => text.len() > PREVIEW_BYTES,
        Value::Array(_) | Value::Object(_) => value.to_string().len() > PREVIEW_BYTES,
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    };
    let long = attributes.iter().filter(|(_, value)| is_long(value)).map(|(name, _)| name.to_owned());
    for name in long.collect::<Vec<String>>() {
        match attributes.remove(&name) {
            Some(Value::String(text)) => keep(attributes, name, text),
            Some(value) => keep(attributes, name, value.to_string()),
            None => {}
        }
    }
}

/// At most so many bytes of a text, and no part of a character.
pub(crate) fn beginning(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Attributes;

    fn kept(text: &str) -> Attributes {
        let mut attributes = Attributes::from([("mcp.tool.output_json".to_owned(), text.into())]);
        cut(&mut attributes);
        attributes
    }

    /// REQ-IATTR-16
    #[test]
    fn long_values_are_cut_and_say_so() {
        let fits = kept(&"x".repeat(PREVIEW_BYTES));
        assert_eq!(fits.len(), 1);
        assert_eq!(fits["mcp.tool.output_json"].as_str().unwrap().len(), PREVIEW_BYTES);
        let cut = kept(&"x".repeat(40_000));
        assert_eq!(cut["mcp.tool.output_json"].as_str().unwrap().len(), PREVIEW_BYTES);
        assert_eq!(cut["mcp.tool.output_json_truncated"], true);
        assert_eq!(cut["mcp.tool.output_json_bytes"], 40_000);
        assert_eq!(cut["mcp.tool.output_json_sha256"].as_str().unwrap().len(), 64);
    }

    /// REQ-IATTR-16
    #[test]
    fn no_character_is_split() {
        let cut = kept(&format!("x{}", "ä".repeat(PREVIEW_BYTES)));
        let text = cut["mcp.tool.output_json"].as_str().unwrap();
        assert_eq!(text.len(), PREVIEW_BYTES - 1);
        assert!(text.ends_with('ä'));
    }

    #[test]
    fn long_lists_become_their_text() {
        let list: Vec<Value> = (0..10_000).map(Value::from).collect();
        let mut attributes = Attributes::from([("key".to_owned(), Value::Array(list))]);
        cut(&mut attributes);
        assert!(attributes["key"].as_str().unwrap().starts_with("[0,1,2,"));
        assert_eq!(attributes["key_truncated"], true);
    }
}
