//! Which rows belong to a trace or a session: ranges of them.

use std::collections::{HashMap, HashSet};

use rusqlite::{CachedStatement, Connection};

use super::{super::Error, rows::SpanRow};
use crate::trace::TraceId;

/// Tables to read spans `s` of ranges `r` from.
pub(super) const OF_TRACE: &str = "trace_runs r CROSS JOIN spans s ON s.id BETWEEN r.first AND r.last";
pub(super) const OF_SESSION: &str = "session_runs r CROSS JOIN spans s ON s.id BETWEEN r.first AND r.last";

/// Traces with so many spans are remembered between batches; those of others are quickly read again.
const REMEMBERED_FROM: usize = 64;
/// Spans that are remembered, of all traces of a file.
const REMEMBERED_MAX: usize = 600_000;
/// A trace takes no more spans in one file; nobody is shown more either, and looking for each would keep others waiting.
pub(super) const TRACE_SPANS_MAX: usize = 500_000;

type Rows = HashMap<i64, i64, foldhash::fast::RandomState>;

/// The spans of a trace that are in a file.
#[derive(Default)]
pub(super) struct Members {
    /// The row of each.
    rows: Rows,
    /// Up to which row this is known.
    last: i64,
}

/// What is remembered of a file's traces, so that a long one that comes in many batches is not read again for each.
#[derive(Default)]
pub(super) struct Memory {
    traces: HashMap<TraceId, Members, foldhash::fast::RandomState>,
    spans: usize,
}

impl Members {
    pub(super) fn row(&self, span: i64) -> Option<i64> {
        self.rows.get(&span).copied()
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= TRACE_SPANS_MAX
    }

    fn bring_up(&mut self, lookups: &mut Lookups<'_>, trace: TraceId) -> Result<(), Error> {
        let mut ranges = lookups.ranges.query((trace.0, self.last))?;
        let mut last = self.last;
        while let Some(range) = ranges.next()? {
            let (from, to): (i64, i64) = (range.get(0)?, range.get(1)?);
            let mut found = lookups.spans.query((from, to))?;
            while let Some(span) = found.next()? {
                self.rows.insert(span.get(1)?, span.get(0)?);
            }
            last = last.max(to);
        }
        self.last = last;
        Ok(())
    }
}

/// What is asked for each trace of a batch.
pub(super) struct Lookups<'t> {
    ranges: CachedStatement<'t>,
    spans: CachedStatement<'t>,
}

impl<'t> Lookups<'t> {
    pub(super) fn new(connection: &'t Connection) -> Result<Self, Error> {
        Ok(Self {
            ranges: connection
                .prepare_cached("SELECT first, last FROM trace_runs WHERE trace = ?1 AND first > ?2")?,
            spans: connection.prepare_cached("SELECT id, span FROM spans WHERE id BETWEEN ?1 AND ?2")?,
        })
    }
}

impl Memory {
    /// What is in the file of a trace. It is handed back with [`Self::keep`] once it was used.
    pub(super) fn take(&mut self, lookups: &mut Lookups<'_>, trace: TraceId) -> Result<Members, Error> {
        let mut members = self.traces.remove(&trace).unwrap_or_default();
        self.spans -= members.rows.len().min(self.spans);
        members.bring_up(lookups, trace)?;
        Ok(members)
    }

    pub(super) fn keep(&mut self, trace: TraceId, members: Members) {
        if members.rows.len() < REMEMBERED_FROM {
            return;
        }
        if self.spans + members.rows.len() > REMEMBERED_MAX {
            *self = Self::default();
        }
        self.spans += members.rows.len();
        self.traces.insert(trace, members);
    }
}

/// Leaves each span once: what we recorded rather than what was reported, and else the first.
pub(super) fn once_each<T>(found: &mut Vec<T>, row: impl Fn(&T) -> &SpanRow) {
    let id = |row: &SpanRow| (row.trace_id.clone(), row.span_id.clone());
    let ours: HashSet<_> = found.iter().map(&row).filter(|row| !row.reported).map(id).collect();
    let mut seen = HashSet::new();
    found.retain(|one| {
        let row = row(one);
        let id = id(row);
        !(row.reported && ours.contains(&id)) && seen.insert(id)
    });
}
