//! From rows to the items that the evaluator sees.

use aql::query::Query;
use rusqlite::Row;
use serde_json::Value;

use super::super::collection::{RELATION_COUNT, RELATIONS, ROW, SCORE};
use super::super::json;
use super::super::records::entity;

const RELATIONS_COLUMN: usize = 10;
const ROW_COLUMN: usize = 11;

/// What is read of every row.
pub(super) struct Rows {
    /// Counting relations costs two more lookups a row, so it is done on demand.
    relations: bool,
}

impl Rows {
    pub(super) fn of(query: &Query) -> Self {
        Self { relations: query.computes(RELATION_COUNT) }
    }

    /// The beginning of a statement, up to the table.
    pub(super) fn select(&self) -> String {
        let relations = if self.relations {
            "(SELECT count(*) FROM relations r WHERE r.from_id = e.id)
             + (SELECT count(*) FROM relations r WHERE r.to_id = e.id AND r.from_id <> e.id)"
        } else {
            "NULL"
        };
        format!(
            "SELECT e.id, e.entity_type, e.name, e.description, e.priority, e.tags, e.metadata, e.created_at,
                 e.updated_at, e.version, {relations}, e.row FROM entities e"
        )
    }

    pub(super) fn item(&self, row: &Row<'_>) -> rusqlite::Result<Value> {
        let mut item = json::entity(entity(row)?);
        if let (true, Value::Object(item)) = (self.relations, &mut item) {
            item.insert(RELATIONS.to_owned(), row.get::<_, i64>(RELATIONS_COLUMN)?.into());
        }
        Ok(item)
    }

    /// The item as one of a search.
    pub(super) fn found(&self, row: &Row<'_>, score: u64) -> rusqlite::Result<Value> {
        let mut item = self.item(row)?;
        if let Value::Object(item) = &mut item {
            item.insert(ROW.to_owned(), row.get::<_, i64>(ROW_COLUMN)?.into());
            item.insert(SCORE.to_owned(), score.into());
        }
        Ok(item)
    }
}
