//! The recorder: a bounded queue that never keeps a call waiting, and the one thread that empties it.
//!
//! What finds no room is dropped and counted. The thread gathers for a moment, makes rows of what it finds, and hands
//! them to whoever keeps or passes them on. It runs at a low priority, so that under load calls go first.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    Nanos, SpanId,
    levels::Levels,
    open::{Ended, Entry, OpenSpan},
    otlp,
    pace::Pace,
    rows::Rows,
};
use crate::{
    bearers::Bearers,
    pipeline::Clock,
    session::{CancelledBy, Stop},
    store::traces::{Batch, Packed},
};

/// Entries that wait for the thread. An end has room behind it, so that what has begun is seen to end.
const ENTRIES_MAX: usize = 32 * 1024;
/// About the memory that they take together.
const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The same for what others report, which leaves the rest to our own calls.
const REPORTED_BYTES_MAX: usize = QUEUE_BYTES_MAX / 4;
/// What is worked on at a time, so that a thread that has much to do rests between.
const ENTRIES_TOGETHER: usize = 2048;
/// So much is worth a transaction, without waiting for more.
const BYTES_TOGETHER: usize = 2 * 1024 * 1024;
/// Room for so many entries is kept when there are none.
const ROOM_KEPT: usize = 1024;
/// How long is gathered before rows are written: long enough for one transaction to hold many.
const GATHERING: Duration = Duration::from_millis(10);
/// How often those who keep rows can tidy up when there is nothing to write.
const TENDING: Duration = Duration::from_millis(250);

/// Requests whose clients have to call again, and how long they are waited for.
const PARKED_MAX: usize = 1024;
const PARKED_TIME: Duration = Duration::from_secs(15 * 60);

/// Somebody who takes what was recorded.
pub trait Sink: Send {
    /// Takes what is new. A span comes when it begins and again, whole, when it has ended.
    fn take(&mut self, batch: &Batch) -> Result<(), String>;
    /// Does what can be done between, the less of it the more there is to do beside.
    fn tend(&mut self, _load: Load) {}
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
    /// Callers' own tokens, where they are passed on to others, who may repeat them.
    pub(crate) bearers: Option<Arc<Bearers>>,
}

impl Settings {
    #[must_use]
    pub fn new(server_id: impl Into<String>, levels: Levels) -> Self {
        Self { server_id: server_id.into(), levels, bearers: None }
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

#[derive(Default)]
struct Queue {
    /// With about the memory that each takes.
    entries: VecDeque<(Entry, usize)>,
    bytes: usize,
    /// Whether the thread sleeps until it is woken.
    asleep: bool,
    stopped: bool,
}

impl Queue {
    /// Whether there is so much that nothing is gained by waiting for more.
    fn is_enough(&self) -> bool {
        self.entries.len() >= ENTRIES_TOGETHER || self.bytes >= BYTES_TOGETHER
    }

    /// Moves the oldest entries, as many as are worked on at a time, to where room was made for them.
    fn take(&mut self, taken: &mut Vec<Entry>) {
        let count = self.entries.len().min(ENTRIES_TOGETHER);
        let mut bytes = 0;
        let oldest = self.entries.drain(..count).inspect(|(_, size)| bytes += size).map(|(entry, _)| entry);
        taken.extend(oldest);
        self.bytes = self.bytes.saturating_sub(bytes);
        if self.entries.is_empty() {
            self.entries.shrink_to(ROOM_KEPT);
        }
    }
}

/// The way to the recorder's thread.
pub struct Recorder {
    queue: Mutex<Queue>,
    news: Condvar,
    clock: Clock,
    recorded: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
    /// Whether something found no room, until half of it is free again.
    full: AtomicBool,
    /// Requests under way that came in, to be found by a cancellation.
    running: Mutex<Running>,
    /// Requests whose clients have to call again, by what they bring back.
    parked: Mutex<HashMap<String, Parked>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Parked {
    span: Arc<OpenSpan>,
    since: Instant,
}

/// Requests under way: the span, the Inspector's session, and how it is stopped once it runs.
type Running = HashMap<SpanId, (Arc<str>, Arc<OnceLock<Stop>>)>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    /// Starts the thread.
    pub fn start(settings: Settings, sinks: Vec<Box<dyn Sink>>, clock: Clock) -> std::io::Result<Arc<Self>> {
        let recorder = Arc::new(Self {
            queue: Mutex::default(),
            news: Condvar::new(),
            clock,
            recorded: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            full: AtomicBool::new(false),
            running: Mutex::default(),
            parked: Mutex::default(),
            thread: Mutex::new(None),
        });
        let of_thread = Arc::clone(&recorder);
        let thread = std::thread::Builder::new().name("recorder".to_owned()).spawn(move || {
            yield_to_calls();
            of_thread.run(Rows::new(settings), sinks);
        })?;
        *lock(&recorder.thread) = Some(thread);
        Ok(recorder)
    }

    pub(crate) fn now(&self) -> Nanos {
        Nanos::try_from((self.clock)().as_nanosecond()).unwrap_or_default()
    }

    /// Whether a call that comes in is recorded. While there is no room it goes its way as where nothing is, which costs it
    /// nothing; finding that out piece by piece would take the most time when there is least of it.
    pub(crate) fn admits(&self) -> bool {
        let full = self.full.load(Ordering::Relaxed);
        self.dropped.fetch_add(u64::from(full), Ordering::Relaxed);
        !full
    }

    /// Puts something into the queue, if there is room.
    pub(super) fn offer(&self, entry: Entry) -> bool {
        let bytes = entry.bytes();
        let has_room = self.put(entry, bytes, ENTRIES_MAX, QUEUE_BYTES_MAX);
        if !has_room {
            self.full.store(true, Ordering::Relaxed);
        }
        has_room
    }

    /// An end is told even where nothing else is any more, though perhaps without what the request resulted in.
    pub(super) fn end(&self, ended: Ended) {
        let entry = Entry::Ended(Box::new(ended));
        let bytes = entry.bytes();
        self.put(entry, bytes, 2 * ENTRIES_MAX, 2 * QUEUE_BYTES_MAX);
    }

    fn put(&self, mut entry: Entry, mut bytes: usize, entries_max: usize, bytes_max: usize) -> bool {
        let mut queue = lock(&self.queue);
        if queue.bytes > QUEUE_BYTES_MAX / 2
            && let Entry::Ended(ended) = &mut entry
        {
            (ended.end.output, ended.end.message) = (None, None);
            bytes = entry.bytes();
        }
        if queue.entries.len() >= entries_max || queue.bytes + bytes > bytes_max || queue.stopped {
            drop(queue);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        queue.bytes += bytes;
        queue.entries.push_back((entry, bytes));
        let wakes = std::mem::take(&mut queue.asleep);
        drop(queue);
        if wakes {
            self.news.notify_one();
        }
        true
    }

    /// Leaves a request open whose client has to call again, and will bring this back with it.
    pub(crate) fn park(&self, state: &str, span: Arc<OpenSpan>, asked: serde_json::Value) {
        span.waits_for(asked);
        let mut parked = lock(&self.parked);
        if parked.len() >= PARKED_MAX {
            let oldest = parked.iter().min_by_key(|(_, parked)| parked.since).map(|(state, _)| state.clone());
            oldest.map(|state| parked.remove(&state));
        }
        parked.insert(state.to_owned(), Parked { span, since: Instant::now() });
    }

    /// The request that a client goes on with.
    pub(crate) fn resume(&self, state: &str) -> Option<Arc<OpenSpan>> {
        let Parked { span, since } = lock(&self.parked).remove(state)?;
        span.waited(since.elapsed());
        Some(span)
    }

    /// Gives up what nobody comes back for.
    fn expire(&self) {
        let gone: Vec<Parked> = lock(&self.parked)
            .extract_if(|_, parked| parked.since.elapsed() > PARKED_TIME)
            .map(|(_, parked)| parked)
            .collect();
        drop(gone);
    }

    #[must_use]
    pub fn counts(&self) -> Counts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            recorded: count(&self.recorded),
            dropped: count(&self.dropped),
            failed: count(&self.failed),
            queued: lock(&self.queue).entries.len() as u64,
            capacity: ENTRIES_MAX as u64,
        }
    }

    /// How many requests are under way that came in.
    #[must_use]
    pub fn running(&self) -> u64 {
        lock(&self.running).len() as u64
    }

    /// Cancels a request under way, as its client could.
    pub fn cancel(&self, span: SpanId) -> bool {
        let stop = lock(&self.running).get(&span).and_then(|(_, stop)| stop.get().cloned());
        stop.is_some_and(|stop| stop.now(CancelledBy::Operator))
    }

    /// Cancels everything under way that belongs to one of the Inspector's sessions.
    pub fn cancel_session(&self, session: &str) -> usize {
        let running = lock(&self.running);
        let spans: Vec<SpanId> =
            running.iter().filter(|(_, (of, _))| **of == *session).map(|(span, _)| *span).collect();
        drop(running);
        spans.into_iter().filter(|span| self.cancel(*span)).count()
    }

    /// Ends the thread once everything is written.
    pub fn close(&self) {
        let parked = std::mem::take(&mut *lock(&self.parked));
        drop(parked);
        {
            let mut queue = lock(&self.queue);
            queue.stopped = true;
            queue.asleep = false;
        }
        self.news.notify_one();
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }

    fn run(&self, mut rows: Rows, mut sinks: Vec<Box<dyn Sink>>) {
        let (mut tended, mut has_calls) = (Instant::now(), false);
        let mut pace = Pace::default();
        loop {
            let (entries, stopped) = self.gathered();
            for entry in entries {
                rows.add(entry);
            }
            self.note_running(&mut rows);
            let batch = rows.take(self.now());
            has_calls |= !batch.spans.is_empty();
            if !batch.is_empty() {
                let ended = batch.ended() as u64;
                self.recorded.fetch_add(ended, Ordering::Relaxed);
                for sink in &mut sinks {
                    if let Err(error) = sink.take(&batch) {
                        self.failed.fetch_add(ended, Ordering::Relaxed);
                        tracing::debug!(error, "what was recorded could not be kept");
                    }
                }
            }
            if stopped || tended.elapsed() >= TENDING {
                tended = Instant::now();
                self.expire();
                let load = match (lock(&self.queue).is_enough(), std::mem::take(&mut has_calls)) {
                    (true, _) => Load::Queue,
                    (false, true) => Load::Calls,
                    (false, false) => Load::Nothing,
                };
                sinks.iter_mut().for_each(|sink| sink.tend(load));
            }
            if stopped && lock(&self.queue).entries.is_empty() {
                return;
            }
            self.rest(pace.rest(batch.share_of_ours()));
        }
    }

    /// Stays away for a while, unless it is to end.
    fn rest(&self, time: Duration) {
        if !time.is_zero() {
            drop(self.news.wait_timeout_while(lock(&self.queue), time, |queue| !queue.stopped));
        }
    }

    /// Waits for news, gathers for a moment, and takes what is there.
    fn gathered(&self) -> (Vec<Entry>, bool) {
        // Made before: calls wait for the queue, and this thread may be made to wait in between.
        let mut taken = Vec::with_capacity(ENTRIES_TOGETHER);
        let mut queue = lock(&self.queue);
        if queue.entries.is_empty() && !queue.stopped {
            queue.asleep = true;
            let woken = self.news.wait_timeout_while(queue, TENDING, |queue| queue.asleep);
            queue = woken.unwrap_or_else(PoisonError::into_inner).0;
            queue.asleep = false;
        }
        if !queue.stopped && !queue.entries.is_empty() && !queue.is_enough() {
            let gathered = self.news.wait_timeout_while(queue, GATHERING, |queue| !queue.stopped);
            queue = gathered.unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.take(&mut taken);
        if queue.entries.len() <= ENTRIES_MAX / 2 && queue.bytes <= QUEUE_BYTES_MAX / 2 {
            self.full.store(false, Ordering::Relaxed);
        }
        (taken, queue.stopped)
    }

    fn note_running(&self, rows: &mut Rows) {
        let (began, ended) = rows.take_running();
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
        lock(&self.queue).bytes <= REPORTED_BYTES_MAX / 2
    }

    fn report(&self, spans: Vec<Packed>) -> Result<(), otlp::Full> {
        let entry = Entry::Reported(spans);
        let (bytes, waiting) = (entry.bytes(), lock(&self.queue).bytes);
        let has_room = waiting == 0 || waiting + bytes <= REPORTED_BYTES_MAX;
        let bytes_max = if has_room { QUEUE_BYTES_MAX } else { 0 };
        if self.put(entry, bytes, ENTRIES_MAX, bytes_max) { Ok(()) } else { Err(otlp::Full) }
    }
}

/// Lets everything else go first. It is no harm where that cannot be had.
fn yield_to_calls() {
    #[cfg(target_os = "linux")]
    {
        const NICE: i32 = 19;
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE);
    }
}
