//! Computed fields: values derived from an item and the time, declared by an adapter and shown under `_computed`.
//!
//! A declaration says truthfully whether the field can be filtered and sorted by; what it does not allow is refused.
//! Within one series of pages the time stands still (a cursor carries it), so that ages do not move items about.

use std::{fmt, io, sync::Arc};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{collection::Kind, path};
use crate::fields::Path;

/// Stands before the name of a computed field in `fields`, `filter` and `sort`.
pub const PREFIX: &str = "_computed.";
/// The key that computed values stand under.
pub const COMPUTED: &str = "_computed";

const SECONDS_A_DAY: i64 = 86_400;
/// English prose and JSON have about this many bytes a token.
const BYTES_A_TOKEN: usize = 4;

type Formula = dyn Fn(&Value, Timestamp) -> Value + Send + Sync;

/// A computed field.
#[derive(Clone)]
pub struct Computed {
    name: String,
    kind: Kind,
    description: String,
    filterable: bool,
    sortable: bool,
    formula: Arc<Formula>,
}

impl Computed {
    /// A field that can be selected only. The formula must give the same for the same item and time.
    #[must_use]
    pub fn new(
        name: &str,
        kind: Kind,
        description: &str,
        formula: impl Fn(&Value, Timestamp) -> Value + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            description: description.to_owned(),
            filterable: false,
            sortable: false,
            formula: Arc::new(formula),
        }
    }

    #[must_use]
    pub fn filterable(mut self) -> Self {
        self.filterable = true;
        self
    }

    #[must_use]
    pub fn sortable(mut self) -> Self {
        self.sortable = true;
        self
    }

    /// Whole days since the time under `path`; null where there is none.
    #[must_use]
    pub fn age_days(name: &str, description: &str, path: Path) -> Self {
        Self::new(name, Kind::Number, description, move |item, now| match seconds_since(&path, item, now) {
            Some(seconds) => (seconds.max(0) / SECONDS_A_DAY).into(),
            None => Value::Null,
        })
    }

    /// Whether the time under `path` lies more than so many days back; null where there is none.
    #[must_use]
    pub fn is_stale(name: &str, description: &str, path: Path, after_days: i64) -> Self {
        let limit = after_days.saturating_mul(SECONDS_A_DAY);
        Self::new(name, Kind::Boolean, description, move |item, now| {
            seconds_since(&path, item, now).map_or(Value::Null, |seconds| (seconds > limit).into())
        })
    }

    /// How many elements the array or object under `path` has, or the number there; 0 where there is nothing.
    #[must_use]
    pub fn count(name: &str, description: &str, path: Path) -> Self {
        Self::new(name, Kind::Number, description, move |item, _| match path::find(&path, item) {
            Some(Value::Array(elements)) => elements.len().into(),
            Some(Value::Object(entries)) => entries.len().into(),
            Some(number @ Value::Number(_)) => number.clone(),
            _ => 0.into(),
        })
    }

    /// About how many tokens the whole item costs to read: a quarter of its bytes as JSON, rounded up.
    #[must_use]
    pub fn estimated_tokens(name: &str, description: &str) -> Self {
        Self::new(name, Kind::Number, description, |item, _| {
            let mut counted = Counted(0);
            // Writing into a counter cannot fail.
            let _ = serde_json::to_writer(&mut counted, item);
            counted.0.div_ceil(BYTES_A_TOKEN).into()
        })
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    #[must_use]
    pub fn is_filterable(&self) -> bool {
        self.filterable
    }

    #[must_use]
    pub fn is_sortable(&self) -> bool {
        self.sortable
    }

    /// The value for one item.
    #[must_use]
    pub fn value(&self, item: &Value, now: Timestamp) -> Value {
        (self.formula)(item, now)
    }

    /// As `computed_fields` of introspection lists it.
    #[must_use]
    pub fn info(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind.as_str(),
            "description": self.description,
            "filterable": self.filterable,
            "sortable": self.sortable,
        })
    }
}

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Computed").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Puts the values of the chosen fields under `_computed`. What is no object is left as it is.
pub fn attach<'a>(item: &mut Value, chosen: impl IntoIterator<Item = &'a Computed>, now: Timestamp) {
    let values: Map<String, Value> =
        chosen.into_iter().map(|field| (field.name.clone(), field.value(item, now))).collect();
    if let (Value::Object(item), false) = (item, values.is_empty()) {
        item.insert(COMPUTED.to_owned(), Value::Object(values));
    }
}

/// A time as fields of [`Kind::Time`] hold it: in UTC, to the microsecond, always of the same length.
#[must_use]
pub fn time_text(time: Timestamp) -> String {
    // What is finer is cut, not rounded, in the past of 1970 too.
    let micros = time.as_nanosecond().div_euclid(1000);
    let cut = i64::try_from(micros).ok().and_then(|micros| Timestamp::from_microsecond(micros).ok());
    format!("{:.6}", cut.unwrap_or(time))
}

fn seconds_since(path: &Path, item: &Value, now: Timestamp) -> Option<i64> {
    let then: Timestamp = path::find(path, item)?.as_str()?.parse().ok()?;
    Some(now.as_second().saturating_sub(then.as_second()))
}

struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Path {
        Path::parse(text).unwrap()
    }

    #[test]
    fn the_usual_fields_compute_what_they_say() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let age = Computed::age_days("age_days", "Days since creation", path("created"));
        let stale = Computed::is_stale("is_stale", "Not touched for 30 days", path("created"), 30);
        let count = Computed::count("relation_count", "Relations", path("_relations"));
        let tokens = Computed::estimated_tokens("estimated_tokens", "Tokens");
        for (field, item, expected) in [
            (&age, json!({"created": "2026-02-27T13:00:00Z"}), json!(1)),
            (&age, json!({"created": "2026-03-01T14:00:00+02:00"}), json!(0)),
            (&age, json!({"created": "2026-04-01T00:00:00Z"}), json!(0)),
            (&age, json!({"created": "yesterday"}), json!(null)),
            (&age, json!({}), json!(null)),
            (&stale, json!({"created": "2026-01-30T12:00:00Z"}), json!(false)),
            (&stale, json!({"created": "2026-01-30T11:59:59Z"}), json!(true)),
            (&stale, json!({}), json!(null)),
            (&count, json!({"_relations": [1, 2]}), json!(2)),
            (&count, json!({"_relations": 7}), json!(7)),
            (&count, json!({}), json!(0)),
            (&tokens, json!({"a": "12"}), json!(3)),
        ] {
            assert_eq!(field.value(&item, now), expected, "{} of {item}", field.name());
        }
    }

    #[test]
    fn values_are_attached_beside_the_fields_and_only_when_chosen() {
        let twice = Computed::new("twice", Kind::Number, "", |item, _| json!([item, item]));
        let mut item = json!({"a": 1});
        attach(&mut item, [], Timestamp::UNIX_EPOCH);
        assert_eq!(item, json!({"a": 1}));
        attach(&mut item, [&twice], Timestamp::UNIX_EPOCH);
        assert_eq!(item, json!({"a": 1, "_computed": {"twice": [{"a": 1}, {"a": 1}]}}));
        let mut bare = json!(5);
        attach(&mut bare, [&twice], Timestamp::UNIX_EPOCH);
        assert_eq!(bare, json!(5));
    }
}
