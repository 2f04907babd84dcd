//! Events as they happen.

use std::process::ExitCode;

use gateway::{
    inspect::event_data,
    library::stop_signal,
    operator::shown,
    store::{TraceStore, traces::EventRow},
};
use serde_json::{Value, json};

use super::{duration, short, time, trouble};
use crate::report::{self, Failure};

/// Events that are read together.
const TOGETHER: u32 = 500;

#[derive(clap::Args)]
pub(super) struct Tail {
    /// Begin after the event of this number; 0 begins with the oldest that is kept [default: with the next one]
    #[arg(long, value_name = "NUMBER")]
    after: Option<i64>,
    /// End after so many events
    #[arg(long, value_name = "COUNT")]
    count: Option<u64>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Tail {
    pub(super) async fn run(&self, store: &TraceStore) -> Result<ExitCode, Failure> {
        let mut after = match self.after {
            Some(after) => after.max(0),
            None => store.last_event().await.map_err(|error| trouble(&error))?,
        };
        let mut left = self.count.unwrap_or(u64::MAX);
        while left > 0 {
            let limit = u32::try_from(left).unwrap_or(TOGETHER).min(TOGETHER);
            let events = tokio::select! {
                events = store.next_events(after, limit) => events.map_err(|error| trouble(&error))?,
                () = stop_signal() => break,
            };
            left = left.saturating_sub(events.len() as u64);
            after = events.last().map_or(after, |event| event.seq);
            let lines: Vec<_> = events.iter().map(|event| self.shown(event)).collect();
            report::print(&lines.join("\n"));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn shown(&self, event: &EventRow) -> String {
        let data = event_data(event);
        if self.json {
            let told = json!({"seq": event.seq, "event": event.name, "data": data});
            return shown::json(&told.to_string());
        }
        let given = |name: &str| data.get(name).filter(|value| !value.is_null());
        let mut words = vec![time(event.at.div_euclid(1000)), format!("{:<19}", short(&event.name))];
        for name in [
            "direction",
            "method",
            "operation",
            "tool",
            "peer",
            "agent",
            "title",
            "status",
            "error_code",
            "message",
        ] {
            if let Some(value) = given(name) {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                words.push(short(&value));
            }
        }
        words.extend(given("duration_us").and_then(Value::as_i64).map(|took| duration(Some(took))));
        words.push(short(&event.session));
        words.join("  ")
    }
}
