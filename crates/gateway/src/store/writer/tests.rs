//! Groups of writes: what they share, and what they do not.

use std::time::Duration;

use futures_util::future::join_all;
use futures_util::poll;
use tempfile::TempDir;

use super::super::database::{Database, Options};
use super::super::migrations::Schema;
use super::*;

const SCHEMA: Schema = Schema {
    application_id: 1,
    steps: &["CREATE TABLE numbers (
                  number INTEGER PRIMARY KEY,
                  partner INTEGER REFERENCES numbers (number) DEFERRABLE INITIALLY DEFERRED
              ) STRICT;"],
};

struct Fixture {
    database: Database,
    other: Connection,
    dir: TempDir,
}

fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::open(dir.path(), "numbers.db", &SCHEMA, Options::default()).unwrap();
    let other = Connection::open(dir.path().join("numbers.db")).unwrap();
    Fixture { database, other, dir }
}

impl Fixture {
    /// Runs the writes in one group. The first waits for the lock alone while the rest queue up behind it, so a
    /// harmless one goes ahead.
    async fn group<W>(&self, writes: Vec<W>) -> Vec<Result<(), Error>>
    where
        W: FnMut(&Connection) -> Result<(), Error> + Send + 'static,
    {
        self.other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut ahead = Box::pin(self.database.write(Effect::default(), |_| Ok(())));
        assert!(poll!(&mut ahead).is_pending());
        // By now or soon the thread has taken the first write and waits; nothing else may join it.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let writes = writes.into_iter().map(|write| self.database.write(Effect::default(), write));
        let mut writes = Box::pin(join_all(writes));
        assert!(poll!(&mut writes).is_pending());
        self.other.execute_batch("COMMIT").unwrap();
        ahead.await.unwrap();
        writes.await
    }

    fn log_bytes(&self) -> u64 {
        std::fs::metadata(self.dir.path().join("numbers.db-wal")).unwrap().len()
    }

    fn numbers(&self) -> Vec<i64> {
        let mut statement = self.other.prepare("SELECT number FROM numbers ORDER BY number").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }
}

fn insert(number: i64, partner: Option<i64>) -> impl FnMut(&Connection) -> Result<(), Error> + Send {
    move |connection| {
        connection.execute("INSERT INTO numbers VALUES (?1, ?2)", (number, partner))?;
        Ok(())
    }
}

#[tokio::test]
async fn queued_writes_share_one_commit() {
    let f = fixture();
    let before = f.log_bytes();
    let outcomes = f.group((1..=50).map(|number| insert(number, None)).collect()).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(f.numbers().len(), 50);
    let pages = (f.log_bytes() - before) / 4096;
    assert!((1..10).contains(&pages), "{pages} pages, but each commit writes one or more");
}

#[tokio::test]
async fn a_failing_write_does_not_undo_its_neighbours() {
    let f = fixture();
    let twice = |number| {
        move |connection: &Connection| {
            insert(number, None)(connection)?;
            insert(if number == 2 { 1 } else { number + 10 }, None)(connection)
        }
    };
    let outcomes = f.group(vec![twice(1), twice(2), twice(3)]).await;
    assert_eq!(outcomes, [Ok(()), Err(Error::Io), Ok(())]);
    assert_eq!(f.numbers(), [1, 3, 11, 13], "nothing of the second stays, not even what worked");
}

/// A reference that leads nowhere is found at the commit, which is then refused like one without room on disk.
#[tokio::test]
async fn a_failing_commit_fails_every_write_of_the_group_and_keeps_none() {
    let f = fixture();
    let outcomes = f.group(vec![insert(1, None), insert(2, Some(99)), insert(3, None)]).await;
    assert_eq!(outcomes, [Err(Error::Io), Err(Error::Io), Err(Error::Io)]);
    assert_eq!(f.numbers(), [0; 0]);
    f.database.write(Effect::default(), insert(4, None)).await.unwrap();
    assert_eq!(f.numbers(), [4]);
}

/// As SQLite does by itself when the file is full.
#[tokio::test]
async fn when_one_write_brings_the_transaction_down_the_others_run_again() {
    let f = fixture();
    let write = |number| {
        let mut runs = 0;
        move |connection: &Connection| {
            insert(number, None)(connection)?;
            runs += 1;
            if number == 2 {
                assert_eq!(runs, 1, "it has its answer");
                connection.execute_batch("ROLLBACK")?;
                return Err(Error::Full);
            }
            Ok(())
        }
    };
    let outcomes = f.group((1..=4).map(write).collect()).await;
    assert_eq!(outcomes, [Ok(()), Err(Error::Full), Ok(()), Ok(())]);
    assert_eq!(f.numbers(), [1, 3, 4]);
}

#[tokio::test]
async fn an_acknowledged_write_is_visible_to_others_and_an_unfinished_one_is_not() {
    let f = fixture();
    let (started, running) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel();
    let slow = move |connection: &Connection| {
        insert(1, None)(connection)?;
        started.send(()).unwrap();
        released.recv().unwrap();
        Ok(())
    };
    let mut slow = Box::pin(f.database.write(Effect::default(), slow));
    assert!(poll!(&mut slow).is_pending());
    running.recv().unwrap();
    assert_eq!(f.numbers(), [0; 0]);
    release.send(()).unwrap();
    slow.await.unwrap();
    assert_eq!(f.numbers(), [1]);
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_thread_and_tidies_up() {
    let Fixture { database, other, dir } = fixture();
    drop(other);
    database.write(Effect::default(), insert(1, None)).await.unwrap();
    let second = database.clone();
    drop(database);
    second.write(Effect::default(), insert(2, None)).await.unwrap();
    drop(second);
    // Only the last connection to be closed removes the log.
    let log = dir.path().join("numbers.db-wal");
    let gone = async {
        while log.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.expect("the thread ends");
}
