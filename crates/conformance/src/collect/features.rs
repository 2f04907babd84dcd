//! Several operations in one call.

use serde_json::{Value, json};

use super::Run;

/// Operations in the batch that is tried.
const BATCH_OPERATIONS: usize = 2;

impl Run<'_> {
    /// Reads only, all of one tool, each with a request that is right alone.
    pub(super) fn try_batch(&mut self) {
        let reads = self.catalog.of_category("READ");
        let Some(tool) = reads.first().map(|read| read.tool.clone()) else { return };
        let mut operations = Vec::new();
        for read in reads.iter().filter(|read| read.tool == tool).take(BATCH_OPERATIONS) {
            if let Some(params) = self.request(read) {
                operations.push(json!({"operation": read.name, "params": params}));
            }
        }
        if !operations.is_empty() {
            let answer = self.adapter.call(&tool, json!({"operations": operations}));
            self.evidence.batch_example = Some(answer).filter(|answer| *answer != Value::Null);
        }
    }
}
