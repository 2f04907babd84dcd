//! Searches: which entities the words find, how well, and pages of them.
//!
//! Every word or phrase has a weight, the greater the rarer it is, and every column one of its own. An entity's score is
//! the sum over the words it has of both multiplied, for each column that has the word. The weights of a series' words are taken at its
//! first page and carried by its cursors: so the score of an entity that nobody changes is the same on every page,
//! whatever else comes and goes, and it stays where it was. Equal scores stand in the order of creation.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aql::query::order::{Key, Num};
use aql::query::{Answer, Beyond, Gather, Order, Window, path::Target};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Value, json};

use super::super::collection::{RELEVANCE, ROW};
use super::super::search;
use super::{Stop, Task};
use crate::store::Error;

/// What a word counts in each column of the text index.
const COLUMNS: [(&str, u64); 4] = [("name", 20), ("tags", 8), ("description", 2), ("metadata", 1)];
/// Weights are whole numbers, small enough for a cursor and fine enough to tell rare words from common ones.
const WEIGHT_STEPS: f64 = 8.0;

/// An entity that words were found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hit {
    row: i64,
    score: u64,
}

/// Where a hit stands: the best first, then the oldest.
type Rank = (Reverse<u64>, i64);

impl Hit {
    fn rank(self) -> Rank {
        (Reverse(self.score), self.row)
    }
}

impl Task<'_> {
    pub(super) fn search(&self, words: &str) -> Result<Answer, Stop> {
        let terms = search::quoted_terms(words);
        let (hits, note) = find(self.connection, &terms, self.query.note())?;
        let gather = self.query.gather(self.now);
        let counted = !self.query.wants_total() || (self.exact && self.clauses.is_empty());
        let total = (counted && self.query.wants_total()).then_some(hits.len());
        let beyond = Beyond { total, note: Some(note), ..Beyond::default() };
        match self.cursor_rank() {
            Some(place) if self.query.aggregates().is_empty() && counted => {
                self.best(hits, place, beyond, gather.in_order())
            }
            _ => self.all(hits, beyond, gather),
        }
    }

    /// The page of hits in the order of their scores.
    fn best(
        &self,
        hits: Vec<Hit>,
        place: Option<Rank>,
        beyond: Beyond,
        mut gather: Gather<'_>,
    ) -> Result<Answer, Stop> {
        let backwards = matches!(self.query.window(), Window::Last { .. });
        let (before, after): (Vec<Hit>, Vec<Hit>) = match place {
            None if backwards => (hits, Vec::new()),
            None => (Vec::new(), hits),
            Some(place) if backwards => hits.into_iter().partition(|hit| hit.rank() < place),
            Some(place) => hits.into_iter().partition(|hit| hit.rank() <= place),
        };
        let (mut fetch, operands) = self.fetch_meeting()?;
        let mut show = |hit: Hit, gather: &mut Gather<'_>| {
            let operands = [Cell::Integer(hit.row)].into_iter().chain(operands.iter().cloned());
            let mut found = fetch.query(params_from_iter(operands))?;
            if let Some(row) = found.next()? {
                gather.show(self.rows.found(row, hit.score)?);
            }
            Ok::<_, Stop>(())
        };
        // A heap gives the first few without sorting the rest.
        let mut forwards: BinaryHeap<Reverse<Rank>> =
            after.into_iter().map(|hit| Reverse(hit.rank())).collect();
        let mut back: BinaryHeap<Rank> = before.into_iter().map(Hit::rank).collect();
        let mut next = |ahead: bool| {
            let rank = if ahead { forwards.pop().map(|Reverse(rank)| rank) } else { back.pop() };
            rank.map(|(Reverse(score), row)| Hit { row, score })
        };
        while !gather.is_full() {
            let Some(hit) = next(!backwards) else { break };
            show(hit, &mut gather)?;
        }
        while !gather.knows_other_side() {
            let Some(hit) = next(backwards) else { break };
            show(hit, &mut gather)?;
        }
        Ok(gather.finish(beyond))
    }

    /// All hits, whatever they are sorted by.
    fn all(&self, hits: Vec<Hit>, beyond: Beyond, mut gather: Gather<'_>) -> Result<Answer, Stop> {
        let (mut statement, operands) = self.fetch_meeting()?;
        for hit in hits {
            let operands = [Cell::Integer(hit.row)].into_iter().chain(operands.iter().cloned());
            let mut found = statement.query(params_from_iter(operands))?;
            if let Some(row) = found.next()? {
                gather.offer(self.rows.found(row, hit.score)?)?;
            }
        }
        Ok(gather.finish(beyond))
    }

    /// The cursor's place among the scores, if hits are wanted in their order.
    fn cursor_rank(&self) -> Option<Option<Rank>> {
        let [score, row] = self.query.sort().keys() else { return None };
        let by_score = matches!(&score.target, Target::Computed(field) if field.name() == RELEVANCE);
        let by_row = row.target.stored().is_some_and(|path| path.to_string() == ROW);
        if !by_score || !by_row || (score.order, row.order) != (Order::Desc, Order::Asc) {
            return None;
        }
        let place = match self.query.window() {
            Window::First { after, .. } => after.as_ref(),
            Window::Last { before, .. } => before.as_ref(),
            Window::Offset { .. } | Window::Page { .. } => None,
        };
        let Some(place) = place else { return Some(None) };
        let whole = |key: &Key<'_>| match key {
            Key::Number(Num::Whole(whole)) => Some(*whole),
            _ => None,
        };
        let score = u64::try_from(whole(place.keys.first()?)?).ok()?;
        Some(Some((Reverse(score), i64::try_from(whole(&place.id)?).ok()?)))
    }
}

/// The entities that any of the terms is found in, by row, and the weights that they were scored with.
fn find(connection: &Connection, terms: &[String], note: Option<&Value>) -> Result<(Vec<Hit>, Value), Error> {
    let all: i64 = connection
        .prepare_cached("SELECT coalesce(max(row), 0) FROM entities")?
        .query_row([], |row| row.get(0))?;
    let noted: Vec<u64> =
        note.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64).collect();
    let (mut hits, mut weights) = (Vec::new(), Vec::new());
    for (number, term) in terms.iter().enumerate() {
        let mut found = matches(connection, term)?;
        let weight = noted.get(number).copied().unwrap_or_else(|| weight(all, found.len()));
        weights.push(weight);
        found.iter_mut().for_each(|hit| hit.score = hit.score.saturating_mul(weight));
        // One term after the other, so that no more is held than the entities found and one term's hits.
        hits.append(&mut found);
        hits = merged(hits);
    }
    Ok((hits, json!(weights)))
}

/// The rows of one term, scored by the columns it stands in.
fn matches(connection: &Connection, term: &str) -> Result<Vec<Hit>, Error> {
    let mut statement =
        connection.prepare_cached("SELECT rowid FROM entities_text WHERE entities_text MATCH ?1")?;
    let mut hits = Vec::new();
    for (column, score) in COLUMNS {
        let mut found = statement.query([format!("{column} : {term}")])?;
        while let Some(row) = found.next()? {
            hits.push(Hit { row: row.get(0)?, score });
        }
        hits = merged(hits);
    }
    Ok(hits)
}

/// One hit for each row, with the sum of its scores.
fn merged(mut hits: Vec<Hit>) -> Vec<Hit> {
    // What is joined here comes in order of its rows, and this sort only joins what is in order.
    hits.sort_by_key(|hit| hit.row);
    hits.dedup_by(|next, kept| {
        let same = next.row == kept.row;
        if same {
            kept.score = kept.score.saturating_add(next.score);
        }
        same
    });
    hits
}

/// Twice as rare is one doubling more.
fn weight(all: i64, found: usize) -> u64 {
    let (all, found) = (all.max(1) as f64, found.max(1) as f64);
    ((1.0 + all / found).log2() * WEIGHT_STEPS).round().max(1.0) as u64
}
