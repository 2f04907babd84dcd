//! Approvals as rows.

use aql::{confirm::Scope, danger::DangerLevel, trust::TrustLevel};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, named_params};

use super::{Approval, ApprovalState, NewApproval};
use crate::store::Error;
use crate::store::columns::{all, json, time, time_if_any, to_json, unreadable};

pub(super) const COLUMNS: &str = "id, kind, state, operation, adapter, session_id, principal, agent, danger, trust, reasons, \
     message, params, asked_at, expires_at, not_before, answered_at, answered_by, channel";

/// What is open for the very call, the latest first.
pub(super) fn open(connection: &Connection, scope: &Scope) -> Result<Vec<Approval>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM approvals
         WHERE session_id = ?1 AND operation = ?2 AND params_hash = ?3 AND adapter = ?4 AND principal = ?5
           AND state IN ('pending', 'approved', 'denied')
         ORDER BY asked_at DESC, id DESC"
    );
    let Scope { operation, params_hash, adapter, session_id, principal } = scope;
    all(connection.prepare_cached(&sql)?, (session_id, operation, params_hash, adapter, principal), approval)
}

pub(in crate::store::safety) fn find(connection: &Connection, id: &str) -> Result<Option<Approval>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM approvals WHERE id = ?1");
    Ok(connection.prepare_cached(&sql)?.query_row([id], approval).optional()?)
}

pub(in crate::store::safety) fn insert(
    connection: &Connection,
    new: &NewApproval,
    asked: &Approval,
) -> Result<(), Error> {
    connection
        .prepare_cached(
            "INSERT INTO approvals (id, kind, state, operation, params_hash, adapter, trust, session_id, principal, agent,
                                    danger, reasons, message, params, asked_at, expires_at, holds, not_before)
             VALUES (:id, :kind, :state, :operation, :params_hash, :adapter, :trust, :session_id, :principal, :agent,
                     :danger, :reasons, :message, :params, :asked_at, :expires_at, :holds, :not_before)",
        )?
        .execute(named_params! {
            ":id": asked.id,
            ":kind": asked.kind.as_str(),
            ":state": asked.state.as_str(),
            ":operation": asked.operation,
            ":params_hash": new.scope.params_hash,
            ":adapter": asked.adapter,
            ":trust": asked.trust.map(TrustLevel::as_str),
            ":session_id": asked.session_id,
            ":principal": asked.principal,
            ":agent": asked.agent,
            ":danger": asked.danger.number(),
            ":reasons": to_json(Some(&asked.reasons))?,
            ":message": asked.message,
            ":params": to_json(Some(&asked.params))?,
            ":asked_at": asked.asked_at.as_microsecond(),
            ":expires_at": asked.expires_at.as_microsecond(),
            ":holds": i64::try_from(new.holds.as_micros()).unwrap_or_default(),
            ":not_before": asked.not_before.map(Timestamp::as_microsecond),
        })?;
    Ok(())
}

/// A word of the file as what it stands for.
fn word<T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<T> {
    row.get_ref(column)?.as_str()?.parse().map_err(|cause| unreadable(column, cause))
}

pub(in crate::store::safety) fn danger(row: &Row<'_>, column: usize) -> rusqlite::Result<DangerLevel> {
    let number: i64 = row.get(column)?;
    let level = usize::try_from(number).ok().and_then(|number| DangerLevel::ALL.get(number).copied());
    level.ok_or(rusqlite::Error::IntegralValueOutOfRange(column, number))
}

pub(super) fn approval(row: &Row<'_>) -> rusqlite::Result<Approval> {
    let trust: Option<String> = row.get(9)?;
    Ok(Approval {
        id: row.get(0)?,
        kind: word(row, 1)?,
        state: word(row, 2)?,
        operation: row.get(3)?,
        adapter: row.get(4)?,
        session_id: row.get(5)?,
        principal: row.get(6)?,
        agent: row.get(7)?,
        danger: danger(row, 8)?,
        trust: trust.map(|_| word(row, 9)).transpose()?,
        reasons: json(row, 10)?.unwrap_or_default(),
        message: row.get(11)?,
        params: json(row, 12)?.unwrap_or_default(),
        asked_at: time(row, 13)?,
        expires_at: time(row, 14)?,
        not_before: time_if_any(row, 15)?,
        answered_at: time_if_any(row, 16)?,
        answered_by: row.get(17)?,
        channel: row.get(18)?,
    })
}

pub(in crate::store::safety) fn set_state(
    connection: &Connection,
    id: &str,
    state: ApprovalState,
) -> Result<(), Error> {
    connection
        .prepare_cached("UPDATE approvals SET state = ?2 WHERE id = ?1")?
        .execute((id, state.as_str()))?;
    Ok(())
}
