//! The one way through: request → validate → gate → dispatch → shape → answer.
//!
//! Each arrow is a function that takes what the last one made. Batches and the command line go through the same
//! arrows, once for each operation; there is no second door.

use std::{sync::Arc, time::Duration};

use aql::{
    batch::{Batch, Next},
    error::{Code, Error},
    introspect,
    operation::Operation,
    query::CursorKey,
    registry::{Endpoint, INTROSPECT},
    request::{Call, Entry, Request},
    response::{Answer, Data},
    warning::Warning,
};
use arc_swap::ArcSwap;
use jiff::Timestamp;
use serde_json::{Map, Value};
use tokio::sync::{Semaphore, watch};

use crate::{
    adapters::upstream::Upstreams,
    client::Caller,
    dispatch::{self, Context, Surface},
    gate::{Gate, Passed, Permitted},
    guard::Guard,
    limits::{self, Limits, Look},
    random,
    rates::Rates,
    safety::{self, Safety},
    session::Session,
    shape::Shaping,
    trace::{self, OpenSpan, Recorder},
};

/// What tells the time. Passed in, so that a test can choose it.
pub type Clock = fn() -> Timestamp;

/// Everything a call needs, shared by all of them.
pub struct Gateway {
    surface: ArcSwap<Surface>,
    permits: Semaphore,
    rates: Rates,
    /// Keeps calls away from our own files and addresses.
    guard: Guard,
    /// Quotas and limits of other servers, where there are any.
    limits: Option<Arc<Limits>>,
    clock: Clock,
    cursor_key: CursorKey,
    page_bytes: usize,
    /// Whether everything that is configured is known, or has had its chance to be.
    settled: watch::Sender<bool>,
    /// The servers behind us, where there are any.
    upstreams: Option<Arc<Upstreams>>,
    /// Who is asked before a dangerous call. Without it nothing that needs a person runs.
    safety: Option<Arc<Safety>>,
    /// What writes calls down, where that is wanted.
    recorder: Option<Arc<Recorder>>,
}

/// How long a question waits for servers that are asked for the first time what they offer.
const SETTLING: Duration = Duration::from_secs(10);

/// A query that takes longer is answered with a warning.
const SLOW_QUERY_MS: u64 = 1000;
/// A list that was asked for as a whole is cut to pages of this size.
pub const PAGE_BYTES_DEFAULT: usize = 64 * 1024;

impl Gateway {
    #[must_use]
    pub fn new(surface: Surface, clock: Clock) -> Self {
        Self {
            permits: Semaphore::new(surface.registry.max_concurrent_requests()),
            surface: ArcSwap::from_pointee(surface),
            rates: Rates::default(),
            guard: Guard::default(),
            limits: None,
            clock,
            cursor_key: CursorKey::new(&random::bytes()),
            page_bytes: PAGE_BYTES_DEFAULT,
            settled: watch::Sender::new(true),
            upstreams: None,
            safety: None,
            recorder: None,
        }
    }

    /// Says who writes calls down.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Option<Arc<Recorder>>) -> Self {
        self.recorder = recorder;
        self
    }

    #[must_use]
    pub fn recorder(&self) -> Option<&Arc<Recorder>> {
        self.recorder.as_ref()
    }

    /// Says what lets dangerous calls through.
    #[must_use]
    pub fn with_safety(mut self, safety: Arc<Safety>) -> Self {
        self.safety = Some(safety);
        self
    }

    /// Says what is ours, so that no call reaches it through another server.
    #[must_use]
    pub fn with_guard(mut self, guard: Guard) -> Self {
        self.guard = guard;
        self
    }

    /// Says what is counted.
    #[must_use]
    pub fn with_limits(mut self, limits: Option<Arc<Limits>>) -> Self {
        self.limits = limits;
        self
    }

    #[must_use]
    pub fn safety(&self) -> Option<&Arc<Safety>> {
        self.safety.as_ref()
    }

    #[must_use]
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Says which servers there are to ask for what is no operation.
    #[must_use]
    pub fn with_upstreams(mut self, upstreams: Arc<Upstreams>) -> Self {
        self.upstreams = upstreams.are_any().then_some(upstreams);
        self
    }

    #[must_use]
    pub fn upstreams(&self) -> Option<&Arc<Upstreams>> {
        self.upstreams.as_ref()
    }

    /// Says that operations are still being asked for: whoever looks for one that is not there waits for a while.
    #[must_use]
    pub fn unsettled(self) -> Self {
        self.settled.send_replace(false);
        self
    }

    /// Whether everything is there.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        *self.settled.borrow()
    }

    /// Says that everything is there.
    pub fn settle(&self) {
        self.settled.send_replace(true);
    }

    /// Whether a call is answered by the registry or by another server.
    fn is_elsewhere(&self, arguments: &Map<String, Value>) -> bool {
        let Some(name) = arguments.get("operation").and_then(Value::as_str) else { return false };
        let surface = self.surface.load();
        let registry = &surface.registry;
        let foreign = || registry.get(registry.id(name)?)?.server();
        name == INTROSPECT || foreign().is_some()
    }

    /// Counts a request that is no operation among the calls of its principal.
    pub(crate) fn admit_request(&self, session: &Session) -> Result<(), Error> {
        match self.surface.load().registry.calls_per_minute() {
            Some(per_minute) => self.rates.admit(session.principal(), per_minute, (self.clock)()),
            None => Ok(()),
        }
    }

    /// Waits for operations that are still being asked for, if the call may need one of them.
    async fn settling(&self, arguments: &Map<String, Value>) {
        if *self.settled.borrow() {
            return;
        }
        let surface = self.surface.load_full();
        let known = |name: &str| name != INTROSPECT && surface.registry.id(name).is_some();
        if arguments.get("operation").and_then(Value::as_str).is_some_and(known) {
            return;
        }
        self.settled().await;
    }

    /// Waits until everything that is configured is known or has had its chance to be, but not for long.
    pub async fn settled(&self) {
        let mut settled = self.settled.subscribe();
        let _ = tokio::time::timeout(SETTLING, settled.wait_for(|settled| *settled)).await;
    }

    /// Signs cursors with a key that is kept, so that they work after a restart and in other processes.
    #[must_use]
    pub fn with_cursor_key(mut self, key: CursorKey) -> Self {
        self.cursor_key = key;
        self
    }

    #[must_use]
    pub fn with_page_bytes(mut self, page_bytes: usize) -> Self {
        self.page_bytes = page_bytes;
        self
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
        self: &Arc<Self>,
        session: &Arc<Session>,
        endpoint: Endpoint,
        arguments: Map<String, Value>,
        caller: impl Into<Caller>,
    ) -> Answer {
        let caller = caller.into();
        // Servers behind us have limits of their own; what waits for one of them is not to keep others waiting.
        let _permit = match self.is_elsewhere(&arguments) {
            true => None,
            false => match self.permits.acquire().await {
                Ok(permit) => Some(permit),
                Err(_) => {
                    let error = Error::new(Code::Unavailable, "The server is stopping");
                    return Answer::failure(error, Some(session.id()));
                }
            },
        };
        self.settling(&arguments).await;
        let surface = self.surface.load_full();
        let told = caller.progress.clone();
        let flow =
            Flow { gateway: self, surface: &surface, session, endpoint, caller, part_of: PartOf::Nothing };
        let answer = match Request::read(arguments) {
            Ok(Request::One(call)) => flow.one(call).await,
            Ok(Request::Batch(entries)) => {
                // A batch that is called again would do everything again.
                let caller =
                    Caller { client: flow.caller.client.while_running(), resumed: None, ..flow.caller };
                Box::pin(Flow { part_of: PartOf::Batch, caller, ..flow }.batch(entries)).await
            }
            Err(error) if error.details.is_empty() => Answer::bare_failure(&error),
            Err(error) => {
                let introspecting = error.details.get("operation").is_some_and(|name| name == INTROSPECT);
                failed(error, introspecting, session)
            }
        };
        told.answered();
        answer
    }

    /// Answers a call that an execution makes for its session: the same way as any other, but without waiting for a
    /// place among the requests, which the call that started it may hold.
    pub async fn step(
        self: &Arc<Self>,
        session: &Arc<Session>,
        call: Call,
        within: Option<&OpenSpan>,
    ) -> Answer {
        let surface = self.surface.load_full();
        let span = within.map(|within| Arc::new(within.step(&call.operation, &call.params)));
        let caller = Caller { span: span.clone(), ..Caller::default() };
        let (endpoint, part_of) = (Endpoint::Unified, PartOf::Execution);
        let flow = Flow { gateway: self, surface: &surface, session, endpoint, caller, part_of };
        let answer = flow.one(call).await;
        if let Some(span) = span {
            span.end(trace::open::End::of(&answer));
        }
        answer
    }
}

/// One call's way, with what it looks at on it.
struct Flow<'a> {
    gateway: &'a Arc<Gateway>,
    surface: &'a Surface,
    session: &'a Arc<Session>,
    endpoint: Endpoint,
    caller: Caller,
    part_of: PartOf,
}

/// What a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartOf {
    Nothing,
    Batch,
    Execution,
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
        let mut call = call;
        let token =
            self.gateway.limits.as_ref().and_then(|_| limits::take_token(&mut call, &self.surface.registry));
        let routed = self.surface.registry.routed(self.endpoint, call)?;
        let gate = Gate {
            safety: self.gateway.safety.as_ref(),
            guard: &self.gateway.guard,
            rates: &self.gateway.rates,
            clock: self.gateway.clock,
            session: self.session,
            caller: &self.caller,
            surface: self.surface,
            quotas: self.gateway.limits.as_deref().map(|limits| Look { limits, token: token.as_ref() }),
            may_wait: self.part_of == PartOf::Nothing,
        };
        gate.admit(&routed).await?;
        let permitted = match gate.pass(routed.validate()?).await? {
            Passed::Permitted(permitted) => permitted,
            Passed::Asks(questions) => return Ok(Answer::asks(questions.requests, questions.state)),
        };
        if permitted.operation().name().as_str() == INTROSPECT {
            let answer = match Box::pin(self.quota_status(&permitted)).await {
                Some(answer) => answer?,
                None => introspect::answer(permitted.registry(), permitted.params(), self.session.id())?,
            };
            return match answer.oversize(permitted.registry().limits()) {
                Some(error) => Err(error),
                None => Ok(answer),
            };
        }
        match &self.gateway.limits {
            None => self.work(permitted, Vec::new()).await,
            Some(limits) => Box::pin(self.counted(permitted, limits, token)).await,
        }
    }

    /// A call that is counted.
    async fn counted(
        &self,
        permitted: Permitted,
        limits: &Limits,
        token: Option<Value>,
    ) -> Result<Answer, Error> {
        let now = (self.gateway.clock)();
        let mut passage = limits.admit(&permitted, self.session, token, now).await?;
        let answer = self.work(permitted, std::mem::take(&mut passage.warnings)).await?;
        limits.answered(passage, answer.size(), now).await;
        Ok(answer)
    }

    /// What is used of quotas, where that is asked for and somebody counts.
    async fn quota_status(&self, permitted: &Permitted) -> Option<Result<Answer, Error>> {
        let limits = self.gateway.limits.as_ref()?;
        let text = |key: &str| permitted.params().get(key).and_then(Value::as_str);
        if text("query") != Some(introspect::QUOTA_STATUS) {
            return None;
        }
        let (adapter, now) = (permitted.registry().adapter(), (self.gateway.clock)());
        let status = limits.status(adapter, text("name"), self.session, now).await;
        let size = permitted.registry().limits();
        Some(status.map(|status| Answer::success(&Data::Value(status), &[], size)))
    }

    async fn work(&self, mut permitted: Permitted, told: Vec<Warning>) -> Result<Answer, Error> {
        let mut shaping = Shaping::read(&mut permitted, &self.gateway.cursor_key)?;
        let now = (self.gateway.clock)();
        let (id, page_bytes) = (permitted.id(), self.gateway.page_bytes);
        let mut warnings = told;
        warnings.append(&mut shaping.warnings);
        let Some(operation) = self.surface.registry.get(id) else {
            return Err(Error::internal("the operation is not in its registry"));
        };
        let (mut content, mut meta) = (Vec::new(), None);
        let (data, warning) = match shaping.continued(self.session, now, page_bytes) {
            Some(page) => page?,
            None => {
                let (gateway, session) = (Arc::clone(self.gateway), Arc::clone(self.session));
                let Caller { progress, client, resumed, span } = self.caller.clone();
                // An answer to a question of ours is none to the operation's, and one to a question that this call was never
                // asked is nobody's.
                let state = resumed.as_ref().and_then(|resumed| resumed.state.as_deref());
                let resumed =
                    resumed.clone().filter(|_| permitted.goes_on() && !state.is_some_and(safety::is_ours));
                let client = match operation.server() {
                    Some(_) => client.guarded(self.gateway),
                    None => client,
                };
                if let (Some(_), Some(resumed)) = (operation.server(), &resumed) {
                    let name = operation.name().as_str();
                    let kept = self.gateway.guard.check_request(&resumed.responses);
                    kept.map_err(|place| place.error(name))?;
                }
                let confirmed = permitted.confirmed().cloned();
                let (query, may_wait) = (shaping.query(), self.part_of != PartOf::Execution);
                let context =
                    Context { gateway, session, now, progress, client, resumed, span, query, may_wait };
                let outcome = dispatch::run(self.surface, permitted, context).await?;
                if let Some(questions) = outcome.questions {
                    if let (Some(safety), Some(scope), Some(state)) =
                        (&self.gateway.safety, confirmed, &questions.state)
                    {
                        safety.let_resume(scope, state);
                    }
                    return Ok(Answer::asks(questions.requests, questions.state));
                }
                warnings.extend(outcome.warnings);
                (content, meta) = (outcome.content, outcome.meta);
                let key = &self.gateway.cursor_key;
                shaping.apply(operation, self.session, outcome.data, now, page_bytes, key)?
            }
        };
        warnings.extend(warning);
        Ok(self.answer(operation, &data, warnings, now).with(content, meta))
    }

    fn answer(
        &self,
        operation: &Operation,
        data: &Data,
        mut warnings: Vec<Warning>,
        started: Timestamp,
    ) -> Answer {
        let limits = self.surface.registry.limits();
        // The closed schema of a batch has no room for warnings, in its results, its summary or beside them, and nobody reads
        // those of a step. What is told once in a session is told the next time; a quota's warning comes with every single call,
        // and the answer to `quota_status`.
        if self.part_of != PartOf::Nothing {
            return Answer::success(data, &[], limits);
        }
        if let Some(notice) = operation.deprecated() {
            warnings.push(Warning::deprecation("operation", operation.name().as_str(), notice));
        }
        // How long another server takes says nothing about the query.
        if operation.queried().is_some() && operation.server().is_none() {
            let took = (self.gateway.clock)().duration_since(started).as_millis();
            let took = u64::try_from(took).unwrap_or_default();
            if took > SLOW_QUERY_MS {
                warnings.push(Warning::slow(operation.name().as_str(), took, SLOW_QUERY_MS));
            }
        }
        if !warnings.is_empty() {
            let today = (self.gateway.clock)().to_zoned(jiff::tz::TimeZone::UTC).date();
            warnings = warnings.into_iter().map(|warning| warning.dated(today)).collect();
        }
        Answer::success(data, &self.session.arrange(warnings), limits)
    }

    async fn batch(&self, entries: Vec<Entry>) -> Answer {
        let limits = *self.surface.registry.limits();
        let mut batch = Batch::new(entries.len(), &limits);
        let mut entries = entries.into_iter().enumerate();
        let mut attached = Vec::new();
        for (index, entry) in entries.by_ref() {
            let operation = entry.operation().to_owned();
            let mut answer = match entry.call {
                Ok(call) => self.one(call).await,
                Err(error) => Answer::failure(error, Some(self.session.id())),
            };
            attached.append(&mut answer.take_content());
            if batch.record(index, &operation, &answer) == Next::Halt {
                break;
            }
        }
        let pending: Vec<(usize, Entry)> = entries.collect();
        batch.finish(&pending, &limits).with(attached, None)
    }
}

/// A failure with its session. The closed schema of introspection's failures has no room for details.
fn failed(error: Error, introspecting: bool, session: &Session) -> Answer {
    if introspecting {
        return Answer::bare_failure(&Error::new(error.code, error.message));
    }
    Answer::failure(error, Some(session.id()))
}
