//! Pages: along an index in the order of the query, or of few rows in any order.

use std::collections::HashSet;

use aql::query::{Answer, Beyond, Gather, Order, Window, sort::Place};
use rusqlite::types::Value as Cell;
use rusqlite::{Statement, params_from_iter};

use super::column::{Column, order};
use super::narrow::Clause;
use super::{Stop, Task, conditions};
use crate::store::Error;

// In tests all plans are made for a handful of rows.

/// So few rows are read whatever their order.
const FETCHED_ROWS_MAX: usize = if cfg!(test) { 3 } else { 1_500 };
/// So few rows are known by number before an index is walked, so that the others are passed over unread. With more of
/// them, the walk meets enough soon enough to read all it meets.
const KNOWN_ROWS_MAX: usize = if cfg!(test) { 8 } else { 25_000 };
/// A page that reaches further from the start is sorted by SQLite, which has room on disk.
const KEPT_ROWS_MAX: usize = if cfg!(test) { 6 } else { 10_000 };

/// A part of the order to be read: conditions on its columns, and the columns that still decide.
struct Stage {
    clauses: Vec<Clause>,
    order: Vec<(Column, Order)>,
}

impl Task<'_> {
    pub(super) fn page(&self, gather: Gather<'_>) -> Result<Answer, Stop> {
        // Without the help of SQL, counting all takes reading all.
        let counted = !self.query.wants_total() || self.exact;
        let order = order(self.query.sort()).filter(|_| counted);
        let Some(stages) = order.as_ref().and_then(|order| self.stages(order)) else {
            let lead = self.lead(KNOWN_ROWS_MAX)?.filter(|(_, count)| *count <= KNOWN_ROWS_MAX);
            return self.show_all(lead.map(|(index, _)| index), gather);
        };
        let [(first, _), rest @ ..] = order.as_deref().unwrap_or_default() else {
            return self.show_all(None, gather);
        };
        let own = first.index(&self.indexes);
        if let (Column::Id, []) = (first, rest)
            && let Some(index) = self.equal_index()?
        {
            // An index of one value's rows has them by id.
            return self.walk(Some(&index), &stages, None, gather);
        }
        if let Some((index, count)) = self.lead(KNOWN_ROWS_MAX)? {
            if count <= FETCHED_ROWS_MAX || (own.is_none() && count <= KNOWN_ROWS_MAX) {
                return self.show_all(Some(index), gather);
            }
            if count <= KNOWN_ROWS_MAX {
                let known = self.known(&index)?;
                return self.walk(own.as_deref(), &stages, Some(&known), gather);
            }
        }
        let reach = self.query.window().skip().saturating_add(self.query.window().size());
        if own.is_none() && reach <= KEPT_ROWS_MAX {
            return self.show_all(None, gather);
        }
        self.walk(own.as_deref(), &stages, None, gather)
    }

    /// All rows that meet the clauses, in any order.
    fn show_all(&self, index: Option<String>, mut gather: Gather<'_>) -> Result<Answer, Stop> {
        let hint = index.map_or("NOT INDEXED".to_owned(), |index| format!("INDEXED BY {index}"));
        let (condition, operands) = conditions(&self.clauses);
        let sql = format!("{} {hint} WHERE {condition}", self.rows.select());
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut found = statement.query(params_from_iter(operands))?;
        while let Some(row) = found.next()? {
            gather.show(self.rows.item(row)?);
        }
        Ok(gather.finish(Beyond { total: self.total()?, ..Beyond::default() }))
    }

    /// Reads along an index until the page is full, and then back until it is known whether anything lies behind.
    fn walk(
        &self,
        index: Option<&str>,
        stages: &(Vec<Stage>, Vec<Stage>),
        known: Option<&HashSet<i64>>,
        gather: Gather<'_>,
    ) -> Result<Answer, Stop> {
        let skipped = if self.exact && known.is_none() { self.query.window().skip() } else { 0 };
        let mut gather = gather.in_order().skipping(skipped);
        let (ahead, behind) = stages;
        for stage in ahead {
            if !gather.is_full() {
                self.read(index, stage, known, skipped, &mut |gather| gather.is_full(), &mut gather)?;
            }
        }
        for stage in behind {
            if !gather.knows_other_side() {
                self.read(index, stage, known, 0, &mut |gather| gather.knows_other_side(), &mut gather)?;
            }
        }
        Ok(gather.finish(Beyond { total: self.total()?, ..Beyond::default() }))
    }

    fn read(
        &self,
        index: Option<&str>,
        stage: &Stage,
        known: Option<&HashSet<i64>>,
        skipped: usize,
        enough: &mut dyn FnMut(&Gather<'_>) -> bool,
        gather: &mut Gather<'_>,
    ) -> Result<(), Stop> {
        let hint = index.map_or(String::new(), |index| format!("INDEXED BY {index}"));
        let order: Vec<String> = stage
            .order
            .iter()
            .map(|(column, order)| format!("{} {}", column.sql(), order.as_str()))
            .collect();
        let order = if order.is_empty() { String::new() } else { format!("ORDER BY {}", order.join(", ")) };
        let mut clauses = stage.clauses.clone();
        let Some(known) = known else {
            clauses.extend(self.clauses.iter().cloned());
            let (condition, mut operands) = conditions(&clauses);
            let offset = if skipped > 0 { "LIMIT -1 OFFSET ?" } else { "" };
            if skipped > 0 {
                operands.push(Cell::Integer(i64::try_from(skipped).unwrap_or(i64::MAX)));
            }
            let sql = format!("{} {hint} WHERE {condition} {order} {offset}", self.rows.select());
            let mut statement = self.connection.prepare_cached(&sql)?;
            let mut found = statement.query(params_from_iter(operands))?;
            while let Some(row) = found.next()? {
                gather.show(self.rows.item(row)?);
                if enough(gather) {
                    break;
                }
            }
            return Ok(());
        };
        let (condition, operands) = conditions(&clauses);
        let sql = format!("SELECT e.row FROM entities e {hint} WHERE {condition} {order}");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut found = statement.query(params_from_iter(operands))?;
        let mut fetch = self.fetch()?;
        while let Some(row) = found.next()? {
            let number: i64 = row.get(0)?;
            if !known.contains(&number) {
                continue;
            }
            let mut whole = fetch.query([number])?;
            if let Some(row) = whole.next()? {
                gather.show(self.rows.item(row)?);
            }
            if enough(gather) {
                break;
            }
        }
        Ok(())
    }

    /// A whole entity by its row, whether it meets the clauses or not.
    pub(super) fn fetch(&self) -> Result<rusqlite::CachedStatement<'_>, Error> {
        Ok(self.connection.prepare_cached(&format!("{} WHERE e.row = ?", self.rows.select()))?)
    }

    /// The clause with an index that the fewest rows meet, by its index. More than `most` are not counted.
    fn lead(&self, most: usize) -> Result<Option<(String, usize)>, Error> {
        let mut best: Option<(String, usize)> = None;
        for clause in &self.clauses {
            let index = clause.leads.as_ref().and_then(|column| column.index(&self.indexes));
            let Some(index) = index else { continue };
            let limit = best.as_ref().map_or(most.saturating_add(1), |(_, count)| *count);
            let count = self.count(clause, &index, limit)?;
            if best.as_ref().is_none_or(|(_, least)| count < *least) {
                best = Some((index, count));
            }
        }
        Ok(best)
    }

    /// The index of a clause that demands one value, the rarest if there are several.
    fn equal_index(&self) -> Result<Option<String>, Error> {
        let equal = |clause: &&Clause| clause.is_equality;
        let indexed = self.clauses.iter().filter(equal).filter_map(|clause| {
            Some((clause, clause.leads.as_ref().and_then(|column| column.index(&self.indexes))?))
        });
        let mut best: Option<(String, usize)> = None;
        for (clause, index) in indexed {
            let limit = best.as_ref().map_or(KNOWN_ROWS_MAX, |(_, count)| *count);
            let count = self.count(clause, &index, limit)?;
            if best.as_ref().is_none_or(|(_, least)| count < *least) {
                best = Some((index, count));
            }
        }
        Ok(best.map(|(index, _)| index))
    }

    fn count(&self, clause: &Clause, index: &str, limit: usize) -> Result<usize, Error> {
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM entities e INDEXED BY {index} WHERE {} LIMIT ?)",
            clause.sql
        );
        let limit = Cell::Integer(i64::try_from(limit).unwrap_or(i64::MAX));
        let operands = clause.operands.iter().cloned().chain([limit]);
        let count: i64 =
            self.connection.prepare_cached(&sql)?.query_row(params_from_iter(operands), |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// The rows that meet the clauses of this index.
    fn known(&self, index: &str) -> Result<HashSet<i64>, Error> {
        let of_index = |clause: &&Clause| {
            clause.leads.as_ref().and_then(|column| column.index(&self.indexes)).as_deref() == Some(index)
        };
        let clauses: Vec<Clause> = self.clauses.iter().filter(of_index).cloned().collect();
        let (condition, operands) = conditions(&clauses);
        let sql = format!("SELECT e.row FROM entities e INDEXED BY {index} WHERE {condition}");
        let mut statement = self.connection.prepare_cached(&sql)?;
        Ok(rows(&mut statement, operands)?.collect::<Result<_, _>>()?)
    }

    /// What lies on the wanted side of the cursor, in the order of the page, and what lies on the other, from the cursor
    /// away. None if the cursor has keys that the columns cannot have.
    fn stages(&self, order: &[(Column, Order)]) -> Option<(Vec<Stage>, Vec<Stage>)> {
        let (place, backwards) = match self.query.window() {
            Window::First { after, .. } => (after.as_ref(), false),
            Window::Last { before, .. } => (before.as_ref(), true),
            Window::Offset { .. } | Window::Page { .. } => (None, false),
        };
        let directed = |reverse: bool| -> Vec<(Column, Order)> {
            order
                .iter()
                .map(|(column, order)| (column.clone(), if reverse { flip(*order) } else { *order }))
                .collect()
        };
        let Some(place) = place else {
            return Some((vec![Stage { clauses: Vec::new(), order: directed(backwards) }], Vec::new()));
        };
        let cells = self.cells(order, place)?;
        let ahead = steps(&directed(backwards), &cells);
        let mut behind = vec![Stage { clauses: equal(order, &cells), order: Vec::new() }];
        behind.extend(steps(&directed(!backwards), &cells));
        Some((ahead, behind))
    }

    /// The cursor's keys as the columns have them.
    fn cells(&self, order: &[(Column, Order)], place: &Place<'_>) -> Option<Vec<Cell>> {
        let key = |column: &Column| {
            let keys = self.query.sort().keys().iter().zip(&place.keys);
            let own = keys.into_iter().find(|(key, _)| Column::of(&key.target).as_ref() == Some(column));
            own.map_or(&place.id, |(_, key)| key)
        };
        order.iter().map(|(column, _)| column.cell(key(column))).collect()
    }
}

fn rows<'s>(
    statement: &'s mut Statement<'_>,
    operands: Vec<Cell>,
) -> Result<impl Iterator<Item = rusqlite::Result<i64>> + 's, Error> {
    Ok(statement.query_map(params_from_iter(operands), |row| row.get(0))?)
}

/// What follows a place, nearest first: rows that are the same in all columns but the last, then in one less, and so
/// on. Each is one range of an index, which a single condition on all columns would not be.
fn steps(order: &[(Column, Order)], cells: &[Cell]) -> Vec<Stage> {
    let each = (0..order.len()).rev().filter_map(|number| {
        let (before, from) = (order.get(..number)?, order.get(number..)?);
        let (column, direction) = from.first()?;
        let operator = match direction {
            Order::Asc => ">",
            Order::Desc => "<",
        };
        let mut clauses = equal(before, cells);
        clauses.push(clause(column, operator, cells.get(number)?));
        Some(Stage { clauses, order: from.to_vec() })
    });
    each.collect()
}

fn equal(order: &[(Column, Order)], cells: &[Cell]) -> Vec<Clause> {
    order.iter().zip(cells).map(|((column, _), cell)| clause(column, "=", cell)).collect()
}

fn clause(column: &Column, operator: &str, cell: &Cell) -> Clause {
    let sql = format!("{} {operator} ?", column.sql());
    Clause { sql, operands: vec![cell.clone()], leads: None, is_equality: false }
}

fn flip(order: Order) -> Order {
    match order {
        Order::Asc => Order::Desc,
        Order::Desc => Order::Asc,
    }
}
