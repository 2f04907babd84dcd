//! What was recorded, told to others: counted for Prometheus, and sent on to collectors.

use std::sync::Arc;

use super::{Span, metrics::Metrics, otlp::Exporter, recorder::Sink};
use crate::store::traces::{Batch, Packed};

/// Tells of everything that has ended.
pub struct Told {
    pub metrics: Arc<Metrics>,
    pub exporter: Arc<Exporter>,
}

impl Sink for Told {
    fn take(&mut self, batch: &Batch) -> Result<(), String> {
        // Labels of metrics are for what we did ourselves. Who reports could name what they like and fill the table.
        batch.spans.iter().for_each(|span| self.metrics.observe(span));
        if self.exporter.is_on() {
            let ours = batch.spans.iter().filter(|span| span.ended.is_some()).cloned();
            let reported = batch.reported.iter().filter(|span| span.ended.is_some()).map(Packed::span);
            let ended: Vec<Span> = ours.chain(reported).collect();
            if !ended.is_empty() {
                self.exporter.offer(&Arc::new(ended));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trace::{metrics::Totals, names, otlp::tests::some_span};

    /// Whoever reports names what they like, and names nothing here.
    #[tokio::test]
    async fn only_what_we_recorded_has_labels() {
        let metrics = Arc::new(Metrics::default());
        let mut told = Told { metrics: Arc::clone(&metrics), exporter: Arc::new(Exporter::start(&[])) };
        let named = |tool: String| {
            let mut span = some_span();
            span.attributes.insert(names::METHOD.to_owned(), json!("tools/call"));
            span.attributes.insert(names::TOOL.to_owned(), json!(tool));
            span
        };
        let reported = (0..2000).map(|number| Packed::of(&named(format!("theirs{number}")))).collect();
        told.take(&Batch { reported, ..Batch::default() }).unwrap();
        told.take(&Batch { spans: vec![named("ours".to_owned())], ..Batch::default() }).unwrap();
        let page = metrics.render(&Totals::default());
        assert!(page.contains("gen_ai_tool_name=\"ours\"") && !page.contains("theirs"), "{page}");
    }
}
