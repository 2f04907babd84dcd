//! The audit log, which is only ever added to.

use aql::audit::{Chain, Entry, Event, Hash, START, hash};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};

use super::SafetyStore;
use crate::failpoint;
use crate::store::Error;
use crate::store::columns::{all, count, storable, time, to_json};
use crate::store::writer::Effect;

/// The triggers keep our own code from changing an entry by mistake. Against others there is the chain.
pub(super) const TABLES: &str = "
CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    text TEXT NOT NULL,
    hash BLOB NOT NULL
) STRICT;
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'audit entries stay as they are'); END;
CREATE TRIGGER audit_keeps BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit entries are kept'); END;
";

/// So many entries are read together while the chain is followed.
const FOLLOWED_TOGETHER: u32 = 1000;

/// Adds an entry within the transaction that does what it tells of.
pub(super) fn append(connection: &Connection, event: &Event, now: Timestamp) -> Result<(), Error> {
    let last = connection
        .prepare_cached("SELECT number, hash FROM audit ORDER BY number DESC LIMIT 1")?
        .query_row([], |row| Ok((count(row, 0)?, row.get::<_, Hash>(1)?)))
        .optional()?;
    let (number, head) = last.unwrap_or((0, START));
    let (number, at) = (number + 1, storable(now));
    let text = to_json(Some(event))?.unwrap_or_default();
    let hash = hash(&head, number, at, &text);
    connection
        .prepare_cached("INSERT INTO audit (number, at, text, hash) VALUES (?1, ?2, ?3, ?4)")?
        .execute((number as i64, at.as_microsecond(), &text, hash))?;
    Ok(())
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry { number: count(row, 0)?, at: time(row, 1)?, text: row.get(2)?, hash: row.get(3)? })
}

impl SafetyStore {
    /// Adds an entry and returns once it is on disk.
    pub async fn audit(&self, event: Event, now: Timestamp) -> Result<(), Error> {
        let added = self
            .database
            .write(Effect::default(), move |connection| {
                append(connection, &event, now)?;
                failpoint::hit("audit.adding");
                Ok(())
            })
            .await;
        failpoint::hit("audit.added");
        added
    }

    /// The entries after a number, oldest first, so many of them.
    pub async fn audit_entries(&self, after: u64, most: u32) -> Result<Vec<Entry>, Error> {
        self.database.read(move |connection| entries(connection, after, most)).await
    }

    /// The number of the last entry, or zero.
    pub async fn audit_length(&self) -> Result<u64, Error> {
        let length = |connection: &Connection| {
            Ok(connection.query_row("SELECT coalesce(max(number), 0) FROM audit", [], |row| count(row, 0))?)
        };
        self.database.read(length).await
    }

    /// Follows the whole chain: where it ends, or where and how it is broken.
    pub async fn verify_audit(&self) -> Result<Result<Chain, aql::audit::Broken>, Error> {
        let mut chain = Chain::default();
        loop {
            let after = chain.entries;
            let page = self.database.read(move |c| entries(c, after, FOLLOWED_TOGETHER)).await?;
            if page.is_empty() {
                return Ok(Ok(chain));
            }
            if let Err(broken) = page.iter().try_for_each(|entry| chain.follow(entry)) {
                return Ok(Err(broken));
            }
        }
    }
}

fn entries(connection: &Connection, after: u64, most: u32) -> Result<Vec<Entry>, Error> {
    let statement = connection.prepare_cached(
        "SELECT number, at, text, hash FROM audit WHERE number > ?1 ORDER BY number LIMIT ?2",
    )?;
    all(statement, (after as i64, most), entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::database::Options;

    #[tokio::test]
    async fn entries_form_a_chain_that_several_stores_share_and_nobody_can_change() {
        let dir = tempfile::tempdir().unwrap();
        let open = || SafetyStore::open(dir.path(), Options::default()).unwrap();
        let (one, other) = (open(), open());
        let now = Timestamp::UNIX_EPOCH;
        for number in 0..20 {
            let store = if number % 2 == 0 { &one } else { &other };
            store.audit(Event::new("TEST"), now).await.unwrap();
        }
        let chain = one.verify_audit().await.unwrap().unwrap();
        assert_eq!(chain.entries, 20);
        assert_eq!(other.audit_length().await, Ok(20));
        assert_eq!(one.audit_entries(18, 10).await.unwrap().len(), 2);
        for statement in
            ["UPDATE audit SET text = '{}' WHERE number = 3", "DELETE FROM audit WHERE number = 3"]
        {
            let direct = Connection::open(dir.path().join("safety.db")).unwrap();
            assert!(direct.execute(statement, []).is_err(), "{statement}");
        }
        let direct = Connection::open(dir.path().join("safety.db")).unwrap();
        direct
            .execute_batch("DROP TRIGGER audit_stays; UPDATE audit SET text = '{}' WHERE number = 3")
            .unwrap();
        let broken = aql::audit::Broken::Changed { number: 3 };
        assert_eq!(one.verify_audit().await, Ok(Err(broken)));
    }
}
