//! Which part of a result is the list that a query works on, where nobody declared it.

use serde_json::{Map, Value};

/// A result taken apart: its list, and what stood beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    pub items: Vec<Value>,
    /// The other keys of the object that the list stood in; empty where the result was the list itself.
    pub beside: Map<String, Value>,
}

/// The result as it was, and the keys of it that could have been meant.
#[derive(Debug, Clone, PartialEq)]
pub struct NotOne {
    pub data: Value,
    pub candidates: Vec<String>,
}

impl Listing {
    /// Finds the list: the result itself, or the only array in it that holds objects, or else the only array at all.
    /// An empty array may be one of objects: what is meant by a query must not change with what there is to find.
    pub fn of(data: Value) -> Result<Self, NotOne> {
        let mut beside = match data {
            Value::Array(items) => return Ok(Self { items, beside: Map::new() }),
            Value::Object(object) => object,
            data => return Err(NotOne { data, candidates: Vec::new() }),
        };
        let arrays = |fits: fn(&[Value]) -> bool| -> Vec<String> {
            let arrays = beside.iter().filter_map(|(key, value)| Some((key, value.as_array()?)));
            arrays.filter(|(_, items)| fits(items)).map(|(key, _)| key.clone()).collect()
        };
        let of_objects = arrays(|items| items.iter().all(Value::is_object));
        let of_any = arrays(|_| true);
        let found = match (of_objects.as_slice(), of_any.as_slice()) {
            ([only], _) | ([], [only]) => only.clone(),
            _ => {
                let candidates = if of_objects.is_empty() { of_any } else { of_objects };
                return Err(NotOne { data: Value::Object(beside), candidates });
            }
        };
        match beside.remove(&found) {
            Some(Value::Array(items)) => Ok(Self { items, beside }),
            _ => Err(NotOne { data: Value::Object(beside), candidates: Vec::new() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_list_is_the_result_or_the_only_one_in_it() {
        for (data, items, beside) in [
            (json!([1, 2]), json!([1, 2]), json!({})),
            (json!({"issues": [{"a": 1}], "total": 3}), json!([{"a": 1}]), json!({"total": 3})),
            (json!({"issues": [], "total": 0}), json!([]), json!({"total": 0})),
            (json!({"issues": [{"a": 1}], "labels": ["x"]}), json!([{"a": 1}]), json!({"labels": ["x"]})),
            (json!({"issues": [], "labels": ["x"]}), json!([]), json!({"labels": ["x"]})),
            (json!({"names": ["x", "y"]}), json!(["x", "y"]), json!({})),
        ] {
            let listing = Listing::of(data.clone()).unwrap();
            assert_eq!((json!(listing.items), json!(listing.beside)), (items, beside), "{data}");
        }
    }

    #[test]
    fn what_could_be_several_lists_is_given_back_with_their_names() {
        for (data, candidates) in [
            (json!({"a": [{}], "b": [{}], "c": [1]}), vec!["a", "b"]),
            (json!({"a": [1], "b": [2]}), vec!["a", "b"]),
            (json!({"issues": [], "assignees": [{"login": "x"}]}), vec!["assignees", "issues"]),
            (json!({"a": 1}), vec![]),
            (json!("text"), vec![]),
            (json!(null), vec![]),
        ] {
            let refused = Listing::of(data.clone()).unwrap_err();
            assert_eq!(
                (refused.data, refused.candidates),
                (data, candidates.into_iter().map(str::to_owned).collect())
            );
        }
    }
}
