//! Sort keys as bytes whose order is theirs, so that an index can hold them.
//!
//! One byte tells the type, in the order of types. A string follows as it is. A number follows as the nearest float
//! not above it, with its bits turned so that they compare like the float, and then, for an integer that no float
//! equals, by how much it is larger. Nothing ends a key: bytes that begin another key stand before it, as a string does
//! that begins another.

use std::borrow::Cow;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Key, Num, SORT_TEXT_CHARS_MAX, cut};

const NULL: u8 = 1;
const FALSE: u8 = 2;
const TRUE: u8 = 3;
const NUMBER: u8 = 4;
const TEXT: u8 = 5;
const ARRAY: u8 = 6;
const OBJECT: u8 = 7;

/// What all encoded keys of a type begin with; the next one's begins what follows them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Number,
    Text,
}

impl Type {
    /// The bytes that no key of this type stands before.
    #[must_use]
    pub fn start(self) -> Vec<u8> {
        vec![match self {
            Self::Number => NUMBER,
            Self::Text => TEXT,
        }]
    }

    /// The bytes that every key of this type stands before.
    #[must_use]
    pub fn end(self) -> Vec<u8> {
        vec![match self {
            Self::Number => TEXT,
            Self::Text => ARRAY,
        }]
    }
}

impl Key<'_> {
    /// Bytes in the order of keys.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Null => vec![NULL],
            Self::Bool(false) => vec![FALSE],
            Self::Bool(true) => vec![TRUE],
            Self::Number(number) => encode_number(*number),
            Self::Text(text) => encode_text(text),
            Self::Array => vec![ARRAY],
            Self::Object => vec![OBJECT],
        }
    }

    /// The key that was encoded; none for bytes that are no key.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Key<'_>> {
        let (kind, rest) = bytes.split_first()?;
        Some(match (*kind, rest) {
            (NULL, []) => Key::Null,
            (FALSE, []) => Key::Bool(false),
            (TRUE, []) => Key::Bool(true),
            (NUMBER, _) => Key::Number(decode_number(rest)?),
            (TEXT, _) => Key::Text(Cow::Borrowed(str::from_utf8(rest).ok()?)),
            (ARRAY, []) => Key::Array,
            (OBJECT, []) => Key::Object,
            _ => return None,
        })
    }

    /// Whether only one value has this key, so that the one can stand for the other: not so for arrays, objects and
    /// strings that may have been cut.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => true,
            Self::Text(text) => {
                text.len() < SORT_TEXT_CHARS_MAX || text.chars().nth(SORT_TEXT_CHARS_MAX - 1).is_none()
            }
            Self::Array | Self::Object => false,
        }
    }
}

fn encode_text(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 + text.len());
    bytes.push(TEXT);
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

const SIGN: u64 = 1 << 63;

fn encode_number(number: Num) -> Vec<u8> {
    let (float, above) = match number {
        Num::Other(float) => (float, 0),
        Num::Whole(whole) => {
            let near = whole as f64;
            let below = if near as i128 > whole { near.next_down() } else { near };
            // Floats of 64 bits and less are no further apart than 2^11.
            (below, u16::try_from(whole - below as i128).unwrap_or(u16::MAX))
        }
    };
    // One zero: a whole 0 is never negative, and there is no other.
    let bits = float.to_bits();
    let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    let mut bytes = Vec::with_capacity(11);
    bytes.push(NUMBER);
    bytes.extend_from_slice(&ordered.to_be_bytes());
    if above > 0 {
        bytes.extend_from_slice(&above.to_be_bytes());
    }
    bytes
}

fn decode_number(bytes: &[u8]) -> Option<Num> {
    let (ordered, above) = bytes.split_first_chunk::<8>()?;
    let ordered = u64::from_be_bytes(*ordered);
    let bits = if ordered & SIGN == 0 { !ordered } else { ordered & !SIGN };
    let number = Num::of_float(f64::from_bits(bits));
    match (number, above) {
        (_, []) => Some(number),
        (Num::Whole(whole), above) => {
            let above = u16::from_be_bytes(above.try_into().ok()?);
            Some(Num::Whole(whole + i128::from(above)))
        }
        (Num::Other(_), _) => None,
    }
}

/// The encoded key of the value that a dotted path has in an object written as JSON, without reading the rest into
/// memory. What is missing, or no JSON, has the key of null.
#[must_use]
pub fn key_in(json: &str, path: &str) -> Vec<u8> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    Descent { path: Some(path) }.deserialize(&mut deserializer).unwrap_or_else(|_| Key::Null.encode())
}

/// The way that is left; none at the value itself.
#[derive(Clone, Copy)]
struct Descent<'p> {
    path: Option<&'p str>,
}

impl<'de> DeserializeSeed<'de> for Descent<'_> {
    type Value = Vec<u8>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Descent<'_> {
    /// A value that has nothing beneath it.
    fn leaf(self, key: &Key<'_>) -> Vec<u8> {
        if self.path.is_none() { key.encode() } else { Key::Null.encode() }
    }
}

impl<'de> Visitor<'de> for Descent<'_> {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Vec<u8>, E> {
        Ok(Key::Null.encode())
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Vec<u8>, E> {
        Ok(self.leaf(&Key::Bool(bool)))
    }

    fn visit_i64<E>(self, whole: i64) -> Result<Vec<u8>, E> {
        Ok(self.leaf(&Key::Number(Num::Whole(whole.into()))))
    }

    fn visit_u64<E>(self, whole: u64) -> Result<Vec<u8>, E> {
        Ok(self.leaf(&Key::Number(Num::Whole(whole.into()))))
    }

    fn visit_f64<E>(self, float: f64) -> Result<Vec<u8>, E> {
        Ok(self.leaf(&Key::Number(Num::of_float(float))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Vec<u8>, E> {
        Ok(self.leaf(&Key::Text(Cow::Borrowed(cut(text)))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<u8>, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self.leaf(&Key::Array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Vec<u8>, A::Error> {
        let Some(path) = self.path else {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Key::Object.encode());
        };
        let (step, rest) = path.split_once('.').map_or((path, None), |(step, rest)| (step, Some(rest)));
        let mut found = Key::Null.encode();
        while let Some(is_step) = entries.next_key_seed(Is(step))? {
            if is_step {
                found = entries.next_value_seed(Descent { path: rest })?;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Whether a key is the wanted one.
struct Is<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        Cow::<str>::deserialize(deserializer).map(|key| key == self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn number() -> impl Strategy<Value = Value> {
        let near = |around: i128| {
            (-3_i128..4).prop_map(move |by| {
                Num::Whole((around + by).clamp(i64::MIN.into(), u64::MAX.into())).to_value()
            })
        };
        prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_filter("JSON", |float| float.is_finite()).prop_map(Value::from),
            (0_u32..64).prop_flat_map(move |bits| near(1 << bits)),
            (0_u32..64).prop_flat_map(move |bits| near(-(1 << bits))),
            (-20_i32..20).prop_map(|n| json!(f64::from(n) / 4.0)),
            Just(json!(-0.0)),
            Just(json!(5e-324)),
            Just(json!(f64::MAX)),
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        let texts = prop_oneof![
            "\\PC{0,4}",
            "[\\x00-\\x02a\u{10ffff}]{0,3}",
            (250_usize..260, "[aé]{0,2}").prop_map(|(length, end)| "é".repeat(length) + &end)
        ];
        prop_oneof![
            1 => Just(Value::Null),
            1 => any::<bool>().prop_map(Value::from),
            8 => number(),
            4 => texts.prop_map(Value::from),
            1 => Just(json!([1])),
            1 => Just(json!({"a": 1})),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

        #[test]
        fn bytes_have_the_order_of_keys(a in value(), b in value()) {
            let (a, b) = (Key::of(&a), Key::of(&b));
            prop_assert_eq!(a.encode().cmp(&b.encode()), a.cmp(&b), "{:?} and {:?}", a, b);
        }

        #[test]
        fn keys_come_back_and_whole_ones_are_the_value(value in value()) {
            let key = Key::of(&value);
            let bytes = key.encode();
            prop_assert_eq!(Key::decode(&bytes), Some(key.clone()));
            if key.is_whole() {
                prop_assert!(super::super::equal(&key.to_value(), &value));
            }
        }

        #[test]
        fn a_key_is_found_in_text_as_in_values(inner in value(), other in value(), step in "[a.\"\\\\é\u{0}]{1,2}") {
            let item = json!({"x": other, &step: {"y": inner}, "z": inner});
            let text = item.to_string();
            for path in [step.as_str(), "x", "z", "x.y", "z.y", "nope", "", &format!("{step}.y"), &format!("{step}.y.y")] {
                let found = crate::fields::Path::parse(path).and_then(|path| crate::query::path::find(&path, &item));
                let expected = found.map_or(Key::Null, Key::of).encode();
                prop_assert_eq!(key_in(&text, path), expected, "{} in {}", path, text);
            }
        }

        #[test]
        fn any_bytes_are_a_key_or_none(bytes in prop::collection::vec(any::<u8>(), 0..14)) {
            if let Some(key) = Key::decode(&bytes) {
                let _ = key.to_value();
            }
        }
    }

    #[test]
    fn types_are_ranges_and_what_is_cut_is_not_whole() {
        for (kind, inside) in [
            (Type::Number, vec![json!(-1e300), json!(1e300)]),
            (Type::Text, vec![json!(""), json!("\u{10ffff}")]),
        ] {
            for value in inside {
                let key = Key::of(&value).encode();
                assert!(kind.start() <= key && key < kind.end(), "{value}");
            }
        }
        assert!(Key::of(&json!("é".repeat(255))).is_whole());
        assert!(!Key::of(&json!("é".repeat(256))).is_whole());
        assert_eq!(key_in("not JSON", "a"), Key::Null.encode());
        let deep = format!("{}1{}", "{\"a\":[".repeat(100), "]}".repeat(100));
        assert_eq!(key_in(&deep, "b"), Key::Null.encode());
    }
}
