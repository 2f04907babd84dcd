//! Arguments as they came over the wire, read strictly: size, encoding, depth, then values with every limit kept.
//!
//! The order is by cost: what can be refused without building anything is refused first. One key given twice is
//! refused, because a reader that takes the first and one that takes the last would see two different calls.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::{
    error::{Code, Error},
    limits::{self, Limits},
};

/// Reads the arguments of one call.
pub fn arguments(raw: &[u8], limits: &Limits) -> Result<Map<String, Value>, Error> {
    if raw.len() > limits.max_request_size() {
        return Err(Error::too_large(&limits::REQUEST_SIZE, limits.max_request_size(), raw.len()));
    }
    let text = match std::str::from_utf8(raw) {
        Ok(text) => text,
        Err(error) => return Err(Error::invalid_encoding(Some(error.valid_up_to()))),
    };
    if let Some(offset) = lone_surrogate(raw) {
        return Err(Error::invalid_encoding(Some(offset)));
    }
    let allowed = limits.max_nesting_depth();
    // Where no more is opened than may be nested, as in most calls, the exact depth does not matter.
    if openings(raw) > allowed {
        let depth = depth(raw);
        if depth > allowed {
            return Err(Error::too_large(&limits::NESTING_DEPTH, allowed, depth));
        }
    }
    match values(text, limits)? {
        Value::Object(arguments) => Ok(arguments),
        other => Err(Error::invalid_type("arguments", "object", &other)),
    }
}

fn openings(json: &[u8]) -> usize {
    json.iter().filter(|byte| matches!(byte, b'{' | b'[')).count()
}

/// How deep objects and arrays are nested, the outermost counting as one. Never recurses, so no depth can hurt.
#[must_use]
pub fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(inside) = bytes.next() {
                    match inside {
                        b'\\' => drop(bytes.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    deepest
}

/// Where an escape stands for half a surrogate pair, if one does.
#[must_use]
pub fn lone_surrogate(json: &[u8]) -> Option<usize> {
    let mut position = 0;
    while let Some(found) = json.get(position..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let start = position + found;
        position = match unit(json, start) {
            Some(0xD800..=0xDBFF) => match unit(json, start + 6) {
                Some(0xDC00..=0xDFFF) => start + 12,
                _ => return Some(start),
            },
            Some(0xDC00..=0xDFFF) => return Some(start),
            Some(_) => start + 6,
            None => start + 2,
        };
    }
    None
}

/// The code unit of a `\uXXXX` escape.
fn unit(json: &[u8], start: usize) -> Option<u16> {
    let escape = json.get(start..start + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn values(text: &str, limits: &Limits) -> Result<Value, Error> {
    let mut refused = None;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict { limits, refused: &mut refused }.deserialize(&mut reader);
    match value.and_then(|value| reader.end().map(|()| value)) {
        Ok(value) => Ok(value),
        Err(error) => Err(refused.unwrap_or_else(|| {
            Error::new(
                Code::InvalidJson,
                format!(
                    "The arguments are not valid JSON (line {}, column {})",
                    error.line(),
                    error.column()
                ),
            )
            .hint("Send one JSON object with 'operation' and 'params'.")
        })),
    }
}

/// Builds a value and stops with a refusal of its own where a limit or a rule is broken.
struct Strict<'a> {
    limits: &'a Limits,
    refused: &'a mut Option<Error>,
}

impl Strict<'_> {
    fn refuse<E: serde::de::Error>(self, error: Error) -> E {
        *self.refused = Some(error);
        E::custom("refused")
    }

    fn string<E: serde::de::Error>(self, text: &str) -> Result<Self, E> {
        let allowed = self.limits.max_string_length();
        if text.len() > allowed {
            return Err(self.refuse(Error::too_large(&limits::STRING_LENGTH, allowed, text.len())));
        }
        Ok(self)
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        serde_json::Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.string(text).map(|_| text.into())
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Value, E> {
        self.string(&text).map(|_| text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let Strict { limits, refused } = self;
        let allowed = limits.max_array_elements();
        let mut array = Vec::new();
        while array.len() < allowed {
            match elements.next_element_seed(Strict { limits, refused: &mut *refused })? {
                Some(element) => array.push(element),
                None => return Ok(Value::Array(array)),
            }
        }
        // Past the limit elements are only counted, so that the error can say how many there were.
        let mut actual = allowed;
        while elements.next_element::<serde::de::IgnoredAny>()?.is_some() {
            actual += 1;
        }
        if actual > allowed {
            *refused = Some(Error::too_large(&limits::ARRAY_ELEMENTS, allowed, actual));
            return Err(A::Error::custom("refused"));
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let Strict { limits, refused } = self;
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                let error =
                    Error::new(Code::InvalidJson, format!("The key '{key}' is given twice in one object"));
                *refused = Some(error.with("key", key).hint("Give every key once."));
                return Err(A::Error::custom("refused"));
            }
            let checked = Strict { limits, refused: &mut *refused }.string::<A::Error>(&key);
            checked?;
            let value = entries.next_value_seed(Strict { limits, refused: &mut *refused })?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &[u8]) -> Result<Map<String, Value>, Error> {
        arguments(raw, &Limits::default())
    }

    fn limit_type(raw: &[u8], limits: &Limits) -> String {
        let error = arguments(raw, limits).unwrap_err();
        assert_eq!(error.code, Code::PayloadTooLarge);
        for key in ["limit_type", "limit_value", "actual_value", "unit"] {
            assert!(error.details.contains_key(key), "{key}");
        }
        error.details["limit_type"].as_str().unwrap().to_owned()
    }

    /// REQ-LIMIT-06
    #[test]
    fn depth_counts_objects_and_arrays_from_one() {
        for (json, expected) in [
            (r#"{"a":{"b":{"c":{}}}}"#, 4),
            ("{}", 1),
            (r#"{"a":[[1]]}"#, 3),
            (r#"{"a":"{[\"{"}"#, 1),
            ("1", 0),
        ] {
            assert_eq!(depth(json.as_bytes()), expected, "{json}");
        }
    }

    /// REQ-LIMIT-05
    #[test]
    fn nesting_is_capped_and_no_depth_crashes() {
        let nested =
            |levels: usize| format!("{{\"a\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        assert!(read(nested(32).as_bytes()).is_ok());
        let error = read(nested(33).as_bytes()).unwrap_err();
        assert_eq!(error.details["actual_value"], 33);
        assert_eq!(limit_type(nested(100_000).as_bytes(), &Limits::default()), "nesting_depth");
    }

    /// REQ-LIMIT-01 REQ-LIMIT-08
    #[test]
    fn the_request_is_measured_as_received() {
        let sized = |size: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(size - 8)).into_bytes();
        assert_eq!(sized(1_048_576).len(), 1_048_576);
        assert!(read(&sized(1_048_576)).is_ok());
        assert_eq!(limit_type(&sized(1_048_577), &Limits::default()), "request_size");
    }

    /// REQ-LIMIT-03 REQ-LIMIT-04
    #[test]
    fn strings_and_arrays_are_capped() {
        let limits = Limits::default().with_max_request_size(10 * 1024 * 1024).unwrap();
        let string = |size: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(size)).into_bytes();
        assert!(arguments(&string(1_048_576), &limits).is_ok());
        assert_eq!(limit_type(&string(1_048_577), &limits), "string_length");
        let key = format!("{{\"{}\":1}}", "x".repeat(1_048_577)).into_bytes();
        assert_eq!(limit_type(&key, &limits), "string_length");
        let array = |size: usize| format!("{{\"a\":[{}]}}", vec!["0"; size].join(",")).into_bytes();
        assert!(read(&array(10_000)).is_ok());
        let error = read(&array(10_001)).unwrap_err();
        assert_eq!(
            (&error.details["limit_type"], &error.details["actual_value"]),
            (&"array_elements".into(), &10_001.into())
        );
    }

    /// REQ-ENC-02 REQ-ENC-03 REQ-ENC-04 LREQ-ERR-08
    #[test]
    fn invalid_utf8_and_lone_surrogates_are_refused_with_their_place() {
        let with = |bytes: &[u8]| [b"{\"a\":\"", bytes, b"\"}"].concat();
        for bad in [
            &b"\xFF"[..],
            b"\xC0\xAF",
            b"\xC3\x28",
            b"\xE2\x82",
            b"\xED\xA0\x80",
            b"\\ud800",
            b"\\udc00x",
            b"\\ud83d\\u0041",
        ] {
            let error = read(&with(bad)).unwrap_err();
            assert_eq!(error.code, Code::InvalidEncoding, "{bad:?}");
            assert_eq!(error.details["byte_offset"], 6, "{bad:?}");
        }
        for good in [&b"\\ud83d\\ude00"[..], b"\\\\ud800", "naïve 日本 😀".as_bytes()] {
            assert!(read(&with(good)).is_ok(), "{good:?}");
        }
    }

    /// REQ-ENC-09
    #[test]
    fn safe_integers_are_exact_and_only_json_numbers_are_read() {
        for number in [9_007_199_254_740_991_i64, -9_007_199_254_740_991] {
            assert_eq!(read(format!("{{\"n\":{number}}}").as_bytes()).unwrap()["n"], number);
        }
        for bad in ["NaN", "Infinity", "0x10", "1e999", "01"] {
            assert_eq!(
                read(format!("{{\"n\":{bad}}}").as_bytes()).unwrap_err().code,
                Code::InvalidJson,
                "{bad}"
            );
        }
    }

    #[test]
    fn one_key_twice_is_refused_wherever_it_stands() {
        for bad in [r#"{"a":1,"a":2}"#, r#"{"x":[{"b":{"c":1,"c":1}}]}"#] {
            let error = read(bad.as_bytes()).unwrap_err();
            assert_eq!(error.code, Code::InvalidJson);
            assert!(error.message.contains("given twice"), "{}", error.message);
        }
        assert_eq!(read(b"{} x").unwrap_err().code, Code::InvalidJson);
        assert_eq!(read(b"[1]").unwrap_err().code, Code::InvalidType);
    }
}
