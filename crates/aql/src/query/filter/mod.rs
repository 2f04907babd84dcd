//! `filter`: which items a query is about.
//!
//! ```json
//! {"status": "active", "priority": {"gte": 3, "lt": 9}, "or": [{"tags": {"contains": "x"}}, {"not": {"done": true}}]}
//! ```
//!
//! An object holds when all of its entries hold. An entry is a field with a value it equals, a field with an object of
//! operators that all hold, or one of `and` (an array of filters), `or` (likewise) and `not` (a filter). To compare
//! with an object, write `{"eq": {…}}`.
//!
//! | operator | holds when the field's value |
//! | --- | --- |
//! | `eq`, `ne` | equals the operand, or does not |
//! | `gt`, `gte`, `lt`, `lte` | has the operand's type and stands after, not before, before, not after it |
//! | `in`, `nin` | equals one of the operands, or none |
//! | `contains` | is an array with an element equal to the operand, or a string with the operand in it |
//! | `starts_with` | is a string that begins with the operand |
//! | `exists` | is there, be it null (`true`), or is not (`false`) |
//!
//! Equality and order are those of [`order`]: a missing field equals null, so `{"due": null}` holds for
//! items without `due` and `{"due": {"ne": null}}` for those with a value. Nothing else about a missing field holds but
//! `ne`, `nin` and `{"exists": false}`. `not` turns a filter's answer round, whatever the types were. Strings are
//! compared by case. Arrays are compared as a whole; only `contains` looks into them. A time may be given in any
//! precision and means its instant; a date is the text that the times of its day begin with.

mod read;

use std::cmp::Ordering;

use jiff::Timestamp;
use serde_json::Value;

pub use self::read::{FILTER_CONDITIONS_MAX, FILTER_DEPTH_LEVELS_MAX, FILTER_VALUES_MAX, OPERATORS};
use super::{order, path::Target};

/// A condition on items, read and checked.
#[derive(Debug, Clone)]
pub enum Filter {
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Not(Box<Filter>),
    Where(Condition),
}

/// One test of one field.
#[derive(Debug, Clone)]
pub struct Condition {
    pub target: Target,
    pub test: Test,
}

/// What a value has to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    Eq(Value),
    Ne(Value),
    Gt(Value),
    Gte(Value),
    Lt(Value),
    Lte(Value),
    /// In the order of values.
    In(Vec<Value>),
    /// In the order of values.
    Nin(Vec<Value>),
    Contains(Value),
    StartsWith(String),
    Exists(bool),
}

impl Filter {
    /// Holds for every item.
    #[must_use]
    pub fn everything() -> Self {
        Self::All(Vec::new())
    }

    #[must_use]
    pub fn accepts(&self, item: &Value, now: Timestamp) -> bool {
        match self {
            Self::All(all) => all.iter().all(|filter| filter.accepts(item, now)),
            Self::Any(any) => any.iter().any(|filter| filter.accepts(item, now)),
            Self::Not(filter) => !filter.accepts(item, now),
            Self::Where(Condition { target, test }) => test.holds(target.value(item, now).as_deref()),
        }
    }

    /// Conditions on stored fields that every accepted item meets: what storage may narrow by. There can be others.
    #[must_use]
    pub fn conjuncts(&self) -> Vec<&Condition> {
        match self {
            Self::All(all) => all.iter().flat_map(Self::conjuncts).collect(),
            Self::Where(condition) if condition.target.stored().is_some() => vec![condition],
            Self::Any(_) | Self::Not(_) | Self::Where(_) => Vec::new(),
        }
    }

    /// Whether [`Filter::conjuncts`] say everything, so that who meets them all is accepted.
    #[must_use]
    pub fn is_conjunctive(&self) -> bool {
        match self {
            Self::All(all) => all.iter().all(Self::is_conjunctive),
            Self::Where(condition) => condition.target.stored().is_some(),
            Self::Any(_) | Self::Not(_) => false,
        }
    }

    /// Whether something is looked at that `wanted` holds for.
    pub(super) fn any_target(&self, wanted: &impl Fn(&Target) -> bool) -> bool {
        match self {
            Self::All(all) | Self::Any(all) => all.iter().any(|filter| filter.any_target(wanted)),
            Self::Not(filter) => filter.any_target(wanted),
            Self::Where(condition) => wanted(&condition.target),
        }
    }

    /// Whether what is accepted changes with time.
    pub(super) fn is_timed(&self) -> bool {
        self.any_target(&|target| target.stored().is_none())
    }
}

impl Test {
    /// Tests a value, or that there is none.
    #[must_use]
    pub fn holds(&self, value: Option<&Value>) -> bool {
        let present = value.unwrap_or(&Value::Null);
        match self {
            Self::Eq(operand) => order::equal(present, operand),
            Self::Ne(operand) => !order::equal(present, operand),
            Self::Gt(operand) => ranged(present, operand).is_some_and(Ordering::is_gt),
            Self::Gte(operand) => ranged(present, operand).is_some_and(Ordering::is_ge),
            Self::Lt(operand) => ranged(present, operand).is_some_and(Ordering::is_lt),
            Self::Lte(operand) => ranged(present, operand).is_some_and(Ordering::is_le),
            Self::In(operands) => among(present, operands),
            Self::Nin(operands) => !among(present, operands),
            Self::Contains(operand) => match (present, operand) {
                (Value::Array(elements), _) => elements.iter().any(|element| order::equal(element, operand)),
                (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
                _ => false,
            },
            Self::StartsWith(start) => present.as_str().is_some_and(|text| text.starts_with(start.as_str())),
            Self::Exists(wanted) => value.is_some() == *wanted,
        }
    }
}

/// How a value stands to a bound, if they are of one type.
fn ranged(value: &Value, bound: &Value) -> Option<Ordering> {
    let alike =
        matches!((value, bound), (Value::Number(_), Value::Number(_)) | (Value::String(_), Value::String(_)));
    alike.then(|| order::compare(value, bound))
}

fn among(value: &Value, sorted: &[Value]) -> bool {
    sorted.binary_search_by(|operand| order::compare(operand, value)).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::query::fixture;

    fn holds(filter: Value, item: &Value) -> bool {
        let filter = Filter::read(&filter, &fixture::tasks()).unwrap();
        filter.accepts(item, fixture::now())
    }

    /// REQ-PARAM-08
    #[test]
    fn operators_mean_what_is_written() {
        let item = json!({
            "id": 7, "status": "active", "title": "Über alles", "priority": 3, "done": false, "tags": ["a", 1, null, [2]],
            "created_at": "2026-02-27T13:00:00Z", "owner": {"login": "ann"},
            "metadata": {"null": null, "object": {"a": 1}, "big": 9_007_199_254_740_993_i64, "number": 2, "text": "2"}
        });
        for (filter, expected) in [
            (json!({}), true),
            (json!({"status": "active"}), true),
            (json!({"status": "Active"}), false),
            (json!({"status": "active", "priority": 4}), false),
            (json!({"priority": 3.0}), true),
            (json!({"owner.login": {"eq": "ann"}}), true),
            (json!({"priority": {"gte": 3, "lt": 4}}), true),
            (json!({"priority": {"gt": 3}}), false),
            (json!({"priority": {"lte": 2.5}}), false),
            (json!({"metadata.big": {"gt": 9_007_199_254_740_992_i64}}), true),
            (json!({"metadata.text": {"gt": 1}}), false),
            (json!({"metadata.text": {"lte": 1}}), false),
            (json!({"metadata.text": {"ne": 2}}), true),
            (json!({"metadata.number": {"in": ["2", 2.0, null]}}), true),
            (json!({"metadata.text": {"nin": [2, 3]}}), true),
            (json!({"status": {"in": []}}), false),
            (json!({"status": {"nin": []}}), true),
            (json!({"tags": {"contains": "a"}}), true),
            (json!({"tags": {"contains": [2]}}), true),
            (json!({"tags": {"contains": null}}), true),
            (json!({"tags": {"contains": "b"}}), false),
            (json!({"tags": ["a", 1, null, [2]]}), true),
            (json!({"title": {"contains": "r all"}}), true),
            (json!({"title": {"contains": "R ALL"}}), false),
            (json!({"title": {"starts_with": "Ü"}}), true),
            (json!({"metadata.number": {"starts_with": "2"}}), false),
            (json!({"metadata.object": {"eq": {"a": 1.0}}}), true),
            (json!({"metadata.object": {"contains": "a"}}), false),
            (json!({"created_at": {"gte": "2026-02-27", "lt": "2026-02-28"}}), true),
            (json!({"_computed.age_days": 1}), true),
            (json!({"or": [{"status": "x"}, {"priority": 3}]}), true),
            (json!({"or": [{"status": "x"}, {"priority": 4}]}), false),
            (json!({"and": [{"status": "active"}, {"not": {"done": true}}]}), true),
            (json!({"not": {"metadata.text": {"lte": 1}}}), true),
            (json!({"priority": 3, "or": [{"done": true}]}), false),
        ] {
            assert_eq!(holds(filter.clone(), &item), expected, "{filter}");
        }
    }

    #[test]
    fn a_time_in_another_precision_means_its_instant() {
        let item = json!({"created_at": "2026-02-27T13:00:00.500000Z"});
        for (test, expected) in [
            (json!("2026-02-27T13:00:00.5Z"), true),
            (json!("2026-02-27T13:00:00.500000000Z"), true),
            (json!("2026-02-27T13:00:00.500000001Z"), false),
            (json!("2026-02-27T13:00:00Z"), false),
            (json!("2026-02-27"), false),
            (json!({"gt": "2026-02-27T13:00:00Z"}), true),
            (json!({"gte": "2026-02-27T13:00:00.5Z"}), true),
            (json!({"gt": "2026-02-27T13:00:00.5Z"}), false),
            (json!({"gte": "2026-02-27T13:00:00.5000001Z"}), false),
            (json!({"gt": "2026-02-27T13:00:00.4999999Z"}), true),
            (json!({"lt": "2026-02-27T13:00:00.5000001Z"}), true),
            (json!({"lte": "2026-02-27T13:00:00.5000001Z"}), true),
            (json!({"lt": "2026-02-27T13:00:00.5Z"}), false),
            (json!({"ne": "2026-02-27T13:00:00.5000001Z"}), true),
            (json!({"in": ["2026-02-27T13:00:00.5Z", "2020-01-01T00:00:00Z"]}), true),
            (json!({"nin": ["2026-02-27T13:00:00.5Z", null]}), false),
            (json!({"starts_with": "2026-02"}), true),
        ] {
            assert_eq!(holds(json!({"created_at": test}), &item), expected, "{test}");
        }
    }

    #[test]
    fn a_missing_field_equals_null_and_only_exists_tells_them_apart() {
        let (null, missing) = (json!({"metadata": {"x": null}}), json!({"metadata": {}}));
        for (test, on_null, on_missing) in [
            (json!(null), true, true),
            (json!({"eq": null}), true, true),
            (json!({"ne": null}), false, false),
            (json!({"ne": 1}), true, true),
            (json!({"in": [1, null]}), true, true),
            (json!({"nin": [1]}), true, true),
            (json!({"nin": [null]}), false, false),
            (json!({"gte": 0}), false, false),
            (json!({"lte": 0}), false, false),
            (json!({"contains": "a"}), false, false),
            (json!({"starts_with": ""}), false, false),
            (json!({"exists": true}), true, false),
            (json!({"exists": false}), false, true),
        ] {
            let filter = json!({"metadata.x": test});
            assert_eq!(holds(filter.clone(), &null), on_null, "{filter} on null");
            assert_eq!(holds(filter.clone(), &missing), on_missing, "{filter} on nothing");
        }
    }

    #[test]
    fn storage_is_told_what_it_may_narrow_by() {
        let conjuncts = |filter: Value| {
            let filter = Filter::read(&filter, &fixture::tasks()).unwrap();
            let told: Vec<String> = filter.conjuncts().iter().map(|c| c.target.to_string()).collect();
            (told.join(" "), filter.is_conjunctive())
        };
        for (filter, expected, complete) in [
            (json!({}), "", true),
            (json!({"status": "x", "priority": {"gt": 1, "lt": 5}}), "priority priority status", true),
            (json!({"and": [{"status": "x"}, {"and": [{"done": true}]}]}), "status done", true),
            (json!({"status": "x", "or": [{"done": true}]}), "status", false),
            (json!({"status": "x", "not": {"done": true}}), "status", false),
            (json!({"status": "x", "_computed.age_days": 1}), "status", false),
        ] {
            assert_eq!(conjuncts(filter.clone()), (expected.to_owned(), complete), "{filter}");
        }
    }
}
