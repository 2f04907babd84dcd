//! `aqueduct init`: from an MCP client's servers to Aqueduct in front of them, and back.

use std::{
    io::{BufRead as _, IsTerminal as _, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use gateway::{
    config::Environment,
    import::{self, Done, Plan, Planned, Request, Undone},
};
use serde_json::json;

use crate::report::{self, Failure};

/// Take over the servers that MCP clients have configured
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Files of MCP clients [default: the usual places of every known client]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from: Vec<PathBuf>,
    /// Configuration to write; one that exists is added to [default: the user's configuration directory]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Go ahead without asking
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
    /// Only show what would happen
    #[arg(long)]
    dry_run: bool,
    /// Leave the clients' files as they are
    #[arg(long)]
    keep_client: bool,
    /// What clients are to start
    #[arg(long, value_name = "PROGRAM", default_value = "aqueduct")]
    command: String,
    /// Put the clients' files back as they were
    #[arg(long, conflicts_with_all = ["from", "output", "dry_run", "keep_client", "command"])]
    undo: bool,
    /// Put them back even if they were changed since; what they were is kept beside them
    #[arg(long, requires = "undo")]
    force: bool,
    /// Data directory, where changes are noted [default: the user's data directory]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let environment = Environment::capture();
    let now = gateway::import::now();
    if arguments.undo {
        let undone =
            import::undo(arguments.data.as_deref(), &environment, arguments.force, now).map_err(failure)?;
        return Ok(print_undone(&undone, arguments.json));
    }
    let plan = import::plan(&Request {
        from: arguments.from.clone(),
        output: arguments.output.clone(),
        data: arguments.data.clone(),
        command: arguments.command.clone(),
        keep_client: arguments.keep_client,
        environment,
        now,
    })
    .map_err(failure)?;
    if plan.is_empty() {
        print(arguments, &plan, "nothing", None, "Nothing to do.");
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.dry_run {
        print(arguments, &plan, "preview", None, "Nothing was written.");
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.yes {
        let done = import::apply(&plan).map_err(failure)?;
        print(arguments, &plan, "done", Some(&done), &told(&done));
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        print(arguments, &plan, "preview", None, "Nothing was written; go ahead with '--yes'.");
        return Ok(ExitCode::SUCCESS);
    }
    report::print(&preview(&plan));
    if !confirmed() {
        report::print("Nothing was written.");
        return Ok(ExitCode::SUCCESS);
    }
    let done = import::apply(&plan).map_err(failure)?;
    report::print(&told(&done));
    Ok(ExitCode::SUCCESS)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failure(error: import::Error) -> Failure {
    Failure::trouble(error.message(), error.help())
}

fn confirmed() -> bool {
    let mut asked = std::io::stderr();
    let _ = asked.write_all(b"\nGo ahead? [y/N] ").and_then(|()| asked.flush());
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

fn print(arguments: &Arguments, plan: &Plan, status: &str, done: Option<&Done>, last: &str) {
    if arguments.json {
        report::print(&json!({"status": status, "plan": plan, "done": done}).to_string());
    } else {
        report::print(&format!("{}\n{last}", preview(plan)));
    }
}

fn preview(plan: &Plan) -> String {
    let mut lines = Vec::new();
    if plan.servers.is_empty() {
        lines.push("No servers were found in:".to_owned());
        lines.extend(plan.looked.iter().map(|path| format!("  {}", path.display())));
    } else {
        lines.push(format!("Servers found: {}", plan.servers.len()));
        let width = plan.servers.iter().map(|server| server.name.chars().count()).max().unwrap_or_default();
        lines.extend(plan.servers.iter().map(|server| server_line(server, width)));
    }
    if !plan.config_added.is_empty() {
        let verb = if plan.config_exists { "Will add to" } else { "Will write" };
        lines.push(format!("\n{verb} {}:", plan.config.display()));
        lines.extend(plan.config_added.trim().lines().map(|line| format!("  {line}").trim_end().to_owned()));
    }
    for client in &plan.clients {
        lines.push(format!("\nWill change {} ({}):", client.path.display(), client.client));
        lines.push(format!("  - {}", client.replaced.join(", ")));
        let entry = serde_json::to_string(&client.entry).unwrap_or_default();
        lines.push(format!("  + \"aqueduct\": {entry}"));
        lines.push(format!("  backup: {}", client.backup.display()));
    }
    if !plan.notes.is_empty() {
        lines.push("\nNotes:".to_owned());
        lines.extend(plan.notes.iter().map(|note| format!("  - {note}")));
    }
    lines.push(String::new());
    printable(&lines.join("\n"))
}

/// Names come from files of others, and this goes to a terminal.
fn printable(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\n' => "\n".to_owned(),
        letter if letter.is_control() => letter.escape_default().to_string(),
        letter => letter.to_string(),
    };
    text.chars().map(shown).collect()
}

fn server_line(server: &Planned, width: usize) -> String {
    let mut about = Vec::new();
    if server.given != server.name {
        about.push(format!("called '{}' there", server.given));
    }
    if !server.enabled {
        about.push("turned off".to_owned());
    }
    if !server.waits_for.is_empty() {
        let verb = if server.waits_for.len() == 1 { "is" } else { "are" };
        about.push(format!("off until {} {verb} set", server.waits_for.join(", ")));
    }
    if server.known {
        about.push("configured already".to_owned());
    }
    let about = if about.is_empty() { String::new() } else { format!("  ({})", about.join(", ")) };
    format!("  {:<width$}  {}{about}", server.name, server.from.join(", "))
}

fn told(done: &Done) -> String {
    let mut lines = Vec::new();
    if let Some(config) = &done.config {
        lines.push(format!("Wrote {}", config.display()));
    }
    for client in &done.clients {
        lines.push(format!("Changed {}", client.path.display()));
    }
    if !done.clients.is_empty() {
        lines.push("Restart the clients to see it; 'aqueduct init --undo' puts their files back.".to_owned());
    }
    lines.join("\n")
}

fn print_undone(undone: &Undone, json: bool) -> ExitCode {
    if json {
        report::print(&json!(undone).to_string());
    } else {
        let mut lines: Vec<String> = Vec::new();
        for restored in &undone.restored {
            lines.push(format!("Put back {}", restored.path.display()));
            if let Some(kept) = &restored.given_up {
                lines.push(format!("  what it was is in {}", kept.display()));
            }
        }
        for stays in &undone.stays {
            lines.push(format!("Still in {}: {}", stays.config.display(), stays.upstreams.join(", ")));
            lines.push("  remove their '[upstream.NAME]' sections if Aqueduct is not to use them".to_owned());
        }
        lines.extend(undone.refused.iter().map(|refused| format!("Left alone: {refused}")));
        if lines.is_empty() {
            lines.push("There is nothing to put back.".to_owned());
        }
        report::print(&printable(&lines.join("\n")));
    }
    if undone.refused.is_empty() { ExitCode::SUCCESS } else { report::findings() }
}
