//! What would be decided about a call, and why, without calling anything.

use aql::{
    policy::{Block, Blocks, Decision, Facts},
    registry::Registry,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::desk::ShownBlock;
use crate::session::LOCAL;

/// A decision with what it was made from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explained {
    pub operation: String,
    pub category: String,
    pub danger_level: &'static str,
    /// How far the adapter is trusted.
    pub trust: &'static str,
    pub principal: String,
    pub dry_run: bool,
    /// `allow`, `confirm` or `deny`.
    pub decision: &'static str,
    /// Sentences for people; none where nothing stands against the call.
    pub reasons: Vec<String>,
}

/// The call that is asked about.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    pub operation: &'a str,
    pub principal: Option<&'a str>,
    pub params: Map<String, Value>,
}

/// What the rules and today's blocks make of a call; nothing if there is no such operation.
#[must_use]
pub fn explain(registry: &Registry, question: Question<'_>, blocks: Vec<ShownBlock>) -> Option<Explained> {
    let id = registry.id(question.operation)?;
    let operation = registry.get(id)?;
    let principal = question.principal.unwrap_or(LOCAL);
    let blocks: Blocks = blocks.into_iter().map(Block::from).collect();
    let dry_run = operation.is_dry_run(&question.params);
    let facts = Facts { params: &question.params, principal, dry_run, blocks: &blocks, executing: &[] };
    let decision = registry.decide(id, &facts);
    Some(Explained {
        operation: operation.name().to_string(),
        category: operation.category().as_str().to_owned(),
        danger_level: operation.danger().level.as_str(),
        trust: operation.trust().as_str(),
        principal: principal.to_owned(),
        dry_run,
        decision: decision.verdict().as_str(),
        reasons: match decision {
            Decision::Allow => Vec::new(),
            Decision::Confirm(reasons) => reasons,
            Decision::Deny(reason) => vec![reason.to_string()],
        },
    })
}

impl From<ShownBlock> for Block {
    fn from(block: ShownBlock) -> Self {
        let ShownBlock { agent, principal, challenge_id, reason, .. } = block;
        Self { agent, principal, verification_id: challenge_id, reason }
    }
}
