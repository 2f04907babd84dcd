//! `aqueduct trace`: what was recorded, from a terminal.
//!
//! It reads the data directory itself, while servers write to it or not. Only an import adds to it.

mod lines;
mod list;
mod show;
mod tail;

use std::process::ExitCode;

use gateway::{
    operator::shown::line,
    store::{self, traces},
};
use jiff::Timestamp;

use super::runtime;
use crate::{
    Configuration,
    report::{self, Failure},
};

/// See what was recorded: every request that came in and every call that went out
///
/// Reads the data directory itself, beside servers that run on it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    configuration: Configuration,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List sessions, the newest first
    Ls(list::List),
    /// Show a session or a trace as a tree
    Show(show::Show),
    /// Follow what happens, until Ctrl-C
    Tail(tail::Tail),
    /// Write spans as lines of JSON, or as OTLP
    Export(lines::Export),
    /// Take spans from files
    Import(lines::Import),
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let _log = report::quiet_log();
    let config = arguments.configuration.read().map_err(Failure::configuration)?;
    let data = &config.store.data;
    if !data.join(traces::DIRECTORY).is_dir() {
        // Somebody may be about to begin.
        if !matches!(arguments.command, Command::Tail(_) | Command::Import(_)) {
            let help = format!(
                "data directory: {}\nis it the one that 'aqueduct serve' uses? name it with '--data' or '--config'",
                data.display()
            );
            return Err(Failure::trouble("nothing was recorded in the data directory yet", &help));
        }
        if matches!(arguments.command, Command::Tail(_)) {
            report::note("nothing was recorded in the data directory yet; waiting for the first event");
        }
    }
    let store = gateway::app::traces(&config);
    // What a process that is gone left running is told as what it is. Whoever may only read is shown it as it stands.
    if config.store.data.join(store::traces::DIRECTORY).exists() {
        let _ = store.appender().end_lost(gateway::inspect::now());
    }
    runtime()?.block_on(async {
        match &arguments.command {
            Command::Ls(command) => command.run(&store).await,
            Command::Show(command) => command.run(&store).await,
            Command::Tail(command) => command.run(&store).await,
            Command::Export(command) => command.run(&store).await,
            Command::Import(command) => command.run(&store),
        }
    })
}

fn trouble(error: &store::Error) -> Failure {
    Failure::trouble(
        &error.to_string(),
        "try again; if it stays, 'aqueduct doctor' looks at the data directory",
    )
}

/// A time as people read it, in UTC like all that is written down.
fn time(micros: i64) -> String {
    let time = Timestamp::from_microsecond(micros).unwrap_or_default();
    let text = time.to_string();
    text.split('.').next().unwrap_or(&text).trim_end_matches('Z').replace('T', " ")
}

fn duration(micros: Option<i64>) -> String {
    match micros {
        None => "…".to_owned(),
        Some(micros) if micros < 1000 => format!("{micros} µs"),
        Some(micros) if micros < 1_000_000 => format!("{:.1} ms", micros as f64 / 1e3),
        Some(micros) if micros < 120_000_000 => format!("{:.2} s", micros as f64 / 1e6),
        Some(micros) => format!("{} min", micros / 60_000_000),
    }
}

/// Text of others, on one line.
fn short(text: &str) -> String {
    line(text, 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations_are_readable_whatever_they_are() {
        assert_eq!(time(1_794_830_400_123_456), "2026-11-16 12:00:00");
        let shown: Vec<_> =
            [Some(7), Some(1500), Some(2_000_000), Some(600_000_000), None].map(duration).to_vec();
        assert_eq!(shown, ["7 µs", "1.5 ms", "2.00 s", "10 min", "…"]);
        time(i64::MIN);
        time(i64::MAX);
    }
}
