//! Who called whom, over any number of processes that reported here.

mod named;

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::Connection;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    super::Error,
    TraceStore, members,
    readers::Days,
    schema::{kind_code, status_of},
    servers::Tally,
};
use crate::trace::{Kind, Nanos, Status};

/// Requests that are looked at, of each side. Beyond that the oldest are left out, which is told.
const REQUESTS_MAX: usize = 250_000;

/// Requests of which is looked for who reported what they were made within, the newest first.
const LOOKED_FOR_MAX: usize = 5_000;

/// What nobody gave a name.
const UNKNOWN: &str = "unknown";

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Graph {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    /// There was more than is looked at.
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Node {
    pub id: String,
    pub kind: NodeKind,
    pub label: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// Who asked, and reports nothing itself.
    Client,
    /// Who reports.
    Agent,
    /// Who was called, and reports nothing itself.
    Server,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Edge {
    pub from: String,
    pub to: String,
    pub calls: u64,
    pub errors: u64,
    pub p50_us: Option<i64>,
    pub p95_us: Option<i64>,
}

/// One side of a request.
struct Side {
    trace: [u8; 16],
    span: i64,
    parent: Option<i64>,
    agent: String,
    /// Who was called, or who asks.
    other: Option<String>,
    request: Option<String>,
    started: Nanos,
    ended: Option<Nanos>,
    waited: Nanos,
    status: Status,
}

impl TraceStore {
    /// Calls since then. A request that both sides reported is one call between them: they are known to belong together by
    /// the trace that the one passed on to the other, or by the request's id.
    pub async fn graph(&self, since: Nanos) -> Result<Graph, Error> {
        let read = move |days: &Days<'_>| {
            let (mut asked, mut served) = (Vec::new(), Vec::new());
            days.each(|_, connection| {
                sides(
                    connection,
                    "spans_calls",
                    "peer IS NOT NULL",
                    "peer",
                    Kind::Client,
                    since,
                    &mut asked,
                )?;
                sides(connection, "spans_roots", "root", "client", Kind::Server, since, &mut served)
            })?;
            let truncated = asked.len() >= REQUESTS_MAX || served.len() >= REQUESTS_MAX;
            let above = above(days, &asked, &served)?;
            let reporting = named::reporting(days, &asked, &served)?;
            Ok(Graph { truncated, ..stitch(&asked, &served, &above, &reporting) })
        };
        self.shared.readers.run(read).await
    }
}

fn sides(
    connection: &Connection,
    index: &str,
    condition: &str,
    other: &str,
    kind: Kind,
    since: Nanos,
    sides: &mut Vec<Side>,
) -> Result<(), Error> {
    let statement = format!(
        "SELECT trace, span, parent, agent, {other}, request, started, ended, waited, status FROM spans INDEXED BY {index}
         WHERE {condition} AND kind = {} AND started >= ?1 ORDER BY started DESC LIMIT ?2",
        kind_code(kind),
    );
    let room = i64::try_from(REQUESTS_MAX.saturating_sub(sides.len())).unwrap_or_default();
    let mut statement = connection.prepare_cached(&statement)?;
    let mut rows = statement.query((since, room))?;
    while let Some(row) = rows.next()? {
        sides.push(Side {
            trace: row.get(0)?,
            span: row.get(1)?,
            parent: row.get(2)?,
            agent: row.get::<_, Option<String>>(3)?.unwrap_or_else(|| UNKNOWN.to_owned()),
            other: row.get(4)?,
            request: row.get(5)?,
            started: row.get(6)?,
            ended: row.get(7)?,
            waited: row.get(8)?,
            status: status_of(row.get(9)?),
        });
    }
    Ok(())
}

/// A span of a trace.
type Id = ([u8; 16], i64);

/// Who reported the spans that requests were made within, where those say nothing of whom they asked: an agent's own step, or a
/// library's HTTP request.
fn above(days: &Days<'_>, asked: &[Side], served: &[Side]) -> Result<HashMap<Id, String>, Error> {
    let asked: HashSet<Id> = asked.iter().map(|side| (side.trace, side.span)).collect();
    let within = served.iter().filter_map(|side| Some((side.trace, side.parent?)));
    let wanted: HashSet<Id> = within.filter(|id| !asked.contains(id)).take(LOOKED_FOR_MAX).collect();
    let traces: HashSet<[u8; 16]> = wanted.iter().map(|(trace, _)| *trace).collect();
    let mut found = HashMap::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    days.each(|part, connection| {
        if !part.is_reported() {
            return Ok(());
        }
        let statement = format!("SELECT s.span, s.agent FROM {} WHERE r.trace = ?1", members::OF_TRACE);
        let mut statement = connection.prepare_cached(&statement)?;
        for trace in &traces {
            let mut rows = statement.query([trace])?;
            while let Some(row) = rows.next()? {
                let id = (*trace, row.get(0)?);
                if wanted.contains(&id)
                    && let Some(agent) = row.get(1)?
                {
                    found.insert(id, agent);
                }
            }
        }
        Ok(())
    })?;
    Ok(found)
}

fn stitch(
    asked: &[Side],
    served: &[Side],
    above: &HashMap<Id, String>,
    reporting: &HashSet<named::Pair>,
) -> Graph {
    let by_parent: HashMap<Id, &Side> =
        served.iter().filter_map(|side| Some(((side.trace, side.parent?), side))).collect();
    let by_request: HashMap<&str, &Side> =
        served.iter().filter_map(|side| Some((side.request.as_deref()?, side))).collect();
    let mut nodes = BTreeMap::new();
    let mut node = |kind: NodeKind, label: &str| {
        let word = match kind {
            NodeKind::Client => "client",
            NodeKind::Agent => "agent",
            NodeKind::Server => "server",
        };
        let id = format!("{word}:{label}");
        nodes.entry(id.clone()).or_insert_with(|| Node { id: id.clone(), kind, label: label.to_owned() });
        id
    };
    let mut edges: BTreeMap<(String, String), Tally> = BTreeMap::new();
    // Requests whose other side is known, with who that is.
    let mut callers: HashMap<Id, String> = HashMap::new();
    for side in asked {
        // The same id within one process is that of the request it serves, not of who answers it.
        let elsewhere = side.request.as_deref().and_then(|id| by_request.get(id));
        let elsewhere = elsewhere.filter(|found| found.agent != side.agent);
        let other = by_parent.get(&(side.trace, side.span)).or(elsewhere);
        let to = match other {
            Some(other) => {
                callers.insert((other.trace, other.span), side.agent.clone());
                node(NodeKind::Agent, &other.agent)
            }
            None => {
                let peer = side.other.clone().unwrap_or_else(|| UNKNOWN.to_owned());
                let pair = (side.agent.clone(), peer);
                let kind = if reporting.contains(&pair) { NodeKind::Agent } else { NodeKind::Server };
                node(kind, &pair.1)
            }
        };
        let from = node(NodeKind::Agent, &side.agent);
        edges.entry((from, to)).or_default().add(side.started, side.ended, side.waited, side.status);
    }
    let known = named::known(served, &callers, above);
    for side in served.iter().filter(|side| !callers.contains_key(&(side.trace, side.span))) {
        let reporter = side.parent.and_then(|parent| above.get(&(side.trace, parent)));
        let reporter = reporter.filter(|agent| **agent != side.agent).map(String::as_str);
        let from = match reporter.or_else(|| named::asking(side, &known)) {
            Some(agent) => node(NodeKind::Agent, agent),
            None => node(NodeKind::Client, side.other.as_deref().unwrap_or(UNKNOWN)),
        };
        let to = node(NodeKind::Agent, &side.agent);
        edges.entry((from, to)).or_default().add(side.started, side.ended, side.waited, side.status);
    }
    let edges = edges.into_iter().map(|((from, to), mut tally)| {
        let [p50_us, p95_us, _] = tally.percentiles();
        Edge { from, to, calls: tally.calls, errors: tally.errors, p50_us, p95_us }
    });
    Graph { edges: edges.collect(), nodes: nodes.into_values().collect(), truncated: false }
}
