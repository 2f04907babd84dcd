//! The six operations.

use std::sync::{Arc, atomic::Ordering};

use aql::{
    autonomy::{Autonomy, Hint, StepOutcome, code, define, fold},
    danger::DangerLevel,
    define::{Operation, Type},
    error::{Code, Error},
    registry::{RESERVED, Registry},
    response::Data,
};
use serde_json::{Map, Value, json};

use super::{
    SafetyLoop, caller,
    refusal::{locked, not_confirmed, not_verified, refused, undecided},
};
use crate::{
    adapters::Operations,
    dispatch::{Context, Outcome, Work},
    gate::Permitted,
    safety::Safety,
    store::safety::agents::{
        AgentExecution, Confirmed, NewAgentExecution, NewStep, Refused, Status, Verified,
    },
};

/// The operations and their types without anything behind them, to be looked at.
#[must_use]
pub fn definitions(autonomy: &Autonomy) -> (Vec<Operation>, Vec<Type>) {
    (define::operations(autonomy), define::types(autonomy))
}

/// The operations over a loop.
#[must_use]
pub fn operations(own: &Arc<SafetyLoop>) -> Operations {
    let (definitions, types) = definitions(own.autonomy());
    let mut operations = Operations::new();
    operations.add_types(types);
    for definition in definitions {
        match definition.name.as_str() {
            define::EXECUTE_AGENT => add(&mut operations, own, definition, execute),
            define::RECORD_EXECUTION_STEP => add(&mut operations, own, definition, record),
            define::COMPLETE_EXECUTION => add(&mut operations, own, definition, complete),
            define::ABORT_EXECUTION => add(&mut operations, own, definition, abort),
            define::CONFIRM_OPERATION => add(&mut operations, own, definition, confirm),
            _ => add(&mut operations, own, definition, verify),
        }
    }
    operations
}

/// What a handler gets.
struct Asked {
    own: Arc<SafetyLoop>,
    registry: Arc<Registry>,
    params: Map<String, Value>,
    context: Context,
}

impl Asked {
    fn text(&self, name: &str) -> Option<&str> {
        self.params.get(name).and_then(Value::as_str)
    }

    /// The agent's name in one form, so that no second spelling of a blocked one is free.
    fn agent(&self) -> Result<String, Error> {
        let name = fold(self.text("element_name").unwrap_or_default()).text;
        if name.is_empty() { Err(blank("element_name")) } else { Ok(name) }
    }

    /// A text to be kept. Codes that somebody repeats are not.
    fn kept(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty()).map(code::mask)
    }
}

fn add<F, W>(operations: &mut Operations, own: &Arc<SafetyLoop>, definition: Operation, work: F)
where
    F: Fn(Asked) -> W + Send + Sync + 'static,
    W: Future<Output = Result<Value, Error>> + Send + 'static,
{
    let (own, work) = (Arc::clone(own), Arc::new(work));
    operations.add(definition, move |mut permitted: Permitted, context: Context| -> Work {
        let registry = Arc::clone(permitted.registry());
        let asked = Asked { own: Arc::clone(&own), registry, params: permitted.take_params(), context };
        let work = work(asked);
        Box::pin(async move { work.await.map(|value| Outcome::from(Data::Value(value))) })
    });
}

fn blank(name: &str) -> Error {
    Error::new(Code::PatternMismatch, format!("Parameter '{name}' says nothing"))
        .with("param_name", name)
        .hint("Write it out in words.")
}

fn id() -> String {
    uuid::Uuid::new_v4().to_string()
}

fn view(execution: &AgentExecution) -> Value {
    let status = match &execution.ended {
        Some((_, status)) => *status,
        None => Status::Running,
    };
    let mut view = json!({
        "execution_id": execution.id,
        "element_name": execution.agent,
        "status": status.as_str(),
        "mode": execution.mode,
        "steps": execution.steps,
        "started_at": execution.started_at.to_string(),
    });
    if let (Some((at, _)), Some(view)) = (&execution.ended, view.as_object_mut()) {
        view.insert("finished_at".to_owned(), at.to_string().into());
    }
    view
}

async fn execute(asked: Asked) -> Result<Value, Error> {
    let agent = asked.agent()?;
    let Asked { own, context, .. } = &asked;
    let challenge_id = id();
    let new = NewAgentExecution {
        id: id(),
        agent: agent.clone(),
        caller: caller(&context.session),
        goal: asked.kept("goal"),
        challenge_id: challenge_id.clone(),
    };
    own.watch(&context.session);
    let started = own.store.start_agent(new, own.judge.clone(), context.now).await;
    match started.map_err(|error| undecided(define::EXECUTE_AGENT, error))? {
        Ok(execution) => Ok(view(&execution)),
        Err(why) => {
            announce(context.gateway.safety(), &why, &challenge_id).await;
            Err(refused(define::EXECUTE_AGENT, &agent, why))
        }
    }
}

async fn record(asked: Asked) -> Result<Value, Error> {
    let agent = asked.agent()?;
    let hint = asked.text("next_action_hint").unwrap_or_default();
    let judged = Hint::read(hint);
    if judged.is_empty() {
        return Err(blank("next_action_hint"));
    }
    let Asked { own, registry, context, .. } = &asked;
    let (challenge_id, approval_id) = (id(), crate::safety::approval_id());
    let step = NewStep {
        agent: agent.clone(),
        caller: caller(&context.session),
        hint: code::mask(hint),
        known: known(registry, &judged),
        judged,
        description: asked.kept("step_description"),
        outcome: asked.text("outcome").and_then(StepOutcome::read),
        findings: asked.kept("findings"),
        challenge_id: challenge_id.clone(),
        approval_id: approval_id.clone(),
    };
    let recorded = own.store.record_step(step, own.judge.clone(), context.now).await;
    match recorded.map_err(|error| undecided(define::RECORD_EXECUTION_STEP, error))? {
        Ok(recorded) => {
            own.evaluations.fetch_add(u64::from(recorded.evaluated), Ordering::Relaxed);
            if let Some(safety) = context.gateway.safety().filter(|_| !recorded.directive.goes_on) {
                safety.announce(&approval_id, &challenge_id).await;
            }
            Ok(json!(recorded.directive))
        }
        Err(why) => {
            announce(context.gateway.safety(), &why, &challenge_id).await;
            Err(refused(define::RECORD_EXECUTION_STEP, &agent, why))
        }
    }
}

/// The most dangerous operation that a hint names, in its own spelling or in camel case.
pub(crate) fn known(registry: &Registry, hint: &Hint) -> Option<(String, DangerLevel)> {
    let is_apart = |letter: char| !(letter.is_ascii_alphanumeric() || letter == '_');
    let names = hint.forms().flat_map(|text| text.split(is_apart));
    let others = names.filter(|name| !RESERVED.contains(name));
    let found = others.filter_map(|name| registry.get(registry.id(name)?));
    let worst = found.max_by_key(|operation| operation.danger().level)?;
    Some((worst.name().as_str().to_owned(), worst.danger().level))
}

async fn complete(asked: Asked) -> Result<Value, Error> {
    end(&asked, define::COMPLETE_EXECUTION, Status::Completed, asked.kept("summary")).await
}

async fn abort(asked: Asked) -> Result<Value, Error> {
    end(&asked, define::ABORT_EXECUTION, Status::Cancelled, asked.kept("reason")).await
}

async fn end(asked: &Asked, operation: &str, status: Status, note: Option<String>) -> Result<Value, Error> {
    let agent = asked.agent()?;
    let Asked { own, context, .. } = asked;
    let challenge_id = id();
    let judge = (own.judge.clone(), challenge_id.clone());
    let ended = own.store.end_agent(&agent, caller(&context.session), status, note, judge, context.now).await;
    match ended.map_err(|error| undecided(operation, error))? {
        Ok(execution) => Ok(view(&execution)),
        Err(why) => {
            announce(context.gateway.safety(), &why, &challenge_id).await;
            Err(refused(operation, &agent, why))
        }
    }
}

/// Tells the operator's side of a challenge that was issued because the last one was over.
pub(super) async fn announce(safety: Option<&Arc<Safety>>, why: &Refused, challenge_id: &str) {
    let Refused::Blocked { challenge: Some(challenge), .. } = why else { return };
    if let Some(safety) = safety.filter(|_| challenge.id == challenge_id) {
        safety.announce("", challenge_id).await;
    }
}

async fn confirm(asked: Asked) -> Result<Value, Error> {
    let operation = asked.text("operation").unwrap_or_default();
    let Asked { own, context, .. } = &asked;
    let hash = own.codes.token_hash(asked.text("confirmation_token").unwrap_or_default());
    let confirmed = own.store.confirm(operation, hash, caller(&context.session), context.now).await;
    match confirmed.map_err(|error| undecided(define::CONFIRM_OPERATION, error))? {
        Confirmed::Done(approval) => {
            if let Some(safety) = context.gateway.safety() {
                safety.answered();
            }
            Ok(json!({"confirmed": true, "operation": operation, "approval_id": approval.id}))
        }
        why => Err(not_confirmed(operation, why)),
    }
}

async fn verify(asked: Asked) -> Result<Value, Error> {
    let challenge = asked.text("challenge_id").unwrap_or_default();
    let Asked { own, context, .. } = &asked;
    let hash = own.codes.hash(challenge, asked.text("code").unwrap_or_default());
    let verified = own.store.verify(challenge, hash, caller(&context.session), context.now).await;
    match verified.map_err(|error| undecided(define::VERIFY_CHALLENGE, error))? {
        Verified::Right(done) => {
            Ok(json!({"verified": true, "challenge_id": challenge, "element_name": done.agent}))
        }
        Verified::Wrong { locked_seconds, .. } => Err(not_verified(challenge, locked_seconds)),
        Verified::Missing => Err(not_verified(challenge, None)),
        Verified::Locked { retry_after_seconds } => {
            Err(locked(define::VERIFY_CHALLENGE, retry_after_seconds))
        }
    }
}
