//! Who is calling, for as long as they are connected. What the specification calls session-scoped hangs here and
//! dies with it. A session's id is ours alone; nothing a client sends can choose or change it.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::Poll,
};

use aql::warning::{Told, Warning};
use futures_util::task::AtomicWaker;
use tokio_util::sync::CancellationToken;

use crate::{client::Client, snapshots::Snapshots};

/// Over what a session runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    /// A legacy HTTP session, which has an id on the wire.
    Http,
    /// Stateless HTTP: everything one principal does.
    StatelessHttp,
    /// A command line call.
    Local,
}

impl Transport {
    /// What carries the bytes, as recorded.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Stdio | Self::Local => "stdio",
            Self::Http | Self::StatelessHttp => "http",
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::StatelessHttp => "stateless-http",
            Self::Local => "local",
        }
    }
}

/// How a session came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The client closed it.
    Graceful,
    /// The client went away.
    Disconnect,
    /// Nobody used it for too long.
    Idle,
    /// The server stopped.
    Shutdown,
}

impl End {
    fn as_str(self) -> &'static str {
        match self {
            Self::Graceful => "graceful",
            Self::Disconnect => "disconnect",
            Self::Idle => "idle",
            Self::Shutdown => "shutdown",
        }
    }
}

/// The principal of a caller that needs no credential.
pub const LOCAL: &str = "local";

/// One session.
pub struct Session {
    id: String,
    principal: String,
    transport: Transport,
    told: Mutex<Told>,
    /// Lists that were answered in part.
    snapshots: Mutex<Snapshots>,
    /// Calls in flight by the id their request carries, to be found by a cancellation.
    running: Mutex<HashMap<Arc<str>, Stop, foldhash::fast::RandomState>>,
    used_at: AtomicU64,
    started: AtomicBool,
    /// Executions that run for it.
    held: AtomicUsize,
    ended: CancellationToken,
    /// The connected client, if it can be asked something.
    client: OnceLock<Client>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    #[must_use]
    pub fn new(transport: Transport, principal: &str) -> Self {
        Self {
            id: uuid::Uuid::new_v4().to_string(),
            principal: principal.to_owned(),
            transport,
            told: Mutex::default(),
            snapshots: Mutex::default(),
            running: Mutex::default(),
            used_at: AtomicU64::new(0),
            started: AtomicBool::new(false),
            held: AtomicUsize::new(0),
            ended: CancellationToken::new(),
            client: OnceLock::new(),
        }
    }

    /// Notes how the connected client can be asked; only the first time counts.
    pub fn connect(&self, client: Client) {
        let _ = self.client.set(client);
    }

    /// The connected client, as far as it can be asked.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.get().cloned().unwrap_or_default()
    }

    /// What the connected client calls itself.
    #[must_use]
    pub fn client_name(&self) -> Option<&str> {
        match self.client.get()? {
            Client::Live(client) => client.name(),
            _ => None,
        }
    }

    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    #[must_use]
    pub fn principal(&self) -> &str {
        &self.principal
    }

    #[must_use]
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// Begins the session; only the first time counts.
    pub fn start(&self) {
        if !self.started.swap(true, Ordering::Relaxed) {
            tracing::info!(
                target: "audit",
                event = "session_started",
                session_id = &*self.id,
                principal = &*self.principal,
                transport = self.transport.as_str(),
            );
        }
    }

    /// Ends the session and stops what it still runs; only the first time counts.
    pub fn end(&self, how: End) {
        if self.ended.is_cancelled() {
            return;
        }
        self.ended.cancel();
        let running = std::mem::take(&mut *lock(&self.running));
        for stop in running.values() {
            let _ = stop.now(CancelledBy::Client);
        }
        *lock(&self.told) = Told::default();
        *lock(&self.snapshots) = Snapshots::default();
        if self.started.load(Ordering::Relaxed) {
            tracing::info!(target: "audit", event = "session_ended", session_id = &*self.id, reason = how.as_str());
        }
    }

    /// Orders the warnings of one answer and leaves out what this session knows.
    #[must_use]
    pub fn arrange(&self, warnings: Vec<Warning>) -> Vec<Warning> {
        if warnings.is_empty() { warnings } else { lock(&self.told).arrange(warnings) }
    }

    /// The lists that this session was given in part.
    pub(crate) fn snapshots(&self) -> MutexGuard<'_, Snapshots> {
        lock(&self.snapshots)
    }

    /// Notes that the session was used, on the caller's clock.
    pub fn touch(&self, now_seconds: u64) {
        self.used_at.store(now_seconds, Ordering::Relaxed);
    }

    /// When it was last used, on the caller's clock.
    #[must_use]
    pub fn used_at(&self) -> u64 {
        self.used_at.load(Ordering::Relaxed)
    }

    /// Whether it was unused for that long. A session is not idle while a call or an execution of its runs.
    #[must_use]
    pub fn is_idle(&self, now_seconds: u64, for_seconds: u64) -> bool {
        now_seconds.saturating_sub(self.used_at()) >= for_seconds
            && self.held.load(Ordering::Relaxed) == 0
            && lock(&self.running).is_empty()
    }

    /// Keeps the session from being idle until the guard is dropped.
    #[must_use]
    pub fn hold(self: &Arc<Self>) -> Held {
        self.held.fetch_add(1, Ordering::Relaxed);
        Held(Arc::clone(self))
    }

    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Resolves when the session has ended.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Registers a call under its request's id until the guard is dropped.
    #[must_use]
    pub fn running<'a>(&'a self, request_id: &str) -> Running<'a> {
        let (id, stop): (Arc<str>, Stop) = (request_id.into(), Stop::default());
        lock(&self.running).insert(Arc::clone(&id), stop.clone());
        Running { session: self, request_id: id, stop }
    }

    /// Cancels the call with that id, if it still runs.
    pub fn cancel(&self, request_id: &str, by: CancelledBy) -> bool {
        let found = lock(&self.running).remove(request_id);
        if let Some(stop) = &found {
            let _ = stop.now(by);
        }
        found.is_some()
    }
}

/// Something that runs for a session without a call.
pub struct Held(Arc<Session>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A call in flight.
pub struct Running<'a> {
    session: &'a Session,
    request_id: Arc<str>,
    stop: Stop,
}

/// Who cancelled a call. A client waits for no answer any more; if it was the operator, it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelledBy {
    Client,
    Operator,
}

/// Whether a call was cancelled, and who has to be told.
#[derive(Default)]
struct Cancellation {
    by: OnceLock<CancelledBy>,
    waiting: AtomicWaker,
}

impl Cancellation {
    /// Only the first time counts.
    fn cancel(&self, by: CancelledBy) -> bool {
        let first = self.by.set(by).is_ok();
        self.waiting.wake();
        first
    }
}

/// Stops one call or run, whatever its request's id is.
#[derive(Clone, Default)]
pub struct Stop(Arc<Cancellation>);

impl Stop {
    /// Whether there was anything left to stop.
    #[must_use]
    pub fn now(&self, by: CancelledBy) -> bool {
        self.0.cancel(by)
    }

    /// Who wants it to be over, if somebody does.
    pub(crate) fn asked_by(&self) -> Option<CancelledBy> {
        self.0.by.get().copied()
    }

    /// Resolves when it is to stop. Only one can wait for that.
    pub async fn asked(&self) -> CancelledBy {
        std::future::poll_fn(|context| {
            self.0.waiting.register(context.waker());
            self.0.by.get().map_or(Poll::Pending, |by| Poll::Ready(*by))
        })
        .await
    }

    /// Says that nothing is left to stop.
    pub(crate) fn over(&self) {
        let _ = self.0.by.set(CancelledBy::Client);
    }
}

impl Running<'_> {
    /// A way to stop this call and no other.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Resolves when the call was cancelled.
    pub async fn cancelled(&self) -> CancelledBy {
        self.stop.asked().await
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.stop.over();
        let mut running = lock(&self.session.running);
        // Another call may have come with the same id since.
        if running.get(&self.request_id).is_some_and(|known| Arc::ptr_eq(&known.0, &self.stop.0)) {
            running.remove(&self.request_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// REQ-SESS-16 REQ-SESS-04
    #[test]
    fn every_session_has_an_id_of_its_own() {
        let (one, other) = (Session::new(Transport::Stdio, LOCAL), Session::new(Transport::Stdio, LOCAL));
        assert_ne!(one.id(), other.id());
    }

    #[test]
    fn a_running_call_is_found_by_its_id_until_it_ends() {
        let session = Session::new(Transport::Http, LOCAL);
        let running = session.running("7");
        assert!(!session.is_idle(1_000, 1), "a session with a running call is not idle");
        assert!(!session.cancel("8", CancelledBy::Client));
        assert!(session.cancel("7", CancelledBy::Client));
        assert!(running.stop.0.by.get().is_some());
        drop(running);
        assert!(!session.cancel("7", CancelledBy::Client));
        assert!(session.is_idle(1_000, 1));
    }

    #[test]
    fn a_session_with_an_execution_is_not_idle() {
        let session = Arc::new(Session::new(Transport::Http, LOCAL));
        let held = session.hold();
        assert!(!session.is_idle(1_000, 1));
        drop(held);
        assert!(session.is_idle(1_000, 1));
    }

    /// REQ-SESS-09
    #[test]
    fn the_end_stops_what_runs_however_it_comes() {
        for end in [End::Graceful, End::Disconnect, End::Idle, End::Shutdown] {
            let session = Session::new(Transport::Http, LOCAL);
            let running = session.running("1");
            session.end(end);
            assert!(running.stop.0.by.get().is_some(), "{end:?}");
        }
    }
}
