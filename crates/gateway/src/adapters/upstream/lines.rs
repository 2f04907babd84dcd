//! Lines to a process, written by whoever has one, and never waited for.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::{net::unix::pipe, runtime::Handle};
use tokio_util::sync::CancellationToken;

use crate::inline::{self, Flush};

/// The process's input.
pub(super) struct Lines {
    state: Mutex<State>,
    runtime: Handle,
    broken: CancellationToken,
    this: Weak<Self>,
}

struct State {
    pipe: Option<Arc<pipe::Sender>>,
    /// What is not written yet.
    waiting: Vec<u8>,
    /// Whether a task waits until the process reads again.
    is_full: bool,
    /// Whether a task is about to write.
    is_due: bool,
}

/// A process that reads nothing gets no more than this; more would only fill memory.
const WAITING_BYTES_MAX: usize = 64 * 1024 * 1024;

impl Lines {
    pub(super) fn new(pipe: pipe::Sender, runtime: Handle) -> Arc<Self> {
        let state = State { pipe: Some(Arc::new(pipe)), waiting: Vec::new(), is_full: false, is_due: false };
        Arc::new_cyclic(|this| {
            let broken = CancellationToken::new();
            Self { state: Mutex::new(state), runtime, broken, this: Weak::clone(this) }
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends one line. Nothing can be sent to a process that has closed its input or reads nothing.
    pub(super) fn send(self: &Arc<Self>, frame: &[u8]) -> bool {
        let is_due = {
            let mut state = self.state();
            if state.waiting.len() > WAITING_BYTES_MAX {
                self.broken.cancel();
                return false;
            }
            if state.pipe.is_none() {
                return false;
            }
            state.waiting.extend_from_slice(frame);
            state.waiting.push(b'\n');
            if state.is_full || state.is_due {
                return true;
            }
            state.is_due = !inline::flush_later(self);
            state.is_due
        };
        if is_due {
            self.flush_soon();
        }
        true
    }

    /// Writes once the runtime has worked on what is ready now, so that calls of many connections go out together.
    fn flush_soon(self: &Arc<Self>) {
        let lines = Arc::clone(self);
        self.runtime.spawn(async move {
            tokio::task::yield_now().await;
            lines.state().is_due = false;
            lines.flush();
        });
    }

    /// Resolves when the process has closed its input or reads nothing.
    pub(super) async fn broken(&self) {
        self.broken.cancelled().await;
    }

    /// Closes the process's input, which tells it to end, behind what it takes of the last words to it.
    pub(super) fn close(&self) {
        let mut state = self.state();
        if let Some(pipe) = &state.pipe {
            // Not by the runtime, which may not know yet that there is room. It never waits.
            let _ = rustix::io::write(pipe, &state.waiting);
        }
        (state.pipe, state.waiting) = (None, Vec::new());
    }

    /// Writes what it takes; the rest is left to a task.
    fn write(&self) -> Option<Arc<pipe::Sender>> {
        let mut state = self.state();
        let pipe = state.pipe.clone()?;
        let mut written = 0;
        while let Some(rest) = state.waiting.get(written..).filter(|rest| !rest.is_empty()) {
            match pipe.try_write(rest) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    state.waiting.drain(..written);
                    state.is_full = true;
                    return Some(pipe);
                }
                Err(_) => {
                    (state.pipe, state.waiting) = (None, Vec::new());
                    self.broken.cancel();
                    return None;
                }
            }
        }
        state.waiting.clear();
        state.is_full = false;
        None
    }
}

impl Flush for Lines {
    fn flush(&self) {
        if self.state().is_full {
            return;
        }
        let (Some(mut pipe), Some(lines)) = (self.write(), self.this.upgrade()) else { return };
        self.runtime.spawn(async move {
            while pipe.writable().await.is_ok() {
                match lines.write() {
                    Some(full) => pipe = full,
                    None => return,
                }
            }
            lines.close();
        });
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn lines() -> (Arc<Lines>, pipe::Receiver) {
        let (sender, receiver) = pipe::pipe().unwrap();
        // Until the runtime knows of it, nothing would be written whatever is sent.
        sender.writable().await.unwrap();
        (Lines::new(sender, Handle::current()), receiver)
    }

    #[tokio::test]
    async fn what_is_sent_goes_out_together_and_in_its_order() {
        let (lines, mut process) = lines().await;
        assert!(lines.send(b"one") && lines.send(b"two"));
        assert_eq!(rustix::io::ioctl_fionread(&process), Ok(0), "others may have something to send as well");
        let mut read = [0; 64];
        let count = process.read(&mut read).await.unwrap();
        assert_eq!(&read[..count], b"one\ntwo\n");
        assert!(lines.send(b"three"), "and so does what comes later");
        assert_eq!(process.read(&mut read).await.unwrap(), b"three\n".len());
    }

    #[tokio::test]
    async fn the_last_words_are_said_before_the_end() {
        let (lines, mut process) = lines().await;
        assert!(lines.send(b"cancelled"));
        lines.close();
        let mut read = Vec::new();
        process.read_to_end(&mut read).await.unwrap();
        assert_eq!(read, b"cancelled\n");
        assert!(!lines.send(b"more"));
    }
}
