//! Results of a megabyte, as text and as structured content.

use serde_json::json;

use super::{
    contender::{Case, Contender, Gateway, Place},
    pairs::{in_turns, processor, ratios},
};
use crate::{
    Result,
    report::{Report, Target},
    upstream,
};

const SECTION: &str = "Gateway, results of 1 MB, concurrency 4";
const BYTES: usize = 1_000_000;
const PROCESSOR_MAX: f64 = 0.6;
/// Each call is a thousand times larger, so fewer say as much.
const ROUNDS_MAX: usize = 5;

const CONTENDERS: [Contender; 4] = [
    Contender::http("HTTP session: ours", Gateway::Ours),
    Contender::http("HTTP session: rmcp_gw", Gateway::Rmcp),
    Contender::stdio("stdio: ours", Gateway::Ours),
    Contender::stdio("stdio: rmcp_gw", Gateway::Rmcp),
];

pub(super) fn measure(report: &mut Report, place: &Place, rounds: usize) -> Result<()> {
    for (what, tool) in [("text", upstream::TEXT), ("structured", upstream::STRUCTURED)] {
        let params = json!({"message": "{MSG}", "bytes": BYTES});
        let case = Case { tool, params, concurrency: 4, warm: 10, calls: 100 };
        let all = in_turns(report, place, &case, &CONTENDERS, rounds.clamp(1, ROUNDS_MAX))?;
        for (contender, readings) in CONTENDERS.iter().zip(&all).filter(|(_, readings)| !readings.is_empty())
        {
            let milliseconds = processor(readings) / 1e3;
            report.add(
                SECTION,
                format!("{what}, {}", contender.what),
                milliseconds,
                "ms CPU/call",
                Target::None,
            );
        }
        let [http, http_rmcp, stdio, stdio_rmcp] = all.as_slice() else { continue };
        for (way, ours, rmcp) in [("HTTP session", http, http_rmcp), ("stdio", stdio, stdio_rmcp)] {
            if ours.is_empty() || rmcp.is_empty() {
                report.note(format!("Gateway: 1 MB of {what}, {way}: ratio to rmcp_gw NOT MEASURED YET."));
                continue;
            }
            let ratio = ratios(ours, rmcp, |reading| reading.microseconds_a_call);
            let row = format!("{what}, {way}: processor time to rmcp_gw");
            report.add(SECTION, row, ratio, "times", Target::AtMost(PROCESSOR_MAX));
        }
    }
    Ok(())
}
