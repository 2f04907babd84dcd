//! Writing one entry to the audit log, on disk when it returns.

use std::time::Instant;

use aql::{audit::Event, danger::DangerLevel};
use gateway::store::{Options, SafetyStore};
use jiff::Timestamp;
use serde_json::json;

use crate::{
    Result,
    report::{Report, Target, median},
};

const ENTRIES: usize = 500;
const MILLISECONDS_MAX: f64 = 1.0;

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    let times: Result<Vec<f64>> = runtime.block_on(async {
        let store = SafetyStore::open(directory.path(), Options::default())?;
        let mut times = Vec::with_capacity(ENTRIES);
        for _ in 0..ENTRIES {
            let event = Event {
                operation: Some("delete_entity".to_owned()),
                principal: Some("local".to_owned()),
                danger_level: Some(DangerLevel::Destructive),
                params: Some(json!({"entity_id": "01a1e33a-8847-77c4-87d4-3972741411da"})),
                ..Event::new("OPERATION_ALLOWED")
            };
            let start = Instant::now();
            store.audit(event, Timestamp::now()).await?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        store.close().await;
        Ok(times)
    });
    let what = format!("{ENTRIES} one behind the other, each on disk, median");
    report.add("Audit entry", what, median(times?), "ms", Target::AtMost(MILLISECONDS_MAX));
    Ok(())
}
