//! Relations between entities.

use aql::error::{Code, Error};
use serde_json::{Value, json};

use super::{Context, Params, new_id, not_found, preview, record, store_error};
use crate::store::entities::{EntityStore, NewRelation, RelationCreated};

pub(super) async fn create(store: EntityStore, mut params: Params, context: Context) -> Result<Value, Error> {
    let dry_run = params.dry_run();
    let new = NewRelation {
        from_id: params.required("from_entity_id"),
        to_id: params.required("to_entity_id"),
        relationship: params.required("relationship"),
        metadata: params.object("metadata"),
    };
    match store.create_relation(new, context.now, new_id(), dry_run).await.map_err(store_error)? {
        RelationCreated::Created(relation) => Ok(preview(record::relation(relation), dry_run)),
        RelationCreated::MissingEntity { id } => Err(not_found(&id)),
        RelationCreated::Duplicate { existing_id } => {
            Err(Error::new(Code::AlreadyExists, "This relation already exists between the two entities")
                .with("resource_type", "relation")
                .with("resource_id", existing_id)
                .hint("There is nothing to do, or delete it with delete_relation first."))
        }
    }
}

pub(super) async fn delete(store: EntityStore, params: Params, _context: Context) -> Result<Value, Error> {
    let (id, dry_run) = (params.required("relation_id"), params.dry_run());
    match store.delete_relation(&id, dry_run).await.map_err(store_error)? {
        Some(relation) => {
            Ok(preview(json!({"deleted": !dry_run, "relation": record::relation(relation)}), dry_run))
        }
        None => Err(Error::not_found_resource("relation", &id)),
    }
}
