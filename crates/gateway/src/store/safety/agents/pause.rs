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
use crate::store::columns::{all, time};
use crate::store::safety::approvals::{self, ApprovalKind, ApprovalState, NewApproval};
use crate::store::safety::audit::append;

/// How long a person may take to look. After that the agent asks anew with its next report.
const WAITS: SignedDuration = SignedDuration::from_hours(24);
/// How long a consent to an action is good for.
const CONSENT_HOLDS: SignedDuration = SignedDuration::from_mins(15);

/// In the place of an action where a person is asked about something else: the count of steps, or a failure.
const NO_ACTION: [u8; 32] = [0; 32];

/// What a person agrees to who lets a paused agent go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agreeing {
    /// To the very action that was reported.
    ToTheAction,
    /// To going on, and the next action is judged for itself.
    ToGoingOn,
}

/// An action by its hash: the same words of the same agent.
pub(super) fn action(step: &NewStep) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(step.agent.as_bytes());
    hasher.update([0]);
    hasher.update(step.judged.folded.text.as_bytes());
    hasher.finalize().into()
}

/// Asks a person whether the agent may go on.
pub(super) fn ask(
    connection: &Connection,
    execution: &AgentExecution,
    step: &NewStep,
    judge: &Judge,
    (reason, factors, agreeing): (&str, &[String], Agreeing),
    now: Timestamp,
) -> Result<OpenPause, Error> {
    let new = NewApproval {
        id: step.approval_id.clone(),
        kind: ApprovalKind::Pause,
        scope: Scope {
            operation: REPORTING.to_owned(),
            params_hash: match agreeing {
                Agreeing::ToTheAction => action(step),
                Agreeing::ToGoingOn => NO_ACTION,
            },
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
    /// The agent may go on. Where the action was asked about, the consent is kept for the very same.
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
            if let Some(action) = asked_about(connection, &approval.id)? {
                consent(connection, &execution.agent, &action, Consent::Confirmed, now)?;
            }
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

/// The action that a pause is about, if it is about one.
fn asked_about(connection: &Connection, approval_id: &str) -> Result<Option<[u8; 32]>, Error> {
    let action: Option<[u8; 32]> = connection
        .prepare_cached("SELECT params_hash FROM approvals WHERE id = ?1")?
        .query_row([approval_id], |row| row.get(0))
        .optional()?;
    Ok(action.filter(|action| *action != NO_ACTION))
}

/// What a yes is to, where a question that nobody answered is asked again with this step.
pub(super) fn asked_again(
    connection: &Connection,
    approval_id: &str,
    step: &NewStep,
) -> Result<Agreeing, Error> {
    let same = asked_about(connection, approval_id)? == Some(action(step));
    Ok(if same { Agreeing::ToTheAction } else { Agreeing::ToGoingOn })
}

/// A pause that holds for a principal, whatever became of the execution that it began in.
pub(super) struct Left {
    pub(super) principal: String,
    pub(super) agent: String,
    pub(super) pause: OpenPause,
    /// When nobody minds it any more.
    pub(super) until: Timestamp,
}

/// Every pause that was not answered, or with a no.
pub(super) fn all_left(connection: &Connection) -> Result<Vec<Left>, Error> {
    let sql = "SELECT principal, agent, id, asked_at, expires_at,
                   (SELECT pause_reason FROM agent_executions WHERE pause_id = approvals.id LIMIT 1)
               FROM approvals
               WHERE kind = 'pause' AND state IN ('pending', 'denied') AND agent IS NOT NULL
               ORDER BY asked_at DESC";
    all(connection.prepare_cached(sql)?, [], |row| {
        let reason: Option<String> = row.get(5)?;
        Ok(Left {
            principal: row.get(0)?,
            agent: row.get(1)?,
            pause: OpenPause {
                approval_id: row.get(2)?,
                reason: reason.unwrap_or_else(|| "A person has to look".to_owned()),
                at: time(row, 3)?,
            },
            until: time(row, 4)?,
        })
    })
}

/// The pause that an agent of a principal was left in.
pub(super) fn left(
    connection: &Connection,
    agent: &str,
    principal: &str,
    now: Timestamp,
) -> Result<Option<OpenPause>, Error> {
    let all = all_left(connection)?.into_iter();
    let mut own = all.filter(|left| left.agent == agent && left.principal == principal && now < left.until);
    Ok(own.next().map(|left| left.pause))
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
