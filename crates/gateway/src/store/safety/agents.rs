//! What is kept of agents in the safety loop: executions, steps, pauses, blocks, challenges.
//!
//! A hard block is its agent's, whoever runs it: it holds in every process on the data directory and after a crash. A pause
//! that waits for a code belongs to the process that made it, and is not enforced by others or after a restart.

mod blocks;
mod challenges;
mod kept;

use aql::autonomy::Challenge;
use jiff::Timestamp;

use super::SafetyStore;

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
CREATE INDEX challenges_alive ON challenges (agent) WHERE state IN ('pending', 'revealed');
CREATE TABLE callers (
    principal TEXT PRIMARY KEY,
    attempts TEXT NOT NULL
) STRICT;
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
