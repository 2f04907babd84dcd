//! What there is to tell an agent with its directive.

use aql::autonomy::notify::{Blocked, Facts, News, Pause, Pending};
use aql::autonomy::{Agent, Mode};
use jiff::Timestamp;
use rusqlite::{Connection, Row};

use super::executions::open;
use super::{AgentExecution, Judge, SafetyStore, WaitingCall, blocks};
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
    let pending = pending(connection, execution, now)?;
    let pause = match (agent.pausing(now), &execution.pause) {
        (Some(challenge), _) => Some(Pause {
            reason: waiting_for_code(&challenge.id),
            verification_id: Some(challenge.id.clone()),
            at: challenge.asked_at,
        }),
        (None, Some(open)) => Some(Pause { reason: open.reason.clone(), verification_id: None, at: open.at }),
        (None, None) => pending.first().map(|first| Pause {
            reason: waiting_for_answer(&pending),
            verification_id: None,
            at: first.at,
        }),
    };
    let mut blocked = Vec::new();
    if enforcing {
        let since = blocks::read(connection)?.into_iter();
        blocked.extend(since.filter(|block| block.blocked_at >= execution.started_at).map(|block| Blocked {
            agent: block.agent,
            reason: block.reason,
            verification_id:
                Some(block.challenge_id).filter(|_| block.principal == execution.caller.principal),
            at: block.blocked_at,
        }));
    }
    Ok(Facts {
        pending,
        pause: pause.filter(|_| enforcing),
        blocks: blocked,
        news: news(connection, execution)?,
    })
}

/// What an agent is told while a code is waited for.
pub(super) fn waiting_for_code(challenge_id: &str) -> String {
    format!("A person has to verify this with a code; the challenge is {challenge_id}")
}

/// What an agent is told while calls of it wait for a person.
pub(super) fn waiting_for_answer(pending: &[Pending]) -> String {
    let names: Vec<&str> = pending.iter().map(|pending| pending.operation.as_str()).collect();
    format!("A person has to confirm {} first", names.join(", "))
}

impl SafetyStore {
    /// The calls of an executing agent that wait for a person, oldest first.
    pub async fn waiting_calls(
        &self,
        owner: &str,
        session_id: &str,
        agent: &str,
        now: Timestamp,
    ) -> Result<Vec<WaitingCall>, Error> {
        let (owner, session_id, agent) = (owner.to_owned(), session_id.to_owned(), agent.to_owned());
        let query = move |connection: &Connection| {
            let Some(execution) = open(connection, &owner, &session_id, &agent)? else {
                return Ok(Vec::new());
            };
            let sql = format!("SELECT id, operation, params_hash FROM approvals {WAITING}");
            let of = |row: &Row<'_>| {
                Ok(WaitingCall { approval_id: row.get(0)?, operation: row.get(1)?, params_hash: row.get(2)? })
            };
            let since = execution.started_at.as_microsecond();
            all(connection.prepare_cached(&sql)?, (&session_id, since, now.as_microsecond(), &agent), of)
        };
        self.database.read(query).await
    }
}

/// Those of the agent: another one of the same session has nothing to do with it.
const WAITING: &str =
    "WHERE session_id = ?1 AND kind = 'call' AND state = 'pending' AND asked_at >= ?2 AND expires_at > ?3 AND agent = ?4
     ORDER BY asked_at LIMIT 50";

fn pending(
    connection: &Connection,
    execution: &AgentExecution,
    now: Timestamp,
) -> Result<Vec<Pending>, Error> {
    let sql = format!("SELECT operation, reasons, danger, asked_at FROM approvals {WAITING}");
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
    let of_whom = (&execution.caller.session_id, since, now.as_microsecond(), &execution.agent);
    all(connection.prepare_cached(&sql)?, of_whom, of)
}

/// What was answered since the last report.
fn news(connection: &Connection, execution: &AgentExecution) -> Result<Vec<News>, Error> {
    let sql = "SELECT operation, state, answered_at FROM approvals
               WHERE session_id = ?1 AND agent = ?3 AND kind = 'call' AND answered_at > ?2 AND state IN ('approved', 'spent', 'denied')
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
    all(connection.prepare_cached(sql)?, (&execution.caller.session_id, since, &execution.agent), of)
}
