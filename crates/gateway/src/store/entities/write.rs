//! Creating, changing and deleting entities, each in one transaction together with its words.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension};

use super::records::{first_entity, select_entities, storable, to_json};
use super::words::Words;
use super::{Created, Deleted, Entity, EntityStore, NewEntity, Updated};
use crate::store::Error;
use crate::store::writer::Effect;

impl EntityStore {
    pub async fn create(
        &self,
        new: NewEntity,
        now: Timestamp,
        id: String,
        dry_run: bool,
    ) -> Result<Created, Error> {
        let prepared = Prepared::of(new, now, id)?;
        let effect = Effect { dry_run, ..Effect::default() };
        self.database.write(effect, move |connection| prepared.create(connection)).await
    }

    /// Creates many entities in one transaction, which costs far less for each than creating them one by one. Those
    /// whose name is taken are told, and keep none of the others from being created.
    pub async fn create_all(&self, new: Vec<(NewEntity, Timestamp, String)>) -> Result<Vec<Created>, Error> {
        let prepared: Vec<Prepared> =
            new.into_iter().map(|(new, now, id)| Prepared::of(new, now, id)).collect::<Result<_, _>>()?;
        self.database
            .write(Effect::default(), move |connection| {
                prepared.iter().map(|prepared| prepared.create(connection)).collect()
            })
            .await
    }

    /// Changes what `change` makes of the entity, its id, creation time and version excepted, if nobody else
    /// changed it since `if_version`. Reading, changing and writing are one transaction.
    ///
    /// `change` runs on the writer thread, at most once, and should not take long.
    pub async fn update<E, F>(
        &self,
        id: &str,
        if_version: Option<u64>,
        now: Timestamp,
        dry_run: bool,
        change: F,
    ) -> Result<Updated<E>, Error>
    where
        E: Send + 'static,
        F: FnOnce(Entity) -> Result<Entity, E> + Send + 'static,
    {
        let (id, now, mut change) = (id.to_owned(), storable(now), Some(change));
        self.database
            .write(Effect { dry_run, ..Effect::default() }, move |connection| {
                let Some(before) = current(connection, &id)? else { return Ok(Updated::Missing) };
                if if_version.is_some_and(|version| version != before.version) {
                    return Ok(Updated::VersionMismatch { current: before.version });
                }
                // Gone if this write is run again, for which it is not to blame: the caller may repeat it.
                let change = change.take().ok_or(Error::Busy)?;
                let after = match change(before.clone()) {
                    Ok(after) => after,
                    Err(reason) => return Ok(Updated::Rejected(reason)),
                };
                let after = Entity {
                    id: before.id.clone(),
                    created_at: before.created_at,
                    updated_at: now,
                    version: before.version.saturating_add(1),
                    ..after
                };
                if let Some(existing_id) = holder_of_name(connection, &after)? {
                    return Ok(Updated::Duplicate { existing_id });
                }
                replace(connection, &before, &after)?;
                Ok(Updated::Entity(after))
            })
            .await
    }

    /// Deletes the entity and every relation from or to it.
    pub async fn delete(&self, id: &str, if_version: Option<u64>, dry_run: bool) -> Result<Deleted, Error> {
        let id = id.to_owned();
        self.database
            .write(Effect { dry_run, frees_space: true }, move |connection| {
                let Some(entity) = current(connection, &id)? else { return Ok(Deleted::Missing) };
                if if_version.is_some_and(|version| version != entity.version) {
                    return Ok(Deleted::VersionMismatch { current: entity.version });
                }
                let relations_removed = connection
                    .prepare_cached("DELETE FROM relations WHERE from_id = ?1 OR to_id = ?1")?
                    .execute([&id])?;
                let row = connection
                    .prepare_cached("DELETE FROM entities WHERE id = ?1 RETURNING row")?
                    .query_row([&id], |row| row.get(0))?;
                Words::delete(connection, row)?;
                let relations_removed = u64::try_from(relations_removed).unwrap_or(u64::MAX);
                Ok(Deleted::Entity { entity, relations_removed })
            })
            .await
    }
}

/// An entity to be created, made ready off the writer thread, which everyone waits for.
struct Prepared {
    entity: Entity,
    encoded: Encoded,
    words: Words,
}

impl Prepared {
    fn of(new: NewEntity, now: Timestamp, id: String) -> Result<Self, Error> {
        let NewEntity { entity_type, name, description, priority, tags, metadata } = new;
        let (created_at, updated_at, version) = (storable(now), storable(now), 1);
        let entity = Entity {
            id,
            entity_type,
            name,
            description,
            priority,
            tags,
            metadata,
            created_at,
            updated_at,
            version,
        };
        Ok(Self { encoded: Encoded::of(&entity)?, words: Words::of(&entity), entity })
    }

    fn create(&self, connection: &Connection) -> Result<Created, Error> {
        if let Some(existing_id) = holder_of_name(connection, &self.entity)? {
            return Ok(Created::Duplicate { existing_id });
        }
        let row = insert(connection, &self.entity, &self.encoded)?;
        self.words.insert(connection, row)?;
        Ok(Created::Entity(self.entity.clone()))
    }
}

/// The columns that are kept as JSON.
struct Encoded {
    tags: Option<String>,
    metadata: Option<String>,
}

impl Encoded {
    fn of(entity: &Entity) -> Result<Self, Error> {
        Ok(Self { tags: to_json(entity.tags.as_ref())?, metadata: to_json(entity.metadata.as_ref())? })
    }
}

fn current(connection: &Connection, id: &str) -> Result<Option<Entity>, Error> {
    first_entity(connection, select_entities!("WHERE id = ?1"), [id])
}

/// Another entity of the same type and name.
fn holder_of_name(connection: &Connection, entity: &Entity) -> Result<Option<String>, Error> {
    let holder = connection
        .prepare_cached("SELECT id FROM entities WHERE name = ?1 AND entity_type = ?2 AND id <> ?3")?
        .query_row([&entity.name, &entity.entity_type, &entity.id], |row| row.get(0))
        .optional()?;
    Ok(holder)
}

fn insert(connection: &Connection, entity: &Entity, encoded: &Encoded) -> Result<i64, Error> {
    let row = connection
        .prepare_cached(
            "INSERT INTO entities (id, entity_type, name, description, priority, tags, metadata,
                 created_at, updated_at, version)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .insert((
            &entity.id,
            &entity.entity_type,
            &entity.name,
            &entity.description,
            entity.priority,
            &encoded.tags,
            &encoded.metadata,
            entity.created_at.as_microsecond(),
            entity.updated_at.as_microsecond(),
            i64::try_from(entity.version).unwrap_or(i64::MAX),
        ))?;
    Ok(row)
}

fn replace(connection: &Connection, before: &Entity, after: &Entity) -> Result<(), Error> {
    let encoded = Encoded::of(after)?;
    let row = connection
        .prepare_cached(
            "UPDATE entities SET entity_type = ?2, name = ?3, description = ?4, priority = ?5, tags = ?6,
                 metadata = ?7, updated_at = ?8, version = ?9
             WHERE id = ?1 RETURNING row",
        )?
        .query_row(
            (
                &after.id,
                &after.entity_type,
                &after.name,
                &after.description,
                after.priority,
                &encoded.tags,
                &encoded.metadata,
                after.updated_at.as_microsecond(),
                i64::try_from(after.version).unwrap_or(i64::MAX),
            ),
            |row| row.get(0),
        )?;
    let words = Words::of(after);
    if words != Words::of(before) {
        words.replace(connection, row)?;
    }
    Ok(())
}
