//! Tokens with which somebody else than the agent confirms what waits, through `confirm_operation`.
//!
//! The operator's side has one made for an approval and shows it; only its keyed hash is kept.

use aql::audit::{Event, Outcome};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension};

use super::challenges::{Strike, locked, strike};
use super::{Caller, CodeHash, Confirmed, SafetyStore};
use crate::failpoint;
use crate::store::Error;
use crate::store::columns::{storable, time};
use crate::store::safety::approvals::{self, Answered, Approval, ApprovalState};
use crate::store::safety::audit::append;
use crate::store::writer::Effect as Room;

/// How long a token for an approval is good.
const HOLDS: SignedDuration = SignedDuration::from_mins(15);
const CHANNEL: &str = "confirm_operation";

impl SafetyStore {
    /// Keeps the hash of a token for an approval that is still open. Only the operator's side may call this, and show the
    /// token once this has returned the approval.
    pub async fn approval_token(
        &self,
        approval_id: &str,
        hash: CodeHash,
        by: &str,
        channel: &str,
        now: Timestamp,
    ) -> Result<Option<Approval>, Error> {
        let (id, by, channel) = (approval_id.to_owned(), by.to_owned(), channel.to_owned());
        self.database
            .write(Room { frees_space: true, ..Room::default() }, move |connection| {
                let now = storable(now);
                let found = approvals::find(connection, &id)?.map(|found| found.at(now));
                let Some(found) = found.filter(|found| found.state == ApprovalState::Pending) else {
                    return Ok(None);
                };
                let until = now.saturating_add(HOLDS).unwrap_or(now).min(found.expires_at);
                connection
                    .prepare_cached(
                        "INSERT INTO approval_tokens (hash, approval_id, made_by, expires_at, used)
                         VALUES (?1, ?2, ?3, ?4, 0)",
                    )?
                    .execute((hash, &id, &by, until.as_microsecond()))?;
                let event = found.event("APPROVAL_TOKEN_SHOWN", Outcome::Pending);
                let event = Event { channel: Some(channel.clone()), ..event };
                append(connection, &event, now)?;
                Ok(Some(found))
            })
            .await
    }

    /// Confirms what a token is for. The caller must be another principal than the one that waits.
    pub async fn confirm(
        &self,
        operation: &str,
        hash: CodeHash,
        caller: Caller,
        now: Timestamp,
    ) -> Result<Confirmed, Error> {
        let operation = operation.to_owned();
        let confirmed = self
            .database
            .write(Room::default(), move |connection| {
                let confirmed = confirm(connection, &operation, &hash, &caller, storable(now));
                failpoint::hit("confirm.changing");
                confirmed
            })
            .await;
        failpoint::hit("confirm.changed");
        confirmed
    }
}

fn confirm(
    connection: &Connection,
    operation: &str,
    hash: &CodeHash,
    caller: &Caller,
    now: Timestamp,
) -> Result<Confirmed, Error> {
    if let Some(retry_after_seconds) = locked(connection, &caller.principal, now)? {
        return Ok(Confirmed::Locked { retry_after_seconds });
    }
    let found = connection
        .prepare_cached("SELECT approval_id, expires_at, used FROM approval_tokens WHERE hash = ?1")?
        .query_row([hash], |row| Ok((row.get::<_, String>(0)?, time(row, 1)?, row.get::<_, bool>(2)?)))
        .optional()?;
    let wrong = |confirmed: Confirmed| match strike(connection, caller, "TOKEN_REJECTED", now)? {
        Strike::Counted => Ok(confirmed),
        Strike::Locked { retry_after_seconds } => Ok(Confirmed::Locked { retry_after_seconds }),
    };
    let Some((id, expires_at, used)) = found else { return wrong(Confirmed::Invalid) };
    let Some(approval) = approvals::find(connection, &id)? else { return wrong(Confirmed::Invalid) };
    if approval.principal == caller.principal {
        let event = Event {
            session_id: Some(caller.session_id.clone()),
            principal: Some(caller.principal.clone()),
            reasons: vec!["whoever caused a wait cannot end it".to_owned()],
            channel: Some(CHANNEL.to_owned()),
            ..approval.event("SELF_APPROVAL_DENIED", Outcome::Denied)
        };
        append(connection, &event, now)?;
        return Ok(Confirmed::Self_);
    }
    if now >= expires_at {
        return wrong(Confirmed::Expired);
    }
    if used {
        return wrong(Confirmed::AlreadyUsed);
    }
    if approval.operation != operation {
        return wrong(Confirmed::OtherOperation);
    }
    connection.prepare_cached("UPDATE approval_tokens SET used = 1 WHERE hash = ?1")?.execute([hash])?;
    match approvals::answer(connection, &id, true, CHANNEL, &caller.principal, now)? {
        Answered::Done(approval) => Ok(Confirmed::Done(Box::new(approval))),
        Answered::AlreadyAnswered(_) | Answered::Missing => Ok(Confirmed::AlreadyUsed),
    }
}
