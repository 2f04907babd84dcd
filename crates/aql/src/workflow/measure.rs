//! How large a value is, told without building anything.

use std::io::{self, Write};

use serde_json::{Map, Value};

use crate::{
    error::Error,
    limits::{self, Limits},
};

/// The length of a value as JSON.
pub(super) fn bytes(value: &Value) -> usize {
    struct Count(usize);
    impl Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A value of JSON can be written as JSON, and the counter takes everything.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// How deep objects and arrays are nested, the outermost counting as one.
pub(super) fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 1)];
    while let Some((value, level)) = open.pop() {
        match value {
            Value::Array(elements) => open.extend(elements.iter().map(|inner| (inner, level + 1))),
            Value::Object(members) => open.extend(members.values().map(|inner| (inner, level + 1))),
            _ => continue,
        }
        deepest = deepest.max(level);
    }
    deepest
}

/// Holds parameters to what a request of its own may be: values put together from results were never scanned.
pub(super) fn within(params: &Map<String, Value>, limits: &Limits) -> Result<(), Error> {
    let mut open: Vec<(&Value, usize)> = params.values().map(|value| (value, 2)).collect();
    while let Some((value, level)) = open.pop() {
        match value {
            Value::String(text) if text.len() > limits.max_string_length() => {
                return Err(Error::too_large(&limits::STRING_LENGTH, limits.max_string_length(), text.len()));
            }
            Value::Array(elements) => {
                if elements.len() > limits.max_array_elements() {
                    let allowed = limits.max_array_elements();
                    return Err(Error::too_large(&limits::ARRAY_ELEMENTS, allowed, elements.len()));
                }
                open.extend(elements.iter().map(|inner| (inner, level + 1)));
            }
            Value::Object(members) => open.extend(members.values().map(|inner| (inner, level + 1))),
            _ => continue,
        }
        if level > limits.max_nesting_depth() && !value.is_string() {
            return Err(Error::too_large(&limits::NESTING_DEPTH, limits.max_nesting_depth(), level));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::error::Code;

    #[test]
    fn sizes_are_those_of_the_written_json() {
        for value in [json!(null), json!({"a": [1, "ü\n", {}], "b": -1.5}), json!([[[]]])] {
            let text = value.to_string();
            assert_eq!(bytes(&value), text.len(), "{text}");
            assert_eq!(depth(&value), crate::scan::depth(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn parameters_keep_the_limits_of_a_request() {
        let limits = Limits::default()
            .with_max_array_elements(100)
            .and_then(|limits| limits.with_max_nesting_depth(8))
            .and_then(|limits| limits.with_max_string_length(65_536))
            .unwrap();
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        for (value, expected) in [
            (json!("x".repeat(65_536)), None),
            (json!("x".repeat(65_537)), Some("string_length")),
            (json!(vec![0; 100]), None),
            (json!(vec![0; 101]), Some("array_elements")),
            (nested(7), None),
            (nested(8), Some("nesting_depth")),
        ] {
            let params = Map::from_iter([("p".to_owned(), value)]);
            let refused = within(&params, &limits).err();
            assert_eq!(refused.as_ref().map(|error| error.code), expected.map(|_| Code::PayloadTooLarge));
            assert_eq!(refused.map(|error| error.details["limit_type"].clone()), expected.map(Value::from));
        }
    }
}
