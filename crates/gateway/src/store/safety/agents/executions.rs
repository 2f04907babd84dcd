//! Monitored executions: begun, completed, given up. Each belongs to a session of a process.

use aql::audit::{Event, Outcome};
use aql::autonomy::Mode;
use aql::autonomy::state::{Command, Effect};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row};

use super::kept::{About, Told, Which, block, change, changed, load, word};
use super::pause::{self, Said};
use super::tell::waiting_for_code;
use super::{AgentExecution, Caller, Judge, NewAgentExecution, OpenPause, Refused, SafetyStore, Status};
use crate::failpoint;
use crate::store::Error;
use crate::store::columns::{all, count, storable, time, time_if_any};
use crate::store::safety::audit::append;
use crate::store::writer::Effect as Room;

/// How long executions and their steps are kept. The audit log keeps what was decided.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);

impl SafetyStore {
    /// Begins a monitored execution. One that the agent has in the same session ends by it.
    pub async fn start_agent(
        &self,
        new: NewAgentExecution,
        judge: Judge,
        now: Timestamp,
    ) -> Result<Result<AgentExecution, Refused>, Error> {
        let started = self
            .database
            .write(Room::default(), move |connection| {
                let started = start(connection, &new, &judge, storable(now));
                failpoint::hit("agent.starting");
                started
            })
            .await;
        failpoint::hit("agent.started");
        started
    }

    /// Ends the execution that an agent has in a session. A block or a pause of the agent is untouched by it, and keeps an
    /// execution from being completed.
    pub async fn end_agent(
        &self,
        agent: &str,
        caller: Caller,
        as_what: Status,
        note: Option<String>,
        (judge, challenge_id): (Judge, String),
        now: Timestamp,
    ) -> Result<Result<AgentExecution, Refused>, Error> {
        let agent = agent.to_owned();
        let ended = self
            .database
            .write(Room { frees_space: true, ..Room::default() }, move |connection| {
                let now = storable(now);
                if as_what == Status::Completed {
                    let about = about_asking(&caller, &judge);
                    if let Some(refused) = refused(connection, &agent, &judge, &about, &challenge_id, now)? {
                        return Ok(Err(refused));
                    }
                }
                let found = open(connection, &judge.owner, &caller.session_id, &agent)?;
                let Some(mut found) = found else { return Ok(Err(Refused::NotExecuting)) };
                if as_what == Status::Completed
                    && let Some(reason) = paused(connection, &mut found, &judge, now)?
                {
                    return Ok(Err(Refused::Paused { reason }));
                }
                let ended = end(connection, found, as_what, note.as_deref(), now)?;
                failpoint::hit("agent.ending");
                Ok(Ok(ended))
            })
            .await;
        failpoint::hit("agent.ended");
        ended
    }

    /// Whether a block keeps an agent from being started. Nothing is written where none does.
    pub(crate) async fn refusal(
        &self,
        agent: &str,
        caller: Caller,
        (judge, challenge_id): (Judge, String),
        now: Timestamp,
    ) -> Result<Option<Refused>, Error> {
        let agent = agent.to_owned();
        self.database
            .write(Room::default(), move |connection| {
                let about = about_asking(&caller, &judge);
                refused(connection, &agent, &judge, &about, &challenge_id, storable(now))
            })
            .await
    }

    /// Ends what a session has open.
    pub async fn end_agents_of(&self, owner: &str, session_id: &str, now: Timestamp) -> Result<(), Error> {
        let (owner, session_id) = (owner.to_owned(), session_id.to_owned());
        self.database
            .write(Room { frees_space: true, ..Room::default() }, move |connection| {
                let sql = format!(
                    "SELECT {COLUMNS} FROM agent_executions
                     WHERE owner = ?1 AND session_id = ?2 AND ended_at IS NULL"
                );
                let found = all(connection.prepare_cached(&sql)?, (&owner, &session_id), execution)?;
                for execution in found {
                    let why = Some("the session has ended");
                    end(connection, execution, Status::Cancelled, why, storable(now))?;
                }
                Ok(())
            })
            .await
    }
}

/// Why an execution waits for a person, if it does.
fn paused(
    connection: &Connection,
    execution: &mut AgentExecution,
    judge: &Judge,
    now: Timestamp,
) -> Result<Option<String>, Error> {
    if judge.autonomy.mode != Mode::Enforcing {
        return Ok(None);
    }
    let agent = load(connection, &execution.agent, Which::Enforced { owner: &judge.owner })?;
    if let Some(challenge) = agent.pausing(now) {
        return Ok(Some(waiting_for_code(&challenge.id)));
    }
    let reason = execution.pause.as_ref().map(|pause| pause.reason.clone());
    Ok(match pause::settle(connection, execution, now)? {
        Said::Yes | Said::TooLate => None,
        Said::Nothing => reason,
        Said::No => reason.map(|reason| format!("{reason}; the operator refused")),
    })
}

fn start(
    connection: &Connection,
    new: &NewAgentExecution,
    judge: &Judge,
    now: Timestamp,
) -> Result<Result<AgentExecution, Refused>, Error> {
    let about = about_asking(&new.caller, judge);
    if let Some(refused) = refused(connection, &new.agent, judge, &about, &new.challenge_id, now)? {
        return Ok(Err(refused));
    }
    if let Some(before) = open(connection, &judge.owner, &new.caller.session_id, &new.agent)? {
        end(connection, before, Status::Cancelled, Some("another execution of the agent began"), now)?;
    }
    // A pause that was not answered goes on, however the execution ended that it began in.
    let pause = match judge.autonomy.mode {
        Mode::Enforcing => pause::left(connection, &new.agent, &new.caller.principal, now)?,
        Mode::Monitoring | Mode::Logging | Mode::Disabled => None,
    };
    let execution = AgentExecution {
        id: new.id.clone(),
        agent: new.agent.clone(),
        caller: new.caller.clone(),
        mode: judge.autonomy.mode,
        steps: 0,
        unseen_steps: 0,
        pause,
        started_at: now,
        last_step_at: None,
        ended: None,
    };
    connection
        .prepare_cached(
            "INSERT INTO agent_executions (id, agent, principal, session_id, owner, mode, goal, steps, unseen_steps, started_at,
                 pause_id, pause_reason, paused_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, ?8, ?9, ?10, ?11)",
        )?
        .execute((
            &new.id,
            &new.agent,
            &new.caller.principal,
            &new.caller.session_id,
            &judge.owner,
            judge.autonomy.mode.as_str(),
            &new.goal,
            now.as_microsecond(),
            execution.pause.as_ref().map(|pause| &pause.approval_id),
            execution.pause.as_ref().map(|pause| &pause.reason),
            execution.pause.as_ref().map(|pause| pause.at.as_microsecond()),
        ))?;
    append(connection, &event(&execution, "EXECUTION_STARTED", Outcome::Allowed, new.goal.as_deref()), now)?;
    changed(connection)?;
    Ok(Ok(execution))
}

fn end(
    connection: &Connection,
    found: AgentExecution,
    as_what: Status,
    note: Option<&str>,
    now: Timestamp,
) -> Result<AgentExecution, Error> {
    connection
        .prepare_cached("UPDATE agent_executions SET ended_at = ?2, ended_as = ?3 WHERE id = ?1")?
        .execute((&found.id, now.as_microsecond(), as_what.as_str()))?;
    let (name, outcome) = match as_what {
        Status::Completed => ("EXECUTION_COMPLETED", Outcome::Success),
        _ => ("EXECUTION_CANCELLED", Outcome::Failure),
    };
    append(connection, &event(&found, name, outcome, note), now)?;
    changed(connection)?;
    Ok(AgentExecution { ended: Some((now, as_what)), pause: None, ..found })
}

fn event(execution: &AgentExecution, name: &str, outcome: Outcome, note: Option<&str>) -> Event {
    let mut detail = serde_json::json!({
        "execution_id": execution.id, "mode": execution.mode, "steps": execution.steps,
    });
    if let (Some(note), Some(detail)) = (note, detail.as_object_mut()) {
        detail.insert("note".to_owned(), aql::autonomy::code::mask(note).into());
    }
    Event {
        outcome: Some(outcome),
        agent: Some(execution.agent.clone()),
        session_id: Some(execution.caller.session_id.clone()),
        principal: Some(execution.caller.principal.clone()),
        detail: Some(detail),
        ..Event::new(name)
    }
}

/// What a challenge is about that is issued only because the last one was over: what the block is about.
pub(super) fn about_asking(caller: &Caller, judge: &Judge) -> About {
    About {
        caller: caller.clone(),
        owner: judge.owner.clone(),
        reason: String::new(),
        hint: String::new(),
        action: Vec::new(),
    }
}

/// Whether a hard block is in the way. Where its challenge is over, another is issued.
pub(super) fn refused(
    connection: &Connection,
    agent: &str,
    judge: &Judge,
    about: &About,
    challenge_id: &str,
    now: Timestamp,
) -> Result<Option<Refused>, Error> {
    if judge.autonomy.mode != Mode::Enforcing {
        return Ok(None);
    }
    let Some(block) = block(connection, agent)? else { return Ok(None) };
    if block.principal != about.caller.principal {
        let event = Event {
            outcome: Some(Outcome::Denied),
            agent: Some(agent.to_owned()),
            session_id: Some(about.caller.session_id.clone()),
            principal: Some(about.caller.principal.clone()),
            ..Event::new("EXECUTION_REFUSED")
        };
        append(connection, &event, now)?;
        return Ok(Some(Refused::BlockedForAnother { reason: block.reason }));
    }
    let about = About {
        reason: block.reason.clone(),
        hint: block.hint.clone(),
        action: super::challenges::action(connection, &block.challenge_id)?,
        ..about.clone()
    };
    let known = load(connection, agent, Which::Named(&block.challenge_id))?;
    let told = Told { about: Some(&about), by: None, channel: None, caller: Some(&about.caller) };
    let command = Command::Ask { challenge: challenge_id.to_owned() };
    let (known, effects) = change(connection, agent, known, command, judge.challenge_life, &told, now)?;
    let challenge = known.hard(now).cloned();
    let retry_after_seconds = effects.iter().find_map(|effect| match effect {
        Effect::NoReissue { retry_after_seconds } => Some(*retry_after_seconds),
        _ => None,
    });
    let block = super::Block { challenge_id: known.blocked_by.unwrap_or_default(), ..block };
    let event = Event {
        outcome: Some(Outcome::Denied),
        agent: Some(agent.to_owned()),
        session_id: Some(about.caller.session_id.clone()),
        principal: Some(about.caller.principal.clone()),
        challenge_id: Some(block.challenge_id.clone()),
        ..Event::new("EXECUTION_REFUSED")
    };
    append(connection, &event, now)?;
    Ok(Some(Refused::Blocked { block, challenge, retry_after_seconds }))
}

const COLUMNS: &str = "id, agent, principal, session_id, mode, steps, unseen_steps, pause_id, pause_reason, paused_at, \
     started_at, last_step_at, ended_at, ended_as";

/// The execution that an agent has in a session.
pub(super) fn open(
    connection: &Connection,
    owner: &str,
    session_id: &str,
    agent: &str,
) -> Result<Option<AgentExecution>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM agent_executions
         WHERE owner = ?1 AND session_id = ?2 AND agent = ?3 AND ended_at IS NULL"
    );
    Ok(connection.prepare_cached(&sql)?.query_row((owner, session_id, agent), execution).optional()?)
}

/// Every open execution of a process.
pub(super) fn all_open(connection: &Connection, owner: &str) -> Result<Vec<AgentExecution>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM agent_executions WHERE owner = ?1 AND ended_at IS NULL");
    all(connection.prepare_cached(&sql)?, [owner], execution)
}

fn execution(row: &Row<'_>) -> rusqlite::Result<AgentExecution> {
    let pause = match row.get(7)? {
        Some(approval_id) => Some(OpenPause { approval_id, reason: row.get(8)?, at: time(row, 9)? }),
        None => None,
    };
    let ended = match time_if_any(row, 12)? {
        Some(at) => Some((at, word(row, 13, &Status::ENDED, Status::as_str)?)),
        None => None,
    };
    Ok(AgentExecution {
        id: row.get(0)?,
        agent: row.get(1)?,
        caller: Caller { principal: row.get(2)?, session_id: row.get(3)? },
        mode: word(row, 4, &Mode::ALL, Mode::as_str)?,
        steps: count(row, 5)?,
        unseen_steps: row.get(6)?,
        pause,
        started_at: time(row, 10)?,
        last_step_at: time_if_any(row, 11)?,
        ended,
    })
}

/// Forgets what began long ago, and consents that nobody used.
pub(in crate::store::safety) fn purge(connection: &Connection, now: Timestamp) -> Result<(), Error> {
    let before = now.saturating_sub(KEPT).unwrap_or(now).as_microsecond();
    connection.execute(
        "DELETE FROM agent_steps WHERE execution_id IN (SELECT id FROM agent_executions WHERE started_at < ?1)",
        [before],
    )?;
    connection.execute("DELETE FROM agent_executions WHERE started_at < ?1", [before])?;
    connection.execute("DELETE FROM agent_consents WHERE until < ?1", [now.as_microsecond()])?;
    connection.execute("DELETE FROM approval_tokens WHERE expires_at < ?1", [before])?;
    connection.execute(
        "DELETE FROM challenges WHERE expires_at < ?1 AND id NOT IN (SELECT challenge_id FROM agent_blocks)",
        [before],
    )?;
    Ok(())
}
