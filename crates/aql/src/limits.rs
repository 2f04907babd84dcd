//! How large a request and a response may be, each limit settable only within its range.

use std::ops::RangeInclusive;

use serde::Serialize;

const KIB: usize = 1024;
const MIB: usize = 1024 * 1024;

/// One limit: its key, the range it may be set in, its default and what it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// The configuration key and the key in `_protocol.limits`.
    pub key: &'static str,
    /// What error details call it.
    pub limit_type: &'static str,
    pub unit: &'static str,
    pub default: usize,
    pub range: RangeInclusive<usize>,
}

pub const REQUEST_SIZE: Limit = Limit {
    key: "max_request_size",
    limit_type: "request_size",
    unit: "bytes",
    default: MIB,
    range: 64 * KIB..=10 * MIB,
};
pub const RESPONSE_SIZE: Limit = Limit {
    key: "max_response_size",
    limit_type: "response_size",
    unit: "bytes",
    default: 10 * MIB,
    range: MIB..=100 * MIB,
};
pub const STRING_LENGTH: Limit = Limit {
    key: "max_string_length",
    limit_type: "string_length",
    unit: "bytes",
    default: MIB,
    range: 64 * KIB..=10 * MIB,
};
pub const ARRAY_ELEMENTS: Limit = Limit {
    key: "max_array_elements",
    limit_type: "array_elements",
    unit: "elements",
    default: 10_000,
    range: 100..=100_000,
};
pub const NESTING_DEPTH: Limit = Limit {
    key: "max_nesting_depth",
    limit_type: "nesting_depth",
    unit: "levels",
    default: 32,
    range: 8..=64,
};

/// A value outside the range a limit may be set in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{key}' is {given}, but must be between {min} and {max} {unit}")]
pub struct OutOfRange {
    pub key: &'static str,
    pub given: usize,
    pub min: usize,
    pub max: usize,
    pub unit: &'static str,
}

impl Limit {
    /// The value, if the limit may be set to it.
    pub fn check(&self, given: usize) -> Result<usize, OutOfRange> {
        if self.range.contains(&given) {
            Ok(given)
        } else {
            Err(OutOfRange {
                key: self.key,
                given,
                min: *self.range.start(),
                max: *self.range.end(),
                unit: self.unit,
            })
        }
    }
}

/// The limits in force. Every field was checked against its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    max_request_size: usize,
    max_response_size: usize,
    max_string_length: usize,
    max_array_elements: usize,
    max_nesting_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_request_size: REQUEST_SIZE.default,
            max_response_size: RESPONSE_SIZE.default,
            max_string_length: STRING_LENGTH.default,
            max_array_elements: ARRAY_ELEMENTS.default,
            max_nesting_depth: NESTING_DEPTH.default,
        }
    }
}

macro_rules! limit_accessors {
    ($($field:ident, $with:ident, $limit:ident;)*) => {
        impl Limits {
            $(
                #[must_use]
                pub fn $field(&self) -> usize {
                    self.$field
                }

                pub fn $with(mut self, given: usize) -> Result<Self, OutOfRange> {
                    self.$field = $limit.check(given)?;
                    Ok(self)
                }
            )*
        }
    };
}

limit_accessors! {
    max_request_size, with_max_request_size, REQUEST_SIZE;
    max_response_size, with_max_response_size, RESPONSE_SIZE;
    max_string_length, with_max_string_length, STRING_LENGTH;
    max_array_elements, with_max_array_elements, ARRAY_ELEMENTS;
    max_nesting_depth, with_max_nesting_depth, NESTING_DEPTH;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// REQ-LIMIT-07
    #[test]
    fn limits_are_settable_only_within_their_ranges() {
        for limit in [&REQUEST_SIZE, &RESPONSE_SIZE, &STRING_LENGTH, &ARRAY_ELEMENTS, &NESTING_DEPTH] {
            let (min, max) = (*limit.range.start(), *limit.range.end());
            assert_eq!(limit.check(min), Ok(min));
            assert_eq!(limit.check(max), Ok(max));
            for outside in [min - 1, max + 1] {
                let message = limit.check(outside).unwrap_err().to_string();
                assert!(message.contains(limit.key) && message.contains(&min.to_string()), "{message}");
            }
        }
        assert_eq!(REQUEST_SIZE.range, 65_536..=10_485_760);
        assert_eq!(RESPONSE_SIZE.range, 1_048_576..=104_857_600);
        assert_eq!((NESTING_DEPTH.range, ARRAY_ELEMENTS.range), (8..=64, 100..=100_000));
    }

    /// REQ-LIMIT-10
    #[test]
    fn the_defaults_are_the_published_ones() {
        let json = serde_json::to_value(Limits::default()).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "max_request_size": 1_048_576, "max_response_size": 10_485_760,
                "max_string_length": 1_048_576, "max_array_elements": 10_000, "max_nesting_depth": 32
            })
        );
    }
}
