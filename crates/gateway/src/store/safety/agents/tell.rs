//! What there is to tell an agent with its directive.

use aql::autonomy::notify::{Blocked, Facts, News, Pause, Pending};
use aql::autonomy::{Agent, Mode};
use jiff::Timestamp;
use rusqlite::{Connection, Row};

use super::{AgentExecution, Judge, blocks};
use crate::store::Error;
use crate::store::columns::{all, json, time};
use crate::store::safety::approvals::danger;

/// The facts as they are now.
pub(super) fn facts(
    connection: &Connection,
    execution: &AgentExecution,
    agent: &Agent,
    judge: &Judge,
    now: Timestamp,
) -> Result<Facts, Error> {
    let enforcing = judge.autonomy.mode == Mode::Enforcing;
    let pause = match (agent.pausing(now), &execution.pause) {
        (Some(challenge), _) => Some(Pause {
            reason: waiting_for_code(&challenge.id),
            verification_id: Some(challenge.id.clone()),
            at: challenge.asked_at,
        }),
        (None, Some(open)) => Some(Pause { reason: open.reason.clone(), verification_id: None, at: open.at }),
        (None, None) => None,
    };
    let mut blocked = Vec::new();
    if enforcing {
        let since = blocks::read(connection)?.into_iter();
        blocked.extend(since.filter(|block| block.blocked_at >= execution.started_at).map(|block| Blocked {
            agent: block.agent,
            reason: block.reason,
            verification_id: block.challenge_id,
            at: block.blocked_at,
        }));
    }
    Ok(Facts {
        pending: pending(connection, execution, now)?,
        pause: pause.filter(|_| enforcing),
        blocks: blocked,
        news: news(connection, execution)?,
    })
}

/// What an agent is told while a code is waited for.
pub(super) fn waiting_for_code(challenge_id: &str) -> String {
    format!("A person has to verify this with a code; the challenge is {challenge_id}")
}

fn pending(
    connection: &Connection,
    execution: &AgentExecution,
    now: Timestamp,
) -> Result<Vec<Pending>, Error> {
    let sql = "SELECT operation, reasons, danger, asked_at FROM approvals
               WHERE session_id = ?1 AND kind = 'call' AND state = 'pending' AND asked_at >= ?2 AND expires_at > ?3
               ORDER BY asked_at LIMIT 50";
    let of = |row: &Row<'_>| {
        let reasons: Vec<String> = json(row, 1)?.unwrap_or_default();
        Ok(Pending {
            operation: row.get(0)?,
            reason: reasons.join("; "),
            level: danger(row, 2)?.as_str().to_owned(),
            at: time(row, 3)?,
        })
    };
    let since = execution.started_at.as_microsecond();
    all(connection.prepare_cached(sql)?, (&execution.caller.session_id, since, now.as_microsecond()), of)
}

/// What was answered since the last report.
fn news(connection: &Connection, execution: &AgentExecution) -> Result<Vec<News>, Error> {
    let sql = "SELECT operation, state, answered_at FROM approvals
               WHERE session_id = ?1 AND kind = 'call' AND answered_at > ?2 AND state IN ('approved', 'spent', 'denied')
               ORDER BY answered_at LIMIT 50";
    let of = |row: &Row<'_>| {
        let (operation, state): (String, String) = (row.get(0)?, row.get(1)?);
        let is_error = state == "denied";
        let message = match is_error {
            true => format!("The operator refused '{operation}'"),
            false => format!("The operator approved '{operation}'"),
        };
        Ok(News { is_error, message, operation: Some(operation), at: time(row, 2)? })
    };
    let since = execution.last_step_at.unwrap_or(execution.started_at).as_microsecond();
    all(connection.prepare_cached(sql)?, (&execution.caller.session_id, since), of)
}
