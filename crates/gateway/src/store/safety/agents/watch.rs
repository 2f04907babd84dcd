//! Who is blocked and who executes, in memory and fresh: other processes block and unblock agents too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aql::policy::{self, Blocks, Executing};
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};

use super::executions::all_open;
use super::kept::{Which, load, verifying};
use super::{AgentExecution, SafetyStore, blocks, pause};
use crate::store::Error;
use crate::store::columns::all;
use crate::store::safety::approvals::{self, ApprovalState};

/// What is known of all agents, as far as calls are decided by it.
#[derive(Debug, Default)]
pub struct Snapshot {
    pub blocks: Blocks,
    /// The executions of this process by their session.
    pub sessions: HashMap<String, Vec<Bound>>,
    /// What holds for all sessions of a principal, by the principal: a pause is not left by ending its execution.
    pub pauses: HashMap<String, Vec<Pausing>>,
}

impl Snapshot {
    /// What holds for the calls of a session of a principal.
    #[must_use]
    pub fn executing(&self, session_id: &str, principal: &str, now: Timestamp) -> Vec<Executing> {
        let bound = self.sessions.get(session_id).into_iter().flatten().map(|bound| bound.executing(now));
        let pauses = self.pauses.get(principal).into_iter().flatten().filter(|pausing| now < pausing.until);
        let pauses = pauses.map(|pausing| Executing::Paused {
            agent: pausing.agent.clone(),
            reason: pausing.reason.clone(),
        });
        bound.chain(pauses).collect()
    }
}

/// An agent that waits for a person, whether it executes or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pausing {
    pub agent: String,
    pub reason: String,
    pub until: Timestamp,
}

/// An execution that a session is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    pub agent: String,
    pub execution_id: String,
    pub reported: bool,
    /// Why it waits for a person, and until when at the most.
    pub paused: Option<(String, Timestamp)>,
    /// What it was told to go on with, the last first.
    pub hints: Vec<String>,
}

impl Bound {
    /// How the gate sees it.
    #[must_use]
    pub fn executing(&self, now: Timestamp) -> Executing {
        let agent = self.agent.clone();
        match &self.paused {
            Some((reason, until)) if now < *until => Executing::Paused { agent, reason: reason.clone() },
            _ if !self.reported => Executing::NothingReported { agent },
            _ => Executing::Running { agent },
        }
    }
}

/// Hints that a call is compared with.
const HINTS_COMPARED: u32 = 5;

/// A look at the file that costs next to nothing while nothing has changed.
pub struct Watch {
    owner: String,
    seen: Mutex<Seen>,
}

struct Seen {
    connection: Connection,
    /// What SQLite counts of others' commits, and what we count of those that matter.
    version: Option<i64>,
    change: Option<i64>,
    /// What was read then. It is replaced under the lock: whoever finds nothing new must find it.
    snapshot: Arc<Snapshot>,
}

impl SafetyStore {
    /// Watches for a process. Blocks: meant for the start of the process.
    pub fn watch(&self, owner: &str) -> Result<Watch, Error> {
        let connection = self.database.connection(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let seen = Mutex::new(Seen { connection, version: None, change: None, snapshot: Arc::default() });
        Ok(Watch { owner: owner.to_owned(), seen })
    }
}

impl Watch {
    /// What is known now, read anew if there may be anything new. Nobody is given less than an earlier caller was.
    pub fn look(&self, now: Timestamp) -> Result<Arc<Snapshot>, Error> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let version =
            seen.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if seen.version == Some(version) {
            return Ok(Arc::clone(&seen.snapshot));
        }
        let change = seen
            .connection
            .prepare_cached("SELECT number FROM agent_changes")?
            .query_row([], |row| row.get(0))?;
        if seen.change != Some(change) {
            seen.snapshot = Arc::new(read(&seen.connection, &self.owner, now)?);
            seen.change = Some(change);
        }
        seen.version = Some(version);
        Ok(Arc::clone(&seen.snapshot))
    }
}

fn read(connection: &Connection, owner: &str, now: Timestamp) -> Result<Snapshot, Error> {
    let blocks = blocks::read(connection)?.into_iter().map(|block| policy::Block {
        agent: block.agent,
        principal: block.principal,
        verification_id: block.challenge_id,
        reason: block.reason,
    });
    let mut sessions: HashMap<String, Vec<Bound>> = HashMap::new();
    for execution in all_open(connection, owner)? {
        let bound = bound(connection, owner, &execution, now)?;
        sessions.entry(execution.caller.session_id).or_default().push(bound);
    }
    let mut pauses: HashMap<String, Vec<Pausing>> = HashMap::new();
    for left in pause::all_left(connection)? {
        let pausing = Pausing { agent: left.agent, reason: left.pause.reason, until: left.until };
        pauses.entry(left.principal).or_default().push(pausing);
    }
    for asked in verifying(connection, owner)? {
        let reason = super::tell::waiting_for_code(&asked.challenge.id);
        let pausing = Pausing { agent: asked.agent, reason, until: asked.challenge.expires_at };
        pauses.entry(asked.principal).or_default().push(pausing);
    }
    Ok(Snapshot { blocks: blocks.collect(), sessions, pauses })
}

fn bound(
    connection: &Connection,
    owner: &str,
    execution: &AgentExecution,
    now: Timestamp,
) -> Result<Bound, Error> {
    let agent = load(connection, &execution.agent, Which::Enforced { owner })?;
    let verifying = agent.pausing(now).map(|challenge| {
        let reason = super::tell::waiting_for_code(&challenge.id);
        (reason, challenge.expires_at)
    });
    let confirming = match &execution.pause {
        Some(pause) => {
            let approval = approvals::find(connection, &pause.approval_id)?;
            let over = approval
                .is_some_and(|known| matches!(known.state, ApprovalState::Approved | ApprovalState::Spent));
            (!over).then(|| (pause.reason.clone(), Timestamp::MAX))
        }
        None => None,
    };
    let hints = connection.prepare_cached(
        "SELECT hint FROM agent_steps WHERE execution_id = ?1 AND continued = 1 ORDER BY number DESC LIMIT ?2",
    )?;
    Ok(Bound {
        agent: execution.agent.clone(),
        execution_id: execution.id.clone(),
        reported: execution.steps > 0,
        paused: verifying.or(confirming),
        hints: all(hints, (&execution.id, HINTS_COMPARED), |row| row.get(0))?,
    })
}
