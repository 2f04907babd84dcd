//! One call from JSON bytes to JSON bytes in this process, without I/O.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use aql::{
    define,
    search::{Document, Index},
};

use crate::{
    Result,
    report::{Report, Target, median},
    scenario::{self, Caller, Scenario},
    subject,
};

/// How long one reading goes on, and how many are taken; the readings of all scenarios are interleaved.
const READING: Duration = Duration::from_millis(20);
const READINGS: usize = 25;

/// A call and a target for it, in microseconds.
type Work<'a> = Box<dyn Fn() -> usize + 'a>;

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    let (caller, recorded) = (Caller::new()?, Caller::recorded()?);
    let mut all: Vec<(String, Work<'_>)> =
        vec![("the same, recorded".to_owned(), by_frame(&recorded, &scenario::READ))];
    for scenario in [scenario::READ, scenario::REJECTED] {
        all.push((format!("{}: arguments", scenario.what), by_arguments(&caller, &scenario)));
        all.push((format!("{}: whole frame", scenario.what), by_frame(&caller, &scenario)));
    }
    const SECTION: &str = "Pipeline, JSON bytes to JSON bytes";
    let mut times = read_all(all)?.into_iter();
    let with_recorder = times.next().map_or(f64::NAN, |(_, microseconds)| microseconds);
    let times: Vec<_> = times.collect();
    // The second is the READ as a whole frame.
    let without = times.get(1).map_or(f64::NAN, |(_, microseconds)| *microseconds);
    for (what, microseconds) in times {
        report.add(SECTION, what, microseconds, "µs", Target::AtMost(10.0));
    }
    report.add(
        SECTION,
        "what recording adds to the READ",
        with_recorder - without,
        "µs",
        Target::AtMost(3.0),
    );
    Ok(())
}

pub(crate) fn measure_introspection(report: &mut Report) -> Result<()> {
    const SECTION: &str = "Introspection with 500 operations, JSON bytes to JSON bytes";
    let caller = Caller::new()?;
    let answers = [
        caller.arguments(&scenario::LIST.arguments()).ok_or("the list got no answer")?,
        caller.frame(&scenario::LIST.frame()).ok_or("the list got no answer")?,
    ];
    let [arguments, frame] = &answers;
    let all: Vec<(String, Work<'_>)> = vec![
        ("arguments".to_owned(), by_arguments(&caller, &scenario::LIST)),
        ("frame".to_owned(), by_frame(&caller, &scenario::LIST)),
        ("copy".to_owned(), Box::new(|| black_box(black_box(arguments).to_vec()).len())),
        ("frame copy".to_owned(), Box::new(|| black_box(black_box(frame).to_vec()).len())),
        (format!("{}: whole frame", scenario::DETAIL.what), by_frame(&caller, &scenario::DETAIL)),
        (format!("{}: whole frame", scenario::SEARCH.what), by_frame(&caller, &scenario::SEARCH)),
    ];
    let times = read_all(all)?;
    let time = |index: usize| times.get(index).map_or(f64::NAN, |(_, microseconds)| *microseconds);
    let list = scenario::LIST.what;
    for (kind, whole, copy, bytes) in
        [("arguments", time(0), time(2), arguments), ("whole frame", time(1), time(3), frame)]
    {
        report.add(SECTION, format!("{list}: {kind}"), whole, "µs", Target::None);
        let size = bytes.len() / 1024;
        report.add(SECTION, format!("  of it, a bare copy of its {size} KiB"), copy, "µs", Target::None);
        report.add(SECTION, "  the rest", whole - copy, "µs", Target::AtMost(5.0));
    }
    for (what, microseconds) in times.iter().skip(4) {
        report.add(SECTION, what, *microseconds, "µs", Target::None);
    }
    finding(report);
    Ok(())
}

/// As many operations as a gateway before many servers has.
const FOUND_AMONG: usize = 2000;

fn document(operation: &define::Operation) -> Document<'_> {
    let params = operation.params.iter().map(|param| (param.name.as_str(), param.description.as_str()));
    Document {
        name: &operation.name,
        description: &operation.description,
        params: params.collect(),
        ..Document::default()
    }
}

/// The index alone: how long it takes to make one and to ask it.
fn finding(report: &mut Report) {
    const SECTION: &str = "Search among 2,000 operations";
    let operations = subject::definitions();
    let documents: Vec<Document<'_>> = operations.iter().map(document).cycle().take(FOUND_AMONG).collect();
    let made = Instant::now();
    let index = Index::new(black_box(&documents));
    report.add(SECTION, "making the index", made.elapsed().as_secs_f64() * 1e3, "ms", Target::AtMost(300.0));
    for text in
        ["rename a sensor", "please show me all the invoices that were not paid by a customer last month"]
    {
        let times = (0..READINGS).map(|_| {
            let asked = Instant::now();
            black_box(index.find(black_box(text)));
            asked.elapsed().as_secs_f64() * 1e3
        });
        report.add(SECTION, text, median(times.collect()), "ms", Target::AtMost(3.0));
    }
    let names: Vec<String> = operations
        .iter()
        .cycle()
        .take(FOUND_AMONG)
        .zip(0..)
        .map(|(op, n)| format!("{}_{n}", op.name))
        .collect();
    let times = (0..READINGS).map(|_| {
        let asked = Instant::now();
        black_box(aql::suggest::nearest(black_box("get_senser_1700"), names.iter().map(String::as_str)));
        asked.elapsed().as_secs_f64() * 1e3
    });
    report.add(
        SECTION,
        "the nearest of 2,000 names to a wrong one",
        median(times.collect()),
        "ms",
        Target::AtMost(3.0),
    );
}

fn by_arguments<'a>(caller: &'a Caller, scenario: &Scenario) -> Work<'a> {
    let arguments = scenario.arguments();
    Box::new(move || caller.arguments(black_box(&arguments)).map_or(0, |answer| black_box(answer).len()))
}

fn by_frame<'a>(caller: &'a Caller, scenario: &Scenario) -> Work<'a> {
    let frame = scenario.frame();
    Box::new(move || caller.frame(black_box(&frame)).map_or(0, |answer| black_box(answer).len()))
}

/// Microseconds a call of each, the median of interleaved readings.
fn read_all(all: Vec<(String, Work<'_>)>) -> Result<Vec<(String, f64)>> {
    let mut readings: Vec<Vec<f64>> = vec![Vec::new(); all.len()];
    for _ in 0..READINGS {
        for ((what, work), readings) in all.iter().zip(&mut readings) {
            readings.push(read(work).ok_or_else(|| format!("no answer: {what}"))?);
        }
    }
    Ok(all.into_iter().zip(readings).map(|((what, _), readings)| (what, median(readings))).collect())
}

fn read(work: &Work<'_>) -> Option<f64> {
    let (started, mut calls) = (Instant::now(), 0_u32);
    while started.elapsed() < READING {
        for _ in 0..64 {
            if work() == 0 {
                return None;
            }
        }
        calls += 64;
    }
    Some(started.elapsed().as_secs_f64() * 1e6 / f64::from(calls))
}
