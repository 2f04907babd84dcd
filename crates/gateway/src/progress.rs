//! How far a call has come: what its handler says, and that it is still alive when it says nothing.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aql::execution;
use serde_json::Value;
use tokio::sync::Notify;

use crate::executions::UnlessTold;

/// The scale all progress is told on.
pub const TOTAL: f64 = 100.0;
/// Waiting fills the scale up to here, and what the handler reports goes on from it.
const STARTED: f64 = 10.0;
const RUNNING: f64 = 80.0;
/// Half of the starting share is reached after this many seconds.
const STARTING_HALF_SECONDS: f64 = 10.0;
/// A call that reports nothing new still moves, so that its caller sees it lives.
const HEARTBEAT_STEP: f64 = 0.001;

/// A handle for reporting progress. Reporting costs nothing when nobody listens.
#[derive(Clone, Default)]
pub struct Progress(Arc<Shared>);

#[derive(Default)]
struct Shared {
    report: Mutex<Report>,
    /// Whether anybody wants to know.
    listened_to: bool,
    news: Notify,
}

/// Progress that another server reported, in its own numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Relayed {
    pub(crate) progress: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Option<String>,
}

/// Reports of another server that wait to be told; a caller that cannot keep up misses the oldest.
const RELAYED_MAX: usize = 64;

#[derive(Default)]
struct Report {
    fraction: Option<f64>,
    /// How many parts of the work are done, of how many.
    counted: Option<(u64, u64)>,
    message: Option<String>,
    told: f64,
    /// Set where another server does the work: what it reports is passed on as it is, and nothing is made up.
    relays: bool,
    relayed: VecDeque<Relayed>,
    relayed_last: Option<f64>,
    /// The execution that the call started and does not wait for any longer, as it was then.
    execution: Option<Value>,
    /// Executions that end if the call is given up before it is answered.
    unless_told: Vec<UnlessTold>,
}

impl Progress {
    /// Progress that somebody wants to be told of.
    #[must_use]
    pub fn listened_to() -> Self {
        Self(Arc::new(Shared { listened_to: true, ..Shared::default() }))
    }

    #[must_use]
    pub fn is_listened_to(&self) -> bool {
        self.0.listened_to
    }

    /// Says that another server does the work and reports by itself.
    pub(crate) fn relays(&self) {
        if self.0.listened_to {
            self.lock().relays = true;
        }
    }

    /// Passes on what the other server reports. What does not increase is not passed on.
    pub(crate) fn relay(&self, relayed: Relayed) {
        {
            let mut report = self.lock();
            if report.relayed_last.is_some_and(|last| last >= relayed.progress)
                || !relayed.progress.is_finite()
            {
                return;
            }
            report.relayed_last = Some(relayed.progress);
            if report.relayed.len() == RELAYED_MAX {
                report.relayed.pop_front();
            }
            report.relayed.push_back(relayed);
        }
        self.0.news.notify_one();
    }

    /// The next report of another server.
    pub(crate) async fn relayed(&self) -> Relayed {
        loop {
            if let Some(relayed) = self.lock().relayed.pop_front() {
                return relayed;
            }
            self.0.news.notified().await;
        }
    }

    /// The reports of another server that nobody was told of yet.
    pub(crate) fn take_relayed(&self) -> Vec<Relayed> {
        self.lock().relayed.drain(..).collect()
    }

    /// Whether what is told comes from another server.
    pub(crate) fn is_relayed(&self) -> bool {
        self.lock().relays
    }

    /// Says how much of the work is done, from 0 to 1.
    pub fn report(&self, fraction: f64, message: impl Into<String>) {
        let mut report = self.lock();
        report.fraction = Some(fraction.clamp(0.0, 1.0));
        report.message = Some(message.into());
    }

    /// Says how many parts of the work are done.
    pub fn count(&self, done: usize, total: usize, message: impl Into<String>) {
        let mut report = self.lock();
        report.fraction = Some(if total == 0 { 1.0 } else { (done as f64 / total as f64).clamp(0.0, 1.0) });
        report.counted = Some((done as u64, total as u64));
        report.message = Some(message.into());
    }

    /// Says that more is done than the parts that are: one of them is under way.
    pub fn reach(&self, fraction: f64) {
        self.lock().fraction = Some(fraction.clamp(0.0, 1.0));
    }

    /// What was reported, as an execution keeps it.
    #[must_use]
    pub fn reached(&self) -> Option<execution::Progress> {
        let report = self.lock();
        let percentage = report.fraction.map(|fraction| (fraction * 1000.0).round() / 10.0);
        execution::Progress::new(percentage, report.counted, report.message.clone()).ok()
    }

    /// Takes over what was reported to another.
    pub fn follow(&self, other: &Self) {
        if Arc::ptr_eq(&self.0, &other.0) {
            return;
        }
        let (fraction, counted, message) = {
            let other = other.lock();
            (other.fraction, other.counted, other.message.clone())
        };
        let mut report = self.lock();
        (report.fraction, report.counted, report.message) = (fraction, counted, message);
    }

    /// Says that the call has become an execution, which goes on after its answer.
    pub(crate) fn became(&self, execution: &Value) {
        self.lock().execution = Some(execution.clone());
    }

    /// The execution that the call has become.
    #[must_use]
    pub(crate) fn execution(&self) -> Option<Value> {
        self.lock().execution.clone()
    }

    /// Keeps a guard until the call is answered. A call that is dropped before drops it.
    pub(crate) fn until_answered(&self, unless_told: UnlessTold) {
        self.lock().unless_told.push(unless_told);
    }

    /// The call's answer is there, and with it everything its caller has to know.
    pub(crate) fn answered(&self) {
        let told = std::mem::take(&mut self.lock().unless_told);
        told.into_iter().for_each(UnlessTold::told);
    }

    fn lock(&self) -> MutexGuard<'_, Report> {
        self.0.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next notification: how far on the scale, always further than the last, and in what words.
    #[must_use]
    pub fn next(&self, elapsed_seconds: f64) -> (f64, Option<String>) {
        let mut report = self.lock();
        let reached = match report.fraction {
            Some(fraction) => STARTED + RUNNING * fraction,
            None => STARTED * elapsed_seconds / (elapsed_seconds + STARTING_HALF_SECONDS),
        };
        report.told = reached.max(report.told + HEARTBEAT_STEP);
        (report.told, report.message.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LREQ-MCP-14 LREQ-MCP-15
    #[test]
    fn progress_always_increases_on_the_published_scale() {
        let progress = Progress::default();
        let mut told = vec![progress.next(1.0).0, progress.next(2.0).0];
        assert!(told.iter().all(|p| (0.0..=10.0).contains(p)), "{told:?}");
        progress.report(0.5, "half");
        told.push(progress.next(3.0).0);
        assert!((told[2] - 50.0).abs() < 1e-9);
        told.push(progress.next(4.0).0);
        progress.report(0.4, "back");
        told.push(progress.next(5.0).0);
        assert!(told.is_sorted_by(|a, b| a < b), "{told:?}");
        assert_eq!(progress.next(6.0).1.as_deref(), Some("back"));
    }
}
