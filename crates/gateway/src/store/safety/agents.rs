//! What is kept of agents in the safety loop: executions, steps, pauses, blocks, challenges.
//!
//! A hard block is its agent's, whoever runs it: it holds in every process on the data directory and after a crash. A pause
//! that waits for a code belongs to the process that made it, and is not enforced by others or after a restart.

mod blocks;
mod challenges;
mod confirm;
mod executions;
mod kept;
mod pause;
mod record;
mod tell;
#[cfg(test)]
mod tests;
mod watch;

use std::sync::Arc;

use aql::{
    autonomy::{Autonomy, Challenge, Directive, Hint, Mode, Scorer, StepOutcome},
    danger::DangerLevel,
};
use jiff::{SignedDuration, Timestamp};

use super::SafetyStore;
pub(super) use executions::purge;
pub use watch::{Bound, Snapshot, Watch};

/// `agent_changes` counts what others may have to hear of, so that they need not read everything whenever an audit entry
/// was added.
pub(super) const TABLES: &str = "
CREATE TABLE agents (
    name TEXT PRIMARY KEY,
    attempts TEXT NOT NULL,
    reissues TEXT NOT NULL
) STRICT;
CREATE TABLE agent_blocks (
    agent TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    challenge_id TEXT NOT NULL,
    reason TEXT NOT NULL,
    hint TEXT NOT NULL,
    blocked_at INTEGER NOT NULL
) STRICT;
CREATE TABLE challenges (
    id TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    tier TEXT NOT NULL,
    state TEXT NOT NULL,
    owner TEXT NOT NULL,
    principal TEXT NOT NULL,
    session_id TEXT NOT NULL,
    reason TEXT NOT NULL,
    hint TEXT NOT NULL,
    action BLOB NOT NULL,
    code_hash BLOB,
    asked_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX challenges_alive ON challenges (asked_at) WHERE state IN ('pending', 'revealed');
CREATE INDEX challenges_of ON challenges (agent, tier, owner, asked_at);
CREATE TABLE callers (
    principal TEXT PRIMARY KEY,
    attempts TEXT NOT NULL
) STRICT;
CREATE TABLE agent_executions (
    id TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    principal TEXT NOT NULL,
    session_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    mode TEXT NOT NULL,
    goal TEXT,
    steps INTEGER NOT NULL,
    unseen_steps INTEGER NOT NULL,
    pause_id TEXT,
    pause_reason TEXT,
    paused_at INTEGER,
    started_at INTEGER NOT NULL,
    last_step_at INTEGER,
    ended_at INTEGER,
    ended_as TEXT
) STRICT;
CREATE INDEX agent_executions_open ON agent_executions (owner, session_id, agent) WHERE ended_at IS NULL;
CREATE INDEX agent_executions_old ON agent_executions (started_at);
CREATE TABLE agent_steps (
    execution_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    hint TEXT NOT NULL,
    deed TEXT,
    description TEXT,
    outcome TEXT,
    findings TEXT,
    continued INTEGER NOT NULL,
    PRIMARY KEY (execution_id, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE agent_consents (
    number INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    action BLOB NOT NULL,
    consent TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT;
CREATE INDEX agent_consents_of ON agent_consents (agent, action);
CREATE TABLE approval_tokens (
    hash BLOB PRIMARY KEY,
    approval_id TEXT NOT NULL,
    made_by TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER agents_hear_of_answers AFTER UPDATE OF state ON approvals WHEN NEW.kind = 'pause' BEGIN
    UPDATE agent_changes SET number = number + 1;
END;
CREATE TABLE agent_changes (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    number INTEGER NOT NULL
) STRICT;
INSERT INTO agent_changes VALUES (1, 0);
";

/// What is kept of a code: its keyed hash, from [`aql::autonomy::code::hash`].
pub type CodeHash = [u8; 32];

/// Who asks, as the session knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub session_id: String,
    pub principal: String,
}

/// A hard block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub agent: String,
    /// Whose agent it is.
    pub principal: String,
    /// The challenge that ends it. It may be over; another is issued when the agent asks again.
    pub challenge_id: String,
    pub reason: String,
    /// The action that was reported.
    pub hint: String,
    pub blocked_at: Timestamp,
}

/// A challenge with what a person has to know to answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub challenge: Challenge,
    pub agent: String,
    pub principal: String,
    pub session_id: String,
    pub reason: String,
    pub hint: String,
}

/// What came of asking for a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revealed {
    /// The hash is kept, in place of one that was there before.
    Shown(Asked),
    /// It is too late for a code.
    Over(Asked),
    Missing,
}

/// What came of a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verified {
    Right(Asked),
    /// Wrong, or too late; the challenge is spent either way.
    Wrong {
        asked: Asked,
        /// For how long nobody is listened to now, if this was one too many.
        locked_seconds: Option<u64>,
    },
    /// Not looked at.
    Locked {
        retry_after_seconds: u64,
    },
    Missing,
}

/// What steps are judged by.
#[derive(Clone)]
pub struct Judge {
    pub autonomy: Arc<Autonomy>,
    pub scorer: Arc<dyn Scorer>,
    /// How long a challenge can be answered.
    pub challenge_life: SignedDuration,
    /// The process, which no other is called like.
    pub owner: String,
    /// What the server calls itself.
    pub adapter: String,
}

/// A monitored execution to begin.
#[derive(Debug, Clone)]
pub struct NewAgentExecution {
    pub id: String,
    pub agent: String,
    pub caller: Caller,
    pub goal: Option<String>,
    /// Used if the agent is blocked and its challenge is over.
    pub challenge_id: String,
}

/// How far a monitored execution is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Running,
    Paused,
    Stopped,
    Completed,
    Cancelled,
}

impl Status {
    pub(super) const ENDED: [Self; 2] = [Self::Completed, Self::Cancelled];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A monitored execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentExecution {
    pub id: String,
    pub agent: String,
    pub caller: Caller,
    pub mode: Mode,
    pub steps: u64,
    /// Steps since a person last looked.
    pub unseen_steps: u32,
    pub pause: Option<OpenPause>,
    pub started_at: Timestamp,
    pub last_step_at: Option<Timestamp>,
    pub ended: Option<(Timestamp, Status)>,
}

/// A pause that a person has to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPause {
    /// What the person is asked.
    pub approval_id: String,
    pub reason: String,
    pub at: Timestamp,
}

/// What an agent reports.
#[derive(Debug, Clone)]
pub struct NewStep {
    pub agent: String,
    pub caller: Caller,
    /// As written, but without codes.
    pub hint: String,
    pub judged: Hint,
    /// The most dangerous operation of ours that it names.
    pub known: Option<(String, DangerLevel)>,
    pub description: Option<String>,
    pub outcome: Option<StepOutcome>,
    pub findings: Option<String>,
    /// Used if a challenge is issued.
    pub challenge_id: String,
    /// Used if a person is asked.
    pub approval_id: String,
}

/// Why an operation of an agent is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// It has no execution in this session.
    NotExecuting,
    /// It waits for a person, so its work cannot be done.
    Paused { reason: String },
    /// It is blocked because of somebody else, who alone is told how that ends.
    BlockedForAnother { reason: String },
    Blocked {
        block: Block,
        /// The challenge to be answered, unless none is issued for a while.
        challenge: Option<Challenge>,
        retry_after_seconds: Option<u64>,
    },
}

/// A call of an agent that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingCall {
    pub approval_id: String,
    pub operation: String,
    pub params_hash: [u8; 32],
}

/// What came of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    pub directive: Directive,
    /// Whether the stages were run.
    pub evaluated: bool,
}

/// What came of a token for an approval.
#[derive(Debug, Clone, PartialEq)]
pub enum Confirmed {
    Done(Box<super::Approval>),
    /// The token is unknown.
    Invalid,
    Expired,
    AlreadyUsed,
    /// It is for another operation.
    OtherOperation,
    /// Whoever caused the wait cannot end it.
    Self_,
    /// Too many wrong tokens.
    Locked {
        retry_after_seconds: u64,
    },
}
