//! Aqueduct as a gateway beside a bare pass-through gateway on rmcp and beside other gateways, all in front of the
//! same server in one run.
//!
//! Ours validates, gates and wraps every call; the bare one does nothing of it.

mod config;
mod contender;
mod drive;
mod large;
mod memory;
mod ours;
mod pairs;
mod peers;

use std::time::Duration;

use self::{
    config::{SERVER, Server},
    contender::{Place, operation},
    ours::Setup,
    peers::Peers,
};
use crate::{Result, floor, report::Report, start, upstream};

pub(crate) use self::drive::{drive, print_names};

/// How long a server behind Aqueduct may take to be known.
const PATIENCE: Duration = Duration::from_secs(20);
const FASTECHO_TOOL: &str = "echo";

#[derive(Debug, Clone, Copy, PartialEq, clap::Args)]
pub(crate) struct Options {
    /// Interleaved runs of every gateway; medians are printed
    #[arg(long, default_value_t = 10)]
    pub(crate) pairs: usize,
    /// Install and measure other gateways, too
    #[arg(long)]
    pub(crate) peers: bool,
    /// Put the yardstick 'fastecho' with its one parameter behind the gateways, not a server with four
    #[arg(long)]
    pub(crate) fastecho: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { pairs: 10, peers: false, fastecho: false }
    }
}

pub(crate) fn measure(report: &mut Report, options: Options) -> Result<()> {
    let Some(floor) = floor::build(&["lg", "rmcp_gw", "fastecho"])? else {
        report.note("Gateway: not measured, because the yardsticks (../shared/floor) are not there.");
        return Ok(());
    };
    let program = start::program()?;
    let scratch = tempfile::tempdir()?;
    let server = if options.fastecho {
        Server { name: SERVER.to_owned(), program: floor.join("fastecho"), arguments: Vec::new() }
    } else {
        Server::upstream(SERVER, None)?
    };
    let called: &[&'static str] = match options.fastecho {
        true => &[FASTECHO_TOOL],
        false => &[upstream::ECHO, upstream::TEXT, upstream::STRUCTURED],
    };
    let ours = Setup::new(&program, scratch.path(), std::slice::from_ref(&server))?;
    let operations: Vec<String> = called.iter().map(|tool| operation(tool)).collect();
    let tools = ours.tools(&operations, PATIENCE).unwrap_or_else(|error| {
        report.note(format!("Gateway: NOTHING OF OURS measured, because upstreams are not served: {error}."));
        Default::default()
    });
    let peers = if options.peers { Peers::install(report)? } else { Peers::default() };
    let place = Place { directory: scratch.path().to_owned(), floor, server, ours, tools, peers };
    pairs::measure(report, &place, options)?;
    if options.fastecho {
        report.note(
            "Gateway: large results and memory are measured without --fastecho, which has no tools for it.",
        );
        return Ok(());
    }
    large::measure(report, &place, options.pairs)?;
    memory::measure(report, &place)
}
