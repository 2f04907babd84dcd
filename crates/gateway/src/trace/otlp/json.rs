//! How OTLP writes what JSON has no word for, and how others write the same.

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, IgnoredAny, MapAccess, Visitor},
    ser::SerializeMap,
};

use super::wire::{Any, AnyValue, kind, status};

/// A number, or a text that may be one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Unsigned(u64),
    Signed(i64),
    Double(f64),
    Text(String),
    Nothing(()),
}

/// A list that may be null.
pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default())
}

/// Ids.
pub(super) mod hex {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        const DIGITS: [char; 16] =
            ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
        let nibbles = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let digits = nibbles.filter_map(|nibble| DIGITS.get(usize::from(nibble)));
        serializer.serialize_str(&digits.collect::<String>())
    }

    /// What is not hexadecimal is no id; whoever looks at the id says so. Null is none.
    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?.unwrap_or_default();
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let wrong = || Error::custom("an id is not written in hexadecimal digits");
        let mut bytes = Vec::with_capacity(text.len() / 2);
        for pair in text.as_bytes().chunks(2) {
            let &[high, low] = pair else { return Err(wrong()) };
            let (Some(high), Some(low)) = (digit(high), digit(low)) else { return Err(wrong()) };
            bytes.push((high << 4) | low);
        }
        Ok(bytes)
    }
}

/// Bytes of an attribute.
pub(super) mod base64 {
    use ::base64::{Engine, prelude::BASE64_STANDARD};

    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
    }
}

/// Numbers of 64 bits.
pub(super) mod number {
    use super::*;

    pub(in super::super) fn as_text<S: Serializer>(number: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    /// JSON has no word for what is no number.
    pub(in super::super) fn double<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if number.is_finite() {
            return serializer.serialize_f64(*number);
        }
        serializer.serialize_str(super::super::value::not_finite(*number))
    }

    pub(in super::super) mod unsigned {
        use super::*;

        pub(in super::super::super) fn serialize<S: Serializer>(
            number: &u64,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            serializer.collect_str(number)
        }

        pub(in super::super::super) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<u64, D::Error> {
            match Written::deserialize(deserializer)? {
                Written::Unsigned(number) => Ok(number),
                Written::Text(text) => text.trim().parse().map_err(|_| wrong()),
                Written::Nothing(()) => Ok(0),
                // Some languages have no other numbers.
                Written::Double(double) if (0.0..=1.8e19).contains(&double) => Ok(double as u64),
                Written::Double(_) | Written::Signed(_) => Err(wrong()),
            }
        }
    }

    pub(in super::super) mod signed {
        use super::*;

        pub(in super::super::super) fn serialize<S: Serializer>(
            number: &i64,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            serializer.collect_str(number)
        }

        pub(in super::super::super) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<i64, D::Error> {
            match Written::deserialize(deserializer)? {
                Written::Unsigned(number) => i64::try_from(number).map_err(|_| wrong()),
                Written::Signed(number) => Ok(number),
                Written::Text(text) => text.trim().parse().map_err(|_| wrong()),
                Written::Nothing(()) => Ok(0),
                Written::Double(_) => Err(wrong()),
            }
        }
    }

    pub(super) fn wrong<E: Error>() -> E {
        E::custom("a number of 64 bits is neither a number nor a text of its digits")
    }
}

/// Enumerations, by number or by name.
pub(super) mod enumeration {
    use super::*;

    pub(in super::super) fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
        let names = [
            ("INTERNAL", kind::INTERNAL),
            ("SERVER", kind::SERVER),
            ("CLIENT", kind::CLIENT),
            ("PRODUCER", kind::PRODUCER),
            ("CONSUMER", kind::CONSUMER),
        ];
        one(deserializer, "SPAN_KIND_", &names)
    }

    pub(in super::super) fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
        one(deserializer, "STATUS_CODE_", &[("OK", status::OK), ("ERROR", status::ERROR)])
    }

    /// What is not known is nothing special.
    fn one<'de, D: Deserializer<'de>>(
        deserializer: D,
        prefix: &str,
        names: &[(&str, i32)],
    ) -> Result<i32, D::Error> {
        Ok(match Written::deserialize(deserializer)? {
            Written::Unsigned(number) => i32::try_from(number).unwrap_or_default(),
            Written::Text(text) => {
                let name = text.strip_prefix(prefix).unwrap_or(&text);
                names.iter().find(|(known, _)| *known == name).map_or(0, |(_, number)| *number)
            }
            Written::Signed(_) | Written::Double(_) | Written::Nothing(()) => 0,
        })
    }
}

impl Serialize for AnyValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Some(value) => value.serialize(serializer),
            None => serializer.serialize_map(Some(0))?.end(),
        }
    }
}

impl<'de> Deserialize<'de> for AnyValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OneOf)
    }
}

/// An object with one member of a known name; what has another is passed over.
struct OneOf;

impl<'de> Visitor<'de> for OneOf {
    type Value = AnyValue;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object such as {\"stringValue\": \"text\"}")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<AnyValue, M::Error> {
        use ::base64::Engine;
        let mut value = None;
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            value = match key.as_ref() {
                "stringValue" | "string_value" => Some(Any::Text(map.next_value()?)),
                "boolValue" | "bool_value" => Some(Any::Bool(map.next_value()?)),
                "intValue" | "int_value" => Some(Any::Int(map.next_value::<Signed>()?.0)),
                "doubleValue" | "double_value" => Some(double(map.next_value()?).ok_or_else(number::wrong)?),
                "arrayValue" | "array_value" => Some(Any::Array(map.next_value()?)),
                "kvlistValue" | "kvlist_value" => Some(Any::List(map.next_value()?)),
                "bytesValue" | "bytes_value" => {
                    let text: std::borrow::Cow<'de, str> = map.next_value()?;
                    let bytes = ::base64::prelude::BASE64_STANDARD.decode(text.as_bytes());
                    Some(Any::Bytes(bytes.map_err(|_| Error::custom("bytes are not written in base64"))?))
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
        }
        Ok(AnyValue { value })
    }
}

#[derive(Deserialize)]
struct Signed(#[serde(with = "number::signed")] i64);

fn double(written: Written) -> Option<Any> {
    Some(Any::Double(match written {
        Written::Double(number) => number,
        Written::Unsigned(number) => number as f64,
        Written::Signed(number) => number as f64,
        Written::Text(text) => text.parse().ok()?,
        Written::Nothing(()) => return None,
    }))
}
