//! The tables of `entities.db`.

use crate::store::migrations::Schema;

pub(super) const FILE: &str = "entities.db";

pub(super) const SCHEMA: Schema =
    Schema { application_id: i32::from_be_bytes(*b"AqEn"), steps: &[FORMAT_1, FORMAT_2] };

/// Times are microseconds since 1970, `tags` and `metadata` are JSON.
///
/// - `entities.row` ties an entity to its line in the text index. It is declared because SQLite may renumber
///   undeclared row ids.
/// - Short columns come first: reading them does not touch the pages a long description spills into.
/// - The text index is contentless: it holds no second copy of the text, and unlike an external-content one it
///   forgets an entity by its row alone. There, a delete has to repeat the indexed words exactly, and any slip
///   corrupts the index for good. It also lets us index words that stand in no column, such as the values within
///   `metadata`.
const FORMAT_1: &str = "
CREATE TABLE entities (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    entity_type TEXT NOT NULL,
    name TEXT NOT NULL,
    priority INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    description TEXT NOT NULL,
    tags TEXT,
    metadata TEXT,
    UNIQUE (name, entity_type)
) STRICT;
CREATE INDEX entities_by_type ON entities (entity_type, id);

CREATE TABLE relations (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    from_id TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    to_id TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    relationship TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    metadata TEXT,
    UNIQUE (from_id, to_id, relationship)
) STRICT;
CREATE INDEX relations_by_target ON relations (to_id);

CREATE VIRTUAL TABLE entities_text USING fts5(
    name, tags, description, metadata,
    content = '', contentless_delete = 1,
    tokenize = 'unicode61 remove_diacritics 2'
);
";

/// What lists are sorted by, each with the id that decides between equals.
const FORMAT_2: &str = "
CREATE INDEX entities_by_priority ON entities (priority, id);
CREATE INDEX entities_by_creation ON entities (created_at, id);
CREATE INDEX entities_by_update ON entities (updated_at, id);
CREATE INDEX entities_by_name ON entities (name, id);
";
