//! The gate: the only place that makes a [`Permitted`], and so the only way to an operation's handler.
//!
//! For now it holds the operator's static rules and the limit of calls; whatever decides later decides here.

use aql::{
    error::Error,
    operation::{Operation, OperationId},
    policy::{Blocks, Decision, Facts, Reason},
    registry::{Registry, Routed, ValidRequest},
    warning::Warning,
};
use serde_json::{Map, Value};
use std::sync::Arc;

use crate::{pipeline::Clock, rates::Rates, session::Session};

/// A valid request that may run. Its fields are private and [`pass`] alone builds it.
#[derive(Debug)]
pub struct Permitted {
    request: ValidRequest,
}

impl Permitted {
    #[must_use]
    pub fn operation(&self) -> &Operation {
        self.request.operation()
    }

    #[must_use]
    pub fn id(&self) -> OperationId {
        self.request.id()
    }

    #[must_use]
    pub fn registry(&self) -> &Arc<Registry> {
        self.request.registry()
    }

    #[must_use]
    pub fn params(&self) -> &Map<String, Value> {
        self.request.params()
    }

    /// Takes one parameter out, so that what is left is the handler's.
    pub fn take_param(&mut self, name: &str) -> Option<Value> {
        self.request.take_param(name)
    }

    /// Takes all parameters out.
    #[must_use]
    pub fn take_params(&mut self) -> Map<String, Value> {
        self.request.take_params()
    }

    /// Takes out what validation warned of.
    #[must_use]
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        self.request.take_warnings()
    }
}

/// Turns a call away whose caller has no right to the operation or has made too many calls, before its parameters are
/// looked at: they are not told either.
pub(crate) fn admit(routed: &Routed, session: &Session, rates: &Rates, clock: Clock) -> Result<(), Error> {
    if let Some(reason) = routed.standing().denied() {
        return Err(denied(routed.operation().name().as_str(), reason, session));
    }
    match routed.registry().calls_per_minute() {
        Some(per_minute) => rates.admit(session.principal(), per_minute, clock()),
        None => Ok(()),
    }
}

/// Decides whether a call runs.
pub fn pass(request: ValidRequest, session: &Session) -> Result<Permitted, Error> {
    let operation = request.operation();
    let facts = Facts {
        params: request.params(),
        principal: session.principal(),
        dry_run: operation.is_dry_run(request.params()),
        blocks: Blocks::none(),
        executing: &[],
    };
    match request.registry().decide(request.id(), &facts) {
        // What waits for a person is not held back here yet.
        Decision::Allow | Decision::Confirm(_) => Ok(Permitted { request }),
        Decision::Deny(reason) => Err(denied(operation.name().as_str(), &reason, session)),
    }
}

/// Whether an execution of the operation may be started again, which is no call of it.
pub(crate) fn may_start(registry: &Registry, operation: &str, session: &Session) -> Result<(), Error> {
    let standing = registry.id(operation).map(|id| registry.standing(id));
    match standing.map_or(Some(&Reason::Undecided), |standing| standing.denied()) {
        Some(reason) => Err(denied(operation, reason, session)),
        None => Ok(()),
    }
}

fn denied(operation: &str, reason: &Reason, session: &Session) -> Error {
    tracing::info!(
        target: "audit",
        event = "denied",
        session_id = session.id(),
        principal = session.principal(),
        operation,
        reason = %reason,
    );
    reason.error(operation)
}
