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
use tokio_util::sync::CancellationToken;

use super::{
    environment::Inherits,
    http::{Behalf, HttpLink},
    open::{self, Era},
    peer::{Failure, Inbox, Link, Peer},
    pressure::Pressure,
    process::{self, Process, Program},
};
use crate::{config, hub::Hub};

/// A connection that lasted this long was a good one.
const STABLE: Duration = Duration::from_secs(30);
/// The first failure costs nothing; from the second on, the pause doubles up to this.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// A process that has closed its output gets this long to end, and one that has ended this long to be heard out.
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
    pressure: Arc<Pressure>,
    inbox: Arc<dyn Inbox>,
    /// Who reads what a process says, if not the runtime.
    hub: Option<Hub>,
    /// Whose token it is opened with, where it is somebody's own.
    behalf: Option<Behalf>,
    live: ArcSwapOption<Peer>,
    attempts: Arc<tokio::sync::Mutex<Attempts>>,
    last_era: Mutex<Option<Era>>,
    since: Instant,
    used_ms: AtomicU64,
    /// Set when it is not wanted any more, for good.
    given_up: CancellationToken,
}

/// Why a process is of no use, and whether it ended by itself.
struct NotOpened {
    why: String,
    ended: bool,
}

const GIVEN_UP: &str = "it is not needed any more";

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
    pub(super) fn new(
        settings: Arc<config::Upstream>,
        inbox: Arc<dyn Inbox>,
        last_era: Option<Era>,
        pressure: Arc<Pressure>,
        hub: Option<Hub>,
    ) -> Self {
        Self {
            settings,
            pressure,
            inbox,
            hub,
            behalf: None,
            live: ArcSwapOption::empty(),
            attempts: Arc::default(),
            last_era: Mutex::new(last_era),
            since: Instant::now(),
            used_ms: AtomicU64::new(0),
            given_up: CancellationToken::new(),
        }
    }

    /// The same for one caller alone.
    #[must_use]
    pub(super) fn on_behalf_of(self, behalf: Behalf) -> Self {
        Self { behalf: Some(behalf), ..self }
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

    /// How it is: connected, being opened, given up for now with the reason, or simply not needed yet.
    pub(super) fn state(&self) -> (&'static str, Option<String>) {
        if self.now().is_some() {
            return ("running", None);
        }
        match self.attempts.try_lock() {
            Err(_) => ("starting", None),
            Ok(attempts) if attempts.failures > 0 => ("failed", Some(attempts.last.clone())),
            Ok(_) => ("idle", None),
        }
    }

    /// The connection, opened if need be. Whoever comes while it is being opened waits for the same one.
    pub(super) async fn peer(self: &Arc<Self>) -> Result<Arc<Peer>, Trouble> {
        self.touch();
        if let Some(peer) = self.now() {
            return Ok(peer);
        }
        let mut attempts = Arc::clone(&self.attempts).lock_owned().await;
        if self.given_up.is_cancelled() {
            return Err(Trouble { why: GIVEN_UP.to_owned(), pause: None });
        }
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
            match &opened {
                Err(why) if why == GIVEN_UP => {}
                Err(why) => {
                    attempts.failed(why);
                    tracing::warn!(upstream = slot.settings.name, why, "an upstream could not be reached");
                }
                // A process has yet to show that it lasts.
                Ok(peer) if peer.http().is_some() => *attempts = Attempts::default(),
                Ok(_) => {}
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
        let last = *self.last_era.lock().unwrap_or_else(PoisonError::into_inner);
        let peer = match &self.settings.link {
            config::Link::Command { program, args, env, cwd } => {
                let inherits = Inherits::of(&self.settings);
                let program = Program { path: program, args, env, cwd: cwd.as_deref(), inherits };
                match self.start(program, last).await {
                    // There are older servers that end when anything is asked before `initialize`.
                    Err(NotOpened { ended: true, .. }) if last.is_none() => {
                        self.start(program, Some(Era::Initialized)).await
                    }
                    other => other,
                }
                .map_err(|not_opened| not_opened.why)?
            }
            config::Link::Http { url, headers, bearer } => {
                let link =
                    HttpLink::new(url, headers, bearer.as_ref()).map_err(|failure| explain(&failure))?;
                let link = Arc::new(link.under(Arc::clone(&self.pressure)).on_behalf_of(self.behalf.clone()));
                let peer = Arc::new(Peer::new(Link::Http(Arc::clone(&link)), Arc::clone(&self.inbox)));
                tokio::select! {
                    opened = self.greet(&peer, last) => opened?,
                    () = self.given_up.cancelled() => return Err(GIVEN_UP.to_owned()),
                }
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
        if self.given_up.is_cancelled() {
            // Whoever gave it up may have looked before it was there.
            peer.end(GIVEN_UP);
            return Err(GIVEN_UP.to_owned());
        }
        self.inbox.opened(&peer);
        Ok(peer)
    }

    async fn start(
        self: &Arc<Self>,
        program: Program<'_>,
        last: Option<Era>,
    ) -> Result<Arc<Peer>, NotOpened> {
        let started =
            process::start(&self.settings.name, program, Arc::clone(&self.inbox), self.hub.as_ref());
        let (peer, mut process) = started.map_err(|error| NotOpened { why: error.message, ended: false })?;
        let opened = tokio::select! {
            opened = self.greet(&peer, last) => opened.map_err(|why| NotOpened { why, ended: false }),
            why = process.wait() => Err(NotOpened { why, ended: true }),
            () = self.given_up.cancelled() => Err(NotOpened { why: GIVEN_UP.to_owned(), ended: false }),
        };
        if let Err(NotOpened { why, ended }) = opened {
            peer.end(&why);
            let why = match process.last_words() {
                Some(words) if !why.contains(&words) => format!("{why}; its last words: {words}"),
                _ => why,
            };
            process::tend(process.stop());
            return Err(NotOpened { why, ended });
        }
        process::tend(Arc::clone(self).watch(Arc::clone(&peer), process));
        Ok(peer)
    }

    async fn greet(&self, peer: &Arc<Peer>, last: Option<Era>) -> Result<(), String> {
        let within = self.settings.start_timeout;
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
            why = process.wait() => {
                // What it said last may not have been read yet. Its children may keep its output open.
                let _ = tokio::time::timeout(LAST_STEPS, peer.output_closed()).await;
                Some(why)
            }
            () = peer.output_closed() => match tokio::time::timeout(LAST_STEPS, process.wait()).await {
                Ok(why) => Some(why),
                Err(_) => Some("it closed its output".to_owned()),
            },
            () = peer.input_closed() => Some("it closed its input".to_owned()),
            () = peer.ended() => None,
        };
        let lasted = started.elapsed() >= STABLE;
        if let Some(why) = why {
            tracing::warn!(upstream = self.settings.name, why, "an upstream ended");
            let mut attempts = self.attempts.lock().await;
            match lasted {
                true => *attempts = Attempts::default(),
                false => attempts.failed(&why),
            }
            peer.end(&why);
        } else if lasted {
            *self.attempts.lock().await = Attempts::default();
        }
        process.stop().await;
    }

    /// Gives a connection up that turned out to be of no use; the next one who asks gets another. Whoever else waits on
    /// it finds out by itself.
    pub(super) fn lost(&self, peer: &Arc<Peer>) {
        let live = self.live.load_full();
        if live.is_some_and(|live| Arc::ptr_eq(&live, peer)) {
            self.live.store(None);
        }
    }

    /// Ends the connection for good.
    pub(super) async fn end(&self, why: &str) {
        self.given_up.cancel();
        self.stop(why).await;
    }

    /// Ends the connection until somebody needs it again.
    pub(super) async fn stop(&self, why: &str) {
        let Some(peer) = self.live.swap(None) else { return };
        peer.end(why);
        if let Some(link) = peer.http() {
            link.close().await;
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
        Failure::Unreachable(why) | Failure::Broken(why) | Failure::Refused(_, why) => why.clone(),
    }
}
