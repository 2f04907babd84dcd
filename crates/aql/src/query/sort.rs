//! `sort`: one key as `{"field": …, "order": "asc" | "desc"}`, several as an array, the first one deciding first.
//!
//! The order is `asc` unless it says `desc`. What sorts alike is ordered by id, in the direction of the last key, so
//! that an index on a field and the id can be read either way. Nulls and missing values come first when ascending.

use std::cmp::Ordering;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    collection::{Collection, Identity, Use},
    order,
    path::{self, Target},
    refuse,
};
use crate::{error::Error, limits::Limit};

/// More keys than this are refused.
pub const SORT_KEYS_MAX: usize = 5;
const KEYS: Limit = Limit {
    key: "sort_keys",
    limit_type: "sort_keys",
    unit: "keys",
    default: SORT_KEYS_MAX,
    range: SORT_KEYS_MAX..=SORT_KEYS_MAX,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    #[default]
    Asc,
    Desc,
}

impl Order {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asc => "asc",
            Self::Desc => "desc",
        }
    }

    fn apply(self, ordering: Ordering) -> Ordering {
        match self {
            Self::Asc => ordering,
            Self::Desc => ordering.reverse(),
        }
    }
}

/// One thing to sort by.
#[derive(Debug, Clone)]
pub struct Key {
    pub target: Target,
    pub order: Order,
}

/// The whole order of a query.
#[derive(Debug, Clone)]
pub struct Sort {
    keys: Vec<Key>,
    identity: Identity,
}

/// Where an item stands in an order: its sort keys, then its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place<'a> {
    pub keys: Vec<order::Key<'a>>,
    pub id: order::Key<'a>,
}

impl<'a> Place<'a> {
    /// The place that these values were written from.
    pub(super) fn of_values(id: &'a Value, keys: &'a [Value]) -> Self {
        Self { keys: keys.iter().map(order::Key::of).collect(), id: identity(id) }
    }

    #[must_use]
    pub fn into_owned(self) -> Place<'static> {
        Place { keys: self.keys.into_iter().map(order::Key::into_owned).collect(), id: self.id.into_owned() }
    }
}

impl Sort {
    /// Reads `sort`; without it the collection's own order is taken.
    pub(super) fn read(given: Option<&Value>, collection: &Collection) -> Result<Self, Error> {
        let keys = match given {
            None => collection.default_sort().to_vec(),
            Some(Value::Array(all)) if all.is_empty() => {
                return Err(refuse::empty("sort", "one sort key or more").hint(EXAMPLE));
            }
            Some(Value::Array(all)) if all.len() > SORT_KEYS_MAX => {
                return Err(refuse::too_large(&KEYS, "sort", all.len()));
            }
            Some(Value::Array(all)) => {
                let each = all.iter().enumerate();
                each.map(|(index, key)| read_key(&format!("sort[{index}]"), key, collection))
                    .collect::<Result<_, _>>()?
            }
            Some(key) => vec![read_key("sort", key, collection)?],
        };
        Ok(Self { keys, identity: collection.identity().clone() })
    }

    /// The keys in the order they decide, without the id that comes after them.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The direction that ids are ordered in.
    #[must_use]
    pub fn id_order(&self) -> Order {
        self.keys.last().map(|key| key.order).unwrap_or_default()
    }

    /// Whether the order moves with time.
    pub(super) fn is_timed(&self) -> bool {
        self.keys.iter().any(|key| key.target.stored().is_none())
    }

    /// Where an item stands that is the `position`th of the list it came in.
    pub(super) fn place<'a>(&self, item: &'a Value, position: usize, now: Timestamp) -> Place<'a> {
        let keys = self.keys.iter().map(|key| match &key.target {
            Target::Stored(path) => path::find(path, item).map_or(order::Key::Null, order::Key::of),
            Target::Computed(computed) => order::Key::of(&computed.value(item, now)).into_owned(),
        });
        let id = match &self.identity {
            Identity::Field(path) => path::find(path, item).map_or(order::Key::Null, identity),
            Identity::Position => order::Key::Number(order::Num::Whole(position as i128)),
        };
        Place { keys: keys.collect(), id }
    }

    #[must_use]
    pub fn compare(&self, a: &Place<'_>, b: &Place<'_>) -> Ordering {
        let keys = self.keys.iter().zip(a.keys.iter().zip(&b.keys));
        keys.map(|(key, (a, b))| key.order.apply(a.cmp(b)))
            .find(|ordering| ordering.is_ne())
            .unwrap_or_else(|| self.id_order().apply(a.id.cmp(&b.id)))
    }
}

/// An id is never cut: two long ones may begin alike.
fn identity(value: &Value) -> order::Key<'_> {
    match value {
        Value::String(text) => order::Key::Text(text.as_str().into()),
        other => order::Key::of(other),
    }
}

const EXAMPLE: &str = "Write {\"field\": \"name\", \"order\": \"desc\"}, or an array of such keys.";

fn read_key(place: &str, given: &Value, collection: &Collection) -> Result<Key, Error> {
    let Value::Object(object) = given else {
        return Err(Error::invalid_type(place, "object", given).hint(EXAMPLE));
    };
    if let Some(stray) = object.keys().find(|key| !["field", "order"].contains(&key.as_str())) {
        return Err(refuse::unknown_key(place, stray, &["field", "order"]));
    }
    let param = format!("{place}.field");
    let field = match object.get("field") {
        None => return Err(Error::missing_param("", &param, "string", "The field to sort by").hint(EXAMPLE)),
        Some(Value::String(field)) => field,
        Some(other) => return Err(Error::invalid_type(&param, "string", other)),
    };
    let (target, _) = collection
        .target(field, Use::Sort)
        .map_err(|why| refuse::unusable_path(collection, Use::Sort, &param, field, why))?;
    let order = match object.get("order") {
        None => Order::default(),
        Some(Value::String(order)) => match order.as_str() {
            "asc" => Order::Asc,
            "desc" => Order::Desc,
            other => return Err(refuse::not_one_of(&format!("{place}.order"), other, &["asc", "desc"])),
        },
        Some(other) => return Err(Error::invalid_type(&format!("{place}.order"), "string", other)),
    };
    Ok(Key { target, order })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{error::Code, query::fixture};

    fn sorted(sort: Value, items: &[Value]) -> Vec<i64> {
        let sort = Sort::read(Some(&sort), &fixture::tasks()).unwrap();
        let now = fixture::now();
        let mut places: Vec<_> =
            items.iter().enumerate().map(|(at, item)| (sort.place(item, at, now), item)).collect();
        places.sort_by(|a, b| sort.compare(&a.0, &b.0));
        places.iter().map(|(_, item)| item["id"].as_i64().unwrap()).collect()
    }

    #[test]
    fn several_keys_decide_in_turn_and_the_id_decides_last() {
        let items = [
            json!({"id": 1, "status": "b", "priority": 2}),
            json!({"id": 2, "status": "a", "priority": 2}),
            json!({"id": 3, "status": "b", "priority": null}),
            json!({"id": 4, "status": "a"}),
            json!({"id": 5, "priority": 2.0}),
            json!({"id": 10, "status": "b", "priority": 2}),
        ];
        for (sort, expected) in [
            (json!({"field": "status"}), vec![5, 2, 4, 1, 3, 10]),
            (json!({"field": "status", "order": "desc"}), vec![10, 3, 1, 4, 2, 5]),
            (json!({"field": "priority", "order": "asc"}), vec![3, 4, 1, 2, 5, 10]),
            (json!([{"field": "priority", "order": "desc"}, {"field": "status"}]), vec![5, 2, 1, 10, 4, 3]),
            (json!([{"field": "id", "order": "desc"}]), vec![10, 5, 4, 3, 2, 1]),
        ] {
            assert_eq!(sorted(sort.clone(), &items), expected, "{sort}");
        }
    }

    #[test]
    fn faults_name_what_is_accepted() {
        let fault = |sort: Value| Sort::read(Some(&sort), &fixture::tasks()).unwrap_err();
        for (sort, code, param) in [
            (json!("status"), Code::InvalidType, "sort"),
            (json!([]), Code::OutOfRange, "sort"),
            (json!(vec![json!({"field": "id"}); 6]), Code::PayloadTooLarge, "sort"),
            (json!([{"field": "id"}, 5]), Code::InvalidType, "sort[1]"),
            (json!({}), Code::MissingParam, "sort.field"),
            (json!({"field": 5}), Code::InvalidType, "sort.field"),
            (json!({"field": "statsu"}), Code::InvalidEnum, "sort.field"),
            (json!({"field": "tags"}), Code::InvalidEnum, "sort.field"),
            (json!({"field": "_computed.tokens"}), Code::InvalidEnum, "sort.field"),
            (json!({"field": "id", "order": "up"}), Code::InvalidEnum, "sort.order"),
            (json!({"field": "id", "order": null}), Code::InvalidType, "sort.order"),
            (json!({"field": "id", "ordr": "asc"}), Code::UnknownField, "sort.ordr"),
        ] {
            let error = fault(sort.clone());
            assert_eq!((error.code, &error.details["param_name"]), (code, &json!(param)), "{sort}");
        }
        let error = fault(json!({"field": "statsu"}));
        assert_eq!(error.details["hint"], "Did you mean 'status'?");
        assert!(error.details["allowed_values"].as_array().unwrap().contains(&json!("status")));
        assert_eq!(fault(json!({"field": "tags"})).details["hint"], "'tags' cannot be sorted by.");
    }
}
