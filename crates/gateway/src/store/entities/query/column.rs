//! The fields that SQL can compare and order by, and how their values are written there.

use aql::query::order::{Key, Num};
use aql::query::path::Target;
use aql::query::{Order, compute::time_text, sort};
use jiff::Timestamp;
use rusqlite::types::{Value as Cell, ValueRef};
use serde_json::{Map, Value};

use super::super::indexes::{self, Indexes};

/// A field with a column, or with a key that one can be made of.
///
/// INVARIANT: names have no more than 100 characters and types are fewer still, so that the column sorts as the key of
/// its value does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Column {
    Id,
    Type,
    Name,
    Priority,
    Created,
    Updated,
    /// The key of a path beneath `metadata`.
    Key(String),
}

/// How a column's values are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storage {
    Text,
    Integer,
    /// Microseconds.
    Time,
    /// An encoded key.
    Key,
}

impl Column {
    pub(super) fn of(target: &Target) -> Option<Self> {
        let path = target.stored()?.to_string();
        Some(match path.as_str() {
            "entity_id" => Self::Id,
            "entity_type" => Self::Type,
            "entity_name" => Self::Name,
            "priority" => Self::Priority,
            "created_at" => Self::Created,
            "updated_at" => Self::Updated,
            other => {
                Self::Key(other.strip_prefix("metadata.").filter(|path| indexes::is_plain(path))?.to_owned())
            }
        })
    }

    pub(super) fn storage(&self) -> Storage {
        match self {
            Self::Id | Self::Type | Self::Name => Storage::Text,
            Self::Priority => Storage::Integer,
            Self::Created | Self::Updated => Storage::Time,
            Self::Key(_) => Storage::Key,
        }
    }

    /// The expression, which an index on it has too.
    pub(super) fn sql(&self) -> String {
        match self {
            Self::Id => "e.id".to_owned(),
            Self::Type => "e.entity_type".to_owned(),
            Self::Name => "e.name".to_owned(),
            Self::Priority => "e.priority".to_owned(),
            Self::Created => "e.created_at".to_owned(),
            Self::Updated => "e.updated_at".to_owned(),
            Self::Key(path) => indexes::key("e.metadata", path),
        }
    }

    /// The index that is ordered by this column and then by id.
    pub(super) fn index(&self, known: &Indexes) -> Option<String> {
        Some(match self {
            Self::Id => "sqlite_autoindex_entities_1".to_owned(),
            Self::Type => "entities_by_type".to_owned(),
            Self::Name => "entities_by_name".to_owned(),
            Self::Priority => "entities_by_priority".to_owned(),
            Self::Created => "entities_by_creation".to_owned(),
            Self::Updated => "entities_by_update".to_owned(),
            Self::Key(path) if known.has(path) => indexes::name(path),
            Self::Key(_) => return None,
        })
    }

    /// A cursor's key as the column has it. A key of another type cannot have come from here.
    pub(super) fn cell(&self, key: &Key<'_>) -> Option<Cell> {
        match (self.storage(), key) {
            (Storage::Text, Key::Text(text)) => Some(Cell::Text(text.as_ref().to_owned())),
            (Storage::Integer, Key::Number(Num::Whole(whole))) => {
                i64::try_from(*whole).ok().map(Cell::Integer)
            }
            (Storage::Time, Key::Text(text)) => micros(text).map(Cell::Integer),
            (Storage::Key, key) => Some(Cell::Blob(key.encode())),
            _ => None,
        }
    }

    /// Puts a column's value where the entity has it. False if the column does not tell the whole value.
    pub(super) fn restore(&self, cell: ValueRef<'_>, item: &mut Map<String, Value>) -> bool {
        let (path, value) = match (self, cell) {
            (Self::Key(path), ValueRef::Blob(bytes)) => match Key::decode(bytes) {
                // As good as missing, and there may be an object in its place.
                Some(Key::Null) => return true,
                Some(key) if key.is_whole() => (path.as_str(), key.to_value()),
                _ => return false,
            },
            (Self::Priority, ValueRef::Integer(number)) => return set(item, "priority", number.into()),
            (Self::Created | Self::Updated, ValueRef::Integer(micros)) => {
                let Ok(time) = Timestamp::from_microsecond(micros) else { return false };
                let field = if *self == Self::Created { "created_at" } else { "updated_at" };
                return set(item, field, time_text(time).into());
            }
            (Self::Id | Self::Type | Self::Name, ValueRef::Text(text)) => {
                let Ok(text) = str::from_utf8(text) else { return false };
                let field = match self {
                    Self::Id => "entity_id",
                    Self::Type => "entity_type",
                    _ => "entity_name",
                };
                return set(item, field, text.into());
            }
            _ => return false,
        };
        let metadata = item.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        nest(metadata, path, value)
    }
}

fn set(item: &mut Map<String, Value>, field: &str, value: Value) -> bool {
    item.insert(field.to_owned(), value);
    true
}

fn nest(into: &mut Value, path: &str, value: Value) -> bool {
    let Value::Object(object) = into else { return false };
    match path.split_once('.') {
        None => set(object, path, value),
        Some((step, rest)) => {
            nest(object.entry(step).or_insert_with(|| Value::Object(Map::new())), rest, value)
        }
    }
}

/// The microseconds of a whole date-time.
pub(super) fn micros(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_microsecond)
}

/// What rows are sorted by, the id last, if SQL can do it.
pub(super) fn order(sort: &sort::Sort) -> Option<Vec<(Column, Order)>> {
    let mut order = Vec::new();
    for key in sort.keys() {
        let column = Column::of(&key.target)?;
        if !order.iter().any(|(known, _)| *known == column) {
            order.push((column, key.order));
        }
    }
    // Nothing decides after the id.
    match order.iter().position(|(column, _)| *column == Column::Id) {
        Some(id) => order.truncate(id + 1),
        None => order.push((Column::Id, sort.id_order())),
    }
    Some(order)
}
