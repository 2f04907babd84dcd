//! Looking entities up.

use super::records::{all, entity, first_entity, select_entities};
use super::{Entity, EntityStore};
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
}
