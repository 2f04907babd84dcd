//! What would be decided about a call or a hint, and why, with today's blocks.

use std::sync::Arc;

use aql::{
    error::Error,
    policy::{Block, Blocks, Explanation, Facts, explain},
    registry::Registry,
};
use serde_json::{Map, Value};

use super::desk::ShownBlock;
use crate::{
    explain::{Subject, safety_explain},
    session::LOCAL,
};

/// What is asked about.
#[derive(Debug, Clone)]
pub enum Question {
    /// Any call of an operation: what depends on parameters is decided as if there were none.
    Operation(String),
    /// One call, its parameters as a caller would give them, or the words of a hint.
    Exactly(Subject),
}

/// What the rules and today's blocks make of it. An error is what a caller would be told.
pub fn explain_today(
    registry: &Arc<Registry>,
    question: Question,
    principal: Option<&str>,
    blocks: Vec<ShownBlock>,
) -> Result<Explanation, Error> {
    let blocks: Blocks = blocks.into_iter().map(Block::from).collect();
    let principal = principal.unwrap_or(LOCAL);
    let operation = match question {
        Question::Exactly(subject) => return safety_explain(registry, subject, principal, &blocks),
        Question::Operation(operation) => operation,
    };
    let Some(id) = registry.id(&operation) else {
        let subject = Subject::Call { operation, params: Map::new() };
        return safety_explain(registry, subject, principal, &blocks);
    };
    let params: Map<String, Value> = Map::new();
    let facts = Facts { params: &params, principal, dry_run: false, blocks: &blocks, executing: &[] };
    Ok(explain::explain(registry, id, &facts))
}

impl From<ShownBlock> for Block {
    fn from(block: ShownBlock) -> Self {
        let ShownBlock { agent, principal, challenge_id, reason, .. } = block;
        Self { agent, principal, verification_id: challenge_id, reason }
    }
}
