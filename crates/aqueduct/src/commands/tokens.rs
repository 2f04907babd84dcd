//! `aqueduct tokens`: what servers' tools cost a model, and what ours cost before them.

use std::{path::PathBuf, process::ExitCode};

use gateway::{
    aql::registry::Registry,
    tokens::{self, List, Own, Report, Steps},
};
use serde_json::json;

use super::{learned, saved};
use crate::{
    Configuration,
    report::{self, Failure},
};

/// Count what servers' tools cost a model, and what ours cost before them
///
/// Counted are o200k tokens of names, descriptions and input schemas as compact JSON. A task of ten operations is counted
/// too, as in appendix A of the specification: with all tools in the context, and by searching, looking up and calling.
/// No tool is called, and nothing is fetched. Servers that were never asked for their tools are started once.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Count saved tool lists instead: tools/list results, arrays of tools or JSON Lines
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["config", "data", "mode", "profile", "prefix"])]
    tools: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    configuration: Configuration,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (lists, own, builder) = if arguments.tools.is_empty() {
        gateway::app::lists(&learned(&arguments.configuration)?)
    } else {
        (read(&arguments.tools)?, Own::default(), Registry::builder("aqueduct"))
    };
    if lists.is_empty() {
        return Err(Failure::usage(
            "there is no server whose tools could be counted",
            "configure one as '[upstream.NAME]', or name saved lists with '--tools FILE'",
        ));
    }
    let report = tokens::measure(&lists, &own, &builder).map_err(|error| match error {
        tokens::Error::Problems(problems) => Failure::problems(&problems),
        tokens::Error::Tokenizer => Failure::trouble(&error.to_string(), "this build of Aqueduct is broken"),
    })?;
    report::print(&if arguments.json { json!(report).to_string() } else { readable(&report) });
    Ok(ExitCode::SUCCESS)
}

fn read(files: &[PathBuf]) -> Result<Vec<List>, Failure> {
    let mut lists: Vec<List> = Vec::new();
    for file in files {
        let read = List::read(&saved::server(file), &saved::text(file)?);
        lists.extend(read.map_err(|reason| saved::no_list(file, &reason))?);
    }
    Ok(lists)
}

fn readable(report: &Report) -> String {
    let name_width = report.servers.iter().map(|server| server.server.chars().count()).max();
    let width = name_width.unwrap_or_default().max("Aqueduct, five tools".len());
    let row = |name: &str, tools: usize, tokens: usize, note: &str| {
        format!("{name:<width$}  {tools:>5}  {:>9}  {note}", grouped(tokens)).trim_end().to_owned()
    };
    let mut lines = vec![format!("{:<width$}  {:>5}  {:>9}", "server", "tools", "tokens")];
    let servers = report.servers.iter();
    lines.extend(servers.map(|server| row(&server.server, server.tools, server.tokens, "")));
    lines.push(row("all of them", report.eager.tools, report.eager.tokens, ""));
    for (name, ours) in [("Aqueduct, five tools", &report.crude), ("Aqueduct, one tool", &report.single)] {
        lines.push(row(name, ours.tools, ours.tokens, &less(ours.saved_percent)));
    }
    let task = &report.task;
    let called = task.operations.len();
    lines.push(String::new());
    lines.push(format!("a task of {called} operations   all tools   five tools   one tool"));
    let ways = [task.eager, task.crude, task.single];
    let parts: [(&str, Part); 6] = [
        ("tool definitions", |steps| steps.definitions),
        ("searches", |steps| steps.searches),
        ("details", |steps| steps.details),
        ("calls", |steps| steps.calls),
        ("results", |steps| steps.results),
        ("in all", |steps| steps.total),
    ];
    for (part, of) in parts {
        let [eager, crude, single] = ways.map(|steps| grouped(of(&steps)));
        lines.push(format!("  {part:<23}  {eager:>10}   {crude:>10}   {single:>8}"));
    }
    lines.push(format!(
        "five tools: {}; one tool: {}; the searches found {} of {called}",
        less(task.crude.saved_percent),
        less(task.single.saved_percent),
        task.found
    ));
    lines.push(format!(
        "one tool and {called} details, as in the specification's appendix A (about 2,600): {}",
        grouped(task.single_and_details)
    ));
    lines.join("\n")
}

/// One part of what a task costs.
type Part = fn(&Steps) -> usize;

fn less(percent: f64) -> String {
    if percent < 0.0 { format!("{:.1} % more", -percent) } else { format!("{percent:.1} % less") }
}

/// Thousands with a comma between.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}
