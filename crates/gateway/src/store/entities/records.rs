//! From rows to records and back.

use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Entity, Relation};
use crate::store::Error;

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

fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    text.map(serde_json::from_str)
        .transpose()
        .map_err(|cause| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(cause)))
}

fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    let microseconds = row.get(column)?;
    Timestamp::from_microsecond(microseconds)
        .map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, microseconds))
}

fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

pub(super) fn to_json<T: Serialize>(value: Option<&T>) -> Result<Option<String>, Error> {
    value.map(serde_json::to_string).transpose().map_err(|cause| {
        tracing::error!(%cause, "a record could not be written as JSON");
        Error::Io
    })
}

/// The instant as it will be read back, so that the answer to a write equals the record read later.
pub(super) fn storable(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

pub(super) fn first_entity(
    connection: &Connection,
    select: &str,
    parameters: impl Params,
) -> Result<Option<Entity>, Error> {
    Ok(connection.prepare_cached(select)?.query_row(parameters, entity).optional()?)
}

pub(super) fn all<T>(
    mut statement: CachedStatement<'_>,
    parameters: impl Params,
    record: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, Error> {
    Ok(statement.query_map(parameters, record)?.collect::<Result<_, _>>()?)
}
