//! A registry with an operation for each category and level, served by whom the test says.

use std::sync::Arc;

use aql::{
    category::Category,
    danger::DangerLevel,
    define::{Operation, Param, Type},
    policy::{Blocks, Decision, Executing, Facts, Policy, Rule, Standing, Then, Verdict},
    registry::{Endpoint, Registry},
    request::Call,
    shared,
    trust::TrustLevel,
};
use regex::Regex;
use serde_json::{Map, Value};

pub(crate) fn policy() -> Policy {
    Policy { gating: true, ..Policy::default() }
}

pub(crate) fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// A rule about operations of these names.
pub(crate) fn rule(operations: &[&str], then: Then) -> Rule {
    Rule { operations: texts(operations), ..Rule::new(then) }
}

pub(crate) fn operations() -> Vec<Operation> {
    let id = || Param::new("item_id", "string", "Which").required().alias("itemId");
    let fields = || Param::new("input", "ItemChanges", "What changes").required();
    vec![
        Operation::new(Category::Read, "get_item", "Get an item").param(id()),
        Operation::new(Category::Create, "create_item", "Create an item")
            .param(Param::new("owner", "string", "Whose").alias("ownerName").default_value("nobody"))
            .param(Param::new("count", "integer", "How many"))
            .param(Param::new("target", "object", "Where it goes"))
            .param(shared::dry_run()),
        Operation::new(Category::Update, "update_item", "Change an item").param(id()).param(fields()),
        Operation::new(Category::Delete, "delete_item", "Delete an item")
            .param(id())
            .param(shared::dry_run()),
        Operation::new(Category::Execute, "run_job", "Run a job"),
        Operation::new(Category::Execute, "send_money", "Send money")
            .danger(DangerLevel::Dangerous, &["the money is gone"]),
        Operation::new(Category::Delete, "end_world", "End it all")
            .danger(DangerLevel::Forbidden, &["nothing is left"]),
    ]
}

fn types() -> Vec<Type> {
    vec![Type::object(
        "ItemChanges",
        "What changes",
        vec![
            Param::new("branch", "string", "Which branch"),
            Param::new("secret_word", "string", "What opens it").sensitive(),
        ],
    )]
}

/// Operations as they are told, of an adapter trusted so far.
pub(crate) fn registry_of(policy: Policy, trust: TrustLevel, operations: Vec<Operation>) -> Arc<Registry> {
    let trusted = operations.into_iter().map(|operation| Operation { trust: Some(trust), ..operation });
    let built = Registry::builder("items").types(types()).policy(policy).operations(trusted).build();
    Arc::new(built.unwrap_or_else(|problems| panic!("{problems}")))
}

pub(crate) fn registry(policy: Policy, trust: TrustLevel) -> Arc<Registry> {
    registry_of(policy, trust, operations())
}

/// The same operations as a server's, whose name stands before theirs.
pub(crate) fn served(server: &str) -> Vec<Operation> {
    let of = |operation: Operation| Operation {
        name: format!("{server}_{}", operation.name),
        prefix: format!("{server}_"),
        server: Some(server.to_owned()),
        params: operation.params.into_iter().filter(|param| param.name != shared::DRY_RUN).collect(),
        ..operation
    };
    operations().into_iter().map(of).collect()
}

pub(crate) fn params(value: Value) -> Map<String, Value> {
    let Value::Object(params) = value else { panic!("no object: {value}") };
    params
}

/// Decides a call as the gate does: routed, validated, then decided.
pub(crate) fn decide_as(registry: &Arc<Registry>, caller: &str, operation: &str, given: Value) -> Decision {
    let call = Call { operation: operation.to_owned(), params: params(given) };
    let valid = registry.validate(Endpoint::Unified, call).unwrap_or_else(|error| panic!("{error}"));
    let facts = Facts {
        params: valid.params(),
        principal: caller,
        dry_run: valid.operation().is_dry_run(valid.params()),
        blocks: Blocks::none(),
        executing: &[],
    };
    registry.decide(valid.id(), &facts)
}

pub(crate) fn decide(registry: &Arc<Registry>, operation: &str, given: Value) -> Decision {
    decide_as(registry, "local", operation, given)
}

/// Decides without looking at parameters.
pub(crate) fn plain(registry: &Registry, operation: &str) -> Decision {
    decide_with(registry, operation, false, Blocks::none(), &[])
}

pub(crate) fn decide_with(
    registry: &Registry,
    operation: &str,
    dry_run: bool,
    blocks: &Blocks,
    executing: &[Executing],
) -> Decision {
    let none = Map::new();
    let facts = Facts { params: &none, principal: "local", dry_run, blocks, executing };
    registry.decide(registry.id(operation).unwrap(), &facts)
}

pub(crate) fn verdict(registry: &Registry, operation: &str) -> Verdict {
    plain(registry, operation).verdict()
}

pub(crate) fn standing<'a>(registry: &'a Registry, operation: &str) -> &'a Standing {
    registry.standing(registry.id(operation).unwrap())
}

/// The error of a call that must be denied.
#[track_caller]
pub(crate) fn error(decision: Decision, operation: &str) -> aql::error::Error {
    let Decision::Deny(reason) = decision else { panic!("{decision:?}") };
    let error = reason.error(operation);
    let frame = Regex::new(r"(?i)at\s+\S+").unwrap();
    let hint = error.details.get("hint").and_then(Value::as_str).unwrap_or_default();
    for text in [error.message.as_str(), hint] {
        assert!(!frame.is_match(text), "{text}");
    }
    error
}
