//! What would be decided about a call, without making it: for operators who try out their rules.

use std::sync::Arc;

use aql::{
    error::Error,
    policy::{Blocks, Explanation, Facts, explain},
    registry::{Endpoint, Registry},
};
use serde_json::{Map, Value};

/// A call, its parameters as a caller would give them.
pub use aql::request::Call;

/// Explains a decision. Parameters are validated first, as they are before a call, so what cannot be called is told as it
/// would be told a caller.
pub fn safety_explain(
    registry: &Arc<Registry>,
    call: Call,
    caller: &str,
    blocks: &Blocks,
) -> Result<Explanation, Error> {
    let routed = registry.routed(Endpoint::Unified, call)?;
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

#[cfg(test)]
mod tests {
    use aql::{
        category::Category,
        define::{Operation, Param},
        error::Code,
        policy::{Block, Policy, Rule, Then, Verdict},
        shared,
    };
    use serde_json::json;

    use super::*;

    fn registry() -> Arc<Registry> {
        let denies = Rule { callers: vec!["guest".to_owned()], ..Rule::new(Then::Deny) };
        let policy = Policy { gating: true, rules: vec![denies], ..Policy::default() };
        let operation = Operation::new(Category::Delete, "delete_item", "Delete an item")
            .param(Param::new("item_id", "string", "Which").required().alias("itemId"))
            .param(shared::dry_run());
        Arc::new(Registry::builder("items").policy(policy).operation(operation).build().unwrap())
    }

    fn explained(caller: &str, params: Value) -> Result<Explanation, Error> {
        let Value::Object(params) = params else { panic!("no object") };
        let call = Call { operation: "delete_item".to_owned(), params };
        safety_explain(&registry(), call, caller, Blocks::none())
    }

    #[test]
    fn a_call_is_explained_as_it_would_be_decided() {
        let asked = explained("local", json!({"itemId": "1"})).unwrap();
        assert_eq!(asked.decision, Verdict::Confirm);
        assert_eq!(asked.reasons, ["it is destructive"]);
        assert_eq!(explained("guest", json!({"item_id": "1"})).unwrap().decision, Verdict::Deny);
        let dry = explained("local", json!({"item_id": "1", "dry_run": true})).unwrap();
        assert_eq!(dry.decision, Verdict::Allow);
        assert_eq!(explained("local", json!({})).unwrap_err().code, Code::MissingParam);
        let unknown = Call { operation: "delete_itm".to_owned(), params: Map::new() };
        let error = safety_explain(&registry(), unknown, "local", Blocks::none()).unwrap_err();
        assert_eq!(error.code, Code::NotFoundOperation);
    }

    #[test]
    fn blocks_are_explained_too() {
        let block = Block {
            agent: "worker".to_owned(),
            principal: "local".to_owned(),
            verification_id: "ver_1".to_owned(),
            reason: "too risky".to_owned(),
        };
        let params = Map::from_iter([("item_id".to_owned(), json!("1"))]);
        let call = Call { operation: "delete_item".to_owned(), params };
        let told = safety_explain(&registry(), call, "local", &[block].into_iter().collect()).unwrap();
        assert_eq!(told.decision, Verdict::Deny);
        assert!(told.to_string().contains("* safety_loop"), "{told}");
    }
}
