//! The trace store: how fast it takes what is reported beside a bare insert of the same rows, and how soon it answers.

mod bare;
mod ingest;
mod made;
mod questions;

use std::{hint::black_box, path::Path, time::Instant};

use gateway::{
    store::traces::{Batch, Options as Kept, TraceStore},
    trace::otlp,
};

use self::{bare::Bare, ingest::Receiver, made::Made};
use crate::{
    Result,
    report::{Report, Target, median},
};

const SECTION: &str = "Traces";
/// Spans of one transaction, bare and ours.
const TOGETHER: usize = 5000;
/// Spans of one request, which is what agents that report much send.
const IN_A_REQUEST: usize = 1000;
/// Spans of one reading.
const READING: usize = 100_000;

#[derive(clap::Args, Debug, Clone, Copy, PartialEq)]
pub(crate) struct Options {
    /// Readings of each way; medians of the ratios are printed
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How long as much as possible is reported
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// How many spans are stored when questions are asked; the targets are for a million
    #[arg(long, default_value_t = 1_000_000)]
    spans: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { rounds: 5, seconds: 60, spans: 1_000_000 }
    }
}

pub(crate) use self::ingest::serve;

/// Reads one request over and over until as many spans were read, and keeps none.
pub(crate) fn read(spans: usize, together: usize) -> Result<()> {
    let mut made = Made::default();
    let body = made.body(together);
    for _ in 0..spans.div_ceil(together) {
        let received = black_box(otlp::read::protobuf(black_box(&body), made.now())?);
        if received.spans.len() != together {
            return Err("what is measured must be taken".into());
        }
    }
    Ok(())
}

pub(crate) fn measure(report: &mut Report, options: Options) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let place = |name: &str| directory.path().join(name);
    let mut made = Made::default();
    rates(report, options, &mut made, &place("bare.db"), &place("append"), &place("ingest"))?;
    sustained(report, options, &mut made, &place("sustained"))?;
    questions::ask(report, options.spans, &mut made, &place("asked"))
}

/// The three ways in turns, each into a file that grows from reading to reading.
fn rates(
    report: &mut Report,
    options: Options,
    made: &mut Made,
    bare: &Path,
    append: &Path,
    ingest: &Path,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut bare = Bare::new(bare)?;
    let store = TraceStore::open(append, Kept::default());
    let mut appender = store.appender();
    let receiver = Receiver::start(ingest)?;
    let reported = TraceStore::open(ingest, Kept::default());
    let mut rates: [Vec<f64>; 3] = Default::default();
    let mut sent = 0;
    for _ in 0..options.rounds.max(1) {
        let rows = bare::rows(&made.spans(READING)?);
        let start = Instant::now();
        bare.insert(&rows)?;
        let [of_bare, of_append, of_ingest] = &mut rates;
        of_bare.push(READING as f64 / start.elapsed().as_secs_f64());

        let batches: Vec<Batch> = (0..READING / TOGETHER)
            .map(|_| Ok(Batch { spans: made.spans(TOGETHER)?, ..Batch::default() }))
            .collect::<Result<_>>()?;
        let start = Instant::now();
        for batch in &batches {
            appender.append(batch, made.now())?;
        }
        of_append.push(READING as f64 / start.elapsed().as_secs_f64());
        drop(batches);

        let bodies = made.bodies(READING / IN_A_REQUEST, IN_A_REQUEST);
        let start = Instant::now();
        sent += READING as u64;
        receiver.send(bodies)?;
        runtime.block_on(ingest::wait_for(&reported, sent))?;
        of_ingest.push(READING as f64 / start.elapsed().as_secs_f64());
    }
    let [of_bare, of_append, of_ingest] = rates;
    let ratio = |ours: &[f64]| median(ours.iter().zip(&of_bare).map(|(ours, bare)| ours / bare).collect());
    let (append, ingest) = (ratio(&of_append), ratio(&of_ingest));
    report.add(
        SECTION,
        "bare batched insert of the same rows",
        median(of_bare.clone()),
        "spans/s",
        Target::None,
    );
    report.add(SECTION, "append", median(of_append), "spans/s", Target::None);
    report.add(SECTION, "OTLP over HTTP, until it is stored", median(of_ingest), "spans/s", Target::None);
    report.add(SECTION, "append to bare", append, "times", Target::AtLeast(0.5));
    report.add(SECTION, "OTLP to bare", ingest, "times", Target::AtLeast(0.5));
    report.note(format!(
        "Traces: {} rounds of {READING} spans each way in turns, ratios within each round; attributes of {} bytes.",
        options.rounds,
        made.attribute_bytes(),
    ));
    Ok(())
}

/// As much as is taken, for a while.
fn sustained(report: &mut Report, options: Options, made: &mut Made, place: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let receiver = Receiver::start(place)?;
    let store = TraceStore::open(place, Kept::default());
    // Made before, so that making them takes nothing from who reads them.
    let bodies = made.bodies(400_000 / IN_A_REQUEST, IN_A_REQUEST);
    let (sent, took, refused) = receiver.send_for(&bodies, options.seconds)?;
    let lag = runtime.block_on(store.stats())?.index_lag;
    let memory = receiver.peak_megabytes()?;
    let rate = sent as f64 / took;
    let seconds = options.seconds;
    report.add(SECTION, format!("OTLP for {seconds} s"), rate, "spans/s", Target::AtLeast(50_000.0));
    report.add(SECTION, "the same, resident memory, at its most", memory, "MB", Target::AtMost(150.0));
    report.add(
        SECTION,
        "the same, spans that are not in the text index yet",
        lag as f64,
        "spans",
        Target::None,
    );
    report.add(
        SECTION,
        "the same, requests that were asked to come again",
        refused as f64,
        "requests",
        Target::None,
    );
    Ok(())
}
