//! A request under way, as whoever handles it holds it. What is told here is put into the recorder's queue as it is;
//! everything that takes time is left to the recorder's own thread.

use std::{
    borrow::Cow,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use aql::response::Answer;
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use super::{
    ids::{self, Given, Ids, Said},
    names::{header, meta},
    parked::Wanted,
    recorder::Recorder,
    span::{Engine, Kind, Nanos, SpanId, Status},
    stopping::Stopping,
};
use crate::{
    dispatch::Surface,
    session::{CancelledBy, Session, Stop},
    store::traces::Packed,
};

/// What a request is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum About {
    #[default]
    Nothing,
    Tool(String),
    Resource(String),
    Prompt(String),
    /// What runs by itself, by its name and the operation that runs it.
    Workflow {
        name: String,
        operation: String,
    },
}

/// A request as it came in.
pub(crate) struct Inbound<'a> {
    pub(crate) method: &'a str,
    /// The id of the request, as JSON.
    pub(crate) rpc_id: &'a str,
    pub(crate) about: About,
    /// Its arguments, as JSON.
    pub(crate) input: Option<&'a str>,
    pub(crate) given: Given<'a>,
    /// As JSON.
    pub(crate) progress_token: Option<&'a str>,
    pub(crate) session: &'a Arc<Session>,
    /// What its arguments are understood by.
    pub(crate) surface: Option<Arc<Surface>>,
    /// The server that it is for, where that is known before anybody is asked.
    pub(crate) server: Option<Arc<str>>,
    /// The Inspector's session that it looks into, and so belongs to unless it names another.
    pub(crate) looks_into: Option<&'a str>,
}

impl<'a> Inbound<'a> {
    /// One of which nothing else is known.
    pub(crate) fn new(method: &'a str, session: &'a Arc<Session>) -> Self {
        Self {
            method,
            rpc_id: "",
            about: About::Nothing,
            input: None,
            given: Given::default(),
            progress_token: None,
            session,
            surface: None,
            server: None,
            looks_into: None,
        }
    }
}

/// A request that is made of another server.
pub(crate) struct Outbound<'a> {
    pub(crate) method: &'a str,
    pub(crate) about: About,
    /// Its parameters, as JSON.
    pub(crate) input: Option<String>,
    pub(crate) peer: &'a Arc<str>,
    pub(crate) transport: &'static str,
}

/// Work that goes on by itself, whatever becomes of the request that began it.
pub(crate) struct Run<'a> {
    /// What is run, as people call it, and by which operation.
    pub(crate) workflow: Option<String>,
    pub(crate) operation: String,
    /// The execution's id, which is that of its session in the Inspector.
    pub(crate) id: &'a str,
    /// What it was started with.
    pub(crate) input: String,
    /// How it is stopped.
    pub(crate) stop: Stop,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) surface: Arc<Surface>,
    /// The request that began it.
    pub(crate) within: Option<&'a OpenSpan>,
}

/// How a request came out.
#[derive(Debug, Default)]
pub(crate) struct End {
    pub(crate) status: Option<Status>,
    pub(crate) error: Option<Failed>,
    /// The result, as JSON.
    pub(crate) output: Option<String>,
    /// The message that the result stands in, where it was not looked for.
    pub(crate) message: Option<String>,
    /// The structured part of it, as JSON.
    pub(crate) structured: Option<String>,
    /// Attempts to connect again.
    pub(crate) reconnects: u32,
    pub(crate) connection: Connection,
}

/// What has become of the connection of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Connection {
    #[default]
    Open,
    Lost,
    /// It was lost before, and could not be had again.
    Retried,
}

impl Connection {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Open => "connected",
            Self::Lost => "disconnected",
            Self::Retried => "reconnecting",
        }
    }
}

/// What went wrong, without where in our code it did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) code: Cow<'static, str>,
    pub(crate) message: String,
    /// OpenTelemetry's kind of it.
    pub(crate) kind: Cow<'static, str>,
}

impl End {
    pub(crate) fn ok(output: Option<String>) -> Self {
        Self { status: Some(Status::Ok), output, ..Self::default() }
    }

    /// The same with the result still in its message.
    pub(crate) fn ok_within(message: String) -> Self {
        Self { status: Some(Status::Ok), message: Some(message), ..Self::default() }
    }

    pub(crate) fn failed(error: Failed, output: Option<String>) -> Self {
        Self { status: Some(Status::Error), error: Some(error), output, ..Self::default() }
    }

    /// Somebody wanted it to be over. What the client was told may be known.
    pub(crate) fn stopped(output: Option<String>) -> Self {
        Self { status: Some(Status::Cancelled), output, ..Self::default() }
    }

    pub(crate) fn of(answer: &Answer) -> Self {
        let output = Some(answer.to_text());
        match answer.code() {
            None => Self::ok(output),
            Some(code) => Self::failed(Failed::of(code.as_str()), output),
        }
    }
}

impl Failed {
    /// Where the result has the message.
    pub(crate) fn of(code: &'static str) -> Self {
        Self { code: code.into(), message: String::new(), kind: code.into() }
    }
}

/// What the queue holds.
pub(super) enum Entry {
    Began(Box<Began>),
    Ended(Box<Ended>),
    /// Somebody is waited for, or no longer.
    Signal {
        span: SpanId,
        at: Nanos,
        waits: bool,
        about: Value,
    },
    Progress {
        span: SpanId,
        at: Nanos,
        told: Value,
    },
    /// What others have recorded.
    Reported(Vec<Packed>),
}

pub(super) struct Began {
    pub(super) ids: Ids,
    pub(super) parent_request: Option<Arc<str>>,
    /// The Inspector's session: the request that everything began with.
    pub(super) session_id: Arc<str>,
    pub(super) at: Nanos,
    pub(super) kind: Kind,
    pub(super) engine: Engine,
    /// Empty where it is no request.
    pub(super) method: String,
    pub(super) rpc_id: String,
    pub(super) about: About,
    pub(super) input: Option<String>,
    pub(super) progress_token: Option<String>,
    /// The client as the request introduces it, as JSON.
    pub(super) client: Option<String>,
    pub(super) peer: Option<Arc<str>>,
    /// The server that a request is for which came in.
    pub(super) server: Option<Arc<str>>,
    pub(super) transport: &'static str,
    pub(super) session: Arc<Session>,
    pub(super) surface: Option<Arc<Surface>>,
    pub(super) stop: Stopping,
}

pub(super) struct Ended {
    pub(super) span: SpanId,
    pub(super) at: Nanos,
    pub(super) waited: Nanos,
    pub(super) sent_as: u64,
    pub(super) end: End,
}

impl Entry {
    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        const EMPTY: usize = 512;
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        EMPTY
            + match self {
                Self::Began(began) => length(&began.input),
                Self::Ended(ended) => length(&ended.end.output) + length(&ended.end.message),
                Self::Signal { .. } | Self::Progress { .. } => 0,
                Self::Reported(spans) => spans.iter().map(Packed::bytes).sum(),
            }
    }
}

/// A request that has begun. Dropped without an end, it was cancelled.
pub struct OpenSpan {
    /// None where nothing is recorded of it and what it was given is passed on as it is.
    recorder: Option<Arc<Recorder>>,
    ids: Ids,
    said: Said,
    engine: Engine,
    session_id: Arc<str>,
    session: Arc<Session>,
    surface: Option<Arc<Surface>>,
    at: Nanos,
    since: Instant,
    waited: AtomicI64,
    stop: Stopping,
    /// What it asks for, where its client may have to call again.
    wanted: OnceLock<Wanted>,
    /// The number that a request to another server was sent with last.
    sent_as: AtomicU64,
    /// Whether nothing more is to be told: it has ended, or its beginning found no room.
    over: AtomicBool,
}

impl OpenSpan {
    /// Begins the span of a request that came in.
    pub(crate) fn inbound(recorder: &Arc<Recorder>, request: Inbound<'_>) -> Self {
        let ids = Ids::of(request.given);
        let looks_into = request.looks_into.filter(|_| request.given.request_id.is_none());
        let began = Began {
            session_id: looks_into.map_or_else(|| Arc::clone(&ids.request), Arc::from),
            ids,
            parent_request: None,
            at: recorder.now(),
            kind: Kind::Server,
            engine: Engine::Inbound,
            method: request.method.to_owned(),
            rpc_id: request.rpc_id.to_owned(),
            about: request.about,
            input: request.input.map(str::to_owned),
            progress_token: request.progress_token.map(str::to_owned),
            client: request.given.client.map(str::to_owned),
            peer: None,
            server: request.server,
            transport: request.session.transport().kind(),
            session: Arc::clone(request.session),
            surface: request.surface,
            stop: Stopping::default(),
        };
        Self::begin(recorder, Instant::now(), began)
    }

    /// A request that is not recorded, if it is part of something that others may record.
    pub(crate) fn passed_on(given: Given<'_>, session: &Arc<Session>) -> Option<Self> {
        let (ids, said) = Ids::passed_on(given)?;
        Some(Self::passing(ids, said, session))
    }

    fn passing(ids: Ids, said: Said, session: &Arc<Session>) -> Self {
        Self {
            recorder: None,
            session_id: Arc::clone(&ids.request),
            ids,
            said,
            engine: Engine::Inbound,
            session: Arc::clone(session),
            surface: None,
            at: 0,
            since: Instant::now(),
            waited: AtomicI64::new(0),
            stop: Stopping::default(),
            wanted: OnceLock::new(),
            sent_as: AtomicU64::new(0),
            over: AtomicBool::new(true),
        }
    }

    /// Begins the span of work that goes on by itself, a session of its own.
    pub(crate) fn run(recorder: &Arc<Recorder>, run: Run<'_>) -> Self {
        let id: Arc<str> = run.id.into();
        let ids = match run.within {
            Some(within) => within.ids.within(Arc::clone(&id)),
            None => Ids::of(Given { request_id: Some(run.id), ..Given::default() }),
        };
        let began = Began {
            ids,
            parent_request: run.within.map(|within| Arc::clone(&within.ids.request)),
            session_id: id,
            at: recorder.now(),
            kind: Kind::Internal,
            engine: Engine::Asyncio,
            method: String::new(),
            rpc_id: String::new(),
            about: About::Workflow {
                name: run.workflow.unwrap_or_else(|| run.operation.clone()),
                operation: run.operation,
            },
            input: Some(run.input),
            progress_token: None,
            client: None,
            peer: None,
            server: None,
            transport: "",
            session: Arc::clone(run.session),
            surface: Some(run.surface),
            stop: Stopping::by(run.stop),
        };
        Self::begin(recorder, Instant::now(), began)
    }

    /// Begins the span of a step of such work, which is a call like any other.
    pub(crate) fn step(&self, operation: &str, params: &Map<String, Value>) -> Self {
        self.begin_within(Kind::Internal, |began| {
            let input = json!({"operation": operation, "params": params}).to_string();
            Began { input: Some(input), ..began }
        })
    }

    /// Begins the span of a request that is made within this one.
    pub(crate) fn outbound(&self, request: Outbound<'_>) -> Self {
        self.begin_within(Kind::Client, |began| Began {
            method: request.method.to_owned(),
            about: request.about,
            input: request.input,
            peer: Some(Arc::clone(request.peer)),
            transport: request.transport,
            ..began
        })
    }

    /// Begins the span of a question that the client is asked for a server behind us.
    pub(crate) fn asks(&self, method: &str, params: Option<&Value>) -> Self {
        self.begin_within(Kind::Client, |began| Began {
            method: method.to_owned(),
            input: params.map(Value::to_string),
            transport: self.session.transport().kind(),
            ..began
        })
    }

    /// Begins the span of something that happens within this one, with what else is known of it.
    fn begin_within(&self, kind: Kind, told: impl FnOnce(Began) -> Began) -> Self {
        let Some(recorder) = &self.recorder else {
            return Self::passing(self.ids.clone(), self.said, &self.session);
        };
        let since = Instant::now();
        let began = Began {
            ids: self.ids.within(ids::made_up()),
            parent_request: Some(Arc::clone(&self.ids.request)),
            session_id: Arc::clone(&self.session_id),
            at: self.at + nanos(since.duration_since(self.since)),
            kind,
            engine: self.engine,
            method: String::new(),
            rpc_id: String::new(),
            about: About::Nothing,
            input: None,
            progress_token: None,
            client: None,
            peer: None,
            server: None,
            transport: "",
            session: Arc::clone(&self.session),
            surface: self.surface.clone(),
            stop: Stopping::default(),
        };
        Self::begin(recorder, since, told(began))
    }

    fn begin(recorder: &Arc<Recorder>, since: Instant, began: Began) -> Self {
        let mut span = Self {
            recorder: Some(Arc::clone(recorder)),
            ids: began.ids.clone(),
            said: Said::ALL,
            engine: began.engine,
            session_id: Arc::clone(&began.session_id),
            session: Arc::clone(&began.session),
            surface: began.surface.clone(),
            at: began.at,
            since,
            waited: AtomicI64::new(0),
            stop: began.stop.clone(),
            wanted: OnceLock::new(),
            sent_as: AtomicU64::new(0),
            over: AtomicBool::new(false),
        };
        *span.over.get_mut() = !recorder.offer(Entry::Began(Box::new(began)));
        span
    }

    /// Notes the number that the request is sent with, and gives what it says of itself, as members of `_meta`.
    pub(crate) fn sent_as(&self, number: u64) -> String {
        self.sent_as.store(number, Ordering::Relaxed);
        let trace = self.traceparent();
        let trace = trace.as_ref().map_or([""; 5], |trace| ["\"", meta::TRACEPARENT, "\":\"", trace, "\""]);
        let between = if self.said.request && self.said.is_sampled.is_some() { "," } else { "" };
        let request = ["\"", meta::REQUEST_ID, "\":\"", &self.ids.request, "\""];
        let request = if self.said.request { request } else { [""; 5] };
        [&trace[..], &[between], &request[..]].concat().concat()
    }

    /// The same as headers.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> + use<> {
        let request = self.said.request.then(|| self.ids.request.to_string());
        let given = [(header::REQUEST_ID, request), (header::TRACEPARENT, self.traceparent())];
        let pair = |(name, value): (&'static str, Option<String>)| {
            Some((HeaderName::from_static(name), HeaderValue::from_str(&value?).ok()?))
        };
        given.into_iter().filter_map(pair)
    }

    /// Says what it asks for, by which it goes on where its client has to call again.
    pub(crate) fn wants(&self, wanted: Wanted) {
        let _ = self.wanted.set(wanted);
    }

    pub(crate) fn wanted(&self) -> Option<Wanted> {
        self.wanted.get().copied()
    }

    /// Says how the call is stopped.
    pub(crate) fn runs(&self, stop: Stop) {
        self.stop.runs(stop);
    }

    /// Whether the operator wanted it to be over before it was.
    pub(crate) fn is_stopped_by_operator(&self) -> bool {
        self.stop.is_operators()
    }

    /// Ends it for the operator while its client is waited for, so that whoever goes on with it finds it stopped.
    pub(super) fn stop_while_parked(&self) -> bool {
        let stop = Stop::default();
        let is_first = !self.is_stopped_by_operator() && stop.now(CancelledBy::Operator);
        if is_first {
            self.stop.runs(stop);
            self.end(End::stopped(None));
        }
        is_first
    }

    /// Whether it makes any difference what is told of it.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recorder.is_some() && !self.over.load(Ordering::Relaxed)
    }

    pub(super) fn id(&self) -> SpanId {
        self.ids.span
    }

    #[cfg(test)]
    pub(super) fn stopping(&self) -> &Stopping {
        &self.stop
    }

    /// The session that it came in, which is not one of the Inspector's.
    pub(crate) fn connection(&self) -> &str {
        self.session.id()
    }

    fn traceparent(&self) -> Option<String> {
        Some(ids::traceparent(self.ids.trace, self.ids.span, self.said.is_sampled?))
    }

    fn now(&self) -> Nanos {
        self.at + nanos(self.since.elapsed())
    }

    /// Notes that somebody is waited for until what is returned is dropped.
    pub(crate) fn waits(&self, about: Value) -> Waiting<'_> {
        self.signal(true, about);
        Waiting { span: self, since: Instant::now() }
    }

    /// The same where that ends in another request.
    pub(super) fn waits_for(&self, about: Value) {
        self.signal(true, about);
    }

    pub(super) fn waited(&self, time: Duration) {
        self.waited.fetch_add(nanos(time), Ordering::Relaxed);
        self.signal(false, Value::Null);
    }

    /// Counts time in which nothing was done for it, and nobody asked.
    pub(crate) fn queued(&self, time: Duration) {
        self.waited.fetch_add(nanos(time), Ordering::Relaxed);
    }

    fn signal(&self, waits: bool, about: Value) {
        self.tell(|span, at| Entry::Signal { span, at, waits, about });
    }

    pub(crate) fn progressed(&self, told: Value) {
        self.tell(|span, at| Entry::Progress { span, at, told });
    }

    fn tell(&self, entry: impl FnOnce(SpanId, Nanos) -> Entry) {
        if let (Some(recorder), false) = (&self.recorder, self.over.load(Ordering::Relaxed)) {
            recorder.offer(entry(self.ids.span, self.now()));
        }
    }

    /// Ends it; only the first time counts.
    pub(crate) fn end(&self, end: End) {
        let (Some(recorder), false) = (&self.recorder, self.over.swap(true, Ordering::Relaxed)) else {
            return;
        };
        let waited = self.waited.load(Ordering::Relaxed);
        let sent_as = self.sent_as.load(Ordering::Relaxed);
        recorder.end(Ended { span: self.ids.span, at: self.now(), waited, sent_as, end });
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        self.end(End::stopped(None));
    }
}

/// Time that a request waits for somebody.
pub(crate) struct Waiting<'a> {
    span: &'a OpenSpan,
    since: Instant,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.span.waited(self.since.elapsed());
    }
}

fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
}
