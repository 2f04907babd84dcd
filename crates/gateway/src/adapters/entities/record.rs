//! Entities and relations as JSON, and what stands for a place in a list of them.

use aql::query::compute::time_text;
use serde_json::{Map, Value, json};

pub(super) use crate::store::entities::json::{entity, etag};
use crate::store::entities::{Entity, Relation};

/// What an UPDATE's `input` merges into.
pub(super) fn changeable(entity: &Entity) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("entity_name".to_owned(), entity.name.as_str().into());
    fields.insert("description".to_owned(), entity.description.as_str().into());
    fields.insert("priority".to_owned(), entity.priority.into());
    if let Some(tags) = &entity.tags {
        fields.insert("tags".to_owned(), tags.clone().into());
    }
    if let Some(metadata) = &entity.metadata {
        fields.insert("metadata".to_owned(), Value::Object(metadata.clone()));
    }
    fields
}

pub(super) fn relation(relation: Relation) -> Value {
    let mut value = json!({
        "relation_id": relation.id,
        "from_entity_id": relation.from_id,
        "to_entity_id": relation.to_id,
        "relationship": relation.relationship,
        "created_at": time_text(relation.created_at),
    });
    if let (Value::Object(value), Some(metadata)) = (&mut value, relation.metadata) {
        value.insert("metadata".to_owned(), Value::Object(metadata));
    }
    value
}

pub(super) fn tags(value: Value) -> Option<Vec<String>> {
    serde_json::from_value(value).ok()
}

/// `5` or `5.0`: validation takes both for an integer.
pub(super) fn integer(value: Option<&Value>) -> Option<i64> {
    let value = value?;
    value.as_i64().or_else(|| value.as_f64().map(|number| number as i64))
}

/// The version an `_etag` stands for; what is none stands for a version that no entity has.
pub(super) fn version(etag: &str) -> u64 {
    etag.strip_prefix('v').and_then(|number| number.parse().ok()).unwrap_or(u64::MAX)
}
