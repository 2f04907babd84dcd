//! How the servers did that were called.

use std::collections::HashMap;

use rusqlite::Connection;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::Error,
    TraceStore,
    readers::Days,
    rows::micros,
    schema::{kind_code, status_of},
};
use crate::trace::{Kind, Nanos, Status};

/// Points of a plot.
const POINTS_MAX: i64 = 60;
const POINT_NANOS_MIN: i64 = 60 * 1_000_000_000;

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ServerStats {
    pub server: String,
    pub calls: u64,
    pub errors: u64,
    pub running: u64,
    pub p50_us: Option<i64>,
    pub p95_us: Option<i64>,
    pub p99_us: Option<i64>,
    /// When it was called last.
    pub last_us: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OperationStats {
    pub operation: String,
    pub calls: u64,
    pub errors: u64,
    pub p50_us: Option<i64>,
    pub p95_us: Option<i64>,
    pub p99_us: Option<i64>,
    /// What its answers asked of their readers, where that was counted.
    pub tokens: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LatencyRow {
    pub at_us: i64,
    pub p50_us: Option<i64>,
    pub p95_us: Option<i64>,
    pub p99_us: Option<i64>,
    pub calls: u64,
    pub errors: u64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerDetails {
    pub server: ServerStats,
    pub operations: Vec<OperationStats>,
    pub latency: Vec<LatencyRow>,
}

/// What the answers of an operation asked of their readers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenRow {
    pub operation: String,
    pub calls: u64,
    /// As they were counted; where nobody did, estimated as a quarter of the bytes of recorded results.
    pub result_tokens: u64,
}

/// One call to a server.
struct Call {
    peer: String,
    operation: String,
    started: Nanos,
    ended: Option<Nanos>,
    status: Status,
    tokens: Option<u64>,
}

/// What is counted of some calls.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) calls: u64,
    pub(super) errors: u64,
    running: u64,
    durations: Vec<i64>,
    last: Option<Nanos>,
    tokens: Option<u64>,
}

impl Tally {
    pub(super) fn add(&mut self, started: Nanos, ended: Option<Nanos>, status: Status) {
        self.calls += 1;
        self.errors += u64::from(status == Status::Error);
        self.running += u64::from(matches!(status, Status::Running | Status::Waiting));
        self.durations.extend(ended.map(|ended| ended.saturating_sub(started).max(0) / 1000));
        self.last = self.last.max(Some(started));
    }

    fn add_call(&mut self, call: &Call) {
        self.add(call.started, call.ended, call.status);
        self.tokens = self.tokens.map_or(call.tokens, |known| Some(known + call.tokens.unwrap_or_default()));
    }

    /// The duration that so many of a hundred calls do not exceed.
    pub(super) fn percentiles(&mut self) -> [Option<i64>; 3] {
        self.durations.sort_unstable();
        let count = self.durations.len();
        [50, 95, 99].map(|percent| {
            let rank = (count * percent).div_ceil(100).max(1) - 1;
            self.durations.get(rank).copied()
        })
    }

    fn server(mut self, server: String) -> ServerStats {
        let [p50_us, p95_us, p99_us] = self.percentiles();
        let Self { calls, errors, running, last, .. } = self;
        ServerStats { server, calls, errors, running, p50_us, p95_us, p99_us, last_us: last.map(micros) }
    }
}

impl TraceStore {
    /// Every server that was called since then, by its name.
    pub async fn servers(&self, since: Nanos) -> Result<Vec<ServerStats>, Error> {
        let read = move |days: &Days<'_>| {
            let mut tallies: HashMap<String, Tally> = HashMap::new();
            calls(days, since, None, |call| tallies.entry(call.peer.clone()).or_default().add_call(&call))?;
            let mut servers: Vec<_> = tallies.into_iter().map(|(name, tally)| tally.server(name)).collect();
            servers.sort_unstable_by(|a, b| a.server.cmp(&b.server));
            Ok(servers)
        };
        self.shared.readers.run(read).await
    }

    /// One server with its operations, the most called first, and how it did over time.
    pub async fn server(&self, name: &str, since: Nanos, until: Nanos) -> Result<ServerDetails, Error> {
        let name = name.to_owned();
        let read = move |days: &Days<'_>| {
            let width = (until.saturating_sub(since) / POINTS_MAX).max(POINT_NANOS_MIN);
            let mut server = Tally::default();
            let mut operations: HashMap<String, Tally> = HashMap::new();
            let mut points: HashMap<i64, Tally> = HashMap::new();
            calls(days, since, Some(&name), |call| {
                server.add_call(&call);
                operations.entry(call.operation.clone()).or_default().add_call(&call);
                points.entry(call.started.div_euclid(width)).or_default().add_call(&call);
            })?;
            let mut operations: Vec<_> =
                operations.into_iter().map(|(name, tally)| operation(name, tally)).collect();
            operations
                .sort_unstable_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.operation.cmp(&b.operation)));
            let mut latency: Vec<_> =
                points.into_iter().map(|(place, tally)| point(place * width, tally)).collect();
            latency.sort_unstable_by_key(|point| point.at_us);
            Ok(ServerDetails { server: server.server(name), operations, latency })
        };
        self.shared.readers.run(read).await
    }

    /// What answers asked of their readers, by operation, the dearest first.
    pub async fn result_tokens(&self, since: Nanos) -> Result<Vec<TokenRow>, Error> {
        let read = move |days: &Days<'_>| {
            let mut rows: HashMap<String, (u64, u64)> = HashMap::new();
            days.each(|_, connection| {
                let mut statement = connection.prepare_cached(
                    "SELECT coalesce(operation, tool, method, name), count(*), sum(tokens) FROM spans INDEXED BY spans_roots
                     WHERE root AND started >= ?1 AND tokens IS NOT NULL GROUP BY 1",
                )?;
                let mut found = statement.query([since])?;
                while let Some(row) = found.next()? {
                    let (calls, tokens) = rows.entry(row.get(0)?).or_default();
                    *calls += u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
                    *tokens += u64::try_from(row.get::<_, i64>(2)?).unwrap_or_default();
                }
                Ok(())
            })?;
            let mut rows: Vec<_> = rows
                .into_iter()
                .map(|(operation, (calls, result_tokens))| TokenRow { operation, calls, result_tokens })
                .collect();
            rows.sort_unstable_by(|a, b| {
                b.result_tokens.cmp(&a.result_tokens).then_with(|| a.operation.cmp(&b.operation))
            });
            Ok(rows)
        };
        self.shared.readers.run(read).await
    }
}

fn operation(operation: String, mut tally: Tally) -> OperationStats {
    let [p50_us, p95_us, p99_us] = tally.percentiles();
    let Tally { calls, errors, tokens, .. } = tally;
    OperationStats { operation, calls, errors, p50_us, p95_us, p99_us, tokens }
}

fn point(at: Nanos, mut tally: Tally) -> LatencyRow {
    let [p50_us, p95_us, p99_us] = tally.percentiles();
    LatencyRow { at_us: micros(at), p50_us, p95_us, p99_us, calls: tally.calls, errors: tally.errors }
}

/// Hands on every call to a server, or to one of them.
fn calls(
    days: &Days<'_>,
    since: Nanos,
    server: Option<&str>,
    mut take: impl FnMut(Call),
) -> Result<(), Error> {
    days.each(|_, connection| calls_of_a_day(connection, since, server, &mut take))
}

fn calls_of_a_day(
    connection: &Connection,
    since: Nanos,
    server: Option<&str>,
    take: &mut impl FnMut(Call),
) -> Result<(), Error> {
    // The number stands in the text, as it does in the index.
    let statement = format!(
        "SELECT peer, coalesce(operation, tool, method, name), started, ended, status, tokens
         FROM spans INDEXED BY spans_calls
         WHERE peer IS NOT NULL AND started >= ?1 AND kind = {} AND (?2 IS NULL OR peer = ?2)",
        kind_code(Kind::Client),
    );
    let mut statement = connection.prepare_cached(&statement)?;
    let mut rows = statement.query((since, server))?;
    while let Some(row) = rows.next()? {
        take(Call {
            peer: row.get(0)?,
            operation: row.get(1)?,
            started: row.get(2)?,
            ended: row.get(3)?,
            status: status_of(row.get(4)?),
            tokens: row.get::<_, Option<i64>>(5)?.and_then(|tokens| u64::try_from(tokens).ok()),
        });
    }
    Ok(())
}
