//! The calls that are measured, each from bytes to bytes.

use std::{
    hint::black_box,
    path::Path,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use aql::{registry::Endpoint, scan};
use gateway::{
    pipeline::Gateway,
    progress::Progress,
    serve::bytes,
    session::{LOCAL, Session, Transport},
    store::traces::{Batch, Options, TraceStore},
    trace::{Kept, Levels, Recorder, Settings, Sink},
};

use crate::{Result, decide, query::InMemory, step, subject, traces};

const TOOL: &str = "mcp_aql_read";

/// One kind of call.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    arguments: &'static str,
}

pub(crate) const READ: Scenario = Scenario {
    name: "read",
    what: "READ with three parameters",
    arguments: r#"{"operation":"get_forecast","params":{"city":"Nîmes","days":3,"hourly":false}}"#,
};

pub(crate) const REJECTED: Scenario = Scenario {
    name: "rejected",
    what: "the same with a misspelt parameter, rejected",
    arguments: r#"{"operation":"get_forecast","params":{"city":"Nîmes","days":3,"hourly":false,"citty":"x"}}"#,
};

pub(crate) const LIST: Scenario = Scenario {
    name: "list",
    what: "introspect: all 500 operations",
    arguments: r#"{"operation":"introspect","params":{"query":"operations"}}"#,
};

pub(crate) const DETAIL: Scenario = Scenario {
    name: "detail",
    what: "introspect: one operation",
    arguments: r#"{"operation":"introspect","params":{"query":"operations","name":"get_sensor"}}"#,
};

pub(crate) const SEARCH: Scenario = Scenario {
    name: "search",
    what: "introspect: search, ten of them",
    arguments: r#"{"operation":"introspect","params":{"query":"operations","search":"rename a sensor","first":10}}"#,
};

const ALL: [Scenario; 5] = [READ, REJECTED, LIST, DETAIL, SEARCH];

/// A gateway, somebody who calls, and what they send.
pub(crate) struct Caller {
    gateway: Arc<Gateway>,
    session: Arc<Session>,
    endpoint: Endpoint,
}

impl Caller {
    pub(crate) fn new() -> Result<Self> {
        Self::with(None)
    }

    /// The same with everything written down that happens, by a recorder whose rows nobody keeps.
    pub(crate) fn recorded() -> Result<Self> {
        Self::recorded_by(Nobody)
    }

    /// The same with everything kept in this directory.
    fn kept(directory: &Path) -> Result<Self> {
        let store = TraceStore::open(directory, Options::default());
        Self::recorded_by(Kept::new(store.appender(), jiff::Timestamp::now))
    }

    fn recorded_by(sink: impl Sink + 'static) -> Result<Self> {
        let settings = Settings::new("bench", Levels::default());
        let recorder = Recorder::start(settings, vec![Box::new(sink)], jiff::Timestamp::now)?;
        Self::with(Some(recorder))
    }

    /// Waits until everything is written down, and says whether anything was left out.
    fn settle(&self) -> Result<()> {
        let Some(recorder) = self.gateway.recorder() else { return Ok(()) };
        recorder.close();
        let dropped = recorder.counts().dropped;
        if dropped == 0 { Ok(()) } else { Err(format!("{dropped} entries found no room").into()) }
    }

    fn with(recorder: Option<Arc<Recorder>>) -> Result<Self> {
        let gateway = subject::gateway(recorder)?;
        let endpoint = gateway.surface().registry().endpoint(TOOL).ok_or("there is no tool for READ")?;
        Ok(Self { gateway, session: Arc::new(Session::new(Transport::Stdio, LOCAL)), endpoint })
    }

    /// A whole JSON-RPC frame in, a whole one out.
    pub(crate) fn frame(&self, frame: &[u8]) -> Option<Vec<u8>> {
        at_once(bytes::answer(&self.gateway, &self.session, frame))?
    }

    fn repeat(&self, scenario: &Scenario, count: usize) -> Result<()> {
        let frame = scenario.frame();
        for _ in 0..count {
            black_box(self.frame(black_box(&frame)).ok_or("the call got no answer")?);
        }
        Ok(())
    }

    /// A call's arguments in, its answer out, without MCP around either.
    pub(crate) fn arguments(&self, arguments: &[u8]) -> Option<Vec<u8>> {
        let surface = self.gateway.surface();
        let arguments = scan::arguments(arguments, surface.registry().limits()).ok()?;
        let answer =
            at_once(self.gateway.handle(&self.session, self.endpoint, arguments, Progress::default()))?;
        let mut out = Vec::with_capacity(answer.size());
        answer.write(&mut out);
        Some(out)
    }
}

/// Takes what was recorded, and lets go of it.
struct Nobody;

impl Sink for Nobody {
    fn take(&mut self, batch: &Batch) -> std::result::Result<(), String> {
        black_box(batch);
        Ok(())
    }
}

/// Everything measured here is ready when first asked, as most calls are.
fn at_once<T>(work: impl Future<Output = T>) -> Option<T> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

impl Scenario {
    pub(crate) fn arguments(&self) -> Vec<u8> {
        self.arguments.as_bytes().to_vec()
    }

    pub(crate) fn frame(&self) -> Vec<u8> {
        let Self { arguments, .. } = self;
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{TOOL}","arguments":{arguments}}}}}"#
        )
        .into_bytes()
    }
}

/// The evaluator alone, over a list that is always the same.
const QUERY: &str = "query_page";
const QUERY_LIST_BYTES: usize = 10_000;
const QUERY_PAGE: usize = 5;
/// One decision alone, with many rules and many agents blocked.
const DECIDE: &str = "decide";
/// One reported step of an agent, with many patterns.
const STEP: &str = "evaluate_step";

/// The READ with a recorder, its own thread's work included.
const RECORDED: &str = "recorded";

/// The same with everything written to the store.
const KEPT: &str = "kept";

/// One span of what an agent reports in protobuf: read, understood and cleared of secrets.
const REPORTED: &str = "reported";
/// Spans of one request of that.
const REPORTED_TOGETHER: usize = 500;

/// Sends one scenario's frame `count` times and does nothing else after the start.
pub(crate) fn repeat(name: &str, count: usize) -> Result<()> {
    if name == QUERY {
        let list = InMemory::new(QUERY_LIST_BYTES, QUERY_PAGE)?;
        let items = list.items()?;
        for _ in 0..count {
            black_box(list.evaluate(black_box(&items).clone())?);
        }
        return Ok(());
    }
    if name == DECIDE {
        let subject = decide::Subject::new()?;
        for _ in 0..count {
            black_box(subject.decide());
        }
        return Ok(());
    }
    if name == STEP {
        let subject = step::Subject::new()?;
        for _ in 0..count {
            black_box(subject.evaluate());
        }
        return Ok(());
    }
    if name == RECORDED {
        let caller = Caller::recorded()?;
        caller.repeat(&READ, count)?;
        return caller.settle();
    }
    if name == KEPT {
        let directory = tempfile::tempdir()?;
        let caller = Caller::kept(directory.path())?;
        caller.repeat(&READ, count)?;
        return caller.settle();
    }
    if name == REPORTED {
        return traces::read(count, REPORTED_TOGETHER);
    }
    let scenario = ALL.iter().find(|known| known.name == name).ok_or("no scenario has that name")?;
    Caller::new()?.repeat(scenario, count)
}

#[expect(clippy::print_stdout, reason = "the script that counts reads the names")]
pub(crate) fn print_names() {
    ALL.iter().for_each(|scenario| println!("{}", scenario.name));
    println!("{QUERY}");
    println!("{DECIDE}");
    println!("{STEP}");
    println!("{RECORDED}");
    println!("{KEPT}");
    println!("{REPORTED}");
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// What is measured is what it is called.
    #[test]
    fn every_scenario_is_answered_the_same_either_way() {
        let caller = Caller::new().unwrap();
        for scenario in ALL {
            let bare: Value =
                serde_json::from_slice(&caller.arguments(&scenario.arguments()).unwrap()).unwrap();
            let frame: Value = serde_json::from_slice(&caller.frame(&scenario.frame()).unwrap()).unwrap();
            let text = frame["result"]["content"][0]["text"].as_str().unwrap();
            assert_eq!(serde_json::from_str::<Value>(text).unwrap(), bare, "{}", scenario.name);
            let rejected = bare["error"]["code"] == "VALIDATION_UNKNOWN_PARAM";
            assert_eq!((bare["success"] == true, rejected), (!rejected, scenario.name == "rejected"));
        }
        let list: Value = serde_json::from_slice(&caller.arguments(&LIST.arguments()).unwrap()).unwrap();
        assert_eq!(list["data"]["operations"].as_array().unwrap().len(), 501, "500 and introspect");
    }
}
