//! What becomes of a call that needs a person, of an answer, and of what is taken back. Each within a transaction.

use aql::audit::{Event, Outcome};
use aql::confirm::Scope;
use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

use super::rows::{COLUMNS, approval, find, insert, open, set_state};
use super::{Answered, Approval, ApprovalState, Claim, NewApproval};
use crate::store::Error;
use crate::store::columns::all;
use crate::store::safety::audit;

/// What waits for one principal, at the most.
const PENDING_MAX: i64 = 64;
/// The same for one of its sessions, so that one alone does not take the others' places.
const PENDING_IN_A_SESSION_MAX: i64 = 16;
/// How many times in a minute a principal may have a person asked something new.
const ASKED_IN_A_MINUTE_MAX: i64 = 60;
const MINUTE: SignedDuration = SignedDuration::from_secs(60);

pub(super) fn claim(connection: &Connection, new: &NewApproval, now: Timestamp) -> Result<Claim, Error> {
    for found in open(connection, &new.scope)? {
        let found = found.at(now);
        match found.state {
            ApprovalState::Approved => {
                if found.not_before.is_some_and(|until| now < until) {
                    return Ok(Claim::Cooling(found));
                }
                set_state(connection, &found.id, ApprovalState::Spent)?;
                audit::append(connection, &found.event("CONFIRMATION_GRANTED", Outcome::Confirmed), now)?;
                return Ok(Claim::Granted(Approval { state: ApprovalState::Spent, ..found }));
            }
            ApprovalState::Pending => return Ok(Claim::Waiting(found)),
            ApprovalState::Denied => return Ok(Claim::Denied(found)),
            state => {
                set_state(connection, &found.id, state)?;
                audit::append(connection, &found.event("CONFIRMATION_EXPIRED", Outcome::Denied), now)?;
            }
        }
    }
    if let Some(retry_after_seconds) = too_many(connection, &new.scope, now)? {
        return Ok(Claim::TooMany { retry_after_seconds });
    }
    let asked = new.asked(now);
    insert(connection, new, &asked)?;
    audit::append(connection, &asked.event("CONFIRMATION_REQUIRED", Outcome::Pending), now)?;
    Ok(Claim::Asked(asked))
}

fn too_many(connection: &Connection, scope: &Scope, now: Timestamp) -> Result<Option<u64>, Error> {
    let (pending, of_session): (i64, i64) = connection
        .prepare_cached(
            "SELECT count(*), count(*) FILTER (WHERE session_id = ?3) FROM approvals
             WHERE principal = ?1 AND state = 'pending' AND expires_at > ?2",
        )?
        .query_row((&scope.principal, now.as_microsecond(), &scope.session_id), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let since = now.saturating_sub(MINUTE).unwrap_or(now).as_microsecond();
    let (asked, first): (i64, Option<i64>) = connection
        .prepare_cached(
            "SELECT count(*), min(asked_at) FROM approvals WHERE principal = ?1 AND asked_at > ?2",
        )?
        .query_row((&scope.principal, since), |row| Ok((row.get(0)?, row.get(1)?)))?;
    if asked >= ASKED_IN_A_MINUTE_MAX {
        let waited = first.map_or(0, |first| (first - since).max(0)) / 1_000_000;
        return Ok(Some(u64::try_from(waited).unwrap_or_default() + 1));
    }
    Ok((pending >= PENDING_MAX || of_session >= PENDING_IN_A_SESSION_MAX).then_some(60))
}

pub(in crate::store::safety) fn answer(
    connection: &Connection,
    id: &str,
    approve: bool,
    channel: &str,
    by: &str,
    now: Timestamp,
) -> Result<Answered, Error> {
    let Some(found) = find(connection, id)? else { return Ok(Answered::Missing) };
    let found = found.at(now);
    if found.state != ApprovalState::Pending {
        return Ok(Answered::AlreadyAnswered(found));
    }
    let holds: i64 = connection
        .prepare_cached("SELECT holds FROM approvals WHERE id = ?1")?
        .query_row([id], |row| row.get(0))?;
    let expires_at = now.saturating_add(SignedDuration::from_micros(holds)).unwrap_or(now);
    let state = if approve { ApprovalState::Approved } else { ApprovalState::Denied };
    connection
        .prepare_cached(
            "UPDATE approvals SET state = ?2, expires_at = ?3, answered_at = ?4, answered_by = ?5, channel = ?6
             WHERE id = ?1 AND state = 'pending'",
        )?
        .execute((id, state.as_str(), expires_at.as_microsecond(), now.as_microsecond(), by, channel))?;
    let answered = Approval {
        state,
        expires_at,
        answered_at: Some(now),
        answered_by: Some(by.to_owned()),
        channel: Some(channel.to_owned()),
        ..found
    };
    let (event, outcome) = match approve {
        true => ("APPROVAL_GIVEN", Outcome::Success),
        false => ("APPROVAL_REFUSED", Outcome::Denied),
    };
    audit::append(connection, &answered.event(event, outcome), now)?;
    Ok(Answered::Done(answered))
}

/// Which approvals are taken back.
pub(super) enum Which<'a> {
    Session(&'a str),
    Id(&'a str),
}

pub(super) fn revoke(
    connection: &Connection,
    which: Which<'_>,
    why: &str,
    now: Timestamp,
) -> Result<usize, Error> {
    let (those, value) = match which {
        // A pause is no call of the session: whoever leaves does not get rid of it.
        Which::Session(id) => ("kind <> 'pause' AND session_id", id),
        Which::Id(id) => ("id", id),
    };
    let sql =
        format!("SELECT {COLUMNS} FROM approvals WHERE {those} = ?1 AND state IN ('pending', 'approved')");
    let found = all(connection.prepare_cached(&sql)?, [value], approval)?;
    for approval in &found {
        set_state(connection, &approval.id, ApprovalState::Revoked)?;
        let event = approval.event("APPROVAL_REVOKED", Outcome::Denied);
        let event = Event { reasons: vec![why.to_owned()], ..event };
        audit::append(connection, &event, now)?;
    }
    Ok(found.len())
}
