//! Servers that report what they do, and clients that report what they ask: the same under two names.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use super::{
    super::{super::Error, members, readers::Days},
    Id, Side,
};

/// Traces that are looked at for a caller and whom it calls.
const TRACES_MAX: usize = 20;
/// Spans that are looked at of one trace, and how far up from each.
const SPANS_MAX: usize = 5_000;
const DEPTH_MAX: usize = 64;

/// A caller, and what it calls a server.
pub(super) type Pair = (String, String);

/// Pairs of which the server is the agent of the same name, because that agent reports what it did within such a call. Of servers
/// and agents that only happen to have the same name nothing is within the other.
pub(super) fn reporting(days: &Days<'_>, asked: &[Side], served: &[Side]) -> Result<HashSet<Pair>, Error> {
    let agents: HashSet<&str> = asked.iter().chain(served).map(|side| side.agent.as_str()).collect();
    let mut traces: HashMap<[u8; 16], Vec<&Side>> = HashMap::new();
    let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
    for side in asked {
        let Some(peer) = side.other.as_deref().filter(|peer| agents.contains(peer)) else { continue };
        let count = counts.entry((&side.agent, peer)).or_default();
        if side.agent != peer && *count < TRACES_MAX {
            *count += 1;
            traces.entry(side.trace).or_default().push(side);
        }
    }
    let mut found = HashSet::new();
    if traces.is_empty() {
        return Ok(found);
    }
    days.each(|part, connection| {
        if part.is_reported() {
            for (trace, calls) in &traces {
                within(connection, *trace, calls, &mut found)?;
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// Adds what a trace shows of calls.
fn within(
    connection: &Connection,
    trace: [u8; 16],
    calls: &[&Side],
    found: &mut HashSet<Pair>,
) -> Result<(), Error> {
    let statement =
        format!("SELECT s.span, s.parent, s.agent FROM {} WHERE r.trace = ?1 LIMIT ?2", members::OF_TRACE);
    let mut statement = connection.prepare_cached(&statement)?;
    let mut rows = statement.query((trace, i64::try_from(SPANS_MAX).unwrap_or_default()))?;
    let mut parents: HashMap<i64, Option<i64>> = HashMap::new();
    let mut spans: Vec<(i64, String)> = Vec::new();
    while let Some(row) = rows.next()? {
        let span = row.get(0)?;
        parents.insert(span, row.get(1)?);
        if let Some(agent) = row.get::<_, Option<String>>(2)?
            && calls.iter().any(|call| call.other.as_deref() == Some(&agent))
        {
            spans.push((span, agent));
        }
    }
    for (span, agent) in spans {
        let above = std::iter::successors(Some(span), |span| parents.get(span).copied().flatten());
        for id in above.skip(1).take(DEPTH_MAX) {
            let call = calls.iter().find(|call| call.span == id && call.other.as_deref() == Some(&agent));
            if let Some(call) = call {
                found.insert((call.agent.clone(), agent));
                break;
            }
        }
    }
    Ok(())
}

/// Whom a request came from that lies within nothing: the agent of the client's name, where that is known to ask this server by other
/// requests. Such are requests that a gateway makes for itself, before anybody calls through it.
pub(super) fn asking<'a>(side: &'a Side, known: &HashSet<Pair>) -> Option<&'a str> {
    let client = side.other.as_deref()?;
    known.contains(&(client.to_owned(), side.agent.clone())).then_some(client)
}

/// Who is known to have asked whom, by the spans that requests were made within.
pub(super) fn known(
    served: &[Side],
    callers: &HashMap<Id, String>,
    above: &HashMap<Id, String>,
) -> HashSet<Pair> {
    let pairs = served.iter().filter_map(|side| {
        let by_call = callers.get(&(side.trace, side.span));
        let by_step = || above.get(&(side.trace, side.parent?));
        let caller = by_call.or_else(by_step).filter(|caller| **caller != side.agent)?;
        Some((caller.clone(), side.agent.clone()))
    });
    pairs.collect()
}
