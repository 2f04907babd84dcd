//! The recorder: what is told goes into a bounded queue that never keeps a call waiting, and two threads that take turns
//! empty it (`hands.rs`).
//!
//! What finds no room is dropped and counted. The rest is gathered for a moment, made rows of, and handed to whoever keeps it
//! or passes it on.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use serde_json::{Map, Value, json};

use super::{
    Nanos, SpanId,
    hands::{Hand, Work},
    levels::Levels,
    open::{Ended, Entry, OpenSpan},
    otlp,
    parked::{Asked, Parked, Wanted},
    preview,
    queue::{ENTRIES_MAX, Queue},
    redact,
    rows::{Rows, Started},
    stopping::{Stopping, Wish},
};
use crate::{
    bearers::Bearers,
    pipeline::Clock,
    session::Session,
    store::traces::{Batch, Packed},
};

/// How many questions of a server are named, and how much of their names is told.
const ASKED_MAX: usize = 16;
const ASKED_BYTES_MAX: usize = 128;

/// Somebody who takes what was recorded.
pub trait Sink: Send {
    /// Takes what is new. A span comes when it begins and again, whole, when it has ended.
    fn take(&mut self, batch: &Batch) -> Result<(), String>;
    /// Does what can be done between, the less of it the more there is to do beside. Where that is nothing, as long as
    /// nothing comes in.
    fn tend(&mut self, _load: Load, _is_idle: &dyn Fn() -> bool) {}
    /// Has stopped what somebody wants to be over who asked another process.
    fn fulfil_wishes(&mut self, _stop: &dyn Fn(&Wish) -> usize) {}
}

/// What there is to do beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    Nothing,
    /// Calls come in, who need the processors.
    Calls,
    /// Much waits to be taken.
    Queue,
}

/// What the recorder is told of.
#[derive(Clone, Default)]
pub struct Settings {
    /// Who we are in what is recorded.
    pub server_id: String,
    pub levels: Levels,
    /// Words that sessions are found by.
    pub tags: Vec<String>,
    /// Callers' own tokens, where they are passed on to others, who may repeat them.
    pub(crate) bearers: Option<Arc<Bearers>>,
}

impl Settings {
    #[must_use]
    pub fn new(server_id: impl Into<String>, levels: Levels) -> Self {
        Self { server_id: server_id.into(), levels, tags: Vec::new(), bearers: None }
    }
}

/// Counts of what became of what was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Counts {
    /// Requests that have ended and were written down.
    pub recorded: u64,
    /// What found no room in the queue.
    pub dropped: u64,
    /// Requests that could not be written.
    pub failed: u64,
    pub queued: u64,
    pub capacity: u64,
}

/// The way to the recorder's threads.
pub struct Recorder {
    queue: Queue,
    clock: Clock,
    recorded: AtomicU64,
    failed: AtomicU64,
    /// What is under way, to be found by a cancellation.
    running: Mutex<HashMap<SpanId, Underway>>,
    parked: Parked,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// A request under way that came in, or work that goes on by itself.
pub(super) struct Underway {
    /// The Inspector's session.
    pub(super) session: Arc<str>,
    /// The request that began it, and that one's session. Whoever stops those means this, too.
    pub(super) within: Option<(SpanId, Arc<str>)>,
    pub(super) stop: Stopping,
}

impl Underway {
    fn is_meant(&self, span: SpanId, wish: &Wish) -> bool {
        let within = self.within.as_ref();
        match wish {
            Wish::Operation(wanted) => *wanted == span || within.is_some_and(|(span, _)| span == wanted),
            Wish::Session(wanted) => {
                **wanted == *self.session || within.is_some_and(|(_, session)| **session == **wanted)
            }
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    /// Starts the threads.
    pub fn start(settings: Settings, sinks: Vec<Box<dyn Sink>>, clock: Clock) -> std::io::Result<Arc<Self>> {
        let (queue, way_out) = Queue::new();
        let recorder = Arc::new(Self {
            queue,
            clock,
            recorded: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            running: Mutex::default(),
            parked: Parked::default(),
            threads: Mutex::default(),
        });
        let work = Arc::new(Work::new(way_out, Rows::new(settings), sinks));
        for hand in Hand::ALL {
            let (work, of_thread) = (Arc::clone(&work), Arc::clone(&recorder));
            let thread = std::thread::Builder::new().name(hand.name().to_owned());
            let thread =
                thread.spawn(move || work.go_on(hand, &of_thread)).inspect_err(|_| recorder.close())?;
            lock(&recorder.threads).push(thread);
        }
        Ok(recorder)
    }

    pub(crate) fn now(&self) -> Nanos {
        Nanos::try_from((self.clock)().as_nanosecond()).unwrap_or_default()
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Whether a call that comes in is recorded.
    pub(crate) fn admits(&self) -> bool {
        self.queue.admits()
    }

    /// Puts something into the queue, if there is room.
    pub(super) fn offer(&self, entry: Entry) -> bool {
        self.queue.offer(entry)
    }

    pub(super) fn end(&self, ended: Ended) {
        self.queue.offer_end(Entry::Ended(Box::new(ended)));
    }

    /// Leaves a request open whose client has to call again.
    pub(crate) fn park(&self, span: Arc<OpenSpan>, wanted: Wanted, asked: Asked<'_>) {
        let keys = asked.questions.keys().take(ASKED_MAX).map(|key| redact::name(key).into_owned());
        let keys: Vec<String> = keys.map(|key| preview::beginning(key, ASKED_BYTES_MAX)).collect();
        span.waits_for(json!({"asked": keys}));
        self.parked.park(span, wanted, asked);
    }

    /// The request that a client goes on with in its session. The operator may have stopped it meanwhile.
    pub(crate) fn resume(
        &self,
        session: &Session,
        state: &str,
        wanted: Wanted,
        responses: &Map<String, Value>,
    ) -> Option<Arc<OpenSpan>> {
        self.parked.resume(session.id(), state, wanted, responses)
    }

    /// Gives up what nobody comes back for.
    pub(super) fn expire(&self) {
        self.parked.expire();
    }

    #[must_use]
    pub fn counts(&self) -> Counts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            recorded: count(&self.recorded),
            dropped: self.queue.dropped(),
            failed: count(&self.failed),
            queued: self.queue.len() as u64,
            capacity: ENTRIES_MAX as u64,
        }
    }

    /// How many requests are under way that came in.
    #[must_use]
    pub fn running(&self) -> u64 {
        lock(&self.running).len() as u64
    }

    /// Stops what the operator wants to be over, as its clients could. How many requests were.
    pub fn stop(&self, wish: &Wish) -> usize {
        let running = lock(&self.running);
        let meant = running.iter().filter(|(span, underway)| underway.is_meant(**span, wish));
        let meant: Vec<(SpanId, Stopping)> =
            meant.map(|(span, underway)| (*span, underway.stop.clone())).collect();
        drop(running);
        meant.into_iter().filter(|(span, stop)| stop.now() || self.parked.stop(*span)).count()
    }

    /// Ends the threads once everything is written.
    pub fn close(&self) {
        self.parked.clear();
        self.queue.stop();
        let threads = std::mem::take(&mut *lock(&self.threads));
        threads.iter().for_each(|thread| thread.thread().unpark());
        for thread in threads {
            let _ = thread.join();
        }
        self.queue.give_up();
    }

    /// Counts what was recorded, or could not be kept.
    pub(super) fn count(&self, batch: &Batch, taken: impl Iterator<Item = Result<(), String>>) {
        let failed = taken.filter_map(Result::err).inspect(|error| {
            tracing::debug!(error, "what was recorded could not be kept");
        });
        let counter = if failed.count() == 0 { &self.recorded } else { &self.failed };
        counter.fetch_add(batch.ended() as u64, Ordering::Relaxed);
    }

    pub(super) fn note_running(&self, (began, ended): (Vec<Started>, Vec<SpanId>)) {
        if began.is_empty() && ended.is_empty() {
            return;
        }
        let mut running = lock(&self.running);
        running.extend(began);
        for span in &ended {
            running.remove(span);
        }
    }
}

impl otlp::Sink for Recorder {
    fn has_room(&self) -> bool {
        self.queue.has_room_for_reports()
    }

    fn report(&self, spans: Vec<Packed>) -> Result<(), otlp::Full> {
        if self.queue.offer_report(Entry::Reported(spans)) { Ok(()) } else { Err(otlp::Full) }
    }
}
