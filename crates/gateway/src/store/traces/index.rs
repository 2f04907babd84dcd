//! The text index, which follows behind what is written.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use serde_json::Value;

use super::{super::Error, hot::cut};

/// Bytes of one span that it can be found by. A long result fills the index without making anything easier to find.
const TEXT_BYTES_MAX: usize = 16 * 1024;

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
    {
        let mut stale = transaction.prepare_cached("SELECT id FROM stale LIMIT ?1")?;
        let stale: Vec<i64> = stale.query_map([max_rows], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for row in stale {
            transaction.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([row])?;
            transaction.prepare_cached("DELETE FROM stale WHERE id = ?1")?.execute([row])?;
            rows += add_one(&transaction, row)?;
        }
        let mut next = transaction.prepare_cached(
            "SELECT s.id, s.name, s.error, d.attributes FROM spans s JOIN details d USING (id)
             WHERE s.id > ?1 ORDER BY s.id LIMIT ?2",
        )?;
        let mut last = None;
        let mut found = next.query((progress(&transaction)?, max_rows.saturating_sub(rows)))?;
        while let Some(row) = found.next()? {
            let id = row.get(0)?;
            add(&transaction, id, row)?;
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

fn add_one(connection: &Connection, id: i64) -> Result<u32, Error> {
    let added = connection
        .prepare_cached(
            "SELECT s.id, s.name, s.error, d.attributes FROM spans s JOIN details d USING (id) WHERE s.id = ?1",
        )?
        .query_row([id], |row| add(connection, id, row))
        .optional()?;
    Ok(added.map_or(0, |()| 1))
}

fn add(connection: &Connection, id: i64, row: &rusqlite::Row<'_>) -> rusqlite::Result<()> {
    let mut text = row.get_ref(1)?.as_str()?.to_owned();
    if let Some(error) = row.get_ref(2)?.as_str_or_null()? {
        push(&mut text, error);
    }
    // What cannot be read is found by its name.
    if let Ok(Value::Object(attributes)) = serde_json::from_str(row.get_ref(3)?.as_str()?) {
        attributes.values().for_each(|value| gather(value, &mut text));
    }
    connection.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?.execute((id, text))?;
    Ok(())
}

fn gather(value: &Value, text: &mut String) {
    match value {
        Value::String(said) => push(text, said),
        Value::Number(number) => push(text, &number.to_string()),
        Value::Array(list) => list.iter().for_each(|value| gather(value, text)),
        Value::Object(fields) => fields.values().for_each(|value| gather(value, text)),
        Value::Null | Value::Bool(_) => {}
    }
}

fn push(text: &mut String, more: &str) {
    let room = TEXT_BYTES_MAX.saturating_sub(text.len() + 1);
    if room > 0 {
        text.push(' ');
        text.push_str(cut(more, room));
    }
}

/// The words of a question as the index is asked for them: all of them, and those with `*` behind them as the beginning of
/// a word. Beginnings of every word would be gathered from the whole index before the first one is found.
pub(super) fn question(text: &str) -> Option<String> {
    const WORDS_MAX: usize = 16;
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '*');
    let words = parts.filter_map(|part| {
        let word: String = part.chars().filter(|c| *c != '*').collect();
        let star = if part.ends_with('*') { "*" } else { "" };
        (!word.is_empty()).then(|| format!("\"{word}\"{star}"))
    });
    let words: Vec<String> = words.take(WORDS_MAX).collect();
    (!words.is_empty()).then(|| words.join(" AND "))
}
