//! Which server was called within requests that were served.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use super::{
    super::{
        super::Error,
        appender::number,
        day::Part,
        members,
        readers::Days,
        rows::SpanRow,
        schema::{kind_code, kind_of},
    },
    Cursor,
};
use crate::trace::{Kind, Nanos, SpanId, TraceId};

/// Spans that are looked at of one trace, and for one page. What lies behind them is not named.
const TRACE_SPANS_MAX: usize = 5_000;
const PAGE_SPANS_MAX: usize = 50_000;

/// How deep a call may lie within a request.
const DEPTH_MAX: usize = 64;

/// Says of every request that was served which server was called first within it, however deep, and not within another
/// request. Only the file that a request is in is asked.
pub(in super::super) fn name_servers(days: &Days<'_>, found: &mut [(Cursor, SpanRow)]) -> Result<(), Error> {
    let mut wanted: HashMap<Part, HashSet<TraceId>> = HashMap::new();
    for (cursor, row) in found.iter().filter(|(_, row)| is_wanted(row)) {
        if let Ok(trace) = row.trace_id.parse() {
            wanted.entry(cursor.part()).or_default().insert(trace);
        }
    }
    let mut room = PAGE_SPANS_MAX;
    let mut servers = HashMap::new();
    for (part, traces) in wanted {
        days.with(part, |connection| {
            for trace in traces {
                room -= of_trace(connection, part, trace, room.min(TRACE_SPANS_MAX), &mut servers)?;
            }
            Ok(())
        })?;
    }
    for (cursor, row) in found.iter_mut().filter(|(_, row)| is_wanted(row)) {
        let (Ok(trace), Ok(span)) = (row.trace_id.parse::<TraceId>(), row.span_id.parse::<SpanId>()) else {
            continue;
        };
        row.server = servers.get(&(cursor.part(), trace, number(span))).cloned();
    }
    Ok(())
}

fn is_wanted(row: &SpanRow) -> bool {
    row.kind == Kind::Server.as_str() && row.server.is_none()
}

/// The servers of all requests of a trace. How many spans were looked at.
fn of_trace(
    connection: &Connection,
    part: Part,
    trace: TraceId,
    most: usize,
    servers: &mut HashMap<(Part, TraceId, i64), String>,
) -> Result<usize, Error> {
    let statement = format!(
        "SELECT s.span, s.parent, s.kind, s.started, iif(s.kind = {}, s.peer, NULL) FROM {} WHERE r.trace = ?1 LIMIT ?2",
        kind_code(Kind::Client),
        members::OF_TRACE,
    );
    let mut statement = connection.prepare_cached(&statement)?;
    let mut rows = statement.query((trace.0, i64::try_from(most).unwrap_or_default()))?;
    let mut spans: HashMap<i64, (Option<i64>, Kind)> = HashMap::new();
    let mut calls: Vec<(Nanos, i64, String)> = Vec::new();
    while let Some(row) = rows.next()? {
        let span = row.get(0)?;
        spans.insert(span, (row.get(1)?, kind_of(row.get(2)?)));
        if let Some(peer) = row.get(4)? {
            calls.push((row.get(3)?, span, peer));
        }
    }
    calls.sort_unstable();
    for (_, call, peer) in calls {
        let above = std::iter::successors(Some(call), |span| spans.get(span).and_then(|(parent, _)| *parent));
        let mut above = above.take(DEPTH_MAX);
        let served = above.find(|span| matches!(spans.get(span), Some((_, Kind::Server))));
        if let Some(served) = served {
            servers.entry((part, trace, served)).or_insert(peer);
        }
    }
    Ok(spans.len())
}
