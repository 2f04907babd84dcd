//! The entities adapter's memory: entities, the relations between them, and a text index over the former.

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value};

pub mod collection;
pub mod graph;
mod indexes;
pub mod json;
mod query;
mod read;
mod records;
mod relations;
mod schema;
mod search;
mod words;
mod write;

pub use super::database::Options;
pub use query::Find;

use super::Error;
use super::database::Database;

/// Something an agent keeps: typed, named, and found again by its words.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    pub id: String,
    pub entity_type: String,
    /// Unique within its type.
    pub name: String,
    pub description: String,
    pub priority: i64,
    pub tags: Option<Vec<String>>,
    pub metadata: Option<Map<String, Value>>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// 1 when created, one more with every update.
    pub version: u64,
}

/// An entity before the store gave it its version and times.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEntity {
    pub entity_type: String,
    pub name: String,
    pub description: String,
    pub priority: i64,
    pub tags: Option<Vec<String>>,
    pub metadata: Option<Map<String, Value>>,
}

/// A named arrow from one entity to another, at most one of a name between the same two.
#[derive(Debug, Clone, PartialEq)]
pub struct Relation {
    pub id: String,
    pub from_id: String,
    pub to_id: String,
    pub relationship: String,
    pub metadata: Option<Map<String, Value>>,
    pub created_at: Timestamp,
}

/// A relation before it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRelation {
    pub from_id: String,
    pub to_id: String,
    pub relationship: String,
    pub metadata: Option<Map<String, Value>>,
}

/// The outcome of creating an entity.
#[derive(Debug, Clone, PartialEq)]
pub enum Created {
    Entity(Entity),
    /// Another entity of this type has the name.
    Duplicate {
        existing_id: String,
    },
}

/// The outcome of updating an entity, `E` being the caller's reason to reject the change.
#[derive(Debug, Clone, PartialEq)]
pub enum Updated<E> {
    Entity(Entity),
    Missing,
    VersionMismatch { current: u64 },
    Duplicate { existing_id: String },
    Rejected(E),
}

/// The outcome of deleting an entity.
#[derive(Debug, Clone, PartialEq)]
pub enum Deleted {
    /// The entity as it was, and how many relations from or to it went with it.
    Entity {
        entity: Entity,
        relations_removed: u64,
    },
    Missing,
    VersionMismatch {
        current: u64,
    },
}

/// The outcome of creating a relation.
#[derive(Debug, Clone, PartialEq)]
pub enum RelationCreated {
    Created(Relation),
    MissingEntity { id: String },
    Duplicate { existing_id: String },
}

/// A cheap handle on `entities.db`.
///
/// Writes return once they are on disk. Dropping the last handle stops the writer thread after it finished
/// what was queued; [`EntityStore::close`] also waits for that. Methods need a Tokio runtime, opening does not.
#[derive(Clone)]
pub struct EntityStore {
    database: Database,
}

impl EntityStore {
    /// Opens the store in `dir` and creates both if missing. `index` are paths such as `metadata.status` that queries
    /// are to be fast on; changing them loses nothing. Blocks: meant for the start of the process.
    pub fn open(dir: &Path, options: Options, index: &[String]) -> Result<Self, Error> {
        let database = Database::open(dir, schema::FILE, &schema::SCHEMA, options)?;
        database.prepare(|connection| indexes::settle(connection, index))?;
        Ok(Self { database })
    }

    /// Refuses new calls on every handle and returns once all queued writes are done and the file is closed.
    pub async fn close(self) {
        self.database.close().await;
    }
}

#[cfg(test)]
mod tests;
