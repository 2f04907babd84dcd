//! The built-in adapter: a durable workspace of entities and relations.
//!
//! It is useful with nothing configured, and everything it acknowledges is on disk.

mod define;
mod graph;
mod record;
mod relations;
mod workflows;

use std::sync::Arc;

use aql::{
    error::{Code, Error},
    merge::merge,
    response::Data,
    shared,
};
use serde_json::{Map, Value, json};

use self::{
    record::{etag, version},
    workflows::WORKFLOW,
};
use super::Operations;
use crate::{
    dispatch::{Context, Outcome, Work},
    executions::Executions,
    gate::Permitted,
    store::{
        self,
        entities::{Created, Deleted, Entity, EntityStore, Find, NewEntity, Updated, collection},
    },
};

#[must_use]
pub fn types() -> Vec<aql::define::Type> {
    define::types().into_iter().chain(graph::types()).chain(workflows::types()).collect()
}

/// The operations over a store, with executions for its workflows.
#[must_use]
pub fn operations(store: &EntityStore, executions: &Executions) -> Operations {
    let mut operations = Operations::new();
    operations.add_types(types());
    add(&mut operations, store, define::create_entity(), create);
    add(&mut operations, store, define::get_entity(), get);
    add(&mut operations, store, define::list_entities(), list);
    add(&mut operations, store, define::search_entities(), list);
    add(&mut operations, store, define::update_entity(), update);
    add(&mut operations, store, define::delete_entity(), delete);
    add(&mut operations, store, define::create_relation(), relations::create);
    add(&mut operations, store, define::delete_relation(), relations::delete);
    graph::add(&mut operations, store);
    workflows::add(&mut operations, store, executions);
    operations
}

/// The same operations without a store behind them, to be looked at.
#[must_use]
pub fn definitions() -> Vec<aql::define::Operation> {
    vec![
        define::create_entity(),
        define::get_entity(),
        define::list_entities(),
        define::search_entities(),
        define::update_entity(),
        define::delete_entity(),
        define::create_relation(),
        define::delete_relation(),
        graph::query_relationships(),
        workflows::definition(),
    ]
}

/// Binds a definition to the function that does its work on the store.
fn add<F, W>(operations: &mut Operations, store: &EntityStore, definition: aql::define::Operation, work: F)
where
    F: Fn(EntityStore, Params, Context) -> W + Send + Sync + 'static,
    W: Future<Output = Result<Value, Error>> + Send + 'static,
{
    let store = store.clone();
    let work = Arc::new(work);
    operations.add(definition, move |mut permitted: Permitted, context: Context| -> Work {
        let params = Params(permitted.take_params());
        let work = work(store.clone(), params, context);
        Box::pin(async move { work.await.map(|value| Outcome::from(Data::Value(value))) })
    });
}

/// Parameters that validation has already checked.
struct Params(Map<String, Value>);

impl Params {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// A required text; validation saw to it that it is there.
    fn required(&self, name: &str) -> String {
        self.text(name).unwrap_or_default().to_owned()
    }

    fn flag(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Bool(true))
    }

    fn dry_run(&self) -> bool {
        self.flag(shared::DRY_RUN)
    }

    fn object(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.0.remove(name) {
            Some(Value::Object(object)) => Some(object),
            _ => None,
        }
    }
}

fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// The store's trouble, in its own words for people.
fn store_error(error: store::Error) -> Error {
    tracing::error!(error = %error, "the entity store failed");
    if error.is_retryable() {
        return Error::new(Code::Unavailable, format!("The workspace is not available now: {error}"))
            .hint("Repeat the call in a moment.");
    }
    Error::internal(&error.to_string())
}

/// A dry run's answer looks like the real one and says what it is.
fn preview(mut value: Value, dry_run: bool) -> Value {
    if let (Value::Object(value), true) = (&mut value, dry_run) {
        value.insert("_dry_run".to_owned(), true.into());
    }
    value
}

fn already_exists(name: &str, entity_type: &str, existing_id: &str) -> Error {
    let message = format!("Entity '{name}' of type '{entity_type}' already exists");
    Error::new(Code::AlreadyExists, message)
        .with("resource_type", "entity")
        .with("resource_id", existing_id)
        .hint(format!("Change it with update_entity and entity_id '{existing_id}', or choose another name."))
}

fn version_mismatch(id: &str, given: &str, current: u64) -> Error {
    let current = etag(current);
    let message = format!("Entity '{id}' has changed: its _etag is '{current}', if_match gave '{given}'");
    Error::new(Code::VersionMismatch, message)
        .with("resource_type", "entity")
        .with("resource_id", id)
        .with("if_match", given)
        .with("current_etag", current)
        .hint("Read the entity again with get_entity and repeat the change with its new _etag.")
}

async fn create(store: EntityStore, mut params: Params, context: Context) -> Result<Value, Error> {
    let dry_run = params.dry_run();
    let (name, entity_type) = (params.required("entity_name"), params.required("entity_type"));
    let metadata = params.object("metadata");
    if entity_type == WORKFLOW {
        workflows::check(metadata.as_ref(), context.gateway.surface().registry())?;
    }
    let new = NewEntity {
        entity_type: entity_type.clone(),
        name: name.clone(),
        description: params.required("description"),
        priority: record::integer(params.0.get("priority")).unwrap_or(define::PRIORITY_DEFAULT),
        tags: params.0.remove("tags").and_then(record::tags),
        metadata,
    };
    match store.create(new, context.now, new_id(), dry_run).await.map_err(store_error)? {
        Created::Entity(entity) => Ok(preview(record::entity(entity), dry_run)),
        Created::Duplicate { existing_id } => Err(already_exists(&name, &entity_type, &existing_id)),
    }
}

async fn get(store: EntityStore, params: Params, context: Context) -> Result<Value, Error> {
    let entity = find(&store, &params, "get_entity").await?;
    let counts = context.query.is_some_and(|query| query.computes(collection::RELATION_COUNT));
    let relations = match counts {
        true => Some(store.count_relations(&entity.id).await.map_err(store_error)?),
        false => None,
    };
    let mut entity = record::entity(entity);
    if let (Value::Object(entity), Some(relations)) = (&mut entity, relations) {
        entity.insert(collection::RELATIONS.to_owned(), relations.into());
    }
    Ok(entity)
}

/// The entity of this id, or of this name and type where names are not enough.
async fn find(store: &EntityStore, params: &Params, operation: &str) -> Result<Entity, Error> {
    let by_id = match params.text("entity_id") {
        Some(id) => Some(store.get(id).await.map_err(store_error)?.ok_or_else(|| not_found(id))?),
        None => None,
    };
    let Some(name) = params.text("entity_name") else {
        return by_id.ok_or_else(|| not_found(""));
    };
    if let Some(entity) = by_id {
        // Both were given: they have to mean the same entity.
        return if entity.name == name { Ok(entity) } else { Err(not_found(name)) };
    }
    let mut found = store.find_by_name(name, params.text("entity_type")).await.map_err(store_error)?;
    match (found.pop(), found.as_slice()) {
        (None, _) => Err(not_found(name)),
        (Some(entity), []) => Ok(entity),
        (Some(entity), others) => {
            let types: Vec<&str> =
                others.iter().chain([&entity]).map(|entity| entity.entity_type.as_str()).collect();
            let choices = types.join(", ");
            let description = format!("several entities are called '{name}', one of each type: {choices}");
            Err(Error::missing_param(operation, "entity_type", "string", &description))
        }
    }
}

fn not_found(id: &str) -> Error {
    Error::not_found_resource("entity", id).hint("Find entities with list_entities or search_entities.")
}

/// The queried part of all entities, or of those that words find.
async fn list(store: EntityStore, params: Params, context: Context) -> Result<Value, Error> {
    let Some(query) = context.query else { return Err(Error::internal("the list has no query")) };
    let text = |name: &str| params.text(name).map(str::to_owned);
    let find = Find { entity_type: text("entity_type"), words: text("query") };
    let answer = store.query(*query, find, context.now).await.map_err(store_error)??;
    Ok(answer.into_value())
}

async fn update(store: EntityStore, mut params: Params, context: Context) -> Result<Value, Error> {
    let (id, dry_run) = (params.required("entity_id"), params.dry_run());
    let if_match = params.text(shared::IF_MATCH).map(str::to_owned);
    let input = params.object(shared::INPUT).unwrap_or_default();
    let expected = if_match.as_deref().map(version);
    let registry = Arc::clone(context.gateway.surface().registry());
    let change = move |before: Entity| {
        let after = changed(before.clone(), &input);
        // A workflow from before steps were checked can still be renamed.
        if after.entity_type == WORKFLOW && after.metadata != before.metadata {
            workflows::check(after.metadata.as_ref(), &registry).map_err(Box::new)?;
        }
        Ok::<_, Box<Error>>(after)
    };
    match store.update(&id, expected, context.now, dry_run, change).await.map_err(store_error)? {
        Updated::Entity(entity) => Ok(preview(record::entity(entity), dry_run)),
        Updated::Missing => Err(not_found(&id)),
        Updated::VersionMismatch { current } => {
            Err(version_mismatch(&id, if_match.as_deref().unwrap_or_default(), current))
        }
        Updated::Duplicate { existing_id } => Err(Error::new(
            Code::AlreadyExists,
            "Another entity of the same type already has this entity_name".to_owned(),
        )
        .with("resource_type", "entity")
        .with("resource_id", existing_id)
        .hint("Choose another entity_name.")),
        Updated::Rejected(error) => Err(*error),
    }
}

/// The entity after a deep merge of `input` over what can change of it.
fn changed(mut entity: Entity, input: &Map<String, Value>) -> Entity {
    let mut fields = record::changeable(&entity);
    merge(&mut fields, input);
    if let Some(Value::String(name)) = fields.remove("entity_name") {
        entity.name = name;
    }
    if let Some(Value::String(description)) = fields.remove("description") {
        entity.description = description;
    }
    entity.priority = record::integer(fields.get("priority")).unwrap_or(define::PRIORITY_DEFAULT);
    entity.tags = fields.remove("tags").and_then(record::tags);
    entity.metadata = match fields.remove("metadata") {
        Some(Value::Object(metadata)) => Some(metadata),
        _ => None,
    };
    entity
}

async fn delete(store: EntityStore, params: Params, _context: Context) -> Result<Value, Error> {
    let (id, dry_run) = (params.required("entity_id"), params.dry_run());
    let if_match = params.text(shared::IF_MATCH);
    match store.delete(&id, if_match.map(version), dry_run).await.map_err(store_error)? {
        Deleted::Entity { entity, relations_removed } => Ok(preview(
            json!({
                "deleted": !dry_run,
                "entity_id": entity.id,
                "entity_name": entity.name,
                "entity_type": entity.entity_type,
                "relations_removed": relations_removed,
            }),
            dry_run,
        )),
        Deleted::Missing => Err(not_found(&id)),
        Deleted::VersionMismatch { current } => {
            Err(version_mismatch(&id, if_match.unwrap_or_default(), current))
        }
    }
}
