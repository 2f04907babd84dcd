//! The one way through: request → validate → gate → dispatch → shape → answer.
//!
//! Each arrow is a function that takes what the last one made. Batches and the command line go through the same
//! arrows, once for each operation; there is no second door.

use std::sync::Arc;

use aql::{
    batch::{Batch, Next},
    error::{Code, Error},
    introspect,
    registry::{Endpoint, INTROSPECT},
    request::{Call, Entry, Request},
    response::{Answer, Data},
    shared,
    warning::Warning,
};
use arc_swap::ArcSwap;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::{
    dispatch::{self, Context, Outcome, Surface},
    gate::{self, Permitted},
    progress::Progress,
    rates::Rates,
    session::Session,
};

/// What tells the time. Passed in, so that a test can choose it.
pub type Clock = fn() -> jiff::Timestamp;

/// Everything a call needs, shared by all of them.
pub struct Gateway {
    surface: ArcSwap<Surface>,
    permits: Semaphore,
    rates: Rates,
    clock: Clock,
}

impl Gateway {
    #[must_use]
    pub fn new(surface: Surface, clock: Clock) -> Self {
        let permits = Semaphore::new(surface.registry.max_concurrent_requests());
        Self { surface: ArcSwap::from_pointee(surface), permits, rates: Rates::default(), clock }
    }

    /// The surface in force. A call keeps the one it started with.
    #[must_use]
    pub fn surface(&self) -> Arc<Surface> {
        self.surface.load_full()
    }

    /// Puts a new surface in force for the calls that come after.
    pub fn publish(&self, surface: Surface) {
        self.surface.store(Arc::new(surface));
    }

    /// Answers one tool call, whatever it holds.
    pub async fn handle(
        &self,
        session: &Session,
        endpoint: Endpoint,
        arguments: Map<String, Value>,
        progress: Progress,
    ) -> Answer {
        let Ok(_permit) = self.permits.acquire().await else {
            return Answer::failure(
                Error::new(Code::Unavailable, "The server is stopping"),
                Some(session.id()),
            );
        };
        let surface = self.surface.load_full();
        let flow = Flow { gateway: self, surface: &surface, session, endpoint, progress, in_batch: false };
        match Request::read(arguments) {
            Ok(Request::One(call)) => flow.one(call).await,
            Ok(Request::Batch(entries)) => Flow { in_batch: true, ..flow }.batch(entries).await,
            Err(error) if error.details.is_empty() => Answer::bare_failure(&error),
            Err(error) => {
                let introspecting = error.details.get("operation").is_some_and(|name| name == INTROSPECT);
                failed(error, introspecting, session)
            }
        }
    }
}

/// One call's way, with what it looks at on it.
struct Flow<'a> {
    gateway: &'a Gateway,
    surface: &'a Surface,
    session: &'a Session,
    endpoint: Endpoint,
    progress: Progress,
    in_batch: bool,
}

impl Flow<'_> {
    async fn one(&self, call: Call) -> Answer {
        let introspecting = call.operation == INTROSPECT;
        match self.steps(call).await {
            Ok(answer) => answer,
            Err(error) => failed(error, introspecting, self.session),
        }
    }

    async fn steps(&self, call: Call) -> Result<Answer, Error> {
        let routed = self.surface.registry.routed(self.endpoint, call)?;
        gate::admit(&routed, self.session, &self.gateway.rates, self.gateway.clock)?;
        let permitted = gate::pass(routed.validate()?, self.session)?;
        if permitted.operation().name().as_str() == INTROSPECT {
            let answer = introspect::answer(permitted.registry(), permitted.params(), self.session.id())?;
            return match answer.oversize(permitted.registry().limits()) {
                Some(error) => Err(error),
                None => Ok(answer),
            };
        }
        self.work(permitted).await
    }

    async fn work(&self, mut permitted: Permitted) -> Result<Answer, Error> {
        let shaping = Shaping::read(&mut permitted)?;
        let (session_id, principal) = self.session.identity();
        let context =
            Context { session_id, principal, now: (self.gateway.clock)(), progress: self.progress.clone() };
        let outcome = dispatch::run(self.surface, permitted, context).await?;
        Ok(self.shape(shaping, outcome))
    }

    fn shape(&self, shaping: Shaping, outcome: Outcome) -> Answer {
        let registry = &self.surface.registry;
        let operation = registry.get(shaping.id);
        let data = match (operation.and_then(|op| op.selection()), outcome.data) {
            (Some(selection), Data::Value(value)) => {
                let chosen = shaping.chosen.unwrap_or_else(|| selection.unasked());
                Data::Value(selection.apply(&chosen, value))
            }
            (_, data) => data,
        };
        // The closed schema of a batch's results has no room for warnings; they are told the next time.
        if self.in_batch {
            return Answer::success(&data, &[], registry.limits());
        }
        let mut warnings = shaping.warnings;
        warnings.extend(outcome.warnings);
        if let Some((operation, notice)) = operation.and_then(|op| op.deprecated().map(|notice| (op, notice)))
        {
            warnings.push(Warning::deprecation("operation", operation.name().as_str(), notice));
        }
        if !warnings.is_empty() {
            let today = (self.gateway.clock)().to_zoned(jiff::tz::TimeZone::UTC).date();
            warnings = warnings.into_iter().map(|warning| warning.dated(today)).collect();
        }
        Answer::success(&data, &self.session.arrange(warnings), registry.limits())
    }

    async fn batch(&self, entries: Vec<Entry>) -> Answer {
        let limits = *self.surface.registry.limits();
        let mut batch = Batch::new(entries.len(), &limits);
        let mut entries = entries.into_iter().enumerate();
        for (index, entry) in entries.by_ref() {
            let operation = entry.operation().to_owned();
            let answer = match entry.call {
                Ok(call) => self.one(call).await,
                Err(error) => Answer::failure(error, Some(self.session.id())),
            };
            if batch.record(index, &operation, &answer) == Next::Halt {
                break;
            }
        }
        let pending: Vec<(usize, Entry)> = entries.collect();
        batch.finish(&pending, &limits)
    }
}

/// A failure with its session. The closed schema of introspection's failures has no room for details.
fn failed(error: Error, introspecting: bool, session: &Session) -> Answer {
    if introspecting {
        return Answer::bare_failure(&Error::new(error.code, error.message));
    }
    Answer::failure(error, Some(session.id()))
}

/// What a call asked to be done with its result, taken from its parameters before the handler sees them.
struct Shaping {
    id: aql::operation::OperationId,
    chosen: Option<aql::fields::Chosen>,
    warnings: Vec<Warning>,
}

impl Shaping {
    fn read(permitted: &mut Permitted) -> Result<Self, Error> {
        let mut shaping = Self { id: permitted.id(), chosen: None, warnings: permitted.take_warnings() };
        if permitted.operation().selection().is_none() {
            return Ok(shaping);
        }
        let Some(fields) = permitted.take_param(shared::FIELDS) else { return Ok(shaping) };
        let Some(selection) = permitted.operation().selection() else { return Ok(shaping) };
        let (chosen, warning) = selection.choose(&fields).map_err(|unknown| {
            let names = unknown.known.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
            Error::new(
                Code::InvalidEnum,
                format!(
                    "Parameter 'fields' must be one of {names} or an array of field paths, got '{}'",
                    unknown.given
                ),
            )
            .with("param_name", shared::FIELDS)
            .with("allowed_values", unknown.known)
        })?;
        shaping.chosen = Some(chosen);
        shaping.warnings.extend(warning);
        Ok(shaping)
    }
}
