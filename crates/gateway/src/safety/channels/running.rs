//! What is under way for each offer, and can be ended.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::{runtime::Handle, task::AbortHandle};

/// So many offers are under way in one channel; the others are left to the other channels.
const OFFERS_MAX: usize = 64;

/// Tasks by the approval they are for. Dropping it ends them all.
pub(super) struct Running {
    runtime: Handle,
    tasks: Mutex<HashMap<String, AbortHandle>>,
}

impl Running {
    pub(super) fn new(runtime: Handle) -> Self {
        Self { runtime, tasks: Mutex::default() }
    }

    /// Starts a task, unless one is under way for this approval or there are too many; whether it did.
    pub(super) fn start(&self, id: &str, task: impl Future<Output = ()> + Send + 'static) -> bool {
        let mut tasks = self.tasks();
        tasks.retain(|_, task| !task.is_finished());
        if tasks.contains_key(id) || tasks.len() >= OFFERS_MAX {
            return false;
        }
        tasks.insert(id.to_owned(), self.runtime.spawn(task).abort_handle());
        true
    }

    pub(super) fn stop(&self, id: &str) {
        if let Some(task) = self.tasks().remove(id) {
            task.abort();
        }
    }

    pub(super) fn stop_all(&self) {
        for (_, task) in self.tasks().drain() {
            task.abort();
        }
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop_all();
    }
}
