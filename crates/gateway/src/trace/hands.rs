//! Who works on what was recorded: two threads that take turns.
//!
//! As long as there is little to do, the first one does it. Its priority is low, and still high enough for who watches to see
//! on a full machine what happens now. Where calls come in faster, the other one takes over: it runs only where a processor has
//! nothing else to do, and, which matters more, one on which it runs counts as free to everybody who wakes up. Any other
//! priority has servers and clients queue up behind the calls, beside a processor that could do without us. One thread cannot
//! be both, because who has given up a priority may not take it again.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{
    pace::Pace,
    queue::{ENTRIES_TOGETHER, Queue, WayOut},
    recorder::{Load, Recorder, Sink, lock},
    rows::Rows,
};

/// How long is gathered before rows are written: long enough for one transaction to hold many.
const GATHERING: Duration = Duration::from_millis(10);
/// How often those who keep rows can tidy up when there is nothing to write.
const TENDING: Duration = Duration::from_millis(250);
/// More than this in the time of gathering is not little.
const ENTRIES_FEW: usize = 256;

/// One of the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hand {
    /// Comes soon.
    Prompt,
    /// Comes where nobody else wants to.
    Patient,
}

impl Hand {
    pub(super) const ALL: [Self; 2] = [Self::Prompt, Self::Patient];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Prompt => "recorder",
            Self::Patient => "recorder-idle",
        }
    }

    /// Whose turn it is.
    fn due(queue: &Queue) -> Self {
        if queue.len() > ENTRIES_FEW && !queue.is_stopped() { Self::Patient } else { Self::Prompt }
    }

    /// Gives this thread its priority. It is no harm where that cannot be had.
    #[cfg(target_os = "linux")]
    fn step_back(self) {
        use thread_priority::{
            NormalThreadSchedulePolicy::Idle, ThreadPriority, ThreadSchedulePolicy,
            set_thread_priority_and_policy, thread_native_id,
        };
        const NICE: i32 = 10;
        match self {
            Self::Prompt => {
                let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE);
            }
            Self::Patient => {
                let policy = ThreadSchedulePolicy::Normal(Idle);
                let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy);
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn step_back(self) {}
}

/// What they work on, one at a time.
pub(super) struct Work {
    state: Mutex<State>,
    turned: Condvar,
}

struct State {
    way_out: WayOut,
    rows: Rows,
    sinks: Vec<Box<dyn Sink>>,
    tended: Instant,
    has_calls: bool,
    /// What takes locks that calls wait for is to be done, by who does not keep them long.
    errand: bool,
    /// Nobody's once everything is done.
    turn: Option<Hand>,
}

impl Work {
    pub(super) fn new(way_out: WayOut, rows: Rows, sinks: Vec<Box<dyn Sink>>) -> Self {
        let turn = Some(Hand::Prompt);
        let state =
            State { way_out, rows, sinks, tended: Instant::now(), has_calls: false, errand: false, turn };
        Self { state: Mutex::new(state), turned: Condvar::new() }
    }

    /// Works whenever it is this thread's turn, until everything is done.
    pub(super) fn go_on(&self, hand: Hand, recorder: &Recorder) {
        hand.step_back();
        let _whatever_happens = Leaving(self);
        let mut pace = Pace::default();
        let mut state = lock(&self.state);
        loop {
            let is_elses = |state: &mut State| state.turn.is_some_and(|turn| turn != hand);
            state = self.turned.wait_while(state, is_elses).unwrap_or_else(PoisonError::into_inner);
            if state.turn.is_none() {
                return;
            }
            let turn = state.round(hand, &mut pace, recorder);
            if turn != Some(hand) {
                state.turn = turn;
                self.turned.notify_all();
            }
        }
    }
}

/// Where one of them ends, also by a panic, the other does not wait for its turn any more.
struct Leaving<'a>(&'a Work);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).turn = None;
        self.0.turned.notify_all();
    }
}

impl State {
    /// Takes what is there and hands it on. Whose turn it is then.
    fn round(&mut self, hand: Hand, pace: &mut Pace, recorder: &Recorder) -> Option<Hand> {
        let queue = recorder.queue();
        if hand == Hand::Prompt && std::mem::take(&mut self.errand) {
            self.go_on_errands(recorder);
            return Some(Hand::due(queue));
        }
        gather(hand, queue);
        let (due, stopped) = (Hand::due(queue), queue.is_stopped());
        if due != hand {
            return Some(due);
        }
        let max = if hand == Hand::Patient { pace.entries(ENTRIES_TOGETHER) } else { ENTRIES_TOGETHER };
        queue.take(&self.way_out, max, |entry| self.rows.add(entry));
        recorder.note_running(self.rows.take_running());
        let batch = self.rows.take(recorder.now());
        self.has_calls |= !batch.spans.is_empty();
        if !batch.is_empty() {
            recorder.count(&batch, self.sinks.iter_mut().map(|sink| sink.take(&batch)));
        }
        if stopped || self.tended.elapsed() >= TENDING {
            self.tended = Instant::now();
            let load = match (queue.is_enough(), std::mem::take(&mut self.has_calls)) {
                (true, _) => Load::Queue,
                (false, true) => Load::Calls,
                (false, false) => Load::Nothing,
            };
            self.sinks.iter_mut().for_each(|sink| sink.tend(load, &|| queue.is_empty()));
            self.errand = hand == Hand::Patient;
            if hand == Hand::Prompt {
                self.go_on_errands(recorder);
            }
        }
        if stopped && queue.is_empty() {
            return None;
        }
        if hand == Hand::Patient {
            queue.pause(pace.rest(batch.share_of_ours()));
        }
        Some(if self.errand { Hand::Prompt } else { hand })
    }

    fn go_on_errands(&mut self, recorder: &Recorder) {
        recorder.expire();
        for sink in &mut self.sinks {
            sink.fulfil_wishes(&|wish| recorder.stop(wish));
        }
    }
}

/// Waits for news, and for a moment more.
fn gather(hand: Hand, queue: &Queue) {
    if hand == Hand::Prompt && queue.is_empty() {
        queue.wait(TENDING);
    }
    if !queue.is_empty() && !queue.is_enough() {
        queue.pause(GATHERING);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, mpsc},
        thread,
    };

    use serde_json::Value;

    use super::*;
    use crate::{
        store::traces::{Batch, Packed},
        trace::{
            Settings, SpanId,
            open::Entry,
            otlp::{Sink as _, tests::some_span},
        },
    };

    /// Tells who took how much, and waits for a word before each time if it is to.
    struct Told {
        taken: mpsc::Sender<(String, usize)>,
        word: Option<mpsc::Receiver<()>>,
    }

    impl Sink for Told {
        fn take(&mut self, batch: &Batch) -> Result<(), String> {
            if let Some(word) = &self.word {
                let _ = word.recv();
            }
            let name = thread::current().name().unwrap().to_owned();
            let _ = self.taken.send((name, batch.reported.len()));
            Ok(())
        }
    }

    fn report(recorder: &Recorder) {
        recorder.report(vec![Packed::of(&some_span())]).unwrap();
    }

    #[test]
    fn little_is_done_soon_and_much_where_nobody_else_wants_to() {
        let (taken, came) = mpsc::channel();
        let (word, waited_for) = mpsc::channel();
        let sink = Box::new(Told { taken, word: Some(waited_for) });
        let recorder = Recorder::start(Settings::default(), vec![sink], jiff::Timestamp::now).unwrap();
        report(&recorder);
        word.send(()).unwrap();
        assert_eq!(came.recv().unwrap(), (Hand::Prompt.name().to_owned(), 1));
        // One is worked on until it is let go, and meanwhile more comes in than is little.
        report(&recorder);
        while !recorder.queue().is_empty() {
            thread::yield_now();
        }
        (0..=ENTRIES_FEW).for_each(|_| report(&recorder));
        (0..2).for_each(|_| word.send(()).unwrap());
        assert_eq!(came.recv().unwrap().0, Hand::Prompt.name());
        assert_eq!(came.recv().unwrap().0, Hand::Patient.name());
        drop(word);
        recorder.close();
        let rest: Vec<(String, usize)> = came.try_iter().collect();
        assert_eq!(recorder.counts().recorded, 3 + ENTRIES_FEW as u64, "{rest:?}");
        assert_eq!(recorder.counts().dropped, 0);
    }

    #[test]
    fn nobody_waits_for_who_came_to_an_end() {
        struct Broken;
        impl Sink for Broken {
            fn take(&mut self, _batch: &Batch) -> Result<(), String> {
                panic!("a mistake")
            }
        }
        let recorder =
            Recorder::start(Settings::default(), vec![Box::new(Broken)], jiff::Timestamp::now).unwrap();
        report(&recorder);
        let told = || Entry::Progress { span: SpanId([2; 8]), at: 0, told: Value::Null };
        while recorder.offer(told()) {}
        let closing = Arc::clone(&recorder);
        thread::spawn(move || closing.close()).join().unwrap();
        let counts = recorder.counts();
        assert!(counts.dropped > 1 && counts.queued == 0, "what was left is counted: {counts:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn they_have_their_places() {
        /// The nice value and the policy of this thread, by the numbers of `proc(5)`.
        fn place() -> (i64, i64) {
            let told = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            let (_, fields) = told.rsplit_once(") ").unwrap();
            let field = |number: usize| fields.split(' ').nth(number - 3).unwrap().parse().unwrap();
            (field(19), field(41))
        }
        const SCHED_OTHER: i64 = 0;
        const SCHED_IDLE: i64 = 5;
        let own = place();
        let places: Vec<(i64, i64)> = Hand::ALL
            .map(|hand| {
                thread::spawn(move || {
                    hand.step_back();
                    place()
                })
                .join()
                .unwrap()
            })
            .into();
        let [prompt, patient] = places.try_into().unwrap();
        assert_eq!(prompt, (own.0.max(10), SCHED_OTHER));
        assert_eq!(patient.1, SCHED_IDLE);
        assert_eq!(place(), own, "others stay where they are");
    }
}
