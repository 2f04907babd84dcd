//! Small calls: throughput and processor time of every gateway, in turns.

use gateway::store::traces::{self, TraceStore};
use serde_json::json;

use super::{
    FASTECHO_TOOL, Options,
    contender::{Case, Contender, Gateway, Place, STATELESS},
};
use crate::{
    Result,
    floor::{self, Reading},
    report::{Report, Target, median},
    upstream,
};

const SECTION: &str = "Gateway in front of an echo, concurrency 16";
const CONCURRENCY: usize = 16;
const WARM_CALLS: usize = 4_000;
const CALLS: usize = 40_000;

const HTTP: usize = 0;
const HTTP_STATELESS: usize = 1;
const HTTP_RMCP: usize = 2;
const STDIO: usize = 3;
const STDIO_RMCP: usize = 4;
const FIRST_PEER: usize = 5;

const CONTENDERS: [Contender; 8] = [
    Contender::http("HTTP session: ours", Gateway::Ours),
    Contender { protocol: STATELESS, ..Contender::http("HTTP 2026-07-28: ours", Gateway::Ours) },
    Contender::http("HTTP session: rmcp_gw", Gateway::Rmcp),
    Contender::stdio("stdio: ours", Gateway::Ours),
    Contender::stdio("stdio: rmcp_gw", Gateway::Rmcp),
    Contender::http("HTTP session: mcp-proxy", Gateway::McpProxy),
    Contender::stdio("stdio: lazy-mcp", Gateway::LazyMcp),
    Contender::stdio("stdio: mcp-compressor", Gateway::McpCompressor),
];

/// What is held against what, and what the ratios should be.
struct Comparison {
    what: &'static str,
    ours: usize,
    rmcp: usize,
    throughput: f64,
    throughput_aim: f64,
    processor: f64,
    processor_aim: f64,
}

const COMPARISONS: [Comparison; 3] = [
    Comparison {
        what: "HTTP session",
        ours: HTTP,
        rmcp: HTTP_RMCP,
        throughput: 2.0,
        throughput_aim: 2.7,
        processor: 0.40,
        processor_aim: 0.27,
    },
    Comparison {
        what: "HTTP 2026-07-28",
        ours: HTTP_STATELESS,
        rmcp: HTTP_RMCP,
        throughput: 2.0,
        throughput_aim: 2.7,
        processor: 0.40,
        processor_aim: 0.27,
    },
    Comparison {
        what: "stdio",
        ours: STDIO,
        rmcp: STDIO_RMCP,
        throughput: 2.0,
        throughput_aim: 2.5,
        processor: 0.25,
        processor_aim: 0.15,
    },
];

/// The readings of one contender; none if it is not there.
pub(super) type Readings = Vec<Reading>;

pub(super) fn measure(report: &mut Report, place: &Place, options: Options) -> Result<()> {
    let params = if options.fastecho {
        json!({"message": "{MSG}"})
    } else {
        json!({"message": "{MSG}", "count": 100, "mode": "plain", "verbose": false})
    };
    let tool = if options.fastecho { FASTECHO_TOOL } else { upstream::ECHO };
    let case = Case { tool, params, concurrency: CONCURRENCY, warm: WARM_CALLS, calls: CALLS };
    let rounds = options.pairs.max(1);
    let all = in_turns(report, place, &case, &CONTENDERS, rounds)?;
    for (contender, readings) in CONTENDERS.iter().zip(&all).filter(|(_, readings)| !readings.is_empty()) {
        report.add(SECTION, contender.what, throughput(readings), "calls/s", Target::None);
        report.add(SECTION, contender.what, processor(readings), "µs CPU/call", Target::None);
    }
    if let Some(direct) = place.spec(Contender::stdio("", Gateway::Direct), &case)? {
        let direct = floor::load(&place.floor, &direct)?;
        report.add(SECTION, "stdio: no gateway", direct.calls_a_second, "calls/s", Target::None);
    }
    for comparison in &COMPARISONS {
        compare(report, comparison, &all);
    }
    above_peers(report, &all);
    recorded(report, place, &case, rounds)?;
    let foreign = all.iter().flatten().map(|reading| reading.foreign).collect();
    report.note(format!(
        "Gateway: medians of {rounds} interleaved runs of {CALLS} calls, ratios within each run; others used {:.0}% of \
         the machine in the median.",
        100.0 * median(foreign)
    ));
    Ok(())
}

/// Each with and without the Inspector.
const RECORDED: [Contender; 4] = [
    Contender::http("HTTP session: ours", Gateway::Ours),
    Contender::http("HTTP session: ours, recorded", Gateway::Recorded),
    Contender::stdio("stdio: ours", Gateway::Ours),
    Contender::stdio("stdio: ours, recorded", Gateway::Recorded),
];

/// What the Inspector costs.
fn recorded(report: &mut Report, place: &Place, case: &Case, rounds: usize) -> Result<()> {
    let all = in_turns(report, place, case, &RECORDED, rounds)?;
    for (what, pair) in ["HTTP session", "stdio"].into_iter().zip(all.chunks_exact(2)) {
        let [off, on] = pair else { continue };
        if off.is_empty() || on.is_empty() {
            report.note(format!("Gateway: {what}: the Inspector's cost NOT MEASURED."));
            continue;
        }
        let ratio = ratios(on, off, |reading| reading.calls_a_second);
        let row = format!("{what}: throughput with the Inspector to without");
        report.add(SECTION, row, ratio, "times", Target::AtLeast(0.9));
        let ratio = ratios(on, off, |reading| reading.microseconds_a_call);
        let row = format!("{what}: processor time with the Inspector to without");
        report.add(SECTION, row, ratio, "times", Target::None);
    }
    let made: usize = all.iter().skip(1).step_by(2).map(Vec::len).sum::<usize>() * (case.warm + case.calls);
    let store = TraceStore::open(&place.ours.data, traces::Options::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // A call has a span of its own and one for the server behind.
    let recorded = runtime.block_on(store.stats())?.spans as f64 / 2.0;
    let row = "calls recorded of those that were made";
    report.add(SECTION, row, 100.0 * recorded / made.max(1) as f64, "%", Target::None);
    Ok(())
}

/// Runs all contenders, then all again in the other order, so that none always follows the same one. Whoever fails is
/// told and left out from then on.
pub(super) fn in_turns(
    report: &mut Report,
    place: &Place,
    case: &Case,
    contenders: &[Contender],
    rounds: usize,
) -> Result<Vec<Readings>> {
    let mut readings: Vec<Readings> = contenders.iter().map(|_| Vec::new()).collect();
    let mut failed = vec![false; contenders.len()];
    for round in 0..rounds {
        let mut turn: Vec<_> = contenders.iter().zip(readings.iter_mut().zip(&mut failed)).collect();
        if round % 2 == 1 {
            turn.reverse();
        }
        for (contender, (readings, failed)) in turn.into_iter().filter(|(_, (_, failed))| !**failed) {
            let Some(spec) = place.spec(*contender, case)? else { continue };
            match floor::load(&place.floor, &spec) {
                Ok(reading) => readings.push(reading),
                Err(error) => {
                    report.note(format!("Gateway: {} ('{}') FAILED: {error}", contender.what, case.tool));
                    readings.clear();
                    *failed = true;
                }
            }
        }
    }
    Ok(readings)
}

fn compare(report: &mut Report, comparison: &Comparison, all: &[Readings]) {
    let Comparison { what, throughput, throughput_aim, processor, processor_aim, .. } = comparison;
    let (Some(ours), Some(rmcp)) = (all.get(comparison.ours), all.get(comparison.rmcp)) else { return };
    if ours.is_empty() || rmcp.is_empty() {
        report.note(format!("Gateway: {what}: ratios to rmcp_gw NOT MEASURED YET."));
        return;
    }
    let ratio = ratios(ours, rmcp, |reading| reading.calls_a_second);
    let row = format!("{what}: throughput to rmcp_gw, aim {throughput_aim}");
    report.add(SECTION, row, ratio, "times", Target::AtLeast(*throughput));
    let ratio = ratios(ours, rmcp, |reading| reading.microseconds_a_call);
    let row = format!("{what}: processor time to rmcp_gw, aim {processor_aim}");
    report.add(SECTION, row, ratio, "times", Target::AtMost(*processor));
}

fn above_peers(report: &mut Report, all: &[Readings]) {
    for (contender, readings) in CONTENDERS.iter().zip(all).skip(FIRST_PEER) {
        let same = CONTENDERS
            .iter()
            .zip(all)
            .find(|(ours, _)| ours.gateway == Gateway::Ours && ours.transport == contender.transport);
        let Some((_, ours)) = same.filter(|(_, ours)| !ours.is_empty() && !readings.is_empty()) else {
            continue;
        };
        let ratio = ratios(ours, readings, |reading| reading.calls_a_second);
        let row = format!("{}, throughput of ours to it", contender.what);
        report.add(SECTION, row, ratio, "times", Target::AtLeast(1.0));
    }
}

/// The middle of the ratios of runs that stood beside each other.
pub(super) fn ratios(ours: &[Reading], other: &[Reading], number: fn(&Reading) -> f64) -> f64 {
    median(ours.iter().zip(other).map(|(ours, other)| number(ours) / number(other)).collect())
}

fn throughput(readings: &[Reading]) -> f64 {
    median(readings.iter().map(|reading| reading.calls_a_second).collect())
}

pub(super) fn processor(readings: &[Reading]) -> f64 {
    median(readings.iter().map(|reading| reading.microseconds_a_call).collect())
}
