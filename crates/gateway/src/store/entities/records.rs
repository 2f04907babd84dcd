//! From rows to records and back.

use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::{Entity, Relation};
use crate::store::Error;
pub(super) use crate::store::columns::{all, storable, to_json};
use crate::store::columns::{count, json, time};

/// `SELECT` of whole entities, for [`entity`], and of one more column after theirs if given.
macro_rules! select_entities {
    ($rest:literal $(, with $more:literal)?) => {
        concat!(
            "SELECT e.id, e.entity_type, e.name, e.description, e.priority, e.tags, e.metadata, ",
            "e.created_at, e.updated_at, e.version",
            $(", ", $more,)?
            " FROM entities e ",
            $rest
        )
    };
}

/// `SELECT` of whole relations, for [`relation`].
macro_rules! select_relations {
    ($rest:literal) => {
        concat!("SELECT id, from_id, to_id, relationship, metadata, created_at FROM relations ", $rest)
    };
}

pub(super) use {select_entities, select_relations};

pub(super) fn entity(row: &Row<'_>) -> rusqlite::Result<Entity> {
    Ok(Entity {
        id: row.get(0)?,
        entity_type: row.get(1)?,
        name: row.get(2)?,
        description: row.get(3)?,
        priority: row.get(4)?,
        tags: json(row, 5)?,
        metadata: json(row, 6)?,
        created_at: time(row, 7)?,
        updated_at: time(row, 8)?,
        version: count(row, 9)?,
    })
}

pub(super) fn relation(row: &Row<'_>) -> rusqlite::Result<Relation> {
    Ok(Relation {
        id: row.get(0)?,
        from_id: row.get(1)?,
        to_id: row.get(2)?,
        relationship: row.get(3)?,
        metadata: json(row, 4)?,
        created_at: time(row, 5)?,
    })
}

pub(super) fn first_entity(
    connection: &Connection,
    select: &str,
    parameters: impl Params,
) -> Result<Option<Entity>, Error> {
    Ok(connection.prepare_cached(select)?.query_row(parameters, entity).optional()?)
}
