//! What was recorded, put into the store.

use std::time::{Duration, Instant};

use super::{
    recorder::{Load, Sink},
    stopping::Wish,
};
use crate::{
    pipeline::Clock,
    store::traces::{Appender, Batch},
    trace::Nanos,
};

/// Spans that are put into the text index together.
const INDEXED_TOGETHER: u32 = 500;
/// How long that may go on between batches. The index may follow behind.
fn indexing(load: Load) -> Duration {
    Duration::from_millis(match load {
        Load::Nothing => 100,
        Load::Calls => 25,
        Load::Queue => 10,
    })
}

/// How often is looked for what is too old or too much.
const RETENTION: Duration = Duration::from_mins(1);

/// Keeps what was recorded.
pub struct Kept {
    appender: Appender,
    clock: Clock,
    retained: Option<Instant>,
    /// Whether the last batch could not be kept, which is told once.
    in_trouble: bool,
}

impl Kept {
    #[must_use]
    pub fn new(appender: Appender, clock: Clock) -> Self {
        Self { appender, clock, retained: None, in_trouble: false }
    }

    /// Brings the text index forward for a while.
    fn index(&mut self, load: Load) {
        let time = indexing(load);
        let begin = Instant::now();
        while begin.elapsed() < time {
            match self.appender.index_some(INDEXED_TOGETHER) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "the text index of traces is behind");
                    return;
                }
            }
        }
    }

    fn now(&self) -> Nanos {
        Nanos::try_from((self.clock)().as_nanosecond()).unwrap_or_default()
    }
}

impl Sink for Kept {
    fn take(&mut self, batch: &Batch) -> Result<(), String> {
        let now = self.now();
        let outcome = self.appender.append(batch, now);
        match (&outcome, self.in_trouble) {
            (Err(error), false) => {
                tracing::warn!(%error, "calls cannot be recorded; they go on, and are counted as lost");
            }
            (Ok(_), true) => tracing::info!("calls are recorded again"),
            _ => {}
        }
        self.in_trouble = outcome.is_err();
        outcome.map(drop).map_err(|error| error.to_string())
    }

    fn tend(&mut self, load: Load) {
        let now = self.now();
        if self.retained.is_none_or(|at| at.elapsed() >= RETENTION) {
            self.retained = Some(Instant::now());
            match self.appender.end_lost(now) {
                Ok(0) => {}
                Ok(spans) => tracing::info!(spans, "calls were lost with the process that ran them"),
                Err(error) => tracing::debug!(%error, "calls of processes that are gone could not be ended"),
            }
            if let Err(error) = self.appender.retain(now) {
                tracing::warn!(%error, "old traces could not be removed");
            }
        }
        self.index(load);
    }

    fn fulfil_wishes(&mut self, stop: &dyn Fn(&Wish) -> usize) {
        if let Err(error) = self.appender.fulfil_wishes(stop) {
            tracing::debug!(%error, "what the operator wants to be over is not known");
        }
    }
}
