//! Aggregations that SQL can prepare: one row for each combination of the values looked at, and how often there is one.

use aql::query::Gather;
use aql::query::aggregate::Function;
use aql::query::path::Target;
use serde_json::{Map, Value};

use super::column::Column;
use super::{Stop, Task, conditions};

impl Task<'_> {
    /// The aggregations, all counted in; none if they are about more than columns.
    pub(super) fn grouped(&self) -> Result<Option<Gather<'_>>, Stop> {
        let Some(columns) = self.exact.then(|| self.aggregated()).flatten() else { return Ok(None) };
        let expressions: Vec<String> = columns.iter().map(Column::sql).collect();
        let list = expressions.join(", ");
        let (condition, operands) = conditions(&self.clauses);
        let group = if list.is_empty() { String::new() } else { format!("GROUP BY {list}") };
        let comma = if list.is_empty() { "" } else { ", " };
        // Alone, a column is counted within its index. Several are cheaper to read off the rows one after the other.
        let hint = match columns.as_slice() {
            [only] if self.clauses.is_empty() => only.index(&self.indexes),
            _ => None,
        };
        let hint = match (hint, self.clauses.is_empty()) {
            (Some(index), _) => format!("INDEXED BY {index}"),
            (None, true) if !columns.is_empty() => "NOT INDEXED".to_owned(),
            (None, _) => String::new(),
        };
        let sql = format!("SELECT count(*){comma}{list} FROM entities e {hint} WHERE {condition} {group}");
        let mut gather = self.query.gather(self.now);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut found = statement.query(rusqlite::params_from_iter(operands))?;
        while let Some(row) = found.next()? {
            let mut item = Map::new();
            for (number, column) in columns.iter().enumerate() {
                if !column.restore(row.get_ref(number + 1)?, &mut item) {
                    return Ok(None);
                }
            }
            let times = usize::try_from(row.get::<_, i64>(0)?).unwrap_or_default();
            if times > 0 {
                gather.tally(&Value::Object(item), times)?;
            }
        }
        Ok(Some(gather))
    }

    /// The columns that are looked at, if everything looked at has one.
    fn aggregated(&self) -> Option<Vec<Column>> {
        let mut columns: Vec<Column> = Vec::new();
        for expression in self.query.aggregates() {
            let functions = expression.functions.iter().filter_map(target);
            for target in expression.group_by.iter().chain(functions) {
                let column = Column::of(target)?;
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
        }
        Some(columns)
    }
}

fn target(function: &Function) -> Option<&Target> {
    match function {
        Function::Count => None,
        Function::Sum(target) | Function::Avg(target) | Function::Min(target) | Function::Max(target) => {
            Some(target)
        }
    }
}
