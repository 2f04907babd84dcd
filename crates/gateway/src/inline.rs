//! Calls that wait for another server, continued by the very thread that brings its answer.
//!
//! Handing every answer to the runtime and from there to the thread that writes would cost more than all the rest of a
//! call. So a thread that reads for many does its reading in a [`batch`]: what becomes ready meanwhile is continued at
//! its end, and what was written goes out in one piece. Outside of a batch the runtime continues what becomes ready.

use std::{
    cell::RefCell,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use tokio::{
    runtime::Handle,
    task::coop::{Unconstrained, unconstrained},
};

/// So many calls go on together. More of them would save little, and who works on them next would wait for the last.
pub(crate) const TOGETHER: usize = 8;

thread_local! {
    static BATCH: RefCell<Option<Batch>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Batch {
    ready: Vec<Arc<Task>>,
    writers: Vec<Arc<dyn Flush>>,
}

/// Something that gathers what is written until it is told to send it.
pub(crate) trait Flush: Send + Sync {
    fn flush(&self);
}

/// Does something during which much may become ready or be written, then continues and sends it.
pub(crate) fn batch<R>(work: impl FnOnce() -> R) -> R {
    let is_outer = BATCH.with_borrow_mut(|batch| match batch {
        Some(_) => false,
        None => {
            *batch = Some(Batch::default());
            true
        }
    });
    // However the work ends: the thread goes on, and would gather without end.
    let _end = is_outer.then_some(End);
    work()
}

struct End;

impl Drop for End {
    fn drop(&mut self) {
        finish();
    }
}

fn finish() {
    // However a call ends, the thread has others to read for.
    let run = |task: Arc<Task>| drop(std::panic::catch_unwind(AssertUnwindSafe(|| task.run())));
    loop {
        let ready = BATCH.with_borrow_mut(|batch| {
            batch.as_mut().map(|batch| std::mem::take(&mut batch.ready)).unwrap_or_default()
        });
        if ready.is_empty() {
            break;
        }
        ready.into_iter().for_each(run);
    }
    let writers = BATCH.with_borrow_mut(Option::take).map(|batch| batch.writers).unwrap_or_default();
    writers.iter().for_each(|writer| writer.flush());
}

/// Has a writer flushed at the end of the batch. Tells whether there is one; if not, it is the caller's to flush.
pub(crate) fn flush_later(writer: &Arc<impl Flush + 'static>) -> bool {
    BATCH.with_borrow_mut(|batch| {
        let Some(batch) = batch else { return false };
        let address = Arc::as_ptr(writer).cast::<()>();
        if !batch.writers.iter().any(|known| Arc::as_ptr(known).cast::<()>() == address) {
            let writer: Arc<dyn Flush> = Arc::clone(writer) as _;
            batch.writers.push(writer);
        }
        true
    })
}

const WAITING: u8 = 0;
const READY: u8 = 1;
const RUNNING: u8 = 2;
/// Became ready again while it ran.
const RUNNING_READY: u8 = 3;

/// What is left to be done for a call.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A call under way.
pub(crate) struct Task {
    state: AtomicU8,
    /// It has no share in what its thread may do at a time, since it is no task of a runtime's.
    work: Mutex<Option<Unconstrained<Work>>>,
    runtime: Handle,
}

impl Task {
    /// Takes the first step here.
    pub(crate) fn start(work: Work, runtime: &Handle) {
        let (state, work) = (AtomicU8::new(READY), Mutex::new(Some(unconstrained(work))));
        Arc::new(Self { state, work, runtime: runtime.clone() }).run();
    }

    fn run(self: Arc<Self>) {
        loop {
            self.state.swap(RUNNING, Ordering::AcqRel);
            {
                let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(under_way) = work.as_mut() else { return };
                let waker = Waker::from(Arc::clone(&self));
                if Pin::new(under_way).poll(&mut Context::from_waker(&waker)) == Poll::Ready(()) {
                    *work = None;
                    return;
                }
            }
            let waits = self.state.compare_exchange(RUNNING, WAITING, Ordering::AcqRel, Ordering::Acquire);
            if waits.is_ok() {
                return;
            }
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let woken = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| match state {
            WAITING => Some(READY),
            RUNNING => Some(RUNNING_READY),
            _ => None,
        });
        if woken != Ok(WAITING) {
            return;
        }
        let alone = BATCH.with_borrow_mut(|batch| match batch {
            Some(batch) => {
                batch.ready.push(self);
                None
            }
            None => Some(self),
        });
        if let Some(task) = alone {
            let runtime = task.runtime.clone();
            runtime.spawn(async move { task.run() });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::oneshot;

    use super::*;

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Flush for Counter {
        fn flush(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn what_becomes_ready_in_a_batch_goes_on_at_its_end() {
        let runtime = Handle::current();
        let done = Arc::new(AtomicUsize::new(0));
        let mut senders = Vec::new();
        for _ in 0..3 {
            let (sender, receiver) = oneshot::channel::<()>();
            senders.push(sender);
            let done = Arc::clone(&done);
            let work = async move {
                let _ = receiver.await;
                done.fetch_add(1, Ordering::Relaxed);
            };
            Task::start(Box::pin(work), &runtime);
        }
        let writer = Arc::new(Counter::default());
        batch(|| {
            for sender in senders.drain(..2) {
                sender.send(()).unwrap();
                assert!(flush_later(&writer));
            }
            assert_eq!(done.load(Ordering::Relaxed), 0, "nothing runs within the work itself");
        });
        assert_eq!((done.load(Ordering::Relaxed), writer.0.load(Ordering::Relaxed)), (2, 1));
        assert!(!flush_later(&writer), "no batch, no later");
        // The last one is woken elsewhere, and the runtime goes on with it.
        std::thread::spawn(move || senders.pop().unwrap().send(()).unwrap()).join().unwrap();
        while done.load(Ordering::Relaxed) < 3 {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn a_batch_ends_however_its_work_does() {
        let writer = Arc::new(Counter::default());
        let failing = || {
            batch(|| {
                assert!(flush_later(&writer));
                panic!("on purpose");
            })
        };
        assert!(std::panic::catch_unwind(AssertUnwindSafe(failing)).is_err());
        assert_eq!(writer.0.load(Ordering::Relaxed), 1, "what was gathered is sent");
        assert!(!flush_later(&writer), "and nothing more is gathered");
    }

    #[tokio::test]
    async fn one_that_wakes_itself_is_not_lost() {
        let done = Arc::new(AtomicUsize::new(0));
        let told = Arc::clone(&done);
        let work = async move {
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            told.fetch_add(1, Ordering::Relaxed);
        };
        Task::start(Box::pin(work), &Handle::current());
        while done.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
    }
}
