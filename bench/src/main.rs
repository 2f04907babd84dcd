//! Aqueduct's numbers: what a call costs, what a tool list costs, how soon a server answers.
//!
//! Times and ratios are printed, not asserted: machines differ and are shared. What must not grow is held by
//! instruction counts, which `bench/instructions` compares with `bench/budget.tsv`.

mod audit;
mod captured;
mod client;
mod decide;
mod floor;
mod gateway;
mod http;
mod pipeline;
mod process;
mod query;
mod report;
mod scenario;
mod start;
mod step;
mod subject;
mod tokens;
mod traces;
mod upstream;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use self::report::Report;

/// Anything that keeps a benchmark from running is told in a sentence.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The same as the program's, so that what is measured here costs what it costs there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "bench", about = "Aqueduct's benchmarks")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print the measurements as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand, PartialEq)]
enum Command {
    /// Everything below
    All,
    /// One call from JSON bytes to JSON bytes, without I/O
    Pipeline,
    /// One decision about a call, with many rules and many agents blocked
    Decide,
    /// One reported step of an agent
    Step,
    /// One entry of the audit log, on disk
    Audit,
    /// Introspection's answers with 500 operations
    Introspect,
    /// An echo over HTTP beside the same echo on bare rmcp
    Http {
        /// Runs of each server in each mode; medians are printed
        #[arg(long, default_value_t = 5)]
        rounds: usize,
    },
    /// Other servers' tools through Aqueduct, beside a bare gateway on rmcp and other gateways
    Gateway(gateway::Options),
    /// What tool lists and introspection cost a model, in o200k tokens
    Tokens,
    /// Queries over a million entities on disk and over a list in memory
    Query {
        /// How many entities; the targets are for a million
        #[arg(long, default_value_t = query::ENTITIES)]
        entities: u64,
    },
    /// The trace store: what it takes beside a bare insert, and how soon it answers
    Traces(traces::Options),
    /// From the start of the program to its first tool list, and its memory
    Start,
    /// Calls one scenario a fixed number of times, for an instruction counter; without one, names them all
    #[command(hide = true)]
    Calls { scenario: Option<String>, count: Option<usize> },
    /// Serves the echo operation, to be measured from outside
    #[command(hide = true)]
    Echo { address: std::net::SocketAddr },
    /// Takes reports and stores them, to be measured from outside
    #[command(hide = true)]
    Reported { data: PathBuf, address: std::net::SocketAddr },
    /// Serves tools on standard input, to stand behind a gateway
    #[command(hide = true)]
    Upstream { further: Option<PathBuf> },
    /// Calls through the whole program a fixed number of times; without a scenario, names them all
    #[command(hide = true)]
    Drive {
        /// The yardstick to drive instead of ours
        #[arg(long)]
        rmcp_gw: Option<PathBuf>,
        scenario: Option<String>,
        count: Option<usize>,
        /// The counter and its options
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        before: Vec<String>,
    },
}

impl Command {
    /// Whether there is a report for people at the end.
    fn reports(&self) -> bool {
        !matches!(
            self,
            Self::Calls { .. }
                | Self::Echo { .. }
                | Self::Reported { .. }
                | Self::Upstream { .. }
                | Self::Drive { .. }
        )
    }
}

const ROUNDS: usize = 5;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut report = Report::default();
    match run(&cli.command, &mut report) {
        Ok(()) => {
            if cli.command.reports() {
                report.print(cli.json);
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command, report: &mut Report) -> Result<()> {
    process::this()?;
    match command {
        Command::All => {
            pipeline::measure(report)?;
            decide::measure(report)?;
            step::measure(report)?;
            audit::measure(report)?;
            pipeline::measure_introspection(report)?;
            tokens::measure(report)?;
            query::measure(report, query::ENTITIES)?;
            traces::measure(report, traces::Options::default())?;
            start::measure(report)?;
            http::measure(report, ROUNDS)?;
            gateway::measure(report, gateway::Options::default())
        }
        Command::Pipeline => pipeline::measure(report),
        Command::Decide => decide::measure(report),
        Command::Step => step::measure(report),
        Command::Audit => audit::measure(report),
        Command::Introspect => pipeline::measure_introspection(report),
        Command::Http { rounds } => http::measure(report, *rounds),
        Command::Gateway(options) => gateway::measure(report, *options),
        Command::Tokens => tokens::measure(report),
        Command::Query { entities } => query::measure(report, *entities),
        Command::Traces(options) => traces::measure(report, *options),
        Command::Start => start::measure(report),
        Command::Calls { scenario: Some(name), count } => scenario::repeat(name, count.unwrap_or_default()),
        Command::Calls { scenario: None, .. } => {
            scenario::print_names();
            Ok(())
        }
        Command::Echo { address } => http::echo(*address),
        Command::Reported { data, address } => traces::serve(data, *address),
        Command::Upstream { further } => upstream::serve(further.as_deref()),
        Command::Drive { scenario: Some(name), count, rmcp_gw, before } => {
            gateway::drive(name, count.unwrap_or_default(), rmcp_gw.clone(), before)
        }
        Command::Drive { scenario: None, .. } => {
            gateway::print_names();
            Ok(())
        }
    }
}
