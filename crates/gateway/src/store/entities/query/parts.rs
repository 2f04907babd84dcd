//! Rows that come in any order: of those that SQL already knows to be accepted, no more is read than their place takes,
//! until it is known which of them are on the page.

use aql::query::{Answer, Beyond, Gather};
use rusqlite::{CachedStatement, Row};
use serde_json::{Map, Value};

use super::column::Column;
use super::{Stop, Task};

/// Marks a part with the row it is of.
const PART: &str = "_part";

pub(super) struct Parts<'t> {
    task: &'t Task<'t>,
    /// What a place is made of; none where whole entities are needed.
    columns: Option<Vec<Column>>,
    whole: CachedStatement<'t>,
}

impl<'t> Parts<'t> {
    pub(super) fn of(task: &'t Task<'t>) -> Result<Self, Stop> {
        let sql = format!("{} WHERE e.row = ?", task.rows.select());
        let whole = task.connection.prepare_cached(&sql)?;
        // All keys, those that decide nothing behind the id too: cursors carry them.
        let keys =
            task.query.sort().keys().iter().map(|key| Column::of(&key.target)).chain([Some(Column::Id)]);
        let columns = if task.exact { keys.collect() } else { None };
        Ok(Self { task, columns, whole })
    }

    /// The beginning of a statement, up to the table.
    pub(super) fn select(&self) -> String {
        match &self.columns {
            None => self.task.rows.select(),
            Some(columns) => {
                let list: Vec<String> = columns.iter().map(Column::sql).collect();
                format!("SELECT e.row, {} FROM entities e", list.join(", "))
            }
        }
    }

    pub(super) fn take(&mut self, row: &Row<'_>, gather: &mut Gather<'_>) -> Result<(), Stop> {
        let Some(columns) = &self.columns else {
            gather.show(self.task.rows.item(row)?);
            return Ok(());
        };
        let number: i64 = row.get(0)?;
        let mut part = Map::new();
        for (position, column) in columns.iter().enumerate() {
            if !column.restore(row.get_ref(position + 1)?, &mut part) {
                // A key that does not tell its value tells its place all the same, but only the value is asked for it.
                gather.admit(self.load(number)?);
                return Ok(());
            }
        }
        part.insert(PART.to_owned(), number.into());
        gather.admit(Value::Object(part));
        Ok(())
    }

    pub(super) fn finish(mut self, gather: Gather<'_>) -> Result<Answer, Stop> {
        let beyond = Beyond { total: self.task.total()?, ..Beyond::default() };
        gather.finish_loading(beyond, |item| match item.get(PART).and_then(Value::as_i64) {
            Some(number) => self.load(number),
            None => Ok(item),
        })
    }

    fn load(&mut self, number: i64) -> Result<Value, Stop> {
        let rows = &self.task.rows;
        Ok(self.whole.query_row([number], |row| rows.item(row))?)
    }
}
