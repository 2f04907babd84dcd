//! Challenges as the operator's side sees them, and the codes that answer them.

use aql::autonomy::Tier;
use aql::autonomy::attempts::Attempts;
use aql::autonomy::evaluate::Consent;
use aql::autonomy::state::{Command, Effect};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension};
use subtle::ConstantTimeEq;

use super::kept::{About, Told, Which, asked, asked_row, change, load};
use super::pause;
use super::{Asked, Caller, CodeHash, Revealed, SafetyStore, Verified};
use crate::failpoint;
use crate::store::Error;
use crate::store::columns::{all, json, storable, to_json};
use crate::store::safety::audit::append;
use crate::store::writer::Effect as Room;

/// Nothing that is asked here issues a challenge.
const NO_LIFE: SignedDuration = SignedDuration::ZERO;

impl SafetyStore {
    /// The challenges that can be answered, oldest first. A code shown before shows in the state.
    pub async fn challenges(&self, now: Timestamp) -> Result<Vec<Asked>, Error> {
        let query = move |connection: &Connection| {
            let sql =
                "SELECT id, tier, state, asked_at, expires_at, agent, principal, session_id, reason, hint
                       FROM challenges WHERE state IN ('pending', 'revealed') AND expires_at > ?1
                       ORDER BY asked_at, id";
            all(connection.prepare_cached(sql)?, [now.as_microsecond()], asked_row)
        };
        self.database.read(query).await
    }

    /// One challenge, in whatever state.
    pub async fn challenge(&self, id: &str) -> Result<Option<Asked>, Error> {
        let id = id.to_owned();
        self.database.read(move |connection| asked(connection, &id)).await
    }

    /// Keeps the hash of a code that the operator's side is about to show, and only then is it to be shown. A code shown
    /// before is worth nothing from now on.
    pub async fn reveal(
        &self,
        id: &str,
        code_hash: CodeHash,
        by: &str,
        channel: &str,
        now: Timestamp,
    ) -> Result<Revealed, Error> {
        let (id, by, channel) = (id.to_owned(), by.to_owned(), channel.to_owned());
        let revealed = self
            .database
            .write(Room { frees_space: true, ..Room::default() }, move |connection| {
                let Some(found) = asked(connection, &id)? else { return Ok(Revealed::Missing) };
                let agent = load(connection, &found.agent, Which::Named(&id))?;
                let told = Told { about: None, by: Some(&by), channel: Some(&channel), caller: None };
                let command = Command::Reveal { challenge: id.clone() };
                let (agent, effects) = change(connection, &found.agent, agent, command, NO_LIFE, &told, now)?;
                let challenge = agent.challenges.get(&id).cloned().unwrap_or_else(|| found.challenge.clone());
                let found = Asked { challenge, ..found };
                if !effects.contains(&Effect::Revealed { challenge: id.clone() }) {
                    return Ok(Revealed::Over(found));
                }
                connection
                    .prepare_cached("UPDATE challenges SET code_hash = ?2 WHERE id = ?1")?
                    .execute((&id, code_hash))?;
                failpoint::hit("reveal.changing");
                Ok(Revealed::Shown(found))
            })
            .await;
        failpoint::hit("reveal.changed");
        revealed
    }

    /// Takes one attempt at a challenge. It is spent whatever comes of it; `None` is a code that cannot be one.
    pub async fn verify(
        &self,
        id: &str,
        code_hash: Option<CodeHash>,
        caller: Caller,
        now: Timestamp,
    ) -> Result<Verified, Error> {
        let id = id.to_owned();
        let verified = self
            .database
            .write(Room { frees_space: true, ..Room::default() }, move |connection| {
                let verified = verify(connection, &id, code_hash, &caller, now);
                failpoint::hit("verify.changing");
                verified
            })
            .await;
        failpoint::hit("verify.changed");
        verified
    }
}

fn verify(
    connection: &Connection,
    id: &str,
    given: Option<CodeHash>,
    caller: &Caller,
    now: Timestamp,
) -> Result<Verified, Error> {
    let Some(found) = asked(connection, id)? else {
        return Ok(match strike(connection, caller, "VERIFICATION_FAILED", now)? {
            Strike::Counted => Verified::Missing,
            Strike::Locked { retry_after_seconds } => Verified::Locked { retry_after_seconds },
        });
    };
    let kept: Option<CodeHash> = connection
        .prepare_cached("SELECT code_hash FROM challenges WHERE id = ?1")?
        .query_row([id], |row| row.get(0))?;
    // Compared in any case and in constant time, so that the time tells nothing.
    let same = kept.unwrap_or_default().ct_eq(&given.unwrap_or([1; 32]));
    let right = bool::from(same) && kept.is_some() && given.is_some();
    // Whoever guesses at the challenges of others is shut out themselves, and nobody else is.
    let others = found.principal != caller.principal;
    if others {
        let locked = match right {
            true => locked(connection, &caller.principal, now)?,
            false => strike(connection, caller, "VERIFICATION_FAILED", now)?.locked_for(),
        };
        if let Some(retry_after_seconds) = locked {
            return Ok(Verified::Locked { retry_after_seconds });
        }
    }
    let agent = load(connection, &found.agent, Which::Named(id))?;
    let told = Told { about: None, by: None, channel: Some("verify_challenge"), caller: Some(caller) };
    let command = match others && !right {
        true => Command::Spend { challenge: id.to_owned() },
        false => Command::Attempt { challenge: id.to_owned(), right },
    };
    let (agent, effects) = change(connection, &found.agent, agent, command, NO_LIFE, &told, now)?;
    let challenge = agent.challenges.get(id).cloned().unwrap_or_else(|| found.challenge.clone());
    let asked = Asked { challenge, ..found };
    let locked = effects.iter().find_map(|effect| match effect {
        Effect::LockedNow { seconds } => Some(*seconds),
        _ => None,
    });
    for effect in effects {
        match effect {
            Effect::Locked { retry_after_seconds } => return Ok(Verified::Locked { retry_after_seconds }),
            Effect::Verified { .. } => {
                // Spent: not even its hash is needed any more.
                forget_code(connection, id)?;
                let consent = match asked.challenge.tier {
                    Tier::Verify => Consent::Verified,
                    Tier::Hard => Consent::Unblocked,
                };
                let action = action(connection, id)?;
                if !action.is_empty() {
                    pause::consent(connection, &asked.agent, &action, consent, now)?;
                }
                pause::seen(connection, &asked.agent)?;
                return Ok(Verified::Right(asked));
            }
            _ => {}
        }
    }
    forget_code(connection, id)?;
    Ok(Verified::Wrong { asked, locked_seconds: locked })
}

/// What another challenge in the place of this one is about.
pub(super) fn about(connection: &Connection, id: &str, base: About) -> Result<About, Error> {
    let Some(found) = asked(connection, id)? else { return Ok(base) };
    Ok(About { reason: found.reason, hint: found.hint, action: action(connection, id)?, ..base })
}

/// The action that a challenge is about.
pub(super) fn action(connection: &Connection, id: &str) -> Result<Vec<u8>, Error> {
    let found = connection
        .prepare_cached("SELECT action FROM challenges WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or_default())
}

fn forget_code(connection: &Connection, id: &str) -> Result<(), Error> {
    connection.prepare_cached("UPDATE challenges SET code_hash = NULL WHERE id = ?1")?.execute([id])?;
    Ok(())
}

/// What came of counting a wrong guess that belongs to no agent.
pub(super) enum Strike {
    Counted,
    Locked { retry_after_seconds: u64 },
}

impl Strike {
    fn locked_for(self) -> Option<u64> {
        match self {
            Self::Counted => None,
            Self::Locked { retry_after_seconds } => Some(retry_after_seconds),
        }
    }
}

/// How long a caller is not listened to.
pub(super) fn locked(connection: &Connection, principal: &str, now: Timestamp) -> Result<Option<u64>, Error> {
    Ok(attempts(connection, principal)?.locked_for(now))
}

fn attempts(connection: &Connection, principal: &str) -> Result<Attempts, Error> {
    let kept = connection
        .prepare_cached("SELECT attempts FROM callers WHERE principal = ?1")?
        .query_row([principal], |row| json::<Attempts>(row, 0))
        .optional()?;
    Ok(kept.flatten().unwrap_or_default())
}

/// Counts a wrong guess of a caller.
pub(super) fn strike(
    connection: &Connection,
    caller: &Caller,
    event: &str,
    now: Timestamp,
) -> Result<Strike, Error> {
    let now = storable(now);
    let mut attempts = attempts(connection, &caller.principal)?;
    if let Some(retry_after_seconds) = attempts.locked_for(now) {
        return Ok(Strike::Locked { retry_after_seconds });
    }
    attempts.failed(now);
    connection
        .prepare_cached("INSERT OR REPLACE INTO callers (principal, attempts) VALUES (?1, ?2)")?
        .execute((&caller.principal, to_json(Some(&attempts))?))?;
    let event = aql::audit::Event {
        outcome: Some(aql::audit::Outcome::Failure),
        session_id: Some(caller.session_id.clone()),
        principal: Some(caller.principal.clone()),
        ..aql::audit::Event::new(event)
    };
    append(connection, &event, now)?;
    Ok(Strike::Counted)
}
