//! Conditions in SQL. Each holds for every entity that the evaluator would accept, and says whether for no others.

use aql::query::filter::{Condition, Test};
use aql::query::order::{Key, Num, Type};
use rusqlite::types::Value as Cell;
use serde_json::Value;

use super::column::{Column, Storage, micros};

/// Above this many operands in one statement the rest is left to the evaluator.
const OPERANDS_MAX: usize = 8_000;

/// A condition in SQL with its operands.
#[derive(Debug, Clone)]
pub(super) struct Clause {
    pub sql: String,
    pub operands: Vec<Cell>,
    /// The column, where its index leads to the rows.
    pub leads: Option<Column>,
    /// Whether it demands one value of that column.
    pub is_equality: bool,
}

/// All that SQL can say of a filter, and whether that is everything.
pub(super) fn clauses<'c>(conditions: impl IntoIterator<Item = &'c Condition>) -> (Vec<Clause>, bool) {
    let (mut clauses, mut exact, mut operands) = (Vec::new(), true, 0);
    for condition in conditions {
        let made = Column::of(&condition.target).and_then(|column| Maker { column }.clause(&condition.test));
        match made {
            Some((clause, is_exact)) if operands + clause.operands.len() <= OPERANDS_MAX => {
                operands += clause.operands.len();
                exact &= is_exact;
                clauses.push(clause);
            }
            _ => exact = false,
        }
    }
    (clauses, exact)
}

/// Entities of one type.
pub(super) fn of_type(entity_type: &str) -> Clause {
    Clause {
        sql: "e.entity_type = ?".to_owned(),
        operands: vec![Cell::Text(entity_type.to_owned())],
        leads: Some(Column::Type),
        is_equality: true,
    }
}

struct Maker {
    column: Column,
}

impl Maker {
    fn clause(&self, test: &Test) -> Option<(Clause, bool)> {
        match self.column.storage() {
            Storage::Text => self.on_text(test),
            Storage::Integer => self.on_integer(test),
            Storage::Time => self.on_time(test),
            Storage::Key => self.on_key(test),
        }
    }

    fn made(&self, sql: String, operands: Vec<Cell>, leads: bool, is_equality: bool) -> Clause {
        Clause { sql, operands, leads: leads.then(|| self.column.clone()), is_equality }
    }

    fn always(&self, holds: bool) -> Option<(Clause, bool)> {
        Some((self.made(if holds { "1" } else { "0" }.to_owned(), Vec::new(), false, false), true))
    }

    fn compared(&self, operator: &str, operand: Cell) -> Option<(Clause, bool)> {
        let sql = format!("{} {operator} ?", self.column.sql());
        let (leads, is_equality) = (operator != "<>", operator == "=");
        Some((self.made(sql, vec![operand], leads, is_equality), true))
    }

    fn between(&self, low: Cell, high: Cell, exact: bool) -> Option<(Clause, bool)> {
        let column = self.column.sql();
        let sql = format!("{column} >= ? AND {column} < ?");
        Some((self.made(sql, vec![low, high], true, false), exact))
    }

    fn listed(&self, operands: Vec<Cell>, wanted: bool) -> Option<(Clause, bool)> {
        if operands.is_empty() {
            return self.always(!wanted);
        }
        let places = vec!["?"; operands.len()].join(", ");
        let not = if wanted { "" } else { "NOT " };
        let sql = format!("{} {not}IN ({places})", self.column.sql());
        Some((self.made(sql, operands, wanted, false), true))
    }

    fn on_text(&self, test: &Test) -> Option<(Clause, bool)> {
        match test {
            Test::StartsWith(start) => match successor(start) {
                Some(end) => self.between(Cell::Text(start.clone()), Cell::Text(end), true),
                None => self
                    .compared(">=", Cell::Text(start.clone()))
                    .map(|(clause, _)| (clause, start.is_empty())),
            },
            other => self.on_scalar(other, |value| value.as_str().map(|text| Cell::Text(text.to_owned()))),
        }
    }

    fn on_integer(&self, test: &Test) -> Option<(Clause, bool)> {
        // SQLite compares integers with floats by value, and no float beyond 64 bits is rounded into them.
        self.on_scalar(test, |value| {
            let number = Num::of(value.as_number()?);
            Some(match number {
                Num::Whole(whole) => i64::try_from(whole).map_or(Cell::Real(whole as f64), Cell::Integer),
                Num::Other(float) => Cell::Real(float),
            })
        })
    }

    /// A test of a column with values of one type, `cell` giving an operand of that type. These columns are never null,
    /// and their fields never missing.
    fn on_scalar(&self, test: &Test, cell: impl Fn(&Value) -> Option<Cell>) -> Option<(Clause, bool)> {
        let compared = |operator: &str, operand: &Value| self.compared(operator, cell(operand)?);
        match test {
            Test::Eq(Value::Null) => self.always(false),
            Test::Ne(Value::Null) => self.always(true),
            Test::Eq(operand) => compared("=", operand),
            Test::Ne(operand) => compared("<>", operand),
            Test::Gt(operand) => compared(">", operand),
            Test::Gte(operand) => compared(">=", operand),
            Test::Lt(operand) => compared("<", operand),
            Test::Lte(operand) => compared("<=", operand),
            Test::In(operands) => self.listed(operands.iter().filter_map(cell).collect(), true),
            Test::Nin(operands) => self.listed(operands.iter().filter_map(cell).collect(), false),
            Test::Exists(wanted) => self.always(*wanted),
            Test::Contains(_) | Test::StartsWith(_) => None,
        }
    }

    /// An operand is a whole date-time, which stands for its instant, or a date, which is a text before all of its day.
    fn on_time(&self, test: &Test) -> Option<(Clause, bool)> {
        let instant = |value: &Value| value.as_str().and_then(micros).map(Cell::Integer);
        let bound = |at_instant: &str, at_date: &str, operand: &Value| match instant(operand) {
            Some(instant) => self.compared(at_instant, instant),
            None => {
                self.compared(at_date, Cell::Integer(micros(&format!("{}T00:00:00Z", operand.as_str()?))?))
            }
        };
        match test {
            Test::Eq(operand) => match instant(operand) {
                Some(instant) => self.compared("=", instant),
                None => self.always(false),
            },
            Test::Ne(operand) => match instant(operand) {
                Some(instant) => self.compared("<>", instant),
                None => self.always(true),
            },
            Test::Gt(operand) => bound(">", ">=", operand),
            Test::Gte(operand) => bound(">=", ">=", operand),
            Test::Lt(operand) => bound("<", "<", operand),
            Test::Lte(operand) => bound("<=", "<", operand),
            Test::In(operands) => self.listed(operands.iter().filter_map(instant).collect(), true),
            Test::Nin(operands) => self.listed(operands.iter().filter_map(instant).collect(), false),
            Test::Exists(wanted) => self.always(*wanted),
            Test::Contains(_) | Test::StartsWith(_) => None,
        }
    }

    fn on_key(&self, test: &Test) -> Option<(Clause, bool)> {
        let blob = |key: &Key<'_>| Cell::Blob(key.encode());
        let whole = |operands: &[Value]| operands.iter().all(|operand| Key::of(operand).is_whole());
        let all = |operands: &[Value]| operands.iter().map(|operand| blob(&Key::of(operand))).collect();
        match test {
            Test::Eq(operand) => {
                let key = Key::of(operand);
                self.compared("=", blob(&key)).map(|(clause, _)| (clause, key.is_whole()))
            }
            Test::Ne(operand) if Key::of(operand).is_whole() => self.compared("<>", blob(&Key::of(operand))),
            Test::In(operands) => {
                self.listed(all(operands), true).map(|(clause, _)| (clause, whole(operands)))
            }
            Test::Nin(operands) if whole(operands) => self.listed(all(operands), false),
            // Of a string that was cut, longer ones begin alike and stand on either side.
            Test::Gt(operand) | Test::Gte(operand) => {
                let (key, kind) = (Key::of(operand), kind(operand)?);
                let operator = if matches!(test, Test::Gt(_)) && key.is_whole() { ">" } else { ">=" };
                self.ranged(operator, "<", [key.encode(), kind.end()], key.is_whole())
            }
            Test::Lt(operand) | Test::Lte(operand) => {
                let (key, kind) = (Key::of(operand), kind(operand)?);
                let operator = if matches!(test, Test::Lt(_)) && key.is_whole() { "<" } else { "<=" };
                self.ranged(">=", operator, [kind.start(), key.encode()], key.is_whole())
            }
            Test::StartsWith(start) => {
                let value = Value::from(start.as_str());
                let key = Key::of(&value);
                let low = key.encode();
                let mut high = low.clone();
                // No byte of UTF-8, and no mark of a type, is the highest there is.
                *high.last_mut()? += 1;
                let cut = !matches!(&key, Key::Text(text) if text.len() == start.len());
                self.between(Cell::Blob(low), Cell::Blob(high), !cut)
            }
            // A value that is missing has the key of null, but so has null.
            Test::Exists(false) => self.compared("=", blob(&Key::Null)).map(|(clause, _)| (clause, false)),
            Test::Ne(_) | Test::Nin(_) | Test::Exists(true) | Test::Contains(_) => None,
        }
    }

    fn ranged(&self, low: &str, high: &str, keys: [Vec<u8>; 2], exact: bool) -> Option<(Clause, bool)> {
        let column = self.column.sql();
        let sql = format!("{column} {low} ? AND {column} {high} ?");
        Some((self.made(sql, keys.map(Cell::Blob).to_vec(), true, false), exact))
    }
}

fn kind(operand: &Value) -> Option<Type> {
    match operand {
        Value::Number(_) => Some(Type::Number),
        Value::String(_) => Some(Type::Text),
        _ => None,
    }
}

/// The first text behind all that begin with this one, if there is one.
fn successor(start: &str) -> Option<String> {
    let mut end = start.to_owned();
    while let Some(last) = end.pop() {
        let next = match last {
            '\u{D7FF}' => Some('\u{E000}'),
            other => char::from_u32(u32::from(other) + 1),
        };
        if let Some(next) = next {
            end.push(next);
            return Some(end);
        }
    }
    None
}
