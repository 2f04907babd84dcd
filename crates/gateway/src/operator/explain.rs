//! What would be decided about a call, or about what an agent says it is about to do, and why, with today's blocks.

use std::sync::Arc;

use aql::{
    autonomy::{Action, Hint, Mode, Report, SafetyTier, Tolerance, Words, explain as stages, fold, pattern},
    error::Error,
    policy::{Block, Blocks, Explanation, Facts, explain},
    registry::Registry,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::desk::ShownBlock;
use crate::{
    adapters::safety_loop::{Options, known},
    explain::{Call, safety_explain},
    session::LOCAL,
};

/// What is asked about.
#[derive(Debug, Clone)]
pub enum Question {
    /// Any call of an operation: what depends on parameters is decided as if there were none.
    Operation(String),
    /// One call, its parameters as a caller would give them.
    Exactly(Call),
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
        Question::Exactly(call) => return safety_explain(registry, call, principal, &blocks),
        Question::Operation(operation) => operation,
    };
    let Some(id) = registry.id(&operation) else {
        let call = Call { operation, params: Map::new() };
        return safety_explain(registry, call, principal, &blocks);
    };
    let params: Map<String, Value> = Map::new();
    let facts = Facts { params: &params, principal, dry_run: false, blocks: &blocks, executing: &[] };
    Ok(explain::explain(registry, id, &facts))
}

/// What the safety loop makes of a hint.
#[derive(Debug, Clone, Serialize)]
pub struct Judged {
    pub hint: String,
    /// The agent whose settings were taken, where one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether that agent has settings of its own.
    pub own_settings: bool,
    pub mode: Mode,
    pub max_autonomous_steps: u32,
    pub risk_tolerance: Tolerance,
    /// The operation of ours that the hint names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<String>,
    pub stages: Vec<stages::Stage>,
    pub risk: Scored,
    pub verdict: &'static str,
    pub because: String,
    /// What comes of the verdict in this mode, or with what is known of the agent today.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A score with its factors.
#[derive(Debug, Clone, Serialize)]
pub struct Scored {
    pub score: u8,
    pub tier: SafetyTier,
    pub factors: Vec<String>,
}

/// What the loop would say to a first step with this hint, in whichever mode it is. Blocks of today are told beside it.
pub fn judge_today(
    registry: &Registry,
    options: &Options,
    hint: &str,
    agent: Option<&str>,
    blocks: &[ShownBlock],
) -> Result<Judged, pattern::Error> {
    let autonomy = options.autonomy()?;
    let agent = agent.map(|name| fold(name).text);
    let settings = agent.as_deref().map_or(&autonomy.all, |name| autonomy.of(name));
    let read = Hint::read(hint);
    let known = known(registry, &read);
    let names = known.as_ref().map(|(name, _)| name.clone());
    let report = Report { action: Action { hint: read, known, repeated: 0 }, outcome: None, steps_before: 0 };
    let told = stages::explain(settings, &Words, &report);
    let (verdict, because) = match &told.verdict.halt {
        Some((halt, reason)) if halt.is_stop() => ("stopped", reason.clone()),
        Some((_, reason)) => ("paused", reason.clone()),
        None => ("continue", told.verdict.factors.join("; ")),
    };
    let blocked = agent.as_ref().and_then(|agent| blocks.iter().find(|block| block.agent == *agent));
    // The first is the score itself.
    let factors = told.risk.factors.into_iter().filter(|factor| !factor.starts_with("risk score "));
    Ok(Judged {
        hint: hint.to_owned(),
        own_settings: agent.as_ref().is_some_and(|agent| autonomy.agents.contains_key(agent)),
        agent,
        mode: autonomy.mode,
        max_autonomous_steps: settings.rules.max_autonomous_steps,
        risk_tolerance: settings.rules.risk_tolerance,
        names,
        stages: told.stages,
        risk: Scored { score: told.risk.score, tier: told.tier, factors: factors.collect() },
        verdict,
        because,
        note: note(autonomy.mode, blocked),
    })
}

fn note(mode: Mode, blocked: Option<&ShownBlock>) -> Option<String> {
    match (mode, blocked) {
        (Mode::Enforcing, Some(block)) => {
            Some(format!("the agent is blocked today, so nothing of this is asked: {}", block.reason))
        }
        (Mode::Enforcing, None) => None,
        (Mode::Monitoring, _) => Some("the loop is monitoring: it tells this and holds nobody up".to_owned()),
        (Mode::Logging, _) => Some("the loop is logging: steps are written down and not judged".to_owned()),
        (Mode::Disabled, _) => {
            Some("the loop is disabled: this is what it would say if it were enforcing".to_owned())
        }
    }
}

impl From<ShownBlock> for Block {
    fn from(block: ShownBlock) -> Self {
        let ShownBlock { agent, principal, challenge_id, reason, .. } = block;
        Self { agent, principal, verification_id: challenge_id, reason }
    }
}
