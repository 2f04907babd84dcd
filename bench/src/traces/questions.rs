//! What the Inspector's pages ask, of a store that is full.

use std::{path::Path, time::Instant};

use gateway::store::traces::{Batch, Options as Kept, Page, SearchFilter, SessionFilter, TraceStore};

use super::{SECTION, TOGETHER, made::Made};
use crate::{
    Result,
    report::{Report, Target},
};

const TIMES: usize = 20;
const LIMIT_MILLISECONDS: f64 = 100.0;
const LONG_TRACE: usize = 1000;

pub(super) fn ask(report: &mut Report, spans: u64, made: &mut Made, place: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let store = TraceStore::open(place, Kept { max_bytes: 64 << 30, ..Kept::default() });
    let mut appender = store.appender();
    let (trace, long) = made.trace(LONG_TRACE)?;
    appender.append(&Batch { spans: long, ..Batch::default() }, made.now())?;
    let mut left = usize::try_from(spans)?.saturating_sub(LONG_TRACE);
    while left > 0 {
        let now = left.min(TOGETHER);
        appender.append(&Batch { spans: made.spans(now)?, ..Batch::default() }, made.now())?;
        left -= now;
    }
    let start = Instant::now();
    let mut indexed = 0;
    loop {
        let rows = appender.index_some(2000)?;
        if rows == 0 {
            break;
        }
        indexed += rows;
    }
    let rate = f64::from(indexed) / start.elapsed().as_secs_f64();
    report.add(SECTION, "text index, when nothing else is done", rate, "spans/s", Target::None);
    drop(appender);
    let page = Page { limit: 50, after: None };
    runtime.block_on(async {
        let list =
            async || store.sessions(SessionFilter::default(), page).await.map(|(found, _)| found.len());
        slowest(report, spans, "50 sessions", list).await?;
        let tree = async || store.trace(trace, false, |_| true).await.map(|count| count as usize);
        slowest(report, spans, "a trace of 1,000 spans", tree).await?;
        for (what, text) in [
            ("a word of most spans", "bench"),
            ("a word of a few", "sea2992"),
            ("a word of none", "nothingatall"),
            ("two words", "tools con1"),
            ("the beginning of many words, 'sea*'", "sea*"),
            ("the beginning of most words, 's*'", "s*"),
            ("two beginnings", "con1* pro*"),
            ("a beginning and a word of a few", "t* sea2992"),
        ] {
            let search = async || {
                store.search(text, SearchFilter::default(), page).await.map(|(found, _)| found.len())
            };
            slowest(report, spans, &format!("search: {what}"), search).await?;
        }
        Ok(())
    })
}

/// The second slowest of some times: one may be disturbed.
async fn slowest<E: std::error::Error + 'static>(
    report: &mut Report,
    spans: u64,
    what: &str,
    ask: impl AsyncFn() -> std::result::Result<usize, E>,
) -> Result<()> {
    let mut times = Vec::with_capacity(TIMES);
    let mut found = 0;
    for _ in 0..TIMES {
        let start = Instant::now();
        found = ask().await?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(|a, b| b.total_cmp(a));
    let time = times.get(1).copied().unwrap_or(f64::NAN);
    let what = format!("{what}, {found} of {spans}, slowest but one of {TIMES}");
    report.add(SECTION, what, time, "ms", Target::AtMost(LIMIT_MILLISECONDS));
    Ok(())
}
