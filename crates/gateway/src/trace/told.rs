//! What was recorded, told to others: counted for Prometheus, and sent on to collectors.

use std::sync::Arc;

use super::{Span, metrics::Metrics, otlp::Exporter, recorder::Sink};
use crate::store::traces::Batch;

/// Tells of everything that has ended.
pub struct Told {
    pub metrics: Arc<Metrics>,
    pub exporter: Arc<Exporter>,
}

impl Sink for Told {
    fn take(&mut self, batch: &Batch) -> Result<(), String> {
        let ended = || batch.spans.iter().filter(|span| span.ended.is_some());
        ended().for_each(|span| self.metrics.observe(span));
        if self.exporter.is_on() {
            let ended: Vec<Span> = ended().cloned().collect();
            if !ended.is_empty() {
                self.exporter.offer(&Arc::new(ended));
            }
        }
        Ok(())
    }
}
