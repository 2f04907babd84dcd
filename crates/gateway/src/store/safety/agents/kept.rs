//! Reading an agent, letting `aql` decide, and writing what changed with its audit entries, within one transaction.

use aql::{
    audit::{Event, Outcome},
    autonomy::{
        Agent, Challenge, Tier,
        attempts::Attempts,
        challenge::State,
        state::{Command, Effect},
    },
};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{Asked, Block, Caller};
use crate::store::{
    Error,
    columns::{all, json, storable, time, to_json, unreadable},
    safety::audit::append,
};

/// What a new challenge or block is about.
#[derive(Debug, Clone)]
pub(super) struct About {
    pub(super) caller: Caller,
    /// The process that asks.
    pub(super) owner: String,
    pub(super) reason: String,
    pub(super) hint: String,
    /// The action by its hash, so that the same one is known again; empty where no consent could be for it.
    pub(super) action: Vec<u8>,
}

/// Which challenges of an agent count.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which<'a> {
    /// Those that this process enforces.
    Enforced { owner: &'a str },
    /// This one, whoever asked it, besides that of the block.
    Named(&'a str),
}

pub(super) fn load(connection: &Connection, agent: &str, which: Which<'_>) -> Result<Agent, Error> {
    let counts = connection
        .prepare_cached("SELECT attempts, reissues FROM agents WHERE name = ?1")?
        .query_row([agent], |row| Ok((json::<Attempts>(row, 0)?, json::<Attempts>(row, 1)?)))
        .optional()?;
    let (attempts, reissues) = counts.unwrap_or_default();
    let blocked_by = block(connection, agent)?.map(|block| block.challenge_id);
    let mut challenges = Vec::new();
    if let Some(id) = &blocked_by {
        challenges.extend(asked(connection, id)?);
    }
    match which {
        Which::Named(id) => challenges.extend(asked(connection, id)?.filter(|asked| asked.agent == agent)),
        Which::Enforced { owner } => {
            let sql = "SELECT id, tier, state, asked_at, expires_at, agent, principal, session_id, reason, hint
                       FROM challenges
                       WHERE agent = ?1 AND tier = 'verify' AND owner = ?2 AND state IN ('pending', 'revealed', 'failed')
                       ORDER BY asked_at DESC LIMIT 20";
            challenges.extend(all(connection.prepare_cached(sql)?, (agent, owner), asked_row)?);
        }
    }
    let challenges =
        challenges.into_iter().map(|asked| (asked.challenge.id.clone(), asked.challenge)).collect();
    Ok(Agent {
        blocked_by,
        challenges,
        attempts: attempts.unwrap_or_default(),
        reissues: reissues.unwrap_or_default(),
    })
}

/// The challenges for which agents of a process are paused, as long as their time is not up.
pub(super) fn verifying(connection: &Connection, owner: &str) -> Result<Vec<Asked>, Error> {
    let sql = "SELECT id, tier, state, asked_at, expires_at, agent, principal, session_id, reason, hint
               FROM challenges
               WHERE tier = 'verify' AND owner = ?1 AND state IN ('pending', 'revealed', 'failed')
               ORDER BY asked_at";
    all(connection.prepare_cached(sql)?, [owner], asked_row)
}

/// What a command is told and audited with.
pub(super) struct Told<'a> {
    pub(super) about: Option<&'a About>,
    pub(super) by: Option<&'a str>,
    pub(super) channel: Option<&'a str>,
    pub(super) caller: Option<&'a Caller>,
}

/// Lets the command happen. Everything that it means is written down.
pub(super) fn change(
    connection: &Connection,
    name: &str,
    agent: Agent,
    command: Command,
    life: SignedDuration,
    told: &Told<'_>,
    now: Timestamp,
) -> Result<(Agent, Vec<Effect>), Error> {
    let now = storable(now);
    let before = agent.clone();
    let (agent, effects) = agent.apply(command, now, life);
    if agent != before {
        save(connection, name, &before, &agent, told, now)?;
    }
    for effect in &effects {
        if let Some(event) = event(name, effect, told) {
            append(connection, &event, now)?;
        }
    }
    Ok((agent, effects))
}

fn save(
    connection: &Connection,
    name: &str,
    before: &Agent,
    after: &Agent,
    told: &Told<'_>,
    now: Timestamp,
) -> Result<(), Error> {
    if (&before.attempts, &before.reissues) != (&after.attempts, &after.reissues) {
        connection
            .prepare_cached("INSERT OR REPLACE INTO agents (name, attempts, reissues) VALUES (?1, ?2, ?3)")?
            .execute((name, to_json(Some(&after.attempts))?, to_json(Some(&after.reissues))?))?;
    }
    for challenge in after.challenges.values() {
        match before.challenges.get(&challenge.id) {
            Some(known) if known == challenge => {}
            Some(_) => {
                connection
                    .prepare_cached("UPDATE challenges SET state = ?2 WHERE id = ?1")?
                    .execute((&challenge.id, challenge.state.as_str()))?;
            }
            None => insert(connection, name, challenge, told.about)?,
        }
    }
    match (&before.blocked_by, &after.blocked_by) {
        (old, new) if old == new => {}
        (None, Some(id)) => {
            let Some(about) = told.about else { return Err(Error::Io) };
            connection
                .prepare_cached(
                    "INSERT INTO agent_blocks (agent, principal, challenge_id, reason, hint, blocked_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute((
                    name,
                    &about.caller.principal,
                    id,
                    &about.reason,
                    &about.hint,
                    now.as_microsecond(),
                ))?;
        }
        (_, Some(id)) => {
            connection
                .prepare_cached("UPDATE agent_blocks SET challenge_id = ?2 WHERE agent = ?1")?
                .execute((name, id))?;
        }
        (_, None) => {
            connection.prepare_cached("DELETE FROM agent_blocks WHERE agent = ?1")?.execute([name])?;
        }
    }
    changed(connection)
}

/// Lets every process notice that it has to look again.
pub(super) fn changed(connection: &Connection) -> Result<(), Error> {
    connection.prepare_cached("UPDATE agent_changes SET number = number + 1")?.execute([])?;
    Ok(())
}

fn insert(
    connection: &Connection,
    agent: &str,
    challenge: &Challenge,
    about: Option<&About>,
) -> Result<(), Error> {
    let Some(about) = about else { return Err(Error::Io) };
    connection
        .prepare_cached(
            "INSERT INTO challenges (id, agent, tier, state, owner, principal, session_id, reason, hint, action,
                 asked_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute((
            &challenge.id,
            agent,
            challenge.tier.as_str(),
            challenge.state.as_str(),
            &about.owner,
            &about.caller.principal,
            &about.caller.session_id,
            &about.reason,
            &about.hint,
            &about.action,
            challenge.asked_at.as_microsecond(),
            challenge.expires_at.as_microsecond(),
        ))?;
    Ok(())
}

/// What the log says of an effect. Codes are no part of any.
fn event(agent: &str, effect: &Effect, told: &Told<'_>) -> Option<Event> {
    let (name, outcome, challenge, detail) = match effect {
        Effect::Blocked => ("AGENT_BLOCKED", Outcome::Denied, None, None),
        Effect::Issued { challenge, tier } => {
            let detail = serde_json::json!({"tier": tier});
            ("CHALLENGE_ISSUED", Outcome::Pending, Some(challenge), Some(detail))
        }
        Effect::Expired { challenge } => ("CHALLENGE_EXPIRED", Outcome::Failure, Some(challenge), None),
        Effect::Revealed { challenge } => ("CHALLENGE_REVEALED", Outcome::Pending, Some(challenge), None),
        Effect::NotRevealed | Effect::NoReissue { .. } => return None,
        Effect::Verified { challenge, .. } => ("CHALLENGE_VERIFIED", Outcome::Success, Some(challenge), None),
        Effect::Failed { challenge } => ("VERIFICATION_FAILED", Outcome::Failure, Some(challenge), None),
        Effect::Locked { retry_after_seconds } => {
            let detail = serde_json::json!({"retry_after_seconds": retry_after_seconds});
            ("VERIFICATION_REFUSED", Outcome::Denied, None, Some(detail))
        }
        Effect::LockedNow { seconds } => {
            let detail = serde_json::json!({"seconds": seconds});
            ("VERIFICATION_LOCKED", Outcome::Denied, None, Some(detail))
        }
        Effect::Withdrawn { challenge } => ("CHALLENGE_WITHDRAWN", Outcome::Denied, Some(challenge), None),
        Effect::Unblocked => ("AGENT_UNBLOCKED", Outcome::Allowed, None, None),
    };
    let caller = told.caller.or(told.about.map(|about| &about.caller));
    let mut detail = detail;
    if let Some(by) = told.by {
        let object = detail.get_or_insert_with(|| serde_json::json!({}));
        if let Some(object) = object.as_object_mut() {
            object.insert("by".to_owned(), by.into());
        }
    }
    Some(Event {
        outcome: Some(outcome),
        agent: Some(agent.to_owned()),
        session_id: caller.map(|caller| caller.session_id.clone()),
        principal: caller.map(|caller| caller.principal.clone()),
        challenge_id: challenge.cloned(),
        channel: told.channel.map(str::to_owned),
        reasons: told.about.map(|about| about.reason.clone()).into_iter().collect(),
        detail,
        ..Event::new(name)
    })
}

pub(super) fn block(connection: &Connection, agent: &str) -> Result<Option<Block>, Error> {
    let sql =
        "SELECT agent, principal, challenge_id, reason, hint, blocked_at FROM agent_blocks WHERE agent = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([agent], block_row).optional()?)
}

pub(super) fn block_row(row: &Row<'_>) -> rusqlite::Result<Block> {
    Ok(Block {
        agent: row.get(0)?,
        principal: row.get(1)?,
        challenge_id: row.get(2)?,
        reason: row.get(3)?,
        hint: row.get(4)?,
        blocked_at: time(row, 5)?,
    })
}

pub(super) fn asked(connection: &Connection, id: &str) -> Result<Option<Asked>, Error> {
    let sql = "SELECT id, tier, state, asked_at, expires_at, agent, principal, session_id, reason, hint
               FROM challenges WHERE id = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([id], asked_row).optional()?)
}

pub(super) fn asked_row(row: &Row<'_>) -> rusqlite::Result<Asked> {
    let challenge = Challenge {
        id: row.get(0)?,
        tier: word(row, 1, &[Tier::Verify, Tier::Hard], Tier::as_str)?,
        state: word(row, 2, &State::ALL, State::as_str)?,
        asked_at: time(row, 3)?,
        expires_at: time(row, 4)?,
    };
    Ok(Asked {
        challenge,
        agent: row.get(5)?,
        principal: row.get(6)?,
        session_id: row.get(7)?,
        reason: row.get(8)?,
        hint: row.get(9)?,
    })
}

/// One of several words, as it was written.
pub(super) fn word<T: Copy>(
    row: &Row<'_>,
    column: usize,
    known: &[T],
    text: fn(T) -> &'static str,
) -> rusqlite::Result<T> {
    let found: String = row.get(column)?;
    let same = known.iter().copied().find(|&one| text(one) == found);
    same.ok_or_else(|| unreadable(column, std::io::Error::other("an unknown word")))
}
