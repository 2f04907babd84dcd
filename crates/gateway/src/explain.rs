//! What would be decided about a call, without making it: for operators who try out their rules.

use std::sync::Arc;

use aql::{
    error::Error,
    policy::{Blocks, Explanation, Facts, explain, hint},
    registry::{Endpoint, Registry},
    request::Call,
};
use serde_json::{Map, Value};

/// What is asked about.
#[derive(Debug, Clone)]
pub enum Subject {
    /// A call, its parameters as a caller would give them.
    Call { operation: String, params: Map<String, Value> },
    /// What an agent says it is about to do.
    Hint(String),
}

/// Explains a decision. Parameters are validated first, as they are before a call, so what cannot be called is told as it
/// would be told a caller.
pub fn safety_explain(
    registry: &Arc<Registry>,
    subject: Subject,
    caller: &str,
    blocks: &Blocks,
) -> Result<Explanation, Error> {
    let (operation, params) = match subject {
        Subject::Hint(text) => return Ok(hint::explain(registry.policy(), &text, caller)),
        Subject::Call { operation, params } => (operation, params),
    };
    let routed = registry.routed(Endpoint::Unified, Call { operation, params })?;
    let id = routed.id();
    // What nobody may call need not be called correctly.
    if routed.standing().denied().is_some() {
        let none = Map::new();
        return Ok(explain::explain(registry, id, &facts(&none, caller, false, blocks)));
    }
    let valid = routed.validate()?;
    let dry_run = valid.operation().is_dry_run(valid.params());
    Ok(explain::explain(registry, id, &facts(valid.params(), caller, dry_run, blocks)))
}

fn facts<'a>(
    params: &'a Map<String, Value>,
    principal: &'a str,
    dry_run: bool,
    blocks: &'a Blocks,
) -> Facts<'a> {
    Facts { params, principal, dry_run, blocks, executing: &[] }
}
