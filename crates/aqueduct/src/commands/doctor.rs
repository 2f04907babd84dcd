//! `aqueduct doctor`: does everything work that is configured, and if not, what helps?

use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
};

use gateway::{
    adapters::upstream::Era,
    aql::suggest,
    config::Checked,
    doctor::{self, Finding, Looked, Report, Severity, Upstream},
};
use serde_json::json;

use super::runtime;
use crate::{
    Configuration,
    report::{self, Failure},
};

/// Start every configured server and say what is wrong and how to mend it
///
/// Every server is started once, all of them side by side, asked what it offers, and ended again. No tool is called and
/// nothing is kept. The configuration, the data directory and the address of 'aqueduct serve' are looked at too.
#[derive(clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// Only these servers
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    configuration: Configuration,
}

const EXIT_CODES: &str = "Exit codes: 0 all is well, apart from notes · 1 something should be done · 2 wrong usage · \
3 wrong configuration · 4 a server, or the data directory, cannot be reached or used";

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let _log = report::quiet_log();
    let config = match arguments.configuration.read() {
        Ok(config) => config,
        Err(error) if arguments.json => {
            let told = json!({"severity": "problem", "code": "configuration", "message": error.to_string(), "mend": error.help()});
            report::print(&json!({"ok": false, "configuration": {"findings": [told]}}).to_string());
            return Ok(report::wrong_configuration());
        }
        Err(error) => return Err(Failure::configuration(error)),
    };
    let names = known(&config, &arguments.names)?;
    let waiting = Waiting::new();
    let report = runtime()?.block_on(doctor::examine(&config, &names, &|pending| waiting.show(pending)));
    waiting.clear();
    let worst = report.worst().unwrap_or(Severity::Note);
    if arguments.json {
        let mut told = serde_json::to_value(&report).unwrap_or_default();
        if let Some(told) = told.as_object_mut() {
            told.insert("ok".to_owned(), json!(worst == Severity::Note));
        }
        report::print(&told.to_string());
    } else {
        report::print(&readable(&report));
    }
    Ok(match worst {
        Severity::Note => ExitCode::SUCCESS,
        Severity::Problem => report::findings(),
        Severity::Unreachable => report::trouble(),
    })
}

/// The names that were asked for, each of which must be configured.
fn known(config: &Checked, asked: &[String]) -> Result<Vec<String>, Failure> {
    let left_out = || config.left_out.iter().map(|left_out| left_out.name.as_str());
    let names = || config.upstreams.iter().map(|upstream| upstream.name.as_str()).chain(left_out());
    for name in asked {
        if names().any(|known| known == name) {
            continue;
        }
        let all: Vec<&str> = names().collect();
        let help = match (suggest::nearest(name, names()), all.as_slice()) {
            (Some(near), _) => format!("did you mean '{near}'?"),
            (None, []) => {
                "no server is configured: add one as '[upstream.NAME]' to 'aqueduct.toml'".to_owned()
            }
            (None, all) => format!("there are: {}", all.join(", ")),
        };
        return Err(Failure::usage(&format!("no server '{name}' is configured"), &help));
    }
    Ok(asked.to_vec())
}

/// One line on a terminal that says for whom we wait.
struct Waiting {
    on_terminal: bool,
}

impl Waiting {
    fn new() -> Self {
        Self { on_terminal: std::io::stderr().is_terminal() }
    }

    fn show(&self, pending: &[&str]) {
        if !self.on_terminal || pending.is_empty() {
            return;
        }
        const SHOWN: usize = 4;
        let more = if pending.len() > SHOWN { ", …" } else { "" };
        let shown: Vec<&str> = pending.iter().take(SHOWN).copied().collect();
        let line = format!("\r\x1b[Kwaiting for {}: {}{more}", pending.len(), shown.join(", "));
        let mut err = std::io::stderr();
        let _ = err.write_all(line.as_bytes()).and_then(|()| err.flush());
    }

    fn clear(&self) {
        if self.on_terminal {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
    }
}

fn readable(report: &Report) -> String {
    let surroundings =
        [("configuration", &report.configuration), ("data", &report.data), ("address", &report.address)];
    let names = surroundings.iter().map(|(name, _)| *name);
    let names = names.chain(report.upstreams.iter().map(|upstream| upstream.name.as_str()));
    let width = names.map(str::len).max().unwrap_or_default();
    let mut lines = Vec::new();
    for (name, Looked { what, findings }) in surroundings {
        lines.push(format!("{name:<width$}  {}  {what}", verdict(findings)));
        lines.extend(told(findings, width));
    }
    for upstream in &report.upstreams {
        lines.push(format!("{:<width$}  {}  {}", upstream.name, verdict(&upstream.findings), seen(upstream)));
        lines.extend(told(&upstream.findings, width));
    }
    if report.upstreams.is_empty() {
        lines.push("no servers are configured; add one as '[upstream.NAME]' to 'aqueduct.toml'".to_owned());
    }
    lines.join("\n")
}

/// Six letters, so that what follows stands in a column.
fn verdict(findings: &[Finding]) -> &'static str {
    match findings.iter().map(|finding| finding.severity).max() {
        None | Some(Severity::Note) => "ok    ",
        Some(Severity::Problem) => "look  ",
        Some(Severity::Unreachable) => "FAILED",
    }
}

fn seen(upstream: &Upstream) -> String {
    let Some(works) = &upstream.works else { return upstream.link.clone() };
    let era = match works.era {
        Era::Initialized => "initialize",
        Era::SelfContained => "discover",
    };
    let server = works
        .server
        .as_ref()
        .map_or_else(String::new, |server| format!("  {} {}", server.name, server.version));
    let seconds = std::time::Duration::from_millis(works.start_ms).as_secs_f64();
    format!(
        "{seconds:.1} s  MCP {} ({era}){}  {} → {}",
        works.version,
        server.trim_end(),
        counted(works.tools, "tool"),
        counted(works.operations, "operation")
    )
}

fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn told(findings: &[Finding], width: usize) -> Vec<String> {
    let indent = " ".repeat(width + 10);
    let lines = findings.iter().flat_map(|finding| {
        let note = if finding.severity == Severity::Note { "note: " } else { "" };
        let first = format!("{indent}{note}{}", finding.message);
        std::iter::once(first).chain(finding.mend.iter().map(|mend| format!("{indent}→ {mend}")))
    });
    lines.collect()
}
