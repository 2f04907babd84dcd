//! What was recorded, put into the store.

use std::time::{Duration, Instant};

use super::recorder::Sink;
use crate::{
    pipeline::Clock,
    store::traces::{Appender, Batch},
    trace::Nanos,
};

/// Spans that are put into the text index between batches, so that no batch waits long for it.
const INDEXED_TOGETHER: u32 = 2000;
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

    fn tend(&mut self) {
        let now = self.now();
        if self.retained.is_none_or(|at| at.elapsed() >= RETENTION) {
            self.retained = Some(Instant::now());
            if let Err(error) = self.appender.retain(now) {
                tracing::warn!(%error, "old traces could not be removed");
            }
        }
        if let Err(error) = self.appender.index_some(INDEXED_TOGETHER) {
            tracing::debug!(%error, "the text index of traces is behind");
        }
    }
}
