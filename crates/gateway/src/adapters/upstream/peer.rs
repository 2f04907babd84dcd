//! One open connection to an upstream, whatever carries it: requests that wait for their answers by number, and what
//! the upstream asks or tells by itself.

use std::{
    borrow::Cow,
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{
    http::HttpLink,
    lines::Lines,
    one_text::OneText,
    open::{self, Era, Hello},
    pins::Listing,
    relay::{self, Questions},
    wire::{self, Message, Params, Raw, RpcError},
};
use crate::{
    client::Client,
    progress::{Progress, Relayed},
    session::Session,
    trace::OpenSpan,
};

/// Why a request got no result.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// The upstream answered with the protocol's error.
    Rpc(RpcError),
    /// The connection ended before the answer came.
    Gone(Arc<str>),
    TimedOut(Duration),
    /// The upstream no longer knows the session, so it has not looked at the request either.
    SessionLost,
    /// The request could not be delivered.
    Unreachable(String),
    /// It was delivered, and no result came back.
    Broken(String),
    /// It was answered with this status of HTTP, and with nothing of the protocol.
    Refused(http::StatusCode, String),
}

/// Who waits for an answer: told how far the work is, and asked if the upstream has a question.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) session: Arc<Session>,
    pub(super) progress: Progress,
    pub(super) client: Client,
    /// Where questions go to, if the client has to call again for them.
    pub(super) questions: Option<Questions>,
    /// Who may answer beside the client.
    pub(super) operator: Option<Arc<relay::Operator>>,
    /// What is recorded of the request, which is told of it.
    pub(super) span: Option<Arc<OpenSpan>>,
}

impl Caller {
    /// The same for a request that is recorded as that.
    pub(super) fn within(&self, span: Option<&Arc<OpenSpan>>) -> Self {
        Self {
            session: Arc::clone(&self.session),
            progress: self.progress.clone(),
            client: self.client.clone(),
            questions: self.questions.clone(),
            operator: self.operator.clone(),
            span: span.cloned(),
        }
    }

    fn is_parked(&self) -> bool {
        self.questions.as_ref().is_some_and(Questions::is_parked)
    }
}

/// What an upstream says without being asked.
pub(super) trait Inbox: Send + Sync {
    fn notified(&self, peer: &Arc<Peer>, method: &str, params: Option<&RawValue>);
    /// A request, which has to be answered with [`Peer::send`].
    fn asked(&self, peer: &Arc<Peer>, id: Box<RawValue>, method: &str, params: Option<Box<RawValue>>);
    /// The connection was opened, again perhaps.
    fn opened(&self, peer: &Arc<Peer>);
}

pub(super) enum Link {
    /// Lines to a process.
    Lines(Arc<Lines>),
    Http(Arc<HttpLink>),
}

pub(super) struct Peer {
    link: Link,
    inbox: Arc<dyn Inbox>,
    waiting: Mutex<Waiting>,
    next_id: AtomicU64,
    hello: OnceLock<Hello>,
    over: CancellationToken,
    output_closed: CancellationToken,
    /// What it lists as its tools.
    pub(super) listing: Listing,
}

#[derive(Default)]
struct Waiting {
    calls: HashMap<u64, Call, BuildHasherDefault<Counted>>,
    /// Calls that nobody waits for any more and the upstream may still be at, by the sessions they were made for.
    given_up: HashMap<u64, (Arc<Session>, Instant), BuildHasherDefault<Counted>>,
    /// Why nothing can be asked any more.
    over: Option<Arc<str>>,
}

/// Spreads numbers that were counted, which are as good as random once multiplied.
#[derive(Default)]
struct Counted(u64);

impl Hasher for Counted {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

struct Call {
    answer: oneshot::Sender<Result<Raw, Failure>>,
    deadline: Instant,
    allowed: Duration,
    caller: Option<Caller>,
}

#[derive(Deserialize)]
struct ProgressParams {
    #[serde(rename = "progressToken")]
    token: u64,
    #[serde(default)]
    progress: f64,
    #[serde(default)]
    total: Option<f64>,
    #[serde(default)]
    message: Option<String>,
}

impl Peer {
    pub(super) fn new(link: Link, inbox: Arc<dyn Inbox>) -> Self {
        Self {
            link,
            inbox,
            waiting: Mutex::default(),
            next_id: AtomicU64::new(1),
            hello: OnceLock::new(),
            over: CancellationToken::new(),
            output_closed: CancellationToken::new(),
            listing: Listing::default(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the upstream said of itself when the connection was opened.
    pub(super) fn hello(&self) -> Option<&Hello> {
        self.hello.get()
    }

    /// Notes what the upstream said of itself; only the first time counts.
    pub(super) fn greeted(&self, hello: Hello) {
        let _ = self.hello.set(hello);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Resolves when the connection has ended.
    pub(super) async fn ended(&self) {
        self.over.cancelled().await;
    }

    /// Notes that nothing more can come, whatever has become of the process.
    pub(super) fn close_output(&self) {
        self.output_closed.cancel();
    }

    /// Resolves when nothing can be sent to the process any more.
    pub(super) async fn input_closed(&self) {
        match &self.link {
            Link::Lines(lines) => lines.broken().await,
            Link::Http(_) => std::future::pending().await,
        }
    }

    pub(super) async fn output_closed(&self) {
        self.output_closed.cancelled().await;
    }

    pub(super) fn http(&self) -> Option<&Arc<HttpLink>> {
        match &self.link {
            Link::Http(link) => Some(link),
            Link::Lines(_) => None,
        }
    }

    /// How many requests wait for their answers.
    pub(super) fn in_flight(&self) -> usize {
        self.waiting().calls.len()
    }

    /// Ends the connection; whatever waits is told why.
    pub(super) fn end(&self, why: &str) {
        let why: Arc<str> = why.into();
        let calls = {
            let mut waiting = self.waiting();
            waiting.over.get_or_insert_with(|| Arc::clone(&why));
            std::mem::take(&mut waiting.calls)
        };
        for (_, call) in calls {
            let _ = call.answer.send(Err(Failure::Gone(Arc::clone(&why))));
        }
        if let Link::Lines(lines) = &self.link {
            lines.close();
        }
        self.over.cancel();
    }

    /// Gives up what has waited too long.
    pub(super) fn expire(&self, now: Instant) {
        let late: Vec<(u64, Call)> = {
            let mut waiting = self.waiting();
            waiting.given_up.retain(|_, (_, since)| now.duration_since(*since) < GIVEN_UP_KEPT);
            waiting.calls.extract_if(|_, call| call.deadline <= now).collect()
        };
        for (id, mut call) in late {
            self.waiting().gave_up(id, call.caller.take());
            let _ = call.answer.send(Err(Failure::TimedOut(call.allowed)));
            self.cancel(id, "it took too long");
        }
    }

    /// Asks the upstream and waits for its answer. Dropped before it came, the upstream is told that nobody waits.
    pub(super) async fn request(
        self: &Arc<Self>,
        method: &str,
        params: &Params,
        within: Duration,
        caller: Option<Caller>,
    ) -> Result<Raw, Failure> {
        match self.hello.get() {
            Some(hello) if hello.era == Era::SelfContained => {
                let capabilities = relay::capabilities(caller.as_ref()).to_json();
                self.request_with(method, params, within, caller, &open::meta(&capabilities)).await
            }
            _ => self.request_with(method, params, within, caller, "").await,
        }
    }

    /// The same with other members of `_meta` than usual.
    pub(super) async fn request_with(
        self: &Arc<Self>,
        method: &str,
        params: &Params,
        within: Duration,
        caller: Option<Caller>,
        meta: &str,
    ) -> Result<Raw, Failure> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let wants_progress = caller.as_ref().is_some_and(|caller| caller.progress.is_listened_to());
        let token = if wants_progress { format!("\"progressToken\":{id}") } else { String::new() };
        let span = caller.as_ref().and_then(|caller| caller.span.as_ref());
        let about_us = span.map(|span| span.sent_as(id)).unwrap_or_default();
        let frame = wire::frame(Some(id), method, params, &[meta, &token, &about_us]);
        let traced = span.cloned();
        let (answer, answered) = oneshot::channel();
        {
            let mut waiting = self.waiting();
            if let Some(why) = &waiting.over {
                return Err(Failure::Unreachable(why.to_string()));
            }
            let deadline = Instant::now() + within;
            waiting.calls.insert(id, Call { answer, deadline, allowed: within, caller });
        }
        let mut guard = Given { peer: self, id, answered: false };
        let result = match &self.link {
            Link::Lines(lines) => {
                if !lines.send(&frame) {
                    Err(Failure::Unreachable("the connection has ended".to_owned()))
                } else {
                    received(answered.await)
                }
            }
            Link::Http(link) => {
                let mut posting = Box::pin(link.request(self, frame, method, params, id, traced.as_deref()));
                tokio::pin!(answered);
                tokio::select! {
                    biased;
                    result = &mut answered => received(result),
                    posted = &mut posting => match posted {
                        // Everything it had to say was read, so the answer is there or will not come.
                        Ok(()) => answered.try_recv().unwrap_or_else(|_| {
                            Err(Failure::Broken("it ended its answer before the result".to_owned()))
                        }),
                        Err(failure) => Err(failure),
                    },
                }
            }
        };
        guard.answered = true;
        self.waiting().calls.remove(&id);
        result
    }

    /// Sends a notification, or an answer to something the upstream asked.
    pub(super) fn send(self: &Arc<Self>, frame: Vec<u8>) {
        match &self.link {
            // A connection that has ended needs to be told nothing.
            Link::Lines(lines) => {
                lines.send(&frame);
            }
            Link::Http(link) => link.send_later(frame),
        }
    }

    pub(super) fn notify(self: &Arc<Self>, method: &str, params: &Params) {
        self.send(wire::frame(None, method, params, &[]));
    }

    fn cancel(&self, id: u64, reason: &str) {
        let params = Params::none().value("requestId", &id).value("reason", &reason);
        let frame = wire::frame(None, "notifications/cancelled", &params, &[]);
        match &self.link {
            Link::Lines(lines) => {
                lines.send(&frame);
            }
            Link::Http(link) => link.cancel_later(frame),
        }
    }

    /// Takes a message from the upstream.
    pub(super) fn receive(self: &Arc<Self>, bytes: &Bytes) {
        if let Some((id, text)) = OneText::read(bytes) {
            return self.answered(id, Ok(Raw::one_text(bytes, text)));
        }
        let Some(message) = Message::read(bytes) else {
            tracing::debug!(bytes = bytes.len(), "an upstream sent something that is no message");
            self.garbled(bytes);
            return;
        };
        if let Some(id) = message.answers() {
            return self.answered(
                id,
                match (message.error, message.result) {
                    (Some(error), _) if error.get() != "null" => Err(Failure::Rpc(RpcError::read(error))),
                    (_, Some(result)) => Ok(Raw::of(bytes, result)),
                    (_, None) => Err(Failure::Rpc(RpcError {
                        code: 0,
                        message: "an answer with neither result nor error".to_owned(),
                        data: None,
                    })),
                },
            );
        }
        let Some(method) = message.method.as_deref() else { return };
        match (message.id, method) {
            (Some(id), "ping") => self.send(wire::result(id, "{}")),
            (Some(id), _) => {
                self.inbox.asked(self, id.to_owned(), method, message.params.map(ToOwned::to_owned));
            }
            (None, "notifications/progress") => self.progressed(message.params),
            (None, _) => self.inbox.notified(self, method, message.params),
        }
    }

    /// Gives an answer to whoever waits for it.
    fn answered(&self, id: u64, answer: Result<Raw, Failure>) {
        let mut waiting = self.waiting();
        let Some(call) = waiting.calls.remove(&id) else {
            waiting.given_up.remove(&id);
            return;
        };
        drop(waiting);
        let _ = call.answer.send(answer);
    }

    /// An answer that is not UTF-8 still tells whose it is, and nobody has to wait for another.
    fn garbled(&self, bytes: &[u8]) {
        let Cow::Owned(text) = String::from_utf8_lossy(bytes) else { return };
        let Some(id) = Message::read(text.as_bytes()).and_then(|message| message.answers()) else { return };
        let Some(call) = self.waiting().calls.remove(&id) else { return };
        let message = "its answer is not UTF-8".to_owned();
        let _ = call.answer.send(Err(Failure::Rpc(RpcError { code: 0, message, data: None })));
    }

    fn progressed(&self, params: Option<&RawValue>) {
        let Some(told) = params.and_then(|raw| serde_json::from_str::<ProgressParams>(raw.get()).ok()) else {
            return;
        };
        let caller = {
            let waiting = self.waiting();
            waiting.calls.get(&told.token).and_then(|call| call.caller.clone())
        };
        if let Some(Caller { progress, span, .. }) = caller {
            if let Some(span) = span {
                let (done, total, message) = (told.progress, told.total, &told.message);
                span.progressed(json!({"progress": done, "total": total, "message": message}));
            }
            progress.relay(Relayed { progress: told.progress, total: told.total, message: told.message });
        }
    }

    /// Lets the calls of a session take that much longer from now on: a person is being asked, or has answered.
    pub(super) fn allow(&self, session: &str, time: Option<Duration>) {
        let now = Instant::now();
        for call in self.waiting().calls.values_mut() {
            if call.caller.as_ref().is_some_and(|caller| caller.session.id() == session) {
                call.deadline = now + time.unwrap_or(call.allowed);
            }
        }
    }

    /// Whether somebody of a session waits for it.
    pub(super) fn works_for(&self, session: &str) -> bool {
        let waiting = self.waiting();
        let mut callers = waiting.calls.values().filter_map(|call| call.caller.as_ref());
        callers.any(|caller| caller.session.id() == session)
    }

    /// The one session that the upstream can be working for, by a call of its that can hear a question.
    pub(super) fn caller(&self) -> Result<Caller, NotOne> {
        let waiting = self.waiting();
        let callers = || waiting.calls.values().filter_map(|call| call.caller.as_ref());
        let given_up = waiting.given_up.values().map(|(session, _)| session.id());
        let mut sessions = callers().map(|caller| caller.session.id()).chain(given_up);
        let Some(first) = sessions.next() else { return Err(NotOne::Nobody) };
        if sessions.any(|other| other != first) {
            return Err(NotOne::Several);
        }
        let mut best: Option<&Caller> = None;
        for caller in callers() {
            // One whose client has to call again hears nothing until it does.
            if best.is_none_or(|best| best.is_parked() && !caller.is_parked()) {
                best = Some(caller);
            }
        }
        best.cloned().ok_or(NotOne::Nobody)
    }
}

/// Why a question has nobody to go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotOne {
    Nobody,
    /// Whose it is cannot be known.
    Several,
}

/// A question about a call that was given up may still come within this time.
const GIVEN_UP_KEPT: Duration = Duration::from_mins(5);
const GIVEN_UP_MAX: usize = 4096;

impl Waiting {
    fn gave_up(&mut self, id: u64, caller: Option<Caller>) {
        if let Some(caller) = caller.filter(|_| self.given_up.len() < GIVEN_UP_MAX) {
            self.given_up.insert(id, (caller.session, Instant::now()));
        }
    }
}

fn received(answer: Result<Result<Raw, Failure>, oneshot::error::RecvError>) -> Result<Raw, Failure> {
    answer.unwrap_or_else(|_| Err(Failure::Gone("the connection has ended".into())))
}

/// A request under way.
struct Given<'a> {
    peer: &'a Peer,
    id: u64,
    answered: bool,
}

impl Drop for Given<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        let mut waiting = self.peer.waiting();
        if let Some(mut call) = waiting.calls.remove(&self.id) {
            waiting.gave_up(self.id, call.caller.take());
            drop(waiting);
            self.peer.cancel(self.id, "the caller gave up");
        }
    }
}
