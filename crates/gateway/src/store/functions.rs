//! What we add to SQLite's language. Every connection has it, for an index may be made of it.

use aql::query::order::{self, Key};
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error};

/// `aql_key(json, path)`: the sort key of what a dotted path has in a JSON object, as bytes in the order of keys. It is
/// never NULL, so that a key can be compared with any other.
///
/// Indexes hold its results: it must go on giving the same, or a migration has to rebuild them.
pub(super) fn register(connection: &Connection) -> Result<(), Error> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("aql_key", 2, flags, |context| {
        let path = context.get_raw(1).as_str().map_err(|cause| Error::UserFunctionError(Box::new(cause)))?;
        Ok(match context.get_raw(0) {
            ValueRef::Text(json) => match str::from_utf8(json) {
                Ok(json) => order::key_in(json, path),
                Err(_) => Key::Null.encode(),
            },
            _ => Key::Null.encode(),
        })
    })
}
