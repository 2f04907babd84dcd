//! What is known of a span, by name.

use std::{borrow::Cow, fmt, ops::Index};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

/// What is known of a span. Names stand in [`super::names`].
pub type Attributes = Sorted<'static>;

/// Values by their names, and in the order of these.
///
/// A span has a dozen or two. Sorted in one piece they are made, joined and found in less time than in a tree, and names that
/// are known anyway are not copied.
#[derive(Clone, Default, PartialEq)]
pub struct Sorted<'a>(Vec<(Cow<'a, str>, Value)>);

impl<'a> Sorted<'a> {
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_ref().cmp(name))
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.place(name).ok().and_then(|place| self.0.get(place)).map(|(_, value)| value)
    }

    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// Puts one in, or another value in its place. Many are better put in together.
    pub fn insert(&mut self, name: impl Into<Cow<'a, str>>, value: Value) {
        let name = name.into();
        match self.place(&name) {
            Ok(place) => {
                if let Some((_, known)) = self.0.get_mut(place) {
                    *known = value;
                }
            }
            Err(place) => self.0.insert(place, (name, value)),
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.place(name).ok().map(|place| self.0.remove(place).1)
    }

    pub fn retain(&mut self, mut stays: impl FnMut(&str, &Value) -> bool) {
        self.0.retain(|(name, value)| stays(name, value));
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> + Clone {
        self.0.iter().map(|(name, value)| (name.as_ref(), value))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Value)> {
        self.0.iter_mut().map(|(name, value)| (&**name, value))
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_ref())
    }

    /// Adds those whose names are not there yet.
    pub fn add_missing(&mut self, more: Self) {
        if more.is_empty() {
            return;
        }
        let mut joined = Vec::with_capacity(self.0.len() + more.0.len());
        let mut ours = std::mem::take(&mut self.0).into_iter().peekable();
        for (name, value) in more.0 {
            while let Some(before) = ours.next_if(|(known, _)| *known < name) {
                joined.push(before);
            }
            if ours.peek().is_none_or(|(known, _)| *known != name) {
                joined.push((name, value));
            }
        }
        joined.extend(ours);
        self.0 = joined;
    }

    /// The same, borrowing their names.
    pub fn borrowed(&self) -> Sorted<'_> {
        Sorted(self.0.iter().map(|(name, value)| (Cow::Borrowed(name.as_ref()), value.clone())).collect())
    }

    /// As an object of JSON.
    #[must_use]
    pub fn into_object(self) -> Map<String, Value> {
        self.0.into_iter().map(|(name, value)| (name.into_owned(), value)).collect()
    }

    #[must_use]
    pub fn into_owned(self) -> Attributes {
        Sorted(self.0.into_iter().map(|(name, value)| (name.into_owned().into(), value)).collect())
    }

    /// Sorts what was put in anyhow. Of several with one name the last stands, as in an object.
    fn sort(&mut self) {
        // Equal ones stay in their order.
        self.0.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.0.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            if is_same {
                std::mem::swap(&mut later.1, &mut earlier.1);
            }
            is_same
        });
    }
}

impl<'a, N: Into<Cow<'a, str>>> FromIterator<(N, Value)> for Sorted<'a> {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(pairs: I) -> Self {
        let mut sorted = Self(pairs.into_iter().map(|(name, value)| (name.into(), value)).collect());
        sorted.sort();
        sorted
    }
}

impl<'a, N: Into<Cow<'a, str>>> Extend<(N, Value)> for Sorted<'a> {
    fn extend<I: IntoIterator<Item = (N, Value)>>(&mut self, pairs: I) {
        let before = self.0.len();
        self.0.extend(pairs.into_iter().map(|(name, value)| (name.into(), value)));
        if self.0.len() > before {
            self.sort();
        }
    }
}

impl<'a, N: Into<Cow<'a, str>>, const COUNT: usize> From<[(N, Value); COUNT]> for Sorted<'a> {
    fn from(pairs: [(N, Value); COUNT]) -> Self {
        pairs.into_iter().collect()
    }
}

impl<'a> IntoIterator for Sorted<'a> {
    type Item = (Cow<'a, str>, Value);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Index<&str> for Sorted<'_> {
    type Output = Value;

    /// Nothing is null, as in JSON.
    fn index(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&Value::Null)
    }
}

impl fmt::Debug for Sorted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> de::Visitor<'de> for Object {
            type Value = Attributes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Attributes, A::Error> {
                let mut pairs = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    pairs.push((name.into(), value));
                }
                let mut sorted = Sorted(pairs);
                sorted.sort();
                Ok(sorted)
            }
        }

        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    type Tree = BTreeMap<String, Value>;

    fn pairs() -> impl Strategy<Value = Vec<(String, Value)>> {
        prop::collection::vec(("[a-c]{0,3}", any::<u8>().prop_map(Value::from)), 0..12)
    }

    fn same(sorted: &Sorted<'_>, tree: &Tree) -> Result<(), TestCaseError> {
        let ours: Vec<_> = sorted.iter().collect();
        let theirs: Vec<_> = tree.iter().map(|(name, value)| (name.as_str(), value)).collect();
        prop_assert_eq!(ours, theirs);
        Ok(())
    }

    proptest! {
        /// Whatever is done with it, it is what a tree would be.
        #[test]
        fn it_is_a_map(given in pairs(), more in pairs(), missing in pairs(), gone in pairs()) {
            let mut sorted: Attributes = given.iter().cloned().collect();
            let mut tree: Tree = given.iter().cloned().collect();
            same(&sorted, &tree)?;
            for (name, value) in &more {
                sorted.insert(name.clone(), value.clone());
                tree.insert(name.clone(), value.clone());
                prop_assert_eq!(sorted.get(name), Some(value));
            }
            same(&sorted, &tree)?;
            sorted.add_missing(missing.iter().cloned().collect());
            for (name, value) in missing.iter().cloned().collect::<Tree>() {
                tree.entry(name).or_insert(value);
            }
            same(&sorted, &tree)?;
            for (name, _) in &gone {
                prop_assert_eq!(sorted.remove(name), tree.remove(name));
                prop_assert!(!sorted.contains_key(name));
            }
            sorted.extend(given.iter().cloned());
            tree.extend(given);
            same(&sorted, &tree)?;
            sorted.retain(|name, _| name.starts_with('a'));
            tree.retain(|name, _| name.starts_with('a'));
            same(&sorted, &tree)?;
            let json = serde_json::to_string(&sorted).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&tree).unwrap());
            prop_assert_eq!(serde_json::from_str::<Attributes>(&json).unwrap(), sorted);
        }
    }

    #[test]
    fn the_last_of_a_name_stands_in_json_too() {
        let read: Attributes = serde_json::from_str(r#"{"b":1,"a":2,"b":3}"#).unwrap();
        assert_eq!(read, Attributes::from([("a", 2.into()), ("b", 3.into())]));
        assert!(serde_json::from_str::<Attributes>("[]").is_err());
    }
}
