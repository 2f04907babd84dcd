//! One supervised connection: opened on first use, kept warm, opened again when it was lost, with pauses after
//! failures.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use tokio::task::JoinHandle;

use super::{
    http::HttpLink,
    open::{self, Era},
    peer::{Failure, Inbox, Link, Peer},
    process::{self, Process, Program},
};
use crate::config;

/// A connection that lasted this long was a good one.
const STABLE: Duration = Duration::from_secs(30);
/// The first failure costs nothing; from the second on, the pause doubles up to this.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// A process that has closed its output gets this long to end.
const LAST_STEPS: Duration = Duration::from_millis(500);

/// Why an upstream cannot be reached.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    pub(super) why: String,
    /// How long nothing will be tried.
    pub(super) pause: Option<Duration>,
}

pub(super) struct Slot {
    settings: Arc<config::Upstream>,
    inbox: Arc<dyn Inbox>,
    live: ArcSwapOption<Peer>,
    attempts: Arc<tokio::sync::Mutex<Attempts>>,
    last_era: Mutex<Option<Era>>,
    /// Reaps the process of the connection.
    watching: Mutex<Option<JoinHandle<()>>>,
    since: Instant,
    used_ms: AtomicU64,
}

#[derive(Default)]
struct Attempts {
    failures: u32,
    not_before: Option<Instant>,
    last: String,
}

impl Attempts {
    fn failed(&mut self, why: &str) {
        why.clone_into(&mut self.last);
        let pause = match self.failures {
            0 => Duration::ZERO,
            several => Duration::from_secs(1 << (several - 1).min(10)).min(PAUSE_MAX),
        };
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(Instant::now() + pause);
    }
}

impl Slot {
    pub(super) fn new(settings: Arc<config::Upstream>, inbox: Arc<dyn Inbox>, last_era: Option<Era>) -> Self {
        Self {
            settings,
            inbox,
            live: ArcSwapOption::empty(),
            attempts: Arc::default(),
            last_era: Mutex::new(last_era),
            watching: Mutex::default(),
            since: Instant::now(),
            used_ms: AtomicU64::new(0),
        }
    }

    fn touch(&self) {
        let now = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.used_ms.store(now, Ordering::Relaxed);
    }

    /// Since when nothing was asked of it.
    pub(super) fn unused_for(&self) -> Duration {
        self.since.elapsed().saturating_sub(Duration::from_millis(self.used_ms.load(Ordering::Relaxed)))
    }

    /// The connection, if there is one now.
    pub(super) fn now(&self) -> Option<Arc<Peer>> {
        self.live.load_full().filter(|peer| !peer.is_over())
    }

    /// The connection, opened if need be. Whoever comes while it is being opened waits for the same one.
    pub(super) async fn peer(self: &Arc<Self>) -> Result<Arc<Peer>, Trouble> {
        self.touch();
        if let Some(peer) = self.now() {
            return Ok(peer);
        }
        let mut attempts = Arc::clone(&self.attempts).lock_owned().await;
        if let Some(peer) = self.now() {
            return Ok(peer);
        }
        let pause = attempts.not_before.map(|then| then.saturating_duration_since(Instant::now()));
        if let Some(pause) = pause.filter(|pause| !pause.is_zero()) {
            return Err(Trouble { why: attempts.last.clone(), pause: Some(pause) });
        }
        let slot = Arc::clone(self);
        // It goes on when whoever asked gives up: the next one finds it open.
        let opening = tokio::spawn(async move {
            let opened = slot.open().await;
            if let Err(why) = &opened {
                attempts.failed(why);
                tracing::warn!(upstream = slot.settings.name, why, "an upstream could not be reached");
            }
            opened
        });
        match opening.await {
            Ok(Ok(peer)) => Ok(peer),
            Ok(Err(why)) => Err(Trouble { why, pause: None }),
            Err(_) => {
                Err(Trouble { why: "opening the connection failed unexpectedly".to_owned(), pause: None })
            }
        }
    }

    async fn open(self: &Arc<Self>) -> Result<Arc<Peer>, String> {
        let inbox = Arc::clone(&self.inbox);
        let peer = match &self.settings.link {
            config::Link::Command { program, args, env, cwd } => {
                let program = Program { path: program, args, env, cwd: cwd.as_deref() };
                let (peer, mut process) =
                    process::start(&self.settings.name, program, inbox).map_err(|error| error.message)?;
                let opened = tokio::select! {
                    opened = self.greet(&peer) => opened,
                    why = process.wait() => Err(why),
                };
                if let Err(why) = opened {
                    peer.end(&why);
                    let why = match process.last_words() {
                        Some(words) if !why.contains(&words) => format!("{why}; its last words: {words}"),
                        _ => why,
                    };
                    tokio::spawn(process.stop());
                    return Err(why);
                }
                let watching = tokio::spawn(Arc::clone(self).watch(Arc::clone(&peer), process));
                *self.watching.lock().unwrap_or_else(PoisonError::into_inner) = Some(watching);
                peer
            }
            config::Link::Http { url, headers, bearer } => {
                let link =
                    HttpLink::new(url, headers, bearer.as_ref()).map_err(|failure| explain(&failure))?;
                let link = Arc::new(link);
                let peer = Arc::new(Peer::new(Link::Http(Arc::clone(&link)), inbox));
                self.greet(&peer).await?;
                if peer.hello().is_some_and(|hello| hello.era == Era::Initialized) {
                    let listening = Arc::clone(&peer);
                    tokio::spawn(async move { link.listen(&listening).await });
                }
                peer
            }
        };
        let era = peer.hello().map(|hello| hello.era);
        *self.last_era.lock().unwrap_or_else(PoisonError::into_inner) = era;
        self.live.store(Some(Arc::clone(&peer)));
        self.inbox.opened(&peer);
        Ok(peer)
    }

    async fn greet(&self, peer: &Arc<Peer>) -> Result<(), String> {
        let within = self.settings.start_timeout;
        let last = *self.last_era.lock().unwrap_or_else(PoisonError::into_inner);
        match tokio::time::timeout(within, open::open(peer, within, last)).await {
            Ok(opened) => opened.map_err(|failure| explain(&failure)),
            Err(_) => {
                let seconds = within.as_secs();
                Err(format!(
                    "it did not answer within {seconds} s; raise 'start_timeout_seconds' if it needs longer"
                ))
            }
        }
    }

    /// Waits for the end of a process and tells everybody who waits for its answers.
    async fn watch(self: Arc<Self>, peer: Arc<Peer>, mut process: Process) {
        let started = Instant::now();
        let why = tokio::select! {
            why = process.wait() => Some(why),
            () = peer.output_closed() => match tokio::time::timeout(LAST_STEPS, process.wait()).await {
                Ok(why) => Some(why),
                Err(_) => Some("it closed its output".to_owned()),
            },
            () = peer.ended() => None,
        };
        if let Some(why) = why {
            tracing::warn!(upstream = self.settings.name, why, "an upstream ended");
            let mut attempts = self.attempts.lock().await;
            match started.elapsed() < STABLE {
                true => attempts.failed(&why),
                false => *attempts = Attempts::default(),
            }
            peer.end(&why);
        }
        process.stop().await;
    }

    /// Gives a connection up that turned out to be of no use; the next one who asks gets another.
    pub(super) fn lost(&self, peer: &Arc<Peer>, why: &str) {
        peer.end(why);
    }

    /// Ends the connection, and waits until its process is gone.
    pub(super) async fn stop(&self, why: &str) {
        if let Some(peer) = self.live.swap(None) {
            peer.end(why);
            if let Some(link) = peer.http() {
                link.close().await;
            }
        }
        let watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(watching) = watching {
            let _ = watching.await;
        }
    }
}

/// A failure in words.
pub(super) fn explain(failure: &Failure) -> String {
    match failure {
        Failure::Rpc(error) => format!("it answered with error {}: {}", error.code, error.message),
        Failure::Gone(why) => why.to_string(),
        Failure::TimedOut(allowed) => format!("it did not answer within {} s", allowed.as_secs()),
        Failure::SessionLost => "it no longer knows the session".to_owned(),
        Failure::Unreachable(why) | Failure::Refused(_, why) => why.clone(),
    }
}
