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

/// How the text index is brought forward between batches. It may follow behind.
struct Indexing {
    /// How long that may go on.
    time: Duration,
    /// Spans that are put into it together. Who waits meanwhile waits for all of them.
    together: u32,
}

impl Indexing {
    fn beside(load: Load) -> Self {
        let (millis, together) = match load {
            Load::Nothing => (100, 500),
            Load::Calls => (25, 500),
            Load::Queue => (5, 100),
        };
        Self { time: Duration::from_millis(millis), together }
    }
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
    fn index(&mut self, load: Load, is_idle: &dyn Fn() -> bool) {
        let Indexing { time, together } = Indexing::beside(load);
        let begin = Instant::now();
        while begin.elapsed() < time {
            match self.appender.index_some(together) {
                Ok(0) => return,
                Ok(_) if load == Load::Nothing && !is_idle() => return,
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

    fn tend(&mut self, load: Load, is_idle: &dyn Fn() -> bool) {
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
        self.index(load, is_idle);
    }

    fn fulfil_wishes(&mut self, stop: &dyn Fn(&Wish) -> usize) {
        if let Err(error) = self.appender.fulfil_wishes(stop) {
            tracing::debug!(%error, "what the operator wants to be over is not known");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        store::traces::{Options, TraceStore},
        trace::{Span, SpanId, otlp::tests::some_span},
    };

    #[test]
    fn the_text_index_waits_as_soon_as_something_comes_in() {
        let directory = tempfile::tempdir().unwrap();
        let store = TraceStore::open(directory.path(), Options::default());
        let mut kept = Kept::new(store.appender(), jiff::Timestamp::now);
        let spans = (1..=2000_u64).map(|number| Span { id: SpanId(number.to_be_bytes()), ..some_span() });
        kept.take(&Batch { spans: spans.collect(), ..Batch::default() }).unwrap();
        assert_eq!(kept.appender.index_lag().unwrap(), 2000);
        kept.tend(Load::Nothing, &|| false);
        assert_eq!(kept.appender.index_lag().unwrap(), 1500, "one piece, so that it goes on at all");
        while kept.appender.index_lag().unwrap() > 0 {
            kept.tend(Load::Queue, &|| false);
        }
    }
}
