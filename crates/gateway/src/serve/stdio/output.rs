//! Standard output, written by whoever may block: never by the runtime, which also keeps time and hears signals.

use std::{
    io::Write,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::{mpsc, oneshot};
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::end_line;
use crate::inline::{self, Flush};

/// Frames that wait to be written, at the most; whoever has one more waits until the client reads.
const QUEUE_FRAMES: usize = 1024;

/// Room for what the client has not read yet, so that large answers take few steps.
const PIPE_BYTES: usize = 1024 * 1024;

/// A handle for writing frames, each already ended by a line feed and written whole or not at all.
#[derive(Clone)]
pub(super) struct Output {
    jobs: mpsc::Sender<Job>,
    broken: Arc<AtomicBool>,
    gathered: Arc<Gathered>,
}

/// What is written together by a thread that may block, and whose calls are answered with it.
#[derive(Default)]
struct Gathered {
    frames: Mutex<(Vec<u8>, Vec<TaskTrackerToken>)>,
    broken: Arc<AtomicBool>,
}

impl Flush for Gathered {
    fn flush(&self) {
        let (frames, answered) = {
            let mut gathered = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
            (std::mem::take(&mut gathered.0), std::mem::take(&mut gathered.1))
        };
        write(&frames, &self.broken);
        drop(answered);
    }
}

enum Job {
    Frames(Vec<u8>),
    /// Answered when everything before it was written.
    Flush(oneshot::Sender<()>),
}

impl Output {
    /// Starts the thread that writes what tasks have to say.
    pub(super) fn start() -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE_FRAMES);
        let broken: Arc<AtomicBool> = Arc::default();
        let gathered = Arc::new(Gathered { broken: Arc::clone(&broken), ..Gathered::default() });
        // A larger pipe is an economy, not a need, and not everybody reads from one.
        let _ = rustix::pipe::fcntl_setpipe_size(std::io::stdout(), PIPE_BYTES);
        let output = Self { jobs, broken, gathered };
        let broken = Arc::clone(&output.broken);
        std::thread::Builder::new().name("stdout".to_owned()).spawn(move || write_queued(queue, &broken))?;
        Ok(output)
    }

    /// Writes from a thread that may wait for the client to read.
    pub(super) fn write_blocking(&self, frames: &[u8]) {
        write(frames, &self.broken);
    }

    /// Writes the answer of a call: with others, if a thread that may block is at it, else through the queue.
    pub(super) async fn answer(&self, mut reply: Vec<u8>, call: TaskTrackerToken) {
        if inline::flush_later(&self.gathered) {
            let mut gathered = self.gathered.frames.lock().unwrap_or_else(PoisonError::into_inner);
            if gathered.0.is_empty() {
                // Mostly there is one, and a long one is better not copied.
                reply.push(b'\n');
                gathered.0 = reply;
            } else {
                end_line(&mut gathered.0, &reply);
            }
            gathered.1.push(call);
            return;
        }
        reply.push(b'\n');
        self.send(reply).await;
    }

    /// Writes from a task.
    pub(super) async fn send(&self, frames: Vec<u8>) {
        let _ = self.jobs.send(Job::Frames(frames)).await;
    }

    /// Waits until everything sent so far is written, but no longer than that.
    pub(super) async fn flush(&self, within: Duration) {
        let (done, written) = oneshot::channel();
        let flushed = async {
            if self.jobs.send(Job::Flush(done)).await.is_ok() {
                let _ = written.await;
            }
        };
        let _ = tokio::time::timeout(within, flushed).await;
    }

    /// Whether the client has closed its end.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

fn write_queued(mut queue: mpsc::Receiver<Job>, broken: &AtomicBool) {
    let mut frames = Vec::new();
    while let Some(mut job) = queue.blocking_recv() {
        // What has gathered meanwhile goes out in one write.
        let flush = loop {
            match job {
                Job::Frames(more) => frames.extend_from_slice(&more),
                Job::Flush(done) => break Some(done),
            }
            match queue.try_recv() {
                Ok(next) => job = next,
                Err(_) => break None,
            }
        };
        write(&frames, broken);
        frames.clear();
        if let Some(done) = flush {
            let _ = done.send(());
        }
    }
}

fn write(frames: &[u8], broken: &AtomicBool) {
    if frames.is_empty() || broken.load(Ordering::Relaxed) {
        return;
    }
    let mut out = std::io::stdout().lock();
    if out.write_all(frames).and_then(|()| out.flush()).is_err() {
        broken.store(true, Ordering::Relaxed);
    }
}
