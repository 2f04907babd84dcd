//! Which format a file has, and how an older one becomes the present one.

use rusqlite::{Connection, TransactionBehavior};

use super::Error;

/// The formats of one kind of file. Format `n` is what the first `n` steps made of an empty file.
///
/// Steps are only ever added at the end: files written by any earlier version are out there.
pub(super) struct Schema {
    /// Tells this kind of file from every other SQLite file.
    pub application_id: i32,
    pub steps: &'static [&'static str],
}

impl Schema {
    pub(super) fn supported(&self) -> u32 {
        u32::try_from(self.steps.len()).unwrap_or(u32::MAX)
    }

    /// The file's format; a file that is not ours to write to is refused. Reads only.
    pub(super) fn recognise(&self, connection: &Connection) -> Result<u32, Error> {
        // One snapshot for all that is read, or another process that migrates meanwhile would look like damage.
        let snapshot = connection.unchecked_transaction()?;
        self.format_of(&snapshot)
    }

    /// Brings the file to the present format, once, whoever else tries the same at this moment.
    pub(super) fn migrate(&self, connection: &mut Connection) -> Result<(), Error> {
        // Looking first lets an up-to-date file be opened while another process writes to it.
        if self.recognise(connection)? == self.supported() {
            return Ok(());
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let format = usize::try_from(self.format_of(&transaction)?).unwrap_or(usize::MAX);
        for step in self.steps.iter().skip(format) {
            transaction.execute_batch(step)?;
        }
        transaction.pragma_update(None, "application_id", self.application_id)?;
        transaction.pragma_update(None, "user_version", self.supported())?;
        transaction.commit()?;
        Ok(())
    }

    fn format_of(&self, connection: &Connection) -> Result<u32, Error> {
        let format: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let application: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if (format, application, tables) == (0, 0, 0) {
            return Ok(0);
        }
        match u32::try_from(format) {
            Ok(found) if application == self.application_id && found > 0 => {
                let supported = self.supported();
                if found > supported { Err(Error::Newer { found, supported }) } else { Ok(found) }
            }
            _ => Err(Error::Damaged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "CREATE TABLE a (x INTEGER) STRICT;";
    const ONE: Schema = Schema { application_id: 7, steps: &[FIRST] };
    const TWO: Schema = Schema { application_id: 7, steps: &[FIRST, "ALTER TABLE a ADD COLUMN y INTEGER;"] };
    const OTHER: Schema = Schema { application_id: 8, steps: &[FIRST] };

    fn memory() -> Connection {
        Connection::open_in_memory().unwrap()
    }

    #[test]
    fn steps_run_once_and_in_order() {
        let mut connection = memory();
        ONE.migrate(&mut connection).unwrap();
        connection.execute("INSERT INTO a VALUES (1)", []).unwrap();
        for _ in 0..2 {
            TWO.migrate(&mut connection).unwrap();
        }
        let kept: i64 =
            connection.query_row("SELECT count(*) FROM a WHERE y IS NULL", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, 1);
        assert_eq!(TWO.format_of(&connection), Ok(2));
    }

    #[test]
    fn a_newer_file_is_refused() {
        let mut connection = memory();
        TWO.migrate(&mut connection).unwrap();
        let newer = Err(Error::Newer { found: 2, supported: 1 });
        assert_eq!(ONE.recognise(&connection).map(drop), newer);
        assert_eq!(ONE.migrate(&mut connection), newer);
    }

    #[test]
    fn a_foreign_file_is_refused() {
        let mut connection = memory();
        OTHER.migrate(&mut connection).unwrap();
        assert_eq!(ONE.recognise(&connection), Err(Error::Damaged));

        let connection = memory();
        connection.execute_batch(FIRST).unwrap();
        assert_eq!(ONE.recognise(&connection), Err(Error::Damaged));
    }

    #[test]
    fn a_failing_step_changes_nothing() {
        const BROKEN: Schema = Schema { application_id: 7, steps: &[FIRST, "CREATE TABLE a (x) STRICT;"] };
        let mut connection = memory();
        assert_eq!(BROKEN.migrate(&mut connection), Err(Error::Io));
        assert_eq!(BROKEN.format_of(&connection), Ok(0));
    }
}
