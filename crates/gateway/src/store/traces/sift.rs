//! Which of a few rows fit a question, without the index.
//!
//! The index finds a whole word at once, but gathers every row of a table that has any word with the beginning that is looked
//! for. Where few rows have the whole words of a question it is quicker to read those: their texts are put into a table
//! like those of the index, in memory, and that is asked. So words are the same words either way.

use rusqlite::{Connection, OptionalExtension};

use super::{super::Error, index};

/// Rows that are read for one table of the index. Tests have more than these without writing many.
pub(super) const ROWS_MAX: usize = if cfg!(test) { 40 } else { 400 };
/// Bytes of attributes that are read for them. With more the index is as quick.
const BYTES_MAX: usize = 256 * 1024;

const TABLE: &str = "words";

/// A table in memory, made when it is needed.
#[derive(Default)]
pub(super) struct Sieve(Option<Connection>);

impl Sieve {
    /// Leaves rows that fit the question. Nothing if the index has to say it: there is too much to read, or a row has
    /// changed since it was indexed.
    pub(super) fn sift(
        &mut self,
        day: &Connection,
        question: &str,
        rows: &[i64],
    ) -> Result<Option<Vec<i64>>, Error> {
        let Some(texts) = texts(day, rows)? else { return Ok(None) };
        let memory = self.memory()?;
        // What is put in is gone again when this ends.
        let transaction = memory.unchecked_transaction()?;
        for (row, text) in texts {
            index::add(&transaction, TABLE, row, &text)?;
        }
        let mut fitting = transaction.prepare_cached("SELECT rowid FROM words WHERE words MATCH ?1")?;
        let fitting = fitting.query_map([question], |row| row.get(0))?;
        Ok(Some(fitting.collect::<Result<_, _>>()?))
    }

    fn memory(&mut self) -> Result<&Connection, Error> {
        match &mut self.0 {
            Some(memory) => Ok(memory),
            empty => {
                let memory = Connection::open_in_memory()?;
                index::make(&memory, TABLE)?;
                Ok(empty.insert(memory))
            }
        }
    }
}

/// What the index knows of rows, as long as it can be said.
fn texts(day: &Connection, rows: &[i64]) -> Result<Option<Vec<(i64, String)>>, Error> {
    let mut is_stale = day.prepare_cached("SELECT 1 FROM stale WHERE id = ?1")?;
    let mut read = day.prepare_cached(index::TEXT_OF_ROW)?;
    let mut texts = Vec::with_capacity(rows.len());
    let mut bytes = 0;
    for row in rows {
        if is_stale.exists([row])? {
            return Ok(None);
        }
        let text = read
            .query_row([row], |row| {
                bytes += row.get_ref(2)?.as_str()?.len();
                if bytes > BYTES_MAX { Ok(None) } else { index::text(row).map(Some) }
            })
            .optional()?;
        match text {
            Some(Some(text)) => texts.push((*row, text)),
            Some(None) => return Ok(None),
            // It was removed meanwhile.
            None => {}
        }
    }
    Ok(Some(texts))
}
