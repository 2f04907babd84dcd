//! The store as its callers see it, on real files.

use std::path::Path;

use aql::query::{CursorKey, Query};
use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::json;
use tempfile::TempDir;

use super::*;

mod graphs;
mod lifecycle;
mod opening;
mod querying;
mod relating;
mod scoring;
mod searching;
mod sharing;
mod space;

struct Fixture {
    // Declared first to be dropped first: the file goes after the store.
    store: EntityStore,
    dir: TempDir,
}

fn fixture() -> Fixture {
    fixture_with(Options::default())
}

fn fixture_with(options: Options) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let store = EntityStore::open(dir.path(), options, &[]).unwrap();
    Fixture { store, dir }
}

fn at(second: i64) -> Timestamp {
    Timestamp::new(1_800_000_000 + second, 123_456_789).unwrap()
}

/// Ids whose order is that of their numbers, as with UUID v7.
fn id(number: usize) -> String {
    format!("id-{number:05}")
}

fn new(entity_type: &str, name: &str) -> NewEntity {
    NewEntity {
        entity_type: entity_type.into(),
        name: name.into(),
        description: String::new(),
        priority: 5,
        tags: None,
        metadata: None,
    }
}

fn metadata(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(members) => Some(members),
        other => panic!("{other} is no object"),
    }
}

impl Fixture {
    async fn add(&self, number: usize, new: NewEntity) -> Entity {
        match self.store.create(new, at(0), id(number), false).await.unwrap() {
            Created::Entity(entity) => entity,
            Created::Duplicate { existing_id } => panic!("{existing_id} has this name"),
        }
    }

    async fn relate(&self, number: usize, from: usize, to: usize, relationship: &str) -> RelationCreated {
        let new = NewRelation {
            from_id: id(from),
            to_id: id(to),
            relationship: relationship.into(),
            metadata: metadata(json!({"since": 2020})),
        };
        self.store.create_relation(new, at(0), format!("relation-{number}"), false).await.unwrap()
    }

    fn dump(&self) -> Vec<String> {
        dump(self.dir.path())
    }
}

/// Every row of every table, those of the text index included.
fn dump(dir: &Path) -> Vec<String> {
    let connection = Connection::open(dir.join(schema::FILE)).unwrap();
    let mut tables = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
        .unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(tables.len() > 4, "{tables:?}");
    let mut lines = Vec::new();
    for table in tables {
        let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let cells: Vec<Cell> = (0..columns).map(|column| row.get(column).unwrap()).collect();
            lines.push(format!("{table} {cells:?}"));
        }
    }
    lines
}

/// How many entities there are.
async fn count(store: &EntityStore) -> usize {
    let params = json!({"aggregate": {"n": {"count": true}}});
    let query =
        Query::read(params.as_object().unwrap(), &collection::list().unwrap(), &CursorKey::new(&[0; 32]));
    let answer = store.query(query.unwrap(), Find::default(), at(0)).await.unwrap().unwrap().into_value();
    answer["aggregations"]["n"].as_u64().unwrap() as usize
}
