//! Entities as agents see them, which is also what queries are about.

use aql::query::compute::time_text;
use serde_json::{Map, Value};

use super::Entity;

/// The whole entity.
#[must_use]
pub fn entity(entity: Entity) -> Value {
    let mut fields = Map::new();
    fields.insert("entity_id".to_owned(), entity.id.into());
    fields.insert("entity_type".to_owned(), entity.entity_type.into());
    fields.insert("entity_name".to_owned(), entity.name.into());
    fields.insert("description".to_owned(), entity.description.into());
    fields.insert("priority".to_owned(), entity.priority.into());
    if let Some(tags) = entity.tags {
        fields.insert("tags".to_owned(), tags.into());
    }
    if let Some(metadata) = entity.metadata {
        fields.insert("metadata".to_owned(), Value::Object(metadata));
    }
    fields.insert("created_at".to_owned(), time_text(entity.created_at).into());
    fields.insert("updated_at".to_owned(), time_text(entity.updated_at).into());
    fields.insert("_etag".to_owned(), etag(entity.version).into());
    Value::Object(fields)
}

/// The `_etag` of a version.
#[must_use]
pub fn etag(version: u64) -> String {
    format!("v{version}")
}
