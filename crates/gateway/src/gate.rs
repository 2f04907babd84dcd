//! The gate: the only place that makes a [`Permitted`], and so the only way to an operation's handler.
//!
//! What is decided comes from [`aql::policy`]; this is where its facts are brought together, where a person is waited
//! for, and where a decision is written down before it is acted upon.

use std::sync::Arc;

use aql::{
    autonomy::define::EXECUTE_AGENT,
    confirm::Scope,
    error::{Code, Error},
    operation::{Operation, OperationId},
    policy::{Blocks, Decision, Facts, Reason, Standing},
    registry::{Registry, Routed, ValidRequest},
    response::Questions,
    warning::Warning,
};
use serde_json::{Map, Value};

use crate::{
    adapters::safety_loop::Supervised,
    client::Caller,
    dispatch::Surface,
    guard::{Guard, OwnPlace},
    limits::Look,
    pipeline::Clock,
    rates::Rates,
    safety::{Asking, Confirmed, DENIED, Safety, undecided},
    session::Session,
};

/// A valid request that may run. Its fields are private and `Gate::pass` alone builds it.
#[derive(Debug)]
pub struct Permitted {
    request: ValidRequest,
    /// What a person agreed to, where one was asked.
    confirmed: Option<Box<Scope>>,
    /// Whether what its caller says to questions may be handed on: nobody saw it who agreed to the call alone.
    goes_on: bool,
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

    /// The request itself.
    pub(crate) fn request(&self) -> &ValidRequest {
        &self.request
    }

    /// What a person agreed to for this call.
    pub(crate) fn confirmed(&self) -> Option<&Scope> {
        self.confirmed.as_deref()
    }

    /// Whether answers to questions belong to this call.
    pub(crate) fn goes_on(&self) -> bool {
        self.goes_on
    }
}

/// What comes of a call at the gate.
pub(crate) enum Passed {
    Permitted(Permitted),
    /// Its client's user is asked first.
    Asks(Box<Questions>),
}

/// The gate as one call meets it.
pub(crate) struct Gate<'a> {
    pub(crate) safety: Option<&'a Arc<Safety>>,
    pub(crate) guard: &'a Guard,
    pub(crate) rates: &'a Rates,
    pub(crate) clock: Clock,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) caller: &'a Caller,
    pub(crate) surface: &'a Surface,
    /// The quotas that it counts for, where there are any.
    pub(crate) quotas: Option<Look<'a>>,
    /// Whether the call may be held while a person is asked.
    pub(crate) may_wait: bool,
}

impl Gate<'_> {
    /// Turns a call away whose caller has no right to the operation or has made too many calls, before its parameters
    /// are looked at: they are not told either.
    pub(crate) async fn admit(&self, routed: &Routed) -> Result<(), Error> {
        // First, because a denial is written down: nobody may fill the log faster than they may call.
        if let Some(per_minute) = routed.registry().calls_per_minute() {
            self.rates.admit(self.session.principal(), per_minute, (self.clock)())?;
        }
        match routed.standing().denied() {
            Some(reason) => {
                Err(Box::pin(self.denied(routed.registry(), routed.operation(), None, reason)).await)
            }
            None => Ok(()),
        }
    }

    /// Decides whether a call runs, and waits for the person who has to say so.
    ///
    /// What seldom happens is boxed: a call is moved between threads, and would carry the room for all of it.
    pub(crate) async fn pass(&self, request: ValidRequest) -> Result<Passed, Error> {
        if let Err(place) = self.guard.check(request.operation(), request.params()) {
            return Err(Box::pin(self.kept_away(&request, &place)).await);
        }
        self.held_by_the_loop(&request).await?;
        let (decision, agent) = self.decide(&request)?;
        if decision != Decision::Allow {
            return Box::pin(self.held(request, decision, agent)).await;
        }
        if self.is_noted(&request) {
            Box::pin(self.note(&request)).await?;
        }
        Ok(Passed::Permitted(Permitted { request, confirmed: None, goes_on: true }))
    }

    /// A call that does not simply run.
    async fn held(
        &self,
        mut request: ValidRequest,
        decision: Decision,
        agent: Option<String>,
    ) -> Result<Passed, Error> {
        match decision {
            Decision::Allow => Ok(Passed::Permitted(Permitted { request, confirmed: None, goes_on: true })),
            Decision::Confirm(reasons) => {
                let Some(safety) = self.safety else {
                    return Err(Error::permission_denied(
                        request.operation().name().as_str(),
                        "it needs a person's approval, and this server has no place to keep one",
                    ));
                };
                let asking = Asking {
                    session: self.session,
                    caller: self.caller,
                    definition: self.surface.definition(request.id()),
                    quotas: self.quotas,
                    may_wait: self.may_wait,
                    agent,
                };
                match safety.confirm(&mut request, reasons, &asking).await? {
                    Confirmed::Yes(scope) => self.confirmed(request, scope, false).await,
                    Confirmed::Resumed(scope) => self.confirmed(request, scope, true).await,
                    Confirmed::Ask(questions) => Ok(Passed::Asks(questions)),
                }
            }
            Decision::Deny(reason) => {
                let (registry, params) = (request.registry(), Some(request.params()));
                Err(self.denied(registry, request.operation(), params, &reason).await)
            }
        }
    }

    /// Turns a call away that the loop has something against, before anybody is asked about it.
    async fn held_by_the_loop(&self, request: &ValidRequest) -> Result<(), Error> {
        let Some(safety) = self.safety else { return Ok(()) };
        let Some(safety_loop) = safety.safety_loop() else { return Ok(()) };
        let called = (request.operation(), self.surface.definition(request.id()));
        let refusal = safety_loop.refuses(safety, called, request.params(), self.session);
        Box::pin(refusal).await.map_or(Ok(()), Err)
    }

    /// Decides a call by what is known now, and tells the agent that it is made for.
    fn decide(&self, request: &ValidRequest) -> Result<(Decision, Option<String>), Error> {
        let operation = request.operation();
        let supervised = self.supervised(operation)?;
        let facts = Facts {
            params: request.params(),
            principal: self.session.principal(),
            dry_run: operation.is_dry_run(request.params()),
            blocks: supervised.as_ref().map_or(Blocks::none(), Supervised::blocks),
            executing: supervised.as_ref().map_or(&[], |supervised| &supervised.executing),
        };
        let decision = request.registry().decide(request.id(), &facts);
        Ok((decision, self.agent(request, supervised.as_ref())))
    }

    /// Lets a call through that a person agreed to, unless its caller was stopped, or a path of it
    /// was led elsewhere, while they thought about it.
    async fn confirmed(&self, request: ValidRequest, scope: Scope, goes_on: bool) -> Result<Passed, Error> {
        if let Err(place) = self.guard.check(request.operation(), request.params()) {
            return Err(self.kept_away(&request, &place).await);
        }
        if let (Decision::Deny(reason), _) = self.decide(&request)? {
            let (registry, params) = (request.registry(), Some(request.params()));
            return Err(self.denied(registry, request.operation(), params, &reason).await);
        }
        self.observe(request.operation()).await?;
        Ok(Passed::Permitted(Permitted { request, confirmed: Some(Box::new(scope)), goes_on }))
    }

    /// Whether something may have to be written down of a call that needs nobody.
    fn is_noted(&self, request: &ValidRequest) -> bool {
        let operation = request.operation();
        self.safety.is_some_and(|safety| safety.safety_loop().is_some() || Safety::is_recorded(operation))
    }

    /// Writes down what has to be of a call that needs nobody.
    async fn note(&self, request: &ValidRequest) -> Result<(), Error> {
        let operation = request.operation();
        let Some(safety) = self.safety.filter(|_| !operation.is_dry_run(request.params())) else {
            return Ok(());
        };
        self.observe(operation).await?;
        safety.allowed(request.registry(), operation, request.params(), self.session).await
    }

    /// Denies a call that leads to what is ours.
    async fn kept_away(&self, request: &ValidRequest, place: &OwnPlace) -> Error {
        let operation = request.operation();
        let name = operation.name().as_str();
        told(OwnPlace::EVENT, name, place, self.session);
        if let Some(safety) = self.safety {
            let (registry, params) = (request.registry(), Some(request.params()));
            safety.denied(OwnPlace::EVENT, registry, operation, params, place, self.session).await;
        }
        place.error(name)
    }

    /// What holds for the caller because of the loop. Where that cannot be told, nothing is let through.
    fn supervised(&self, operation: &Operation) -> Result<Option<Supervised>, Error> {
        let Some(safety_loop) = self.safety.and_then(|safety| safety.safety_loop()) else { return Ok(None) };
        safety_loop.supervised(self.session).map_err(|error| undecided(operation, &error))
    }

    /// The agent that a call is made for. It never gets a token of its own.
    fn agent(&self, request: &ValidRequest, supervised: Option<&Supervised>) -> Option<String> {
        let supervised = supervised?;
        let starting = request.operation().name().as_str() == EXECUTE_AGENT;
        let named = request.params().get("element_name").and_then(Value::as_str);
        named.filter(|_| starting).map(str::to_owned).or_else(|| supervised.agent())
    }

    /// Writes down a call that an executing agent should have reported and did not.
    async fn observe(&self, operation: &Operation) -> Result<(), Error> {
        let Some(safety_loop) = self.safety.and_then(|safety| safety.safety_loop()) else { return Ok(()) };
        safety_loop.observe(self.session, operation).await.map_err(|error| undecided(operation, &error))
    }

    async fn denied(
        &self,
        registry: &Registry,
        operation: &Operation,
        params: Option<&Map<String, Value>>,
        reason: &Reason,
    ) -> Error {
        let name = operation.name().as_str();
        told(DENIED, name, reason, self.session);
        if let Some(safety) = self.safety {
            safety.denied(DENIED, registry, operation, params, reason, self.session).await;
        }
        reason.error(name)
    }
}

/// Whether an execution of the operation may be started again, which is no call of it.
pub(crate) fn may_start(registry: &Registry, operation: &str, session: &Session) -> Result<(), Error> {
    let standing = registry.id(operation).map(|id| registry.standing(id));
    match standing.unwrap_or(&Standing::Deny(Reason::Undecided)) {
        Standing::Allow => Ok(()),
        Standing::Deny(reason) => {
            told(DENIED, operation, reason, session);
            Err(reason.error(operation))
        }
        Standing::Confirm | Standing::Depends => {
            let message = "This operation requires confirmation";
            Err(Error::new(Code::ConfirmationRequired, message)
                .with_operation(operation)
                .hint("Call the operation itself again, so that somebody can be asked."))
        }
    }
}

fn told(event: &str, operation: &str, reason: &dyn std::fmt::Display, session: &Session) {
    tracing::info!(
        target: "audit",
        event,
        session_id = session.id(),
        principal = session.principal(),
        operation,
        reason = %reason,
    );
}
