//! `aqueduct adapt`: an adapter file of a bundle and what the operator knows better. Also the check of such a file.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use gateway::aql::discover::{
    Bundle,
    adapter::{
        self, Overrides, Problem,
        overrides::{self, Notation},
    },
};
use serde_json::json;

use crate::report::{self, Failure};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A bundle, as 'aqueduct discover' writes it
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// What you know better: names, endpoints, danger levels, descriptions, what to leave out; YAML or TOML
    #[arg(long, value_name = "FILE")]
    overrides: Option<PathBuf>,
    /// Where the adapter file, its provenance and the report go
    #[arg(long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let bundle = bundle(&arguments.bundle)?;
    let given = match &arguments.overrides {
        Some(file) => {
            let notation = match file.extension().and_then(|ending| ending.to_str()) {
                Some("toml") => Notation::Toml,
                _ => Notation::Yaml,
            };
            overrides::read(&text(file)?, notation).map_err(|problems| wrong(file, &problems))?
        }
        None => Overrides::default(),
    };
    let built = adapter::build(&bundle, &given)
        .map_err(|problems| wrong(arguments.overrides.as_ref().unwrap_or(&arguments.bundle), &problems))?;
    std::fs::create_dir_all(&arguments.output).map_err(|error| unwritten(&arguments.output, &error))?;
    let mut written = Vec::new();
    for file in built.files() {
        let path = arguments.output.join(&file.name);
        write(&path, &file.content)?;
        written.push(path.display().to_string());
    }
    let (operations, review) = (built.adapter.operations.len(), built.unreviewed().count());
    if arguments.json {
        let summary = json!({"files": written, "operations": operations, "needs_review": review,
            "warnings": built.warnings()});
        report::print(&summary.to_string());
    } else {
        let mut lines = vec![format!("{operations} operations, {review} of them to look over")];
        lines.extend(written.iter().map(|path| format!("wrote {path}")));
        report::print(&lines.join("\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// `aqueduct check FILE.md`.
pub(super) fn check(file: &Path, json: bool) -> Result<ExitCode, Failure> {
    let name = file.file_name().map(|name| name.to_string_lossy());
    let (operations, problems, notes) = match adapter::read(&text(file)?, name.as_deref()) {
        Ok(read) => (Some(read.adapter.operations.len()), Vec::new(), read.notes),
        Err(problems) => (None, problems, Vec::new()),
    };
    let shown = file.display();
    if json {
        let found = json!({"file": shown.to_string(), "operations": operations, "problems": problems, "notes": notes});
        report::print(&found.to_string());
    } else {
        let mut lines = match operations {
            Some(count) => vec![format!("{shown}: an adapter with {count} operations, all well-formed")],
            None => vec![format!("{shown}: {} mistakes", problems.len())],
        };
        lines.extend(problems.iter().map(|problem| format!("- {problem}")));
        lines.extend(notes.iter().map(|note| format!("note: {note}")));
        report::print(&lines.join("\n"));
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { report::findings() })
}

/// Reads a bundle.
pub(super) fn bundle(file: &Path) -> Result<Bundle, Failure> {
    Bundle::read(&text(file)?).map_err(|error| {
        let message = format!("'{}' is no discovery bundle: {error}", file.display());
        Failure::usage(&message, "'aqueduct discover' writes one")
    })
}

pub(super) fn text(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| {
        Failure::trouble(&format!("'{}' cannot be read", file.display()), &error.to_string())
    })
}

/// Writes a file whole or not at all.
pub(super) fn write(path: &Path, content: &str) -> Result<(), Failure> {
    write_with(path, content, std::fs::OpenOptions::new().write(true).create(true).truncate(true))
}

/// The same for what only this user may read.
pub(super) fn write_private(path: &Path, content: &str) -> Result<(), Failure> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    write_with(path, content, &options)
}

fn write_with(path: &Path, content: &str, options: &std::fs::OpenOptions) -> Result<(), Failure> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let written = options
        .open(&temporary)
        .and_then(|mut file| file.write_all(content.as_bytes()))
        .and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        unwritten(path, &error)
    })
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::trouble(&format!("'{}' cannot be written", path.display()), &error.to_string())
}

fn wrong(file: &Path, problems: &[Problem]) -> Failure {
    let lines: Vec<String> = problems.iter().map(|problem| format!("- {problem}")).collect();
    Failure::usage(&format!("'{}' has mistakes, and nothing was written", file.display()), &lines.join("\n"))
}
