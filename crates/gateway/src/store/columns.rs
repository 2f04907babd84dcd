//! What the files' columns have in common: times are microseconds since 1970, structured values are JSON.

use std::error::Error as StdError;

use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{CachedStatement, Params, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Error;

pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    text.map(serde_json::from_str).transpose().map_err(|cause| unreadable(column, cause))
}

/// A text that is not what we would have written.
pub(super) fn unreadable(column: usize, cause: impl StdError + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(cause))
}

pub(super) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    from_microseconds(column, row.get(column)?)
}

pub(super) fn time_if_any(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    let microseconds: Option<i64> = row.get(column)?;
    microseconds.map(|microseconds| from_microseconds(column, microseconds)).transpose()
}

fn from_microseconds(column: usize, microseconds: i64) -> rusqlite::Result<Timestamp> {
    Timestamp::from_microsecond(microseconds)
        .map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, microseconds))
}

pub(super) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
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

pub(super) fn all<T>(
    mut statement: CachedStatement<'_>,
    parameters: impl Params,
    record: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, Error> {
    Ok(statement.query_map(parameters, record)?.collect::<Result<_, _>>()?)
}
