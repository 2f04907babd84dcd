//! The one thread that writes to a file.
//!
//! It takes whatever is queued, up to a limit, runs it in one transaction and acknowledges it after the commit:
//! waiting for the disk once for many writes is what makes durable writes fast.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{slice, thread};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot, watch};

use super::Error;
use super::watched::Watched;

/// Writes waiting for the thread. When the queue is full, callers wait for room in it.
const QUEUE_WRITES_MAX: usize = 256;
/// Writes in one transaction.
const GROUP_WRITES_MAX: usize = 64;
/// What may be used beyond the cap by a write that frees space, which needs some room itself to do so.
const RESERVE_PAGES: u64 = 256;

/// What a write does to the file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Effect {
    /// It may go a little beyond the cap: otherwise a full store could not be emptied.
    pub frees_space: bool,
    /// Everything happens, and is undone.
    pub dry_run: bool,
}

/// The most pages the file may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cap {
    pages: u64,
}

impl Cap {
    pub(super) fn new(connection: &Connection, bytes: u64) -> Result<Self, Error> {
        let page_bytes: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let cap = Self { pages: (bytes / u64::from(page_bytes.max(1))).max(1) };
        cap.apply(connection, 0)?;
        Ok(cap)
    }

    fn apply(self, connection: &Connection, reserve: u64) -> Result<(), Error> {
        let pages = u32::try_from(self.pages.saturating_add(reserve)).unwrap_or(u32::MAX - 1);
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
        Ok(())
    }
}

/// The way to the thread.
#[derive(Clone)]
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
    ended: watch::Receiver<()>,
}

enum Message {
    Write(Box<dyn Write>),
    Close,
}

impl Writer {
    pub(super) fn start(
        name: &str,
        connection: Connection,
        cap: Option<Cap>,
        watched: Option<Watched>,
    ) -> Result<Self, Error> {
        let (queue, queued) = mpsc::channel(QUEUE_WRITES_MAX);
        let (alive, ended) = watch::channel(());
        let serve = move || {
            Thread { connection, cap, watched }.serve(queued);
            drop(alive);
        };
        thread::Builder::new().name(name.to_owned()).spawn(serve).map_err(|cause| {
            tracing::error!(%cause, "the store's thread could not be started");
            Error::Io
        })?;
        Ok(Self { queue, ended })
    }

    pub(super) async fn run<T, W>(&self, effect: Effect, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: FnMut(&Connection) -> Result<T, Error> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = Job { effect, work, answer: None, reply };
        self.queue.send(Message::Write(Box::new(job))).await.map_err(|_| Error::Closed)?;
        answer.await.unwrap_or(Err(Error::Closed))
    }

    pub(super) async fn close(mut self) {
        // An error means that the thread has ended or is about to.
        let _ = self.queue.send(Message::Close).await;
        while self.ended.changed().await.is_ok() {}
    }
}

/// A write of any type, as the thread sees it.
trait Write: Send {
    fn is_abandoned(&self) -> bool;
    /// Does the work within its own savepoint and keeps the answer.
    fn run(&mut self, connection: &Connection, cap: Option<Cap>);
    /// Replaces the answer.
    fn fail(&mut self, error: Error);
    fn acknowledge(self: Box<Self>);
}

struct Job<T, W> {
    effect: Effect,
    work: W,
    answer: Option<Result<T, Error>>,
    reply: oneshot::Sender<Result<T, Error>>,
}

impl<T, W> Write for Job<T, W>
where
    T: Send,
    W: FnMut(&Connection) -> Result<T, Error> + Send,
{
    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn run(&mut self, connection: &Connection, cap: Option<Cap>) {
        let raised = cap.filter(|_| self.effect.frees_space);
        let answer = raised
            .map_or(Ok(()), |cap| cap.apply(connection, RESERVE_PAGES))
            .and_then(|()| in_savepoint(connection, !self.effect.dry_run, || (self.work)(connection)));
        if let Some(cap) = raised {
            // Should this fail, the cap is a little higher for a while. The write is not to blame for it.
            let _ = cap.apply(connection, 0);
        }
        self.answer = Some(answer);
    }

    fn fail(&mut self, error: Error) {
        self.answer = Some(Err(error));
    }

    fn acknowledge(self: Box<Self>) {
        if let Some(answer) = self.answer {
            // Whoever went away meanwhile needs no answer.
            let _ = self.reply.send(answer);
        }
    }
}

/// Runs `work` so that a failure, a panic or `keep: false` leaves nothing of it. Where SQLite cannot undo the
/// work alone, the whole transaction is gone afterwards.
fn in_savepoint<T>(
    connection: &Connection,
    keep: bool,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    execute(connection, "SAVEPOINT one")?;
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        tracing::error!("a write to the store panicked");
        Err(Error::Io)
    });
    let done = done.and_then(|value| {
        // At a savepoint the text index writes out what it kept in memory. Without this one, a lack of room
        // would be found at the next savepoint or at the commit, and blamed on the wrong write or on all.
        execute(connection, "SAVEPOINT two")?;
        if keep {
            execute(connection, "RELEASE one")?;
        }
        Ok(value)
    });
    if (done.is_err() || !keep) && !connection.is_autocommit() {
        let undone = execute(connection, "ROLLBACK TO one").and_then(|()| execute(connection, "RELEASE one"));
        if let Err(error) = undone {
            roll_back(connection);
            return Err(error);
        }
    }
    done
}

struct Thread {
    connection: Connection,
    cap: Option<Cap>,
    watched: Option<Watched>,
}

impl Thread {
    fn serve(&self, mut queued: mpsc::Receiver<Message>) {
        while let Some(first) = queued.blocking_recv() {
            let mut group = Vec::new();
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    Message::Write(write) => group.push(write),
                    // What is already queued is still received.
                    Message::Close => queued.close(),
                }
                next = if group.len() < GROUP_WRITES_MAX { queued.try_recv().ok() } else { None };
            }
            self.run(group);
        }
    }

    fn run(&self, mut group: Vec<Box<dyn Write>>) {
        let transaction = self.run_together(&mut group);
        for (index, mut write) in group.into_iter().enumerate() {
            if matches!(transaction, Transaction::BroughtDown { by } if by != index) {
                // On its own, it no longer depends on what its neighbours do.
                self.run_together(slice::from_mut(&mut write));
            }
            write.acknowledge();
        }
    }

    fn run_together(&self, group: &mut [Box<dyn Write>]) -> Transaction {
        let still_there = self.watched.as_ref().map_or(Ok(()), Watched::check);
        if let Err(error) = still_there.and_then(|()| execute(&self.connection, "BEGIN IMMEDIATE")) {
            roll_back(&self.connection);
            fail(group, &error);
            return Transaction::Ended;
        }
        // Asked for only now, because waiting for the lock is what callers lose patience over.
        for (by, write) in group.iter_mut().enumerate().filter(|(_, write)| !write.is_abandoned()) {
            write.run(&self.connection, self.cap);
            if self.connection.is_autocommit() {
                return Transaction::BroughtDown { by };
            }
        }
        if let Err(error) = execute(&self.connection, "COMMIT") {
            roll_back(&self.connection);
            fail(group, &error);
        }
        Transaction::Ended
    }
}

enum Transaction {
    /// Committed, or failed as a whole. Every write has its final answer.
    Ended,
    /// Undone as a whole because one write failed, as SQLite does when the file is full. Only that one's answer
    /// stands.
    BroughtDown { by: usize },
}

fn fail(group: &mut [Box<dyn Write>], error: &Error) {
    for write in group {
        write.fail(error.clone());
    }
}

fn roll_back(connection: &Connection) {
    if !connection.is_autocommit() {
        // If this fails, so does the next `BEGIN`, and another attempt is made then.
        let _ = execute(connection, "ROLLBACK");
    }
}

fn execute(connection: &Connection, statement: &str) -> Result<(), Error> {
    connection.prepare_cached(statement)?.execute([])?;
    Ok(())
}

#[cfg(test)]
mod tests;
