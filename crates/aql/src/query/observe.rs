//! Learning the fields of items that nobody declared, from the items themselves.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    collection::{Field, Kind},
    path::Path,
};

/// Beneath this many steps, and where there are more fields than this, an object is open instead.
const OBSERVED_STEPS_MAX: usize = 4;
const OBSERVED_FIELDS_MAX: usize = 500;

#[derive(Default)]
struct Node<'a> {
    kind: Option<Kind>,
    inner: BTreeMap<&'a str, Node<'a>>,
    open: bool,
}

/// The fields of these items, and whether there are others beside them. A field with values of several types may hold
/// anything.
pub(super) fn fields(items: &[Value]) -> (Vec<Field>, bool) {
    let mut root = Node::default();
    let mut budget = OBSERVED_FIELDS_MAX;
    // Step by step, so that what fills the inside of one field does not keep the next one from being seen.
    for steps in 1..=OBSERVED_STEPS_MAX {
        let mut deeper = false;
        for item in items {
            deeper |= root.see(item, steps, steps == OBSERVED_STEPS_MAX, &mut budget);
        }
        if !deeper {
            break;
        }
    }
    let mut found = Vec::new();
    root.list("", &mut found);
    (found, root.open)
}

/// The names of these items' fields.
pub(crate) fn names(items: &[Value]) -> Vec<String> {
    fields(items).0.iter().map(|field| field.path.to_string()).collect()
}

impl<'a> Node<'a> {
    /// Learns the keys that stand so many steps beneath this, and tells whether any of them holds an object.
    fn see(&mut self, value: &'a Value, steps: usize, deepest: bool, budget: &mut usize) -> bool {
        let Value::Object(object) = value else { return false };
        let mut deeper = false;
        for (key, value) in object {
            // A path could not name these.
            if key.is_empty() || key.contains('.') {
                continue;
            }
            let known = self.inner.get_mut(key.as_str());
            if steps > 1 {
                deeper |= known.is_some_and(|known| known.see(value, steps - 1, deepest, budget));
                continue;
            }
            let node = match known {
                Some(known) => known,
                None if *budget > 0 => {
                    *budget -= 1;
                    self.inner.entry(key).or_default()
                }
                None => {
                    self.open = true;
                    continue;
                }
            };
            node.learn(value);
            node.open |= deepest && value.is_object();
            deeper |= value.is_object();
        }
        deeper
    }

    fn learn(&mut self, value: &Value) {
        let Some(kind) = kind(value) else { return };
        self.kind = Some(self.kind.map_or(kind, |known| if known == kind { kind } else { Kind::Any }));
    }

    fn list(&self, prefix: &str, found: &mut Vec<Field>) {
        for (key, node) in &self.inner {
            let text = if prefix.is_empty() { (*key).to_owned() } else { format!("{prefix}.{key}") };
            let kind = node.kind.unwrap_or(Kind::Any);
            if let Some(path) = Path::parse(&text) {
                found.push(Field { path, kind, open: node.open, groupable: true });
            }
            node.list(&text, found);
        }
    }
}

/// Null tells nothing.
fn kind(value: &Value) -> Option<Kind> {
    match value {
        Value::Null => None,
        Value::Bool(_) => Some(Kind::Boolean),
        Value::Number(_) => Some(Kind::Number),
        Value::String(_) => Some(Kind::Text),
        Value::Array(_) => Some(Kind::List),
        Value::Object(_) => Some(Kind::Object),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::query::collection::{Collection, Use};

    #[test]
    fn fields_are_learnt_from_all_items() {
        let items = [
            json!({"id": 1, "user": {"login": "a"}, "n": null, "mixed": 1, "x.y": 1, "": 1}),
            json!({"id": 2.5, "user": null, "mixed": "one", "labels": [1], "on": true}),
            json!("no object"),
        ];
        let shown: Vec<(String, Kind)> =
            fields(&items).0.iter().map(|field| (field.path.to_string(), field.kind)).collect();
        let expected = [
            ("id", Kind::Number),
            ("labels", Kind::List),
            ("mixed", Kind::Any),
            ("n", Kind::Any),
            ("on", Kind::Boolean),
            ("user", Kind::Object),
            ("user.login", Kind::Text),
        ];
        assert_eq!(shown, expected.map(|(path, kind)| (path.to_owned(), kind)));
    }

    #[test]
    fn what_is_too_deep_or_too_much_is_open() {
        let deep = json!({"a": {"b": {"c": {"d": {"e": 1}}}}});
        let collection = Collection::builder("x").observed(&[deep]).build().unwrap();
        assert!(collection.target("a.b.c.d.e", Use::Sort).is_ok());
        assert!(collection.target("a.b.c.x", Use::Sort).is_err());

        let wide: Value = (0..1000).map(|n| (format!("k{n}"), n)).collect();
        let inside = json!({"in": wide});
        let collection = Collection::builder("x").observed(std::slice::from_ref(&inside)).build().unwrap();
        assert!(collection.target("in.k999", Use::Sum).is_ok());

        // However much is inside of one field, those beside it are known.
        let crowded = json!({"in": inside["in"], "z": {"a": 1}, "zz": 1});
        let collection = Collection::builder("x").observed(&[crowded]).build().unwrap();
        assert!(collection.target("zz", Use::Sum).is_ok());
        assert!(collection.target("z.a", Use::Sum).is_ok());
        assert!(collection.target("y", Use::Sum).is_err());
        let collection = Collection::builder("x").observed(&[inside["in"].clone()]).build().unwrap();
        assert!(collection.target("k999", Use::Sum).is_ok());

        let none = Collection::builder("x").observed(&[]).build().unwrap();
        assert!(none.target("whatever.it.is", Use::Group).is_ok());
    }
}
