//! How far a call has come: what its handler says, and that it is still alive when it says nothing.

use std::sync::{Arc, Mutex, PoisonError};

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
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Mutex<Report>>);

#[derive(Debug, Default, Clone)]
struct Report {
    fraction: Option<f64>,
    message: Option<String>,
    told: f64,
}

impl Progress {
    /// Says how much of the work is done, from 0 to 1.
    pub fn report(&self, fraction: f64, message: impl Into<String>) {
        let mut report = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        report.fraction = Some(fraction.clamp(0.0, 1.0));
        report.message = Some(message.into());
    }

    /// The next notification: how far on the scale, always further than the last, and in what words.
    #[must_use]
    pub fn next(&self, elapsed_seconds: f64) -> (f64, Option<String>) {
        let mut report = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
