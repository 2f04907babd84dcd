//! MCP over the process's own standard input and output.
//!
//! A thread of its own reads lines and answers on the spot what needs no waiting; calls that wait go on as tasks, and
//! whatever is no plain tool call goes to the library, over a transport that loses no frame.

mod library;
mod lines;
mod output;
mod reader;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use tokio::sync::{Notify, Semaphore, mpsc};
use tokio_util::task::TaskTracker;

use self::{output::Output, reader::Reader};
use crate::{
    pipeline::Gateway,
    session::{End, LOCAL, Session, Transport},
};

/// Calls that wait, at the most; the reader stops reading until one of them ends.
const WAITING_CALLS_MAX: usize = 4096;
/// Frames handed to the library and not yet taken, at the most.
const LIBRARY_QUEUE_FRAMES: usize = 256;

/// Serves one client on standard input and output until it closes them or `stop` resolves. Asked to stop once more
/// while calls finish, it stops at once.
pub async fn serve<S: Future<Output = ()>>(
    gateway: Arc<Gateway>,
    fast_path: bool,
    grace: Duration,
    stop: impl Fn() -> S,
) -> std::io::Result<()> {
    let (frames, incoming) = mpsc::channel(LIBRARY_QUEUE_FRAMES);
    let connection = Arc::new(Connection {
        gateway,
        session: Arc::new(Session::new(Transport::Stdio, LOCAL)),
        output: Output::start()?,
        tasks: TaskTracker::new(),
        waiting: Arc::new(Semaphore::new(WAITING_CALLS_MAX)),
        established: AtomicBool::new(false),
        asked: Mutex::default(),
        answered: Notify::new(),
        fast_path,
    });
    let library = tokio::spawn(library::run(Arc::clone(&connection), incoming));
    // Kept until everything is answered: the library stops working when no frame can come any more.
    let open = frames.clone();
    let mut end = Reader::start(Arc::clone(&connection), frames)?;
    let stopped = tokio::select! {
        _ = end.recv() => false,
        () = stop() => true,
    };
    tokio::select! {
        () = connection.drain(grace) => {}
        () = stop() => {}
    }
    let how = match (connection.output.is_broken(), stopped) {
        (true, _) => End::Disconnect,
        (false, true) => End::Shutdown,
        (false, false) => End::Graceful,
    };
    connection.session.end(how);
    drop(open);
    library.abort();
    Ok(())
}

/// What the reader, the library's transport and the calls under way share.
struct Connection {
    gateway: Arc<Gateway>,
    session: Arc<Session>,
    output: Output,
    tasks: TaskTracker,
    waiting: Arc<Semaphore>,
    /// Set when an `initialize` was answered.
    established: AtomicBool,
    /// Requests that the library still owes an answer.
    asked: Mutex<HashSet<String>>,
    answered: Notify,
    fast_path: bool,
}

impl Connection {
    fn asked(&self) -> MutexGuard<'_, HashSet<String>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a request has its answer, or will get none.
    fn settle(&self, id: &str) {
        self.asked().remove(id);
        self.answered.notify_waiters();
    }

    /// Waits until everything asked is answered and written, but no longer than `grace`.
    async fn drain(&self, grace: Duration) {
        self.tasks.close();
        let answered = async {
            self.tasks.wait().await;
            loop {
                let notified = self.answered.notified();
                if self.asked().is_empty() {
                    break;
                }
                notified.await;
            }
            self.output.flush(grace).await;
        };
        if tokio::time::timeout(grace, answered).await.is_err() {
            tracing::warn!("some calls were still running when the time to finish was over");
        }
    }
}

fn end_line(frames: &mut Vec<u8>, reply: &[u8]) {
    frames.extend_from_slice(reply);
    frames.push(b'\n');
}
