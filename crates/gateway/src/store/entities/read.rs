//! Looking entities up.

use super::records::{all, entity, first_entity, select_entities};
use super::{Entity, EntityStore, Page};
use crate::store::Error;

/// Entities of one name in as many types. Nobody means more than a few.
const SAME_NAME_MAX: i64 = 100;

impl EntityStore {
    pub async fn get(&self, id: &str) -> Result<Option<Entity>, Error> {
        let id = id.to_owned();
        self.database
            .read(move |connection| first_entity(connection, select_entities!("WHERE id = ?1"), [id]))
            .await
    }

    /// The entities of this name: at most one if the type is given, else at most one of each type, by type.
    pub async fn find_by_name(&self, name: &str, entity_type: Option<&str>) -> Result<Vec<Entity>, Error> {
        let (name, entity_type) = (name.to_owned(), entity_type.map(str::to_owned));
        self.database
            .read(move |connection| {
                let statement = connection.prepare_cached(select_entities!(
                    "WHERE name = ?1 AND (?2 IS NULL OR entity_type = ?2) ORDER BY entity_type LIMIT ?3"
                ))?;
                all(statement, (name, entity_type, SAME_NAME_MAX), entity)
            })
            .await
    }

    /// The first entities after `after_id`, in the order of their ids, which is that of their creation.
    pub async fn list(
        &self,
        entity_type: Option<&str>,
        after_id: Option<String>,
        first: usize,
    ) -> Result<Page<Entity>, Error> {
        let entity_type = entity_type.map(str::to_owned);
        let after = after_id.unwrap_or_default();
        self.database
            .read(move |connection| {
                let found = match entity_type {
                    None => all(
                        connection.prepare_cached(select_entities!("WHERE id > ?1 ORDER BY id LIMIT ?2"))?,
                        (after, one_more_than(first)),
                        entity,
                    ),
                    Some(entity_type) => all(
                        connection.prepare_cached(select_entities!(
                            "WHERE entity_type = ?3 AND id > ?1 ORDER BY id LIMIT ?2"
                        ))?,
                        (after, one_more_than(first), entity_type),
                        entity,
                    ),
                };
                Ok(Page::of(found?, first))
            })
            .await
    }
}

/// How many rows to ask for in order to know whether more follow.
pub(super) fn one_more_than(first: usize) -> i64 {
    i64::try_from(first).unwrap_or(i64::MAX).saturating_add(1)
}

impl<T> Page<T> {
    pub(super) fn of(mut found: Vec<T>, first: usize) -> Self {
        let has_next = found.len() > first;
        found.truncate(first);
        Self { items: found, has_next }
    }
}
