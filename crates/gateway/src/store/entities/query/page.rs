//! Pages: along an index in the order of the query, or of few rows in any order.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use aql::query::{Answer, Beyond, Gather, Order, Window, sort::Place};
use rusqlite::types::Value as Cell;
use rusqlite::{CachedStatement, params_from_iter};

use super::column::{Column, order};
use super::narrow::Clause;
use super::parts::Parts;
use super::{Stop, Task, conditions};
use crate::store::Error;

// In tests all plans are made for a handful of rows.

/// So few rows are known by number before an index is walked, so that the others are passed over unread. With more of
/// them, the walk meets enough soon enough to read all it meets.
const KNOWN_ROWS_MAX: usize = if cfg!(test) { 8 } else { 25_000 };
/// Looking up what a row is sorted by costs about as much as so many steps along an index.
const STEPS_A_ROW: usize = if cfg!(test) { 1 } else { 25 };
/// A page that reaches further from the start is sorted by SQLite, which has room on disk.
const KEPT_ROWS_MAX: usize = if cfg!(test) { 6 } else { 10_000 };
/// So many rows along the way tell how many of them are wanted.
const SAMPLED_ROWS: usize = if cfg!(test) { 4 } else { 100 };
/// If one in so many is, walking needs no other help.
const WANTED_ONE_IN: usize = if cfg!(test) { 2 } else { 30 };

/// Rows by number. Numbers that follow each other need no better hash than themselves, spread a little.
type Known = HashSet<i64, BuildHasherDefault<Spread>>;

#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_i64((*byte).into()));
    }

    fn write_i64(&mut self, number: i64) {
        self.0 = (self.0 ^ number.cast_unsigned()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// A part of the order to be read: conditions on its columns, and the columns that still decide.
struct Stage {
    clauses: Vec<Clause>,
    order: Vec<(Column, Order)>,
}

impl Stage {
    fn ordered(&self) -> String {
        let parts: Vec<String> =
            self.order.iter().map(|(column, order)| format!("{} {}", column.sql(), order.as_str())).collect();
        if parts.is_empty() { String::new() } else { format!("ORDER BY {}", parts.join(", ")) }
    }
}

impl Task<'_> {
    pub(super) fn page(&self, gather: Gather<'_>) -> Result<Answer, Stop> {
        // Without the help of SQL, counting all takes reading all.
        let counted = !self.query.wants_total() || self.exact;
        let order = order(self.query.sort()).filter(|_| counted).unwrap_or_default();
        let stages = if order.is_empty() { None } else { self.stages(&order) };
        let (Some(stages), Some((first, _))) = (stages, order.first()) else {
            return match self.lead()? {
                Some(rows) => self.show_rows(&rows, gather),
                None => self.show_all(gather),
            };
        };
        if let [(Column::Id, _)] = order.as_slice()
            && let Some(index) = self.equal_index()?
        {
            // An index of one value's rows has them by id.
            return self.walk(Some(&index), &stages, None, gather);
        }
        let own = first.index(&self.indexes);
        if let Some(index) = &own
            && (self.clauses.is_empty() || self.is_dense(index, &stages.0)?)
        {
            return self.walk(own.as_deref(), &stages, None, gather);
        }
        let reach = self.query.window().skip().saturating_add(self.query.window().size());
        if let Some(rows) = self.lead()? {
            // As many steps are taken for each row met on the way as there are rows for each wanted one.
            let steps = self.rows_about()?.saturating_mul(reach.saturating_add(1)) / rows.len().max(1);
            if own.is_none() || rows.len().saturating_mul(STEPS_A_ROW) <= steps {
                return self.show_rows(&rows, gather);
            }
            let known: Known = rows.into_iter().collect();
            return self.walk(own.as_deref(), &stages, Some(&known), gather);
        }
        if own.is_none() && reach <= KEPT_ROWS_MAX {
            return self.show_all(gather);
        }
        self.walk(own.as_deref(), &stages, None, gather)
    }

    /// All rows that meet the clauses, in any order.
    fn show_all(&self, mut gather: Gather<'_>) -> Result<Answer, Stop> {
        let mut parts = Parts::of(self)?;
        let (condition, operands) = conditions(&self.clauses);
        let sql = format!("{} NOT INDEXED WHERE {condition}", parts.select());
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut found = statement.query(params_from_iter(operands))?;
        while let Some(row) = found.next()? {
            parts.take(row, &mut gather)?;
        }
        parts.finish(gather)
    }

    /// Those of these rows that meet the clauses, in any order.
    fn show_rows(&self, rows: &[i64], mut gather: Gather<'_>) -> Result<Answer, Stop> {
        let mut parts = Parts::of(self)?;
        let (condition, operands) = conditions(&self.clauses);
        let sql = format!("{} WHERE e.row = ? AND {condition}", parts.select());
        let mut statement = self.connection.prepare_cached(&sql)?;
        for number in rows {
            let operands = [Cell::Integer(*number)].into_iter().chain(operands.iter().cloned());
            let mut found = statement.query(params_from_iter(operands))?;
            if let Some(row) = found.next()? {
                parts.take(row, &mut gather)?;
            }
        }
        parts.finish(gather)
    }

    /// Reads along an index until the page is full, and then back until it is known whether anything lies behind.
    fn walk(
        &self,
        index: Option<&str>,
        stages: &(Vec<Stage>, Vec<Stage>),
        known: Option<&Known>,
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
        known: Option<&Known>,
        skipped: usize,
        enough: &mut dyn FnMut(&Gather<'_>) -> bool,
        gather: &mut Gather<'_>,
    ) -> Result<(), Stop> {
        let hint = index.map_or(String::new(), |index| format!("INDEXED BY {index}"));
        let order = stage.ordered();
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
        let (mut fetch, operands) = self.fetch_meeting()?;
        while let Some(row) = found.next()? {
            let number: i64 = row.get(0)?;
            if !known.contains(&number) {
                continue;
            }
            let operands = [Cell::Integer(number)].into_iter().chain(operands.iter().cloned());
            let mut whole = fetch.query(params_from_iter(operands))?;
            if let Some(row) = whole.next()? {
                gather.show(self.rows.item(row)?);
            }
            if enough(gather) {
                break;
            }
        }
        Ok(())
    }

    /// A whole entity by its row, if it meets the clauses, whose operands follow the row.
    pub(super) fn fetch_meeting(&self) -> Result<(CachedStatement<'_>, Vec<Cell>), Error> {
        let (condition, operands) = conditions(&self.clauses);
        let sql = format!("{} WHERE e.row = ? AND {condition}", self.rows.select());
        Ok((self.connection.prepare_cached(&sql)?, operands))
    }

    /// The rows of the indexed clause that the fewest meet, if those are few enough to be worth knowing.
    fn lead(&self) -> Result<Option<Vec<i64>>, Error> {
        let mut best: Option<Vec<i64>> = None;
        for clause in &self.clauses {
            let index = clause.leads.as_ref().and_then(|column| column.index(&self.indexes));
            let Some(index) = index else { continue };
            let limit = best.as_ref().map_or(KNOWN_ROWS_MAX, Vec::len);
            let sql = format!("SELECT e.row FROM entities e INDEXED BY {index} WHERE {} LIMIT ?", clause.sql);
            let one_more = Cell::Integer(i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1));
            let operands = clause.operands.iter().cloned().chain([one_more]);
            let mut statement = self.connection.prepare_cached(&sql)?;
            let rows: Vec<i64> = statement
                .query_map(params_from_iter(operands), |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            if rows.len() <= limit {
                best = Some(rows);
            }
        }
        Ok(best)
    }

    /// Whether rows that meet the clauses are so frequent along this index, from the cursor on, that walking it is soon
    /// done.
    fn is_dense(&self, index: &str, ahead: &[Stage]) -> Result<bool, Error> {
        let (condition, wanted) = conditions(&self.clauses);
        let (mut seen, mut met) = (0, 0);
        for stage in ahead {
            let (on_stage, operands) = conditions(&stage.clauses);
            let sql = format!(
                "SELECT count(*), coalesce(sum(wanted), 0) FROM (
                     SELECT ({condition}) AS wanted FROM entities e INDEXED BY {index} WHERE {on_stage} {} LIMIT ?)",
                stage.ordered()
            );
            let limit = Cell::Integer(i64::try_from(SAMPLED_ROWS.saturating_sub(seen)).unwrap_or(0));
            let operands = wanted.iter().cloned().chain(operands).chain([limit]);
            let (rows, of_them): (i64, i64) = self
                .connection
                .prepare_cached(&sql)?
                .query_row(params_from_iter(operands), |row| Ok((row.get(0)?, row.get(1)?)))?;
            seen += usize::try_from(rows).unwrap_or_default();
            met += usize::try_from(of_them).unwrap_or_default();
            if seen >= SAMPLED_ROWS {
                break;
            }
        }
        Ok(met.saturating_mul(WANTED_ONE_IN) >= seen)
    }

    /// About how many rows there are: the number of the last.
    fn rows_about(&self) -> Result<usize, Error> {
        let last: i64 = self
            .connection
            .prepare_cached("SELECT coalesce(max(row), 0) FROM entities")?
            .query_row([], |row| row.get(0))?;
        Ok(usize::try_from(last).unwrap_or_default())
    }

    /// The index of a clause that demands one value, the rarest if there are several.
    fn equal_index(&self) -> Result<Option<String>, Error> {
        let equal = self.clauses.iter().filter(|clause| clause.is_equality);
        let indexed: Vec<(&Clause, String)> =
            equal.filter_map(|clause| Some((clause, clause.leads.as_ref()?.index(&self.indexes)?))).collect();
        if let [(_, only)] = indexed.as_slice() {
            return Ok(Some(only.clone()));
        }
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
