//! The one order of JSON values. Filters, sorting, grouping, `min` and `max` all use it, in memory and over storage.
//!
//! From low to high: null, false, true, numbers, strings, arrays, objects.
//!
//! - A value that is missing is null. Only the operator `exists` tells them apart.
//! - Numbers are ordered by value, exactly, however they are written: 1 equals 1.0 and -0.0 equals 0, and an integer
//!   beyond 2^53 is never rounded to be compared.
//! - Strings are ordered by Unicode code point, so upper case stands before lower case and nothing depends on a locale.
//! - Arrays are ordered by their first different element, a prefix before what it begins.
//! - Objects are ordered as arrays of their keys and values, sorted by key.
//!
//! Two values are equal exactly when neither stands before the other.
//!
//! Sorting looks at a [`Key`] of the value, which is bounded so that a cursor can carry it: of a string its first
//! [`SORT_TEXT_CHARS_MAX`] characters, of an array or an object only that it is one. What is the same by then is
//! ordered by id.

mod encode;

use std::{borrow::Cow, cmp::Ordering};

use serde_json::{Map, Number, Value};

pub use self::encode::{Type, key_in};

/// Sorting does not look further into a string than this.
pub const SORT_TEXT_CHARS_MAX: usize = 256;

/// Compares two values.
#[must_use]
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => Num::of(a).cmp(&Num::of(b)),
        // UTF-8 keeps the order of code points.
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            lexical(a.iter().zip(b).map(|(a, b)| compare(a, b))).then(a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let (a, b) = (by_key(a), by_key(b));
            let pairs = a.iter().zip(&b);
            lexical(pairs.map(|((a_key, a), (b_key, b))| a_key.cmp(b_key).then_with(|| compare(a, b))))
                .then(a.len().cmp(&b.len()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Whether two values are the same in this order.
#[must_use]
pub fn equal(a: &Value, b: &Value) -> bool {
    compare(a, b).is_eq()
}

fn lexical(mut each: impl Iterator<Item = Ordering>) -> Ordering {
    each.find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// Sorted here, so that nothing depends on how a map keeps its keys.
fn by_key(object: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = object.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries
}

/// One value for all spellings of equal ones: of numbers, and of objects whose keys stand in another order.
#[must_use]
pub fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => Num::of(number).to_value(),
        Value::Array(elements) => elements.iter().map(plain).collect(),
        Value::Object(object) => {
            by_key(object).into_iter().map(|(key, inner)| (key.clone(), plain(inner))).collect()
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

/// One text for all spellings of equal values, and different texts for different ones.
#[must_use]
pub fn canonical(value: &Value) -> String {
    plain(value).to_string()
}

/// A number by its value. Whole numbers are exact; the others are either no whole numbers or beyond 64 bits.
#[derive(Debug, Clone, Copy)]
pub enum Num {
    Whole(i128),
    Other(f64),
}

/// Every integer that JSON can hold exactly lies below this in size.
const WHOLE_BOUND: f64 = 18_446_744_073_709_551_616.0;

impl Num {
    #[must_use]
    pub fn of(number: &Number) -> Self {
        if let Some(whole) = number.as_i64() {
            Self::Whole(whole.into())
        } else if let Some(whole) = number.as_u64() {
            Self::Whole(whole.into())
        } else {
            // Every number that is no integer is a finite float here.
            Self::of_float(number.as_f64().unwrap_or_default())
        }
    }

    #[must_use]
    pub fn of_float(float: f64) -> Self {
        if float.fract() == 0.0 && float.abs() < WHOLE_BOUND {
            Self::Whole(float as i128)
        } else {
            Self::Other(float)
        }
    }

    /// The number as JSON: an integer where it is one and fits. What is beyond every number is null.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            Self::Whole(whole) => match (i64::try_from(whole), u64::try_from(whole)) {
                (Ok(whole), _) => whole.into(),
                (_, Ok(whole)) => whole.into(),
                _ => (whole as f64).into(),
            },
            Self::Other(float) => Number::from_f64(float).map_or(Value::Null, Value::Number),
        }
    }
}

impl Ord for Num {
    fn cmp(&self, other: &Self) -> Ordering {
        match (*self, *other) {
            (Self::Whole(a), Self::Whole(b)) => a.cmp(&b),
            (Self::Other(a), Self::Other(b)) => a.total_cmp(&b),
            (Self::Whole(a), Self::Other(b)) => whole_to_other(a, b),
            (Self::Other(a), Self::Whole(b)) => whole_to_other(b, a).reverse(),
        }
    }
}

/// They are never equal: the float is huge or has a fraction.
fn whole_to_other(whole: i128, other: f64) -> Ordering {
    if other.abs() >= WHOLE_BOUND {
        return if other > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    if whole <= other.floor() as i128 { Ordering::Less } else { Ordering::Greater }
}

impl PartialOrd for Num {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Num {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Num {}

/// What sorting sees of a value. The variants stand in the order of values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key<'a> {
    Null,
    Bool(bool),
    Number(Num),
    Text(Cow<'a, str>),
    Array,
    Object,
}

impl<'a> Key<'a> {
    #[must_use]
    pub fn of(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(bool) => Self::Bool(*bool),
            Value::Number(number) => Self::Number(Num::of(number)),
            Value::String(text) => Self::Text(Cow::Borrowed(cut(text))),
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// The same, holding nothing of the value.
    #[must_use]
    pub fn into_owned(self) -> Key<'static> {
        match self {
            Self::Null => Key::Null,
            Self::Bool(bool) => Key::Bool(bool),
            Self::Number(number) => Key::Number(number),
            Self::Text(text) => Key::Text(Cow::Owned(text.into_owned())),
            Self::Array => Key::Array,
            Self::Object => Key::Object,
        }
    }

    /// A value with this key.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(bool) => (*bool).into(),
            Self::Number(number) => number.to_value(),
            Self::Text(text) => text.as_ref().into(),
            Self::Array => Value::Array(Vec::new()),
            Self::Object => Value::Object(Map::new()),
        }
    }
}

fn cut(text: &str) -> &str {
    if text.len() <= SORT_TEXT_CHARS_MAX {
        return text;
    }
    match text.char_indices().nth(SORT_TEXT_CHARS_MAX) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Each row stands before the next; what is in one row is equal.
    fn ladder() -> Vec<Vec<Value>> {
        vec![
            vec![json!(null)],
            vec![json!(false)],
            vec![json!(true)],
            vec![json!(-1e300)],
            vec![json!(-18_446_744_073_709_551_616.0)],
            vec![json!(i64::MIN), json!(-9_223_372_036_854_775_808.0)],
            vec![json!(i64::MIN + 1)],
            vec![json!(-1.5)],
            vec![json!(-1), json!(-1.0)],
            vec![json!(-0.5)],
            vec![json!(0), json!(-0.0), json!(0.0)],
            vec![json!(5e-324)],
            vec![json!(1), json!(1.0)],
            vec![json!(1.5)],
            vec![json!(9_007_199_254_740_992_i64), json!(9_007_199_254_740_992.0)],
            vec![json!(9_007_199_254_740_993_i64)],
            vec![json!(i64::MAX)],
            vec![json!(9_223_372_036_854_775_808_u64), json!(9_223_372_036_854_775_808.0)],
            vec![json!(u64::MAX)],
            vec![json!(18_446_744_073_709_551_616.0)],
            vec![json!(1e300)],
            vec![json!("")],
            vec![json!("1")],
            vec![json!("A")],
            vec![json!("a")],
            vec![json!("ab")],
            vec![json!("b")],
            vec![json!("é")],
            vec![json!("\u{ffff}")],
            vec![json!("😀")],
            vec![json!([])],
            vec![json!([null])],
            vec![json!([1]), json!([1.0])],
            vec![json!([1, 0])],
            vec![json!([2])],
            vec![json!({})],
            vec![json!({"a": 1}), json!({"a": 1.0})],
            vec![json!({"a": 1, "b": 0}), json!({"b": 0, "a": 1})],
            vec![json!({"a": 2})],
            vec![json!({"b": 0})],
        ]
    }

    #[test]
    fn the_order_is_the_written_one_and_equality_agrees_with_it() {
        let ladder = ladder();
        for (low, row) in ladder.iter().enumerate() {
            for (high, other) in ladder.iter().enumerate() {
                for a in row {
                    for b in other {
                        assert_eq!(compare(a, b), low.cmp(&high), "{a} and {b}");
                        assert_eq!(equal(a, b), low == high, "{a} and {b}");
                        assert_eq!(canonical(a) == canonical(b), low == high, "{a} and {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn keys_keep_the_order_and_survive_a_cursor() {
        for row in ladder() {
            for value in row {
                let key = Key::of(&value);
                assert_eq!(Key::of(&key.to_value()), key, "{value}");
                assert_eq!(key.clone().into_owned(), key, "{value}");
                for other in ladder().into_iter().flatten().filter(|v| !v.is_array() && !v.is_object()) {
                    if !value.is_array() && !value.is_object() {
                        assert_eq!(key.cmp(&Key::of(&other)), compare(&value, &other), "{value} and {other}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_key_is_cut_between_characters() {
        let long = json!("é".repeat(300));
        assert_eq!(Key::of(&long), Key::Text("é".repeat(SORT_TEXT_CHARS_MAX).into()));
        let short = json!("é".repeat(SORT_TEXT_CHARS_MAX));
        assert_eq!(Key::of(&long), Key::of(&short));
    }
}
