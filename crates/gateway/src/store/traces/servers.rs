//! How the servers did that were called.

mod points;

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension};
use schemars::JsonSchema;
use serde::Serialize;

use self::points::Points;
use super::{
    super::Error,
    TraceStore,
    day::Source,
    readers::Days,
    rows::micros,
    schema::{kind_code, status_of},
};
use crate::trace::{Kind, Nanos, Status};

/// What we recorded counts. What others say counts only where we recorded nothing, and is marked.
const OURS_FIRST: [Source; 2] = [Source::Ours, Source::Reported];

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ServerStats {
    pub server: String,
    /// Only others say that it was called: nothing of this was recorded here.
    pub reported: bool,
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
    /// When it begins. Where nothing was called there are no percentiles.
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
    /// How long a point of it lasts.
    pub latency_width_us: i64,
}

/// What the answers of an operation asked of their readers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenRow {
    pub operation: String,
    /// Only others say so: nothing of this was recorded here.
    pub reported: bool,
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
    waited: Nanos,
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
    /// Time in which somebody else was waited for is not the called one's.
    pub(super) fn add(&mut self, started: Nanos, ended: Option<Nanos>, waited: Nanos, status: Status) {
        self.calls += 1;
        self.errors += u64::from(status == Status::Error);
        self.running += u64::from(matches!(status, Status::Running | Status::Waiting));
        let worked = |ended: Nanos| ended.saturating_sub(started).saturating_sub(waited.max(0)).max(0);
        self.durations.extend(ended.map(|ended| worked(ended) / 1000));
        self.last = self.last.max(Some(started));
    }

    fn add_call(&mut self, call: &Call) {
        self.add(call.started, call.ended, call.waited, call.status);
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

    fn server(mut self, server: String, source: Source) -> ServerStats {
        let [p50_us, p95_us, p99_us] = self.percentiles();
        let Self { calls, errors, running, last, .. } = self;
        let (reported, last_us) = (source == Source::Reported, last.map(micros));
        ServerStats { server, reported, calls, errors, running, p50_us, p95_us, p99_us, last_us }
    }
}

impl TraceStore {
    /// Every server that was called since then, by its name. What others report counts only for those that were not called
    /// from here.
    pub async fn servers(&self, since: Nanos) -> Result<Vec<ServerStats>, Error> {
        let read = move |days: &Days<'_>| {
            let mut servers: BTreeMap<String, ServerStats> = BTreeMap::new();
            for source in OURS_FIRST {
                let mut tallies: HashMap<String, Tally> = HashMap::new();
                calls(days, source, since, None, |call| {
                    if !servers.contains_key(&call.peer) {
                        tallies.entry(call.peer.clone()).or_default().add_call(&call);
                    }
                })?;
                let found =
                    tallies.into_iter().map(|(name, tally)| (name.clone(), tally.server(name, source)));
                servers.extend(found);
            }
            Ok(servers.into_values().collect())
        };
        self.shared.readers.run(read).await
    }

    /// One server with its operations, the most called first, and how it did over time. What others report counts only where it
    /// was not called from here, and not at all for one of ours.
    pub async fn server(
        &self,
        name: &str,
        is_ours: bool,
        since: Nanos,
        until: Nanos,
    ) -> Result<ServerDetails, Error> {
        let name = name.to_owned();
        let read = move |days: &Days<'_>| {
            let ours = details(days, Source::Ours, &name, since, until)?;
            if is_ours || ours.server.calls > 0 {
                return Ok(ours);
            }
            let theirs = details(days, Source::Reported, &name, since, until)?;
            Ok(if theirs.server.calls > 0 { theirs } else { ours })
        };
        self.shared.readers.run(read).await
    }

    /// What answers asked of their readers, by operation, the dearest first.
    pub async fn result_tokens(&self, since: Nanos) -> Result<Vec<TokenRow>, Error> {
        let read = move |days: &Days<'_>| {
            let mut rows: HashMap<String, TokenRow> = HashMap::new();
            for source in OURS_FIRST {
                of_source(days, source, |connection| {
                    let mut statement = connection.prepare_cached(
                        "SELECT coalesce(operation, tool, method, name), count(*), sum(tokens) FROM spans INDEXED BY spans_roots
                         WHERE root AND started >= ?1 AND tokens IS NOT NULL GROUP BY 1",
                    )?;
                    let mut found = statement.query([since])?;
                    while let Some(row) = found.next()? {
                        let operation: String = row.get(0)?;
                        let reported = source == Source::Reported;
                        let known = rows.entry(operation.clone()).or_insert(TokenRow {
                            operation,
                            reported,
                            calls: 0,
                            result_tokens: 0,
                        });
                        if known.reported == reported {
                            known.calls += u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
                            known.result_tokens += u64::try_from(row.get::<_, i64>(2)?).unwrap_or_default();
                        }
                    }
                    Ok(())
                })?;
            }
            let mut rows: Vec<_> = rows.into_values().collect();
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

/// Everything of one server that one source knows.
fn details(
    days: &Days<'_>,
    source: Source,
    name: &str,
    since: Nanos,
    until: Nanos,
) -> Result<ServerDetails, Error> {
    let first = first_call(days, source, name, since)?.unwrap_or(until);
    let points = Points::new(first, until);
    let mut server = Tally::default();
    let mut operations: HashMap<String, Tally> = HashMap::new();
    let mut over_time: HashMap<i64, Tally> = HashMap::new();
    calls(days, source, since, Some(name), |call| {
        server.add_call(&call);
        operations.entry(call.operation.clone()).or_default().add_call(&call);
        over_time.entry(points.of(call.started)).or_default().add_call(&call);
    })?;
    let mut operations: Vec<_> = operations.into_iter().map(|(name, tally)| operation(name, tally)).collect();
    operations.sort_unstable_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.operation.cmp(&b.operation)));
    let wanted = (points.first..=points.last).filter(|_| server.calls > 0);
    let latency = wanted.map(|place| {
        let tally = over_time.remove(&place).unwrap_or_default();
        point(place.saturating_mul(points.width), tally)
    });
    let latency = latency.collect();
    let server = server.server(name.to_owned(), source);
    Ok(ServerDetails { server, operations, latency, latency_width_us: points.width / 1000 })
}

/// When a server was called first since then.
fn first_call(days: &Days<'_>, source: Source, name: &str, since: Nanos) -> Result<Option<Nanos>, Error> {
    let statement = format!(
        "SELECT started FROM spans INDEXED BY spans_calls
         WHERE peer IS NOT NULL AND started >= ?1 AND kind = {} AND peer = ?2 ORDER BY started LIMIT 1",
        kind_code(Kind::Client),
    );
    let mut first: Option<Nanos> = None;
    of_source(days, source, |connection| {
        let mut statement = connection.prepare_cached(&statement)?;
        let found: Option<Nanos> = statement.query_row((since, name), |row| row.get(0)).optional()?;
        first = [first, found].into_iter().flatten().min();
        Ok(())
    })?;
    Ok(first)
}

/// Asks the files of one source.
fn of_source(
    days: &Days<'_>,
    source: Source,
    mut question: impl FnMut(&Connection) -> Result<(), Error>,
) -> Result<(), Error> {
    days.each(|part, connection| if part.source == source { question(connection) } else { Ok(()) })
}

/// Hands on every call to a server, or to one of them, that one source knows.
fn calls(
    days: &Days<'_>,
    source: Source,
    since: Nanos,
    server: Option<&str>,
    mut take: impl FnMut(Call),
) -> Result<(), Error> {
    of_source(days, source, |connection| calls_of_a_day(connection, since, server, &mut take))
}

fn calls_of_a_day(
    connection: &Connection,
    since: Nanos,
    server: Option<&str>,
    take: &mut impl FnMut(Call),
) -> Result<(), Error> {
    // The number stands in the text, as it does in the index.
    let statement = format!(
        "SELECT peer, coalesce(operation, tool, method, name), started, ended, waited, status, tokens
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
            waited: row.get(4)?,
            status: status_of(row.get(5)?),
            tokens: row.get::<_, Option<i64>>(6)?.and_then(|tokens| u64::try_from(tokens).ok()),
        });
    }
    Ok(())
}
