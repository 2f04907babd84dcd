//! Where a value comes from: a dotted path into the item, or a computed field.
//!
//! A path names the keys of nested objects. It does not reach into arrays, and a key with a dot in it cannot be named.

use std::{borrow::Cow, fmt, sync::Arc};

use jiff::Timestamp;
use serde_json::Value;

use super::compute::{Computed, PREFIX};
pub use crate::fields::Path;

/// A path with more steps than this is refused.
pub const PATH_STEPS_MAX: usize = 16;

/// The value of a path in an item, if every step is there.
#[must_use]
pub fn find<'a>(path: &Path, item: &'a Value) -> Option<&'a Value> {
    path.steps().iter().try_fold(item, |value, step| value.as_object()?.get(step))
}

/// What a filter, a sort key or an aggregation looks at.
#[derive(Debug, Clone)]
pub enum Target {
    Stored(Path),
    Computed(Arc<Computed>),
}

impl Target {
    /// The value, if the item has one. Computed fields always have one, which may be null.
    #[must_use]
    pub fn value<'a>(&self, item: &'a Value, now: Timestamp) -> Option<Cow<'a, Value>> {
        match self {
            Self::Stored(path) => find(path, item).map(Cow::Borrowed),
            Self::Computed(computed) => Some(Cow::Owned(computed.value(item, now))),
        }
    }

    /// The path of a stored field, which storage may have an index on.
    #[must_use]
    pub fn stored(&self) -> Option<&Path> {
        match self {
            Self::Stored(path) => Some(path),
            Self::Computed(_) => None,
        }
    }
}

/// As the caller writes it.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stored(path) => path.fmt(f),
            Self::Computed(computed) => write!(f, "{PREFIX}{}", computed.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_follow_objects_only() {
        let item = json!({"a": {"b": {"c": 1}, "n": null, "l": [{"c": 2}]}, "a.b": 3});
        for (path, expected) in [
            ("a.b.c", Some(json!(1))),
            ("a.n", Some(json!(null))),
            ("a.n.x", None),
            ("a.l.c", None),
            ("a.l.0", None),
            ("a.x", None),
            ("x", None),
        ] {
            let found = find(&Path::parse(path).unwrap(), &item).cloned();
            assert_eq!(found, expected, "{path}");
        }
        assert_eq!(find(&Path::parse("a").unwrap(), &json!([1])), None);
    }
}
