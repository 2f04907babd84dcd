//! Relations between entities.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension};

use super::records::{all, relation, select_relations, storable, to_json};
use super::{EntityStore, NewRelation, Relation, RelationCreated};
use crate::store::Error;
use crate::store::writer::Effect;

/// The most relations [`EntityStore::relations_of`] returns.
const RELATIONS_LISTED_MAX: i64 = 1000;

impl EntityStore {
    /// Relates two entities that exist, the first one missing being named otherwise.
    pub async fn create_relation(
        &self,
        new: NewRelation,
        now: Timestamp,
        id: String,
        dry_run: bool,
    ) -> Result<RelationCreated, Error> {
        let NewRelation { from_id, to_id, relationship, metadata } = new;
        let encoded = to_json(metadata.as_ref())?;
        let relation = Relation { id, from_id, to_id, relationship, metadata, created_at: storable(now) };
        self.database
            .write(Effect { dry_run, ..Effect::default() }, move |connection| {
                for id in [&relation.from_id, &relation.to_id] {
                    if !connection.prepare_cached("SELECT 1 FROM entities WHERE id = ?1")?.exists([id])? {
                        return Ok(RelationCreated::MissingEntity { id: id.clone() });
                    }
                }
                if let Some(existing_id) = same_relation(connection, &relation)? {
                    return Ok(RelationCreated::Duplicate { existing_id });
                }
                connection
                    .prepare_cached(
                        "INSERT INTO relations (id, from_id, to_id, relationship, metadata, created_at)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    )?
                    .execute((
                        &relation.id,
                        &relation.from_id,
                        &relation.to_id,
                        &relation.relationship,
                        &encoded,
                        relation.created_at.as_microsecond(),
                    ))?;
                Ok(RelationCreated::Created(relation.clone()))
            })
            .await
    }

    /// The relation as it was, if there was one.
    pub async fn delete_relation(&self, id: &str, dry_run: bool) -> Result<Option<Relation>, Error> {
        let id = id.to_owned();
        self.database
            .write(Effect { dry_run, frees_space: true }, move |connection| {
                let found = connection
                    .prepare_cached(select_relations!("WHERE id = ?1"))?
                    .query_row([&id], relation)
                    .optional()?;
                connection.prepare_cached("DELETE FROM relations WHERE id = ?1")?.execute([&id])?;
                Ok(found)
            })
            .await
    }

    /// How many relations there are from and to the entity.
    pub async fn count_relations(&self, entity_id: &str) -> Result<u64, Error> {
        let id = entity_id.to_owned();
        self.database
            .read(move |connection| {
                let count: i64 = connection
                    .prepare_cached(
                        "SELECT (SELECT count(*) FROM relations WHERE from_id = ?1)
                             + (SELECT count(*) FROM relations WHERE to_id = ?1 AND from_id <> ?1)",
                    )?
                    .query_row([id], |row| row.get(0))?;
                Ok(u64::try_from(count).unwrap_or_default())
            })
            .await
    }

    /// The relations from or to the entity, oldest first, at most a thousand.
    pub async fn relations_of(&self, entity_id: &str) -> Result<Vec<Relation>, Error> {
        let id = entity_id.to_owned();
        self.database
            .read(move |connection| {
                let statement = connection.prepare_cached(select_relations!(
                    "WHERE from_id = ?1 OR to_id = ?1 ORDER BY id LIMIT ?2"
                ))?;
                all(statement, (id, RELATIONS_LISTED_MAX), relation)
            })
            .await
    }
}

fn same_relation(connection: &Connection, relation: &Relation) -> Result<Option<String>, Error> {
    let same = connection
        .prepare_cached("SELECT id FROM relations WHERE from_id = ?1 AND to_id = ?2 AND relationship = ?3")?
        .query_row([&relation.from_id, &relation.to_id, &relation.relationship], |row| row.get(0))
        .optional()?;
    Ok(same)
}
