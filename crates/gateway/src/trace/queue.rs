//! The bounded queue between calls and whoever writes them down.
//!
//! Who puts something in never waits: not for room, and for no lock either. Who takes it out may be a thread that runs only
//! where nobody else wants to, and whoever waited for a lock of such a thread would wait for the whole machine.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use super::open::Entry;

/// Entries that wait. An end has room behind it, so that what has begun is seen to end.
pub(super) const ENTRIES_MAX: usize = 32 * 1024;
/// About the memory that they take together.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// The same for what others report, which leaves the rest to our own calls.
const REPORTED_BYTES_MAX: usize = BYTES_MAX / 4;
/// What is worked on at a time.
pub(super) const ENTRIES_TOGETHER: usize = 2048;
/// So much is worth a transaction, without waiting for more.
const BYTES_TOGETHER: usize = 2 * 1024 * 1024;

/// An entry with about the memory that it takes.
type Weighed = (Entry, usize);

/// The end that one thread at a time takes from.
pub(super) type WayOut = mpsc::Receiver<Weighed>;

pub(super) struct Queue {
    way_in: mpsc::Sender<Weighed>,
    entries: AtomicUsize,
    bytes: AtomicUsize,
    dropped: AtomicU64,
    /// Whether something found no room, until half of it is free again.
    full: AtomicBool,
    stopped: AtomicBool,
    /// Who waits for something to come in, and whether they do.
    waiter: OnceLock<Thread>,
    waits: AtomicBool,
}

impl Queue {
    pub(super) fn new() -> (Self, WayOut) {
        let (way_in, way_out) = mpsc::channel();
        let queue = Self {
            way_in,
            entries: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
            full: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            waiter: OnceLock::new(),
            waits: AtomicBool::new(false),
        };
        (queue, way_out)
    }

    /// Whether a call that comes in is recorded. While there is no room it goes its way as where nothing is, which costs it
    /// nothing; finding that out piece by piece would take the most time when there is least of it.
    pub(super) fn admits(&self) -> bool {
        let full = self.full.load(Ordering::Relaxed);
        self.dropped.fetch_add(u64::from(full), Ordering::Relaxed);
        !full
    }

    /// Puts something in, if there is room.
    pub(super) fn offer(&self, entry: Entry) -> bool {
        let bytes = entry.bytes();
        let has_room = self.put(entry, bytes, ENTRIES_MAX, BYTES_MAX);
        if !has_room {
            self.full.store(true, Ordering::Relaxed);
        }
        has_room
    }

    /// An end is told even where nothing else is any more, though perhaps without what the request resulted in.
    pub(super) fn offer_end(&self, mut entry: Entry) -> bool {
        if self.bytes() > BYTES_MAX / 2
            && let Entry::Ended(ended) = &mut entry
        {
            (ended.end.output, ended.end.message) = (None, None);
        }
        let bytes = entry.bytes();
        self.put(entry, bytes, 2 * ENTRIES_MAX, 2 * BYTES_MAX)
    }

    /// Whether a report is worth reading now.
    pub(super) fn has_room_for_reports(&self) -> bool {
        self.bytes() <= REPORTED_BYTES_MAX / 2
    }

    pub(super) fn offer_report(&self, entry: Entry) -> bool {
        let (bytes, waiting) = (entry.bytes(), self.bytes());
        let has_room = waiting == 0 || waiting + bytes <= REPORTED_BYTES_MAX;
        self.put(entry, bytes, ENTRIES_MAX, if has_room { BYTES_MAX } else { 0 })
    }

    /// Who come at once may go beyond the limits by what each of them brings.
    fn put(&self, entry: Entry, bytes: usize, entries_max: usize, bytes_max: usize) -> bool {
        let has_room = self.len() < entries_max
            && self.bytes() + bytes <= bytes_max
            && !self.stopped.load(Ordering::Relaxed);
        if !has_room {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.entries.fetch_add(1, Ordering::SeqCst);
        // Whoever took things out is gone: nothing is written any more, and this is counted with what was left.
        let _ = self.way_in.send((entry, bytes));
        if self.waits.load(Ordering::SeqCst)
            && self.waits.swap(false, Ordering::SeqCst)
            && let Some(waiter) = self.waiter.get()
        {
            waiter.unpark();
        }
        true
    }

    /// Takes the oldest entries, so many at the most.
    pub(super) fn take(&self, way_out: &WayOut, max: usize, mut with: impl FnMut(Entry)) {
        let (mut entries, mut bytes) = (0, 0);
        for (entry, size) in way_out.try_iter().take(max) {
            (entries, bytes) = (entries + 1, bytes + size);
            with(entry);
        }
        let left = self.entries.fetch_sub(entries, Ordering::SeqCst) - entries;
        let bytes_left = self.bytes.fetch_sub(bytes, Ordering::Relaxed) - bytes;
        if left <= ENTRIES_MAX / 2 && bytes_left <= BYTES_MAX / 2 {
            self.full.store(false, Ordering::Relaxed);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.load(Ordering::SeqCst)
    }

    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is so much that nothing is gained by waiting for more.
    pub(super) fn is_enough(&self) -> bool {
        self.len() >= ENTRIES_TOGETHER || self.bytes() >= BYTES_TOGETHER
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Takes nothing more. Who waits or pauses has to be woken after it.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Counts what came in too late to be taken out.
    pub(super) fn give_up(&self) {
        let left = self.entries.swap(0, Ordering::SeqCst);
        self.dropped.fetch_add(left as u64, Ordering::Relaxed);
    }

    /// Waits until something is there, but no longer than this. Only ever one thread does.
    pub(super) fn wait(&self, time: Duration) {
        self.waiter.get_or_init(thread::current);
        self.waits.store(true, Ordering::SeqCst);
        sleep_while(time, || self.is_empty() && !self.is_stopped());
        self.waits.store(false, Ordering::SeqCst);
    }

    /// Stays away for a while, unless it is to end.
    pub(super) fn pause(&self, time: Duration) {
        sleep_while(time, || !self.is_stopped());
    }
}

/// Parks again where something else woke the thread.
fn sleep_while(time: Duration, goes_on: impl Fn() -> bool) {
    let until = Instant::now() + time;
    while goes_on()
        && let Some(left) = until.checked_duration_since(Instant::now())
        && !left.is_zero()
    {
        thread::park_timeout(left);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::trace::{
        SpanId,
        open::{End, Ended},
    };

    fn told() -> Entry {
        Entry::Progress { span: SpanId([2; 8]), at: 0, told: Value::Null }
    }

    fn ended(bytes: usize) -> Entry {
        let end = End::ok(Some("x".repeat(bytes)));
        Entry::Ended(Box::new(Ended { span: SpanId([2; 8]), at: 0, waited: 0, sent_as: 0, end }))
    }

    #[test]
    fn calls_are_let_in_again_when_half_of_the_room_is_free() {
        let (queue, way_out) = Queue::new();
        while queue.offer(told()) {}
        assert_eq!((queue.len(), queue.dropped()), (ENTRIES_MAX, 1));
        assert!(!queue.admits());
        assert!(queue.offer_end(ended(1)), "what has begun is seen to end");
        queue.take(&way_out, ENTRIES_MAX / 2, drop);
        assert!(!queue.admits(), "one more than half is there");
        queue.take(&way_out, 1, drop);
        assert!(queue.admits());
        assert_eq!((queue.len(), queue.dropped()), (ENTRIES_MAX / 2, 3));
    }

    #[test]
    fn long_results_are_left_out_before_anything_else_is() {
        const RESULT: usize = 1024 * 1024;
        let (queue, way_out) = Queue::new();
        (0..64).for_each(|_| assert!(queue.offer_end(ended(RESULT))));
        assert!(queue.bytes() < BYTES_MAX / 2 + 2 * RESULT, "{}", queue.bytes());
        let mut kept = 0;
        queue.take(&way_out, 64, |entry| {
            let Entry::Ended(ended) = entry else { panic!("nothing else was put in") };
            kept += usize::from(ended.end.output.is_some());
        });
        assert_eq!((kept, queue.len(), queue.bytes(), queue.dropped()), (32, 0, 0, 0));
    }

    #[test]
    fn who_waits_is_woken_by_what_comes_in_and_by_the_end() {
        const LONG: Duration = Duration::from_secs(600);
        let begin = Instant::now();
        let (queue, way_out) = Queue::new();
        thread::scope(|scope| {
            let queue = &queue;
            let waiting = scope.spawn(move || {
                queue.wait(LONG);
                let mut came = 0;
                queue.take(&way_out, 8, |_| came += 1);
                queue.pause(LONG);
                came
            });
            while !queue.waits.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            assert!(queue.offer(told()));
            while !queue.is_empty() {
                thread::yield_now();
            }
            queue.stop();
            waiting.thread().unpark();
            assert_eq!(waiting.join().unwrap(), 1);
        });
        assert!(begin.elapsed() < LONG / 2, "it waited until nobody would have woken it");
        assert!(!queue.offer(told()) && queue.dropped() == 1, "nothing is taken after the end");
    }
}
