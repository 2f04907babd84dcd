//! Queries over the table: SQL narrows and orders by what it has indexes on, and the one evaluator decides the rest.
//!
//! A statement may hand over more rows than the filter accepts, never fewer, and says of itself whether its conditions
//! are the whole filter. So whatever is planned here, the answer is what [`aql::query::Query::run`] would make of all entities;
//! a test holds it to that.
//!
//! - The page of a query is read along the index of its first sort key, from the cursor on, until it is full.
//! - Where few rows meet an indexed condition, only those are read, or only those are looked at along the way.
//! - Where neither is possible, all rows that meet the conditions pass through the evaluator, which keeps a page of them.
//! - Aggregations over columns are grouped in SQL and counted in by group.

mod column;
mod grouped;
mod narrow;
mod page;
mod parts;
mod rows;
mod words;

use aql::error::Error as Refused;
use aql::query::{Answer, Beyond, Gather, Query};
use jiff::Timestamp;
use rusqlite::Connection;

use self::narrow::Clause;
use self::rows::Rows;
use super::EntityStore;
use super::indexes::Indexes;
use crate::store::Error;

/// Which entities a query is over, before its filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Find {
    pub entity_type: Option<String>,
    /// Words and quoted phrases, any of which has to occur. The query has to be one over
    /// [`search`](super::collection::search) then, and over [`list`](super::collection::list) otherwise.
    pub words: Option<String>,
}

impl EntityStore {
    /// Answers a query, all of it from one state of the store. It is refused where its answer would be too large.
    pub async fn query(
        &self,
        query: Query,
        find: Find,
        now: Timestamp,
    ) -> Result<Result<Answer, Refused>, Error> {
        self.database
            .read(move |connection| {
                let snapshot = connection.unchecked_transaction()?;
                match answer(&snapshot, &query, &find, now) {
                    Ok(answer) => Ok(Ok(answer)),
                    Err(Stop::Refused(refused)) => Ok(Err(*refused)),
                    Err(Stop::Failed(error)) => Err(error),
                }
            })
            .await
    }
}

/// Why there is no answer.
enum Stop {
    Refused(Box<Refused>),
    Failed(Error),
}

impl From<Refused> for Stop {
    fn from(refused: Refused) -> Self {
        Self::Refused(Box::new(refused))
    }
}

impl From<rusqlite::Error> for Stop {
    fn from(cause: rusqlite::Error) -> Self {
        Self::Failed(cause.into())
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Everything a plan is made of.
struct Task<'a> {
    connection: &'a Connection,
    query: &'a Query,
    now: Timestamp,
    indexes: Indexes,
    clauses: Vec<Clause>,
    /// Whether who meets all clauses is accepted.
    exact: bool,
    rows: Rows,
}

fn answer(connection: &Connection, query: &Query, find: &Find, now: Timestamp) -> Result<Answer, Stop> {
    let conjuncts = query.filter().conjuncts();
    let (mut clauses, exact) = narrow::clauses(conjuncts);
    let exact = exact && query.filter().is_conjunctive();
    clauses.extend(find.entity_type.as_deref().map(narrow::of_type));
    let indexes = Indexes::of(connection)?;
    let task = Task { connection, query, now, indexes, clauses, exact, rows: Rows::of(query) };
    match &find.words {
        Some(words) => task.search(words),
        None => task.list(),
    }
}

impl Task<'_> {
    fn list(&self) -> Result<Answer, Stop> {
        if self.query.aggregates().is_empty() {
            return self.page(self.query.gather(self.now));
        }
        match self.grouped()? {
            Some(gather) if self.query.wants_items() => self.page(gather),
            Some(gather) => Ok(gather.finish(Beyond::default())),
            None => self.scan(self.query.gather(self.now)),
        }
    }

    /// Every row that meets the clauses, through the evaluator.
    fn scan(&self, mut gather: Gather<'_>) -> Result<Answer, Stop> {
        let (condition, operands) = conditions(&self.clauses);
        let sql = format!("{} NOT INDEXED WHERE {condition}", self.rows.select());
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut found = statement.query(rusqlite::params_from_iter(operands))?;
        while let Some(row) = found.next()? {
            gather.offer(self.rows.item(row)?)?;
        }
        Ok(gather.finish(Beyond { total: self.total()?, ..Beyond::default() }))
    }

    /// How many entities are accepted, where that is asked for and SQL can tell.
    fn total(&self) -> Result<Option<usize>, Error> {
        if !self.exact || !self.query.wants_total() {
            return Ok(None);
        }
        let (condition, operands) = conditions(&self.clauses);
        let sql = format!("SELECT count(*) FROM entities e WHERE {condition}");
        let count: i64 = self
            .connection
            .prepare_cached(&sql)?
            .query_row(rusqlite::params_from_iter(operands), |row| row.get(0))?;
        Ok(usize::try_from(count).ok())
    }
}

/// All of the clauses as one condition, with its operands.
fn conditions(clauses: &[Clause]) -> (String, Vec<rusqlite::types::Value>) {
    if clauses.is_empty() {
        return ("1".to_owned(), Vec::new());
    }
    let parts: Vec<String> = clauses.iter().map(|clause| format!("({})", clause.sql)).collect();
    (parts.join(" AND "), clauses.iter().flat_map(|clause| clause.operands.clone()).collect())
}
