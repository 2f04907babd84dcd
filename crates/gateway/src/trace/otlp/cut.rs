//! Values that are too long are kept as previews, with their length and hash.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::trace::{Attributes, names};

/// The longest value that is kept whole.
pub(super) const VALUE_BYTES_MAX: usize = 30_720;

/// Cuts what is too long, between characters.
pub(super) fn cut(attributes: &mut Attributes) {
    let mut marks = Vec::new();
    for (name, value) in attributes.iter_mut() {
        let mut text = match value {
            Value::String(text) if text.len() > VALUE_BYTES_MAX => std::mem::take(text),
            Value::Array(_) | Value::Object(_) => {
                let text = value.to_string();
                if text.len() <= VALUE_BYTES_MAX {
                    continue;
                }
                text
            }
            _ => continue,
        };
        let hash: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        marks.push((name.clone(), text.len(), hash));
        text.truncate(text.floor_char_boundary(VALUE_BYTES_MAX));
        *value = Value::String(text);
    }
    for (name, length, hash) in marks {
        attributes.insert(format!("{name}{}", names::TRUNCATED), Value::Bool(true));
        attributes.insert(format!("{name}{}", names::BYTES), length.into());
        attributes.insert(format!("{name}{}", names::HASH), Value::String(hash));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// REQ-IATTR-16
    #[test]
    fn long_values_are_cut_between_characters() {
        let attribute = |text: String| Attributes::from([("key".to_owned(), Value::String(text))]);
        let mut whole = attribute("x".repeat(VALUE_BYTES_MAX));
        cut(&mut whole);
        assert_eq!(whole, attribute("x".repeat(VALUE_BYTES_MAX)));

        let mut long = attribute("x".repeat(40_000));
        cut(&mut long);
        assert_eq!(long["key"].as_str().unwrap().len(), VALUE_BYTES_MAX);
        assert_eq!(long["key_truncated"], true);
        assert_eq!(long["key_bytes"], 40_000);
        assert_eq!(long["key_sha256"].as_str().unwrap().len(), 64);

        let mut wide = attribute(format!("x{}", "ä".repeat(20_000)));
        cut(&mut wide);
        assert_eq!(wide["key"].as_str().unwrap().len(), VALUE_BYTES_MAX - 1);
        assert_eq!(wide["key_bytes"], 40_001);
    }

    #[test]
    fn long_lists_become_their_text() {
        let list: Vec<_> = (0..10_000).map(Value::from).collect();
        let mut attributes = Attributes::from([("key".to_owned(), Value::Array(list))]);
        cut(&mut attributes);
        assert!(attributes["key"].as_str().unwrap().starts_with("[0,1,2,"));
        assert_eq!(attributes["key_truncated"], true);
    }
}
