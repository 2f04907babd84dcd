//! Pauses that a person ends by a word, and what they agreed to: the very action, once.

use aql::audit::Outcome;
use aql::autonomy::evaluate::Consent;
use aql::autonomy::notify::REPORTING;
use aql::confirm::Scope;
use aql::danger::DangerLevel;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::kept::changed;
use super::{AgentExecution, Judge, NewStep, OpenPause};
use crate::store::Error;
use crate::store::safety::approvals::{self, ApprovalKind, ApprovalState, NewApproval};
use crate::store::safety::audit::append;

/// How long a person may take to look. After that the agent asks anew with its next report.
const WAITS: SignedDuration = SignedDuration::from_hours(24);
/// How long a consent to an action is good for.
const CONSENT_HOLDS: SignedDuration = SignedDuration::from_mins(15);

/// An action by its hash: the same words of the same agent.
pub(super) fn action(step: &NewStep) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(step.agent.as_bytes());
    hasher.update([0]);
    hasher.update(step.folded.text.as_bytes());
    hasher.finalize().into()
}

/// Asks a person whether the agent may go on.
pub(super) fn ask(
    connection: &Connection,
    execution: &AgentExecution,
    step: &NewStep,
    judge: &Judge,
    (reason, factors): (&str, &[String]),
    now: Timestamp,
) -> Result<OpenPause, Error> {
    let new = NewApproval {
        id: step.approval_id.clone(),
        kind: ApprovalKind::Pause,
        scope: Scope {
            operation: REPORTING.to_owned(),
            params_hash: action(step),
            adapter: judge.adapter.clone(),
            session_id: step.caller.session_id.clone(),
            principal: step.caller.principal.clone(),
        },
        agent: Some(step.agent.clone()),
        danger: DangerLevel::Destructive,
        trust: None,
        reasons: factors.to_vec(),
        message: format!("Agent '{}' is paused: {reason}. May it go on with: {}", step.agent, step.hint),
        params: json!({"element_name": step.agent, "next_action_hint": step.hint}),
        waits: WAITS,
        holds: WAITS,
        cooldown: None,
    };
    let asked = new.asked(now);
    approvals::insert(connection, &new, &asked)?;
    append(connection, &asked.event("AGENT_PAUSED", Outcome::Pending), now)?;
    connection
        .prepare_cached(
            "UPDATE agent_executions SET pause_id = ?2, pause_reason = ?3, paused_at = ?4 WHERE id = ?1",
        )?
        .execute((&execution.id, &asked.id, reason, now.as_microsecond()))?;
    changed(connection)?;
    Ok(OpenPause { approval_id: asked.id, reason: reason.to_owned(), at: now })
}

/// What a person has said to a pause.
pub(super) enum Said {
    Nothing,
    /// The agent may go on. The consent is kept for the very action.
    Yes,
    No,
    /// It is too late; somebody has to be asked anew.
    TooLate,
}

/// Looks whether a pause is over, and ends it if it is.
pub(super) fn settle(
    connection: &Connection,
    execution: &mut AgentExecution,
    now: Timestamp,
) -> Result<Said, Error> {
    let Some(pause) = &execution.pause else { return Ok(Said::Yes) };
    let Some(approval) = approvals::find(connection, &pause.approval_id)? else { return Ok(Said::TooLate) };
    let approval = approval.at(now);
    match approval.state {
        ApprovalState::Pending => Ok(Said::Nothing),
        ApprovalState::Denied => Ok(Said::No),
        ApprovalState::Expired | ApprovalState::Revoked => Ok(Said::TooLate),
        ApprovalState::Approved | ApprovalState::Spent => {
            approvals::set_state(connection, &approval.id, ApprovalState::Spent)?;
            append(connection, &approval.event("AGENT_RESUMED", Outcome::Confirmed), now)?;
            let action: Vec<u8> = connection
                .prepare_cached("SELECT params_hash FROM approvals WHERE id = ?1")?
                .query_row([&approval.id], |row| row.get(0))?;
            consent(connection, &execution.agent, &action, Consent::Confirmed, now)?;
            connection
                .prepare_cached(
                    "UPDATE agent_executions
                     SET pause_id = NULL, pause_reason = NULL, paused_at = NULL, unseen_steps = 0 WHERE id = ?1",
                )?
                .execute([&execution.id])?;
            execution.pause = None;
            execution.unseen_steps = 0;
            changed(connection)?;
            Ok(Said::Yes)
        }
    }
}

/// Nobody has to answer any more.
pub(super) fn withdraw(connection: &Connection, approval_id: &str) -> Result<(), Error> {
    connection
        .prepare_cached("UPDATE approvals SET state = 'revoked' WHERE id = ?1 AND state = 'pending'")?
        .execute([approval_id])?;
    Ok(())
}

/// Keeps that a person agreed to an action.
pub(super) fn consent(
    connection: &Connection,
    agent: &str,
    action: &[u8],
    consent: Consent,
    now: Timestamp,
) -> Result<(), Error> {
    let until = now.saturating_add(CONSENT_HOLDS).unwrap_or(now);
    connection
        .prepare_cached("INSERT INTO agent_consents (agent, action, consent, until) VALUES (?1, ?2, ?3, ?4)")?
        .execute((agent, action, consent.as_str(), until.as_microsecond()))?;
    Ok(())
}

/// Spends a consent to the action, if there is one that is enough.
pub(super) fn spend(
    connection: &Connection,
    agent: &str,
    action: &[u8],
    least: Consent,
    now: Timestamp,
) -> Result<bool, Error> {
    let enough = [Consent::Confirmed, Consent::Verified, Consent::Unblocked];
    for consent in enough.into_iter().filter(|consent| *consent >= least) {
        let found: Option<i64> = connection
            .prepare_cached(
                "SELECT number FROM agent_consents WHERE agent = ?1 AND action = ?2 AND consent = ?3 AND until > ?4",
            )?
            .query_row((agent, action, consent.as_str(), now.as_microsecond()), |row| row.get(0))
            .optional()?;
        if let Some(number) = found {
            connection.prepare_cached("DELETE FROM agent_consents WHERE number = ?1")?.execute([number])?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// A person has dealt with the agent: its steps count from here.
pub(super) fn seen(connection: &Connection, agent: &str) -> Result<(), Error> {
    connection
        .prepare_cached("UPDATE agent_executions SET unseen_steps = 0 WHERE agent = ?1 AND ended_at IS NULL")?
        .execute([agent])?;
    Ok(())
}
