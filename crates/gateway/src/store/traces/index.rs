//! The text index, which follows behind what is written.
//!
//! It is cut into tables of so many rows each. The beginning of a word is looked for by gathering every row that has any such
//! word, and with one table that were all rows of the day before the first could be shown. So the newest table is asked
//! first, and the next one only if there was not enough.
//!
//! Tables keep no copy of the text and no positions in it, which makes them a third as large; words are looked for, not
//! phrases.

use std::{fmt, ops::RangeInclusive};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{super::Error, packed::cut};

/// Bytes of one span that it can be found by. A long result fills the index without making anything easier to find.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Text that is indexed together, about. What is written at once is in the log of the file first.
const TOGETHER_BYTES: usize = 512 * 1024;

/// Rows of one table. Tests have several without writing a day.
pub(super) const TABLE_ROWS: i64 = if cfg!(test) { 1000 } else { 40_000 };

/// The table that a row's words are in.
pub(super) fn table(row: i64) -> i64 {
    row.saturating_sub(1).div_euclid(TABLE_ROWS)
}

/// The rows whose words are in a table.
pub(super) fn rows(table: i64) -> RangeInclusive<i64> {
    let first = table.saturating_mul(TABLE_ROWS);
    first.saturating_add(1)..=first.saturating_add(TABLE_ROWS)
}

pub(super) fn name(table: i64) -> String {
    format!("words_{table}")
}

/// The tables that there are, the newest first.
pub(super) fn tables(connection: &Connection) -> Result<Vec<i64>, Error> {
    let mut names = connection
        .prepare_cached("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'words_[0-9]*'")?;
    let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    // Each has companions, whose names go on.
    let mut tables: Vec<i64> =
        names.iter().filter_map(|name| name.strip_prefix("words_")?.parse().ok()).collect();
    tables.sort_unstable_by(|a, b| b.cmp(a));
    Ok(tables)
}

/// Makes a table. Which words a text has is decided by its settings, so there are no others.
pub(super) fn make(connection: &Connection, name: &str) -> Result<(), Error> {
    connection.execute_batch(&format!(
        "CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5 (
             text, content='', contentless_delete=1, detail=none, tokenize='unicode61 remove_diacritics 2'
         )",
    ))?;
    Ok(())
}

/// Takes the words of the rows before this one out.
pub(super) fn remove_before(connection: &Connection, row: i64) -> Result<(), Error> {
    for table in tables(connection)? {
        if *rows(table).end() < row {
            connection.execute_batch(&format!("DROP TABLE {}", name(table)))?;
        } else if *rows(table).start() < row {
            connection.execute(&format!("DELETE FROM {} WHERE rowid < ?1", name(table)), [row])?;
        }
    }
    Ok(())
}

/// Up to which row everything was indexed.
pub(super) fn progress(connection: &Connection) -> Result<i64, Error> {
    Ok(connection.prepare_cached("SELECT indexed FROM progress")?.query_row([], |row| row.get(0))?)
}

pub(super) fn lag(connection: &Connection) -> Result<u64, Error> {
    let lag: i64 = connection
        .prepare_cached(
            "SELECT coalesce((SELECT max(id) FROM spans), 0) - (SELECT indexed FROM progress) + (SELECT count(*) FROM stale)",
        )?
        .query_row([], |row| row.get(0))?;
    Ok(u64::try_from(lag).unwrap_or_default())
}

/// Indexes so many rows at the most; how many it were. Two processes that do this do it one after the other.
pub(super) fn advance(connection: &mut Connection, max_rows: u32) -> Result<u32, Error> {
    if lag(connection)? == 0 {
        return Ok(0);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut rows = 0;
    let mut made_up_to = None;
    {
        let mut stale = transaction.prepare_cached("SELECT id FROM stale LIMIT ?1")?;
        let stale: Vec<i64> = stale.query_map([max_rows], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for row in stale {
            let delete = format!("DELETE FROM {} WHERE rowid = ?1", name(table(row)));
            made(&transaction, row, &mut made_up_to)?;
            transaction.prepare_cached(&delete)?.execute([row])?;
            transaction.prepare_cached("DELETE FROM stale WHERE id = ?1")?.execute([row])?;
            rows += add_one(&transaction, row)?;
        }
        let mut next = transaction.prepare_cached(
            "SELECT s.name, s.error, d.attributes, s.id FROM spans s JOIN details d USING (id)
             WHERE s.id > ?1 ORDER BY s.id LIMIT ?2",
        )?;
        let mut last = None;
        let mut found = next.query((progress(&transaction)?, max_rows.saturating_sub(rows)))?;
        let mut bytes = 0;
        while let Some(row) = found.next()?.filter(|_| bytes < TOGETHER_BYTES) {
            let id = row.get(3)?;
            made(&transaction, id, &mut made_up_to)?;
            let text = text(row)?;
            add(&transaction, &name(table(id)), id, &text)?;
            bytes += text.len();
            last = Some(id);
            rows += 1;
        }
        drop(found);
        if let Some(last) = last {
            transaction.prepare_cached("UPDATE progress SET indexed = ?1")?.execute([last])?;
        }
    }
    transaction.commit()?;
    Ok(rows)
}

/// The columns of a row that [`text`] reads.
pub(super) const TEXT_OF_ROW: &str =
    "SELECT s.name, s.error, d.attributes FROM spans s JOIN details d USING (id) WHERE s.id = ?1";

fn add_one(connection: &Connection, id: i64) -> Result<u32, Error> {
    let added = connection
        .prepare_cached(TEXT_OF_ROW)?
        .query_row([id], |row| add(connection, &name(table(id)), id, &text(row)?))
        .optional()?;
    Ok(added.map_or(0, |()| 1))
}

pub(super) fn add(connection: &Connection, name: &str, id: i64, text: &str) -> rusqlite::Result<()> {
    let insert = format!("INSERT INTO {name} (rowid, text) VALUES (?1, ?2)");
    connection.prepare_cached(&insert)?.execute((id, text))?;
    Ok(())
}

/// What a span is found by: its name, its error and the values of its attributes.
pub(super) fn text(row: &rusqlite::Row<'_>) -> rusqlite::Result<String> {
    let mut text = row.get_ref(0)?.as_str()?.to_owned();
    if let Some(error) = row.get_ref(1)?.as_str_or_null()? {
        push(&mut text, error);
    }
    let whole = text.len();
    let mut attributes = serde_json::Deserializer::from_str(row.get_ref(2)?.as_str()?);
    if Values(&mut text).deserialize(&mut attributes).and_then(|()| attributes.end()).is_err() {
        // What cannot be read is found by its name.
        text.truncate(whole);
    }
    Ok(text)
}

/// Makes the table of a row if it is another one than the last.
fn made(connection: &Connection, row: i64, last: &mut Option<i64>) -> Result<(), Error> {
    let table = table(row);
    if last.replace(table) != Some(table) {
        make(connection, &name(table))?;
    }
    Ok(())
}

/// Gathers the values of JSON as they are read, without making anything else of them.
struct Values<'t>(&'t mut String);

impl<'de> DeserializeSeed<'de> for Values<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Values<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E>(self, said: &str) -> Result<(), E> {
        push(self.0, said);
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        push(self.0, &number.to_string());
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        push(self.0, &number.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        push(self.0, &serde_json::Value::from(number).to_string());
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Values(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while object.next_key::<IgnoredAny>()?.is_some() {
            object.next_value_seed(Values(self.0))?;
        }
        Ok(())
    }
}

fn push(text: &mut String, more: &str) {
    let room = TEXT_BYTES_MAX.saturating_sub(text.len() + 1);
    if room > 0 {
        text.push(' ');
        text.push_str(cut(more, room));
    }
}

/// The words of a question as the index is asked for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// All of them, and those with `*` behind them as the beginning of a word.
    pub(super) all: String,
    /// Whole words, where there are beginnings beside them: only rows with these need a further look.
    pub(super) whole: Option<String>,
}

pub(super) fn question(text: &str) -> Option<Question> {
    const WORDS_MAX: usize = 16;
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '*');
    let words = parts.filter_map(|part| {
        let word: String = part.chars().filter(|c| *c != '*').collect();
        let star = if part.ends_with('*') { "*" } else { "" };
        (!word.is_empty()).then(|| format!("\"{word}\"{star}"))
    });
    let words: Vec<String> = words.take(WORDS_MAX).collect();
    let whole: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.ends_with('*')).collect();
    let is_mixed = !whole.is_empty() && whole.len() < words.len();
    let whole = is_mixed.then(|| whole.join(" AND "));
    (!words.is_empty()).then(|| Question { all: words.join(" AND "), whole })
}

/// So many rows of a table that have these words, the newest first.
pub(super) fn having(
    connection: &Connection,
    table: i64,
    words: &str,
    before: i64,
    rows_max: usize,
) -> Result<Vec<i64>, Error> {
    let name = name(table);
    let statement =
        format!("SELECT rowid FROM {name} WHERE {name} MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC LIMIT ?3");
    let mut statement = connection.prepare_cached(&statement)?;
    let rows_max = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let rows = statement.query_map((words, before, rows_max), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
