//! Deep merge, the meaning of an UPDATE's `input`.

use serde_json::{Map, Value};

/// Merges `change` into `target`: objects at every depth, `null` removes, everything else replaces.
pub fn merge(target: &mut Map<String, Value>, change: &Map<String, Value>) {
    for (key, value) in change {
        match value {
            Value::Null => drop(target.remove(key)),
            Value::Object(inner) => match target.get_mut(key) {
                Some(Value::Object(existing)) => merge(existing, inner),
                _ => {
                    // A new object is stored without the nulls that ask for removals.
                    let mut fresh = Map::new();
                    merge(&mut fresh, inner);
                    target.insert(key.clone(), Value::Object(fresh));
                }
            },
            other => drop(target.insert(key.clone(), other.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn merged(mut target: Value, change: Value) -> Value {
        merge(target.as_object_mut().unwrap(), change.as_object().unwrap());
        target
    }

    /// REQ-UPDATE-07 REQ-UPDATE-03 REQ-UPDATE-05
    #[test]
    fn the_published_example_gives_the_published_state() {
        let stored = json!({"title": "Old Title", "metadata": {"priority": "low", "tags": ["draft"], "author": "alice"}});
        let input = json!({"title": "New Title", "metadata": {"priority": "high", "tags": ["published", "reviewed"]}});
        assert_eq!(
            merged(stored, input),
            json!({"title": "New Title", "metadata": {"priority": "high", "tags": ["published", "reviewed"], "author": "alice"}})
        );
    }

    /// REQ-UPDATE-04 REQ-UPDATE-06
    #[test]
    fn objects_merge_and_null_removes_at_every_depth() {
        let stored = json!({"a": {"b": {"c": {"d": 1, "e": 2}, "f": 3}}, "g": 4});
        assert_eq!(
            merged(stored.clone(), json!({"a": {"b": {"c": {"d": null, "h": 5}}}})),
            json!({"a": {"b": {"c": {"e": 2, "h": 5}, "f": 3}}, "g": 4})
        );
        assert_eq!(merged(stored.clone(), json!({})), stored);
        assert_eq!(merged(json!({}), json!({"x": {"y": null, "z": {"w": null}}})), json!({"x": {"z": {}}}));
        assert_eq!(merged(json!({"t": [1, 2]}), json!({"t": []})), json!({"t": []}));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map("[a-c]", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    fn any_object() -> impl Strategy<Value = Value> {
        proptest::collection::btree_map("[a-c]", any_json(), 0..4).prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        #[test]
        fn merging_twice_equals_merging_once(target in any_object(), change in any_object()) {
            let once = merged(target, change.clone());
            prop_assert_eq!(merged(once.clone(), change), once);
        }
    }
}
