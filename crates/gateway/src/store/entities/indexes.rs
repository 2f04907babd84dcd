//! Indexes on the operator's choice of paths in `metadata`.
//!
//! Such an index is one on the expression `aql_key(metadata, path)`: SQLite itself keeps it, whichever process writes and
//! whatever that one's configuration says. Its name tells its path, so the file alone knows what is indexed, and
//! a query plans with what it finds there.

use std::collections::BTreeSet;

use rusqlite::{Connection, TransactionBehavior};

use crate::store::Error;

/// What the names of these indexes begin with; the path follows.
const PREFIX: &str = "entities_by_metadata.";

/// The paths beneath `metadata` that are indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Indexes(BTreeSet<String>);

impl Indexes {
    pub(super) fn of(connection: &Connection) -> Result<Self, Error> {
        let mut statement = connection.prepare_cached(
            "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'entities'",
        )?;
        let names = statement.query_map([], |row| row.get::<_, String>(0))?;
        let mut paths = BTreeSet::new();
        for name in names {
            paths.extend(name?.strip_prefix(PREFIX).map(str::to_owned));
        }
        Ok(Self(paths))
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.0.contains(path)
    }
}

/// Makes the indexes those of these paths, each written whole from `metadata` on, once, whoever else opens the file at this moment.
pub(super) fn settle(connection: &mut Connection, paths: &[String]) -> Result<(), Error> {
    let beneath = paths.iter().filter_map(|path| path.strip_prefix("metadata."));
    let wanted = Indexes(beneath.filter(|path| is_plain(path)).map(str::to_owned).collect());
    // Looking first lets a file be opened while another process writes to it.
    if Indexes::of(connection)? == wanted {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let present = Indexes::of(&transaction)?;
    for path in present.0.difference(&wanted.0) {
        transaction.execute_batch(&format!("DROP INDEX {}", name(path)))?;
    }
    for path in wanted.0.difference(&present.0) {
        transaction.execute_batch(&format!(
            "CREATE INDEX {} ON entities ({}, id)",
            name(path),
            key("metadata", path)
        ))?;
    }
    transaction.commit()?;
    Ok(())
}

/// Whether a path can stand in a statement, which a NUL would end.
pub(super) fn is_plain(path: &str) -> bool {
    !path.contains('\0')
}

/// The index of a path, as an identifier.
pub(super) fn name(path: &str) -> String {
    format!("\"{PREFIX}{}\"", path.replace('"', "\"\""))
}

/// The expression that is indexed, the path beneath `metadata` written out: SQLite knows the expression by its text.
pub(super) fn key(column: &str, path: &str) -> String {
    format!("aql_key({column}, '{}')", path.replace('\'', "''"))
}
