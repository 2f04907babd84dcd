//! Who is blocked, and the operator's override.

use aql::autonomy::state::Command;
use jiff::{SignedDuration, Timestamp};

use super::kept::{Told, Which, block, block_row, change, load};
use super::{Block, SafetyStore};
use crate::failpoint;
use crate::store::Error;
use crate::store::columns::all;
use crate::store::writer::Effect as Room;

impl SafetyStore {
    /// Every agent that is blocked, by name.
    pub async fn blocks(&self) -> Result<Vec<Block>, Error> {
        self.database.read(read).await
    }

    /// Ends an agent's block without a code, and returns it as it was. Only the operator's side may call this.
    pub async fn unblock(
        &self,
        agent: &str,
        by: &str,
        channel: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<Block>, Error> {
        let (agent, by, channel) = (agent.to_owned(), by.to_owned(), channel.to_owned());
        let reason = reason.to_owned();
        let done = self
            .database
            .write(Room { frees_space: true, ..Room::default() }, move |connection| {
                let Some(block) = block(connection, &agent)? else { return Ok(None) };
                let known = load(connection, &agent, Which::Named(&block.challenge_id))?;
                let by = if reason.is_empty() { by.clone() } else { format!("{by}: {reason}") };
                let told = Told { about: None, by: Some(&by), channel: Some(&channel), caller: None };
                change(connection, &agent, known, Command::Unblock, SignedDuration::ZERO, &told, now)?;
                failpoint::hit("unblock.changing");
                Ok(Some(block))
            })
            .await;
        failpoint::hit("unblock.changed");
        done
    }
}

pub(super) fn read(connection: &rusqlite::Connection) -> Result<Vec<Block>, Error> {
    let sql =
        "SELECT agent, principal, challenge_id, reason, hint, blocked_at FROM agent_blocks ORDER BY agent";
    all(connection.prepare_cached(sql)?, (), block_row)
}
