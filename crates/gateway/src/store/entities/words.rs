//! The words an entity is found by.

use rusqlite::Connection;
use serde_json::Value;

use super::Entity;
use crate::store::Error;

/// Stands between values as a word that nobody searches for, so that a phrase does not match across two tags.
const BOUNDARY: &str = " \u{E000} ";
/// The word itself, which neither a text nor a search may hold, or a search for it would find whatever has two values.
pub(super) const BOUNDARY_WORD: char = '\u{E000}';

/// What the text index is told about an entity, column by column.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    name: String,
    tags: String,
    description: String,
    metadata: String,
}

impl Words {
    pub(super) fn of(entity: &Entity) -> Self {
        let mut values = Vec::new();
        for value in entity.metadata.iter().flat_map(serde_json::Map::values) {
            collect(value, &mut values);
        }
        let plain = |text: &str| text.replace(BOUNDARY_WORD, " ");
        let tags = entity.tags.iter().flatten().map(|tag| plain(tag));
        let values = values.iter().map(|value| plain(value));
        Self {
            name: separated(&plain(&entity.name)),
            tags: separated(&tags.collect::<Vec<_>>().join(BOUNDARY)),
            description: separated(&plain(&entity.description)),
            metadata: separated(&values.collect::<Vec<_>>().join(BOUNDARY)),
        }
    }

    pub(super) fn insert(&self, connection: &Connection, row: i64) -> Result<(), Error> {
        connection
            .prepare_cached(
                "INSERT INTO entities_text (rowid, name, tags, description, metadata) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute((row, &self.name, &self.tags, &self.description, &self.metadata))?;
        Ok(())
    }

    pub(super) fn replace(&self, connection: &Connection, row: i64) -> Result<(), Error> {
        Self::delete(connection, row)?;
        self.insert(connection, row)
    }

    pub(super) fn delete(connection: &Connection, row: i64) -> Result<(), Error> {
        connection.prepare_cached("DELETE FROM entities_text WHERE rowid = ?1")?.execute([row])?;
        Ok(())
    }
}

/// The values at the leaves. Keys are not searched: they are the same for all entities of a type.
fn collect(value: &Value, values: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::Bool(truth) => values.push(truth.to_string()),
        Value::Number(number) => values.push(number.to_string()),
        Value::String(text) => values.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, values)),
        Value::Object(members) => members.values().for_each(|member| collect(member, values)),
    }
}

/// The text with spaces around every character of a script that writes none between its words: the index takes
/// what stands between spaces for a word, and would find a sentence only as a whole.
pub(super) fn separated(text: &str) -> String {
    if !text.contains(is_unspaced) {
        return text.to_owned();
    }
    let mut separated = String::with_capacity(text.len() * 2);
    for character in text.chars() {
        if is_unspaced(character) {
            separated.extend([' ', character, ' ']);
        } else {
            separated.push(character);
        }
    }
    separated
}

/// Kana and Chinese characters.
fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_gives_its_values_at_any_depth_but_not_its_keys() {
        let mut values = Vec::new();
        collect(&json!({"key": ["one", {"deep": 2.5}], "other": null, "flag": true}), &mut values);
        values.sort();
        assert_eq!(values, ["2.5", "one", "true"]);
    }

    #[test]
    fn only_scripts_without_spaces_are_taken_apart() {
        assert_eq!(separated("naïve Straße, 한국어"), "naïve Straße, 한국어");
        assert_eq!(separated("a東京b"), "a 東  京 b");
    }
}
