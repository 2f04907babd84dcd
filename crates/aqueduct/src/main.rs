//! The `aqueduct` command: arguments in, reports out. What it does is in the `gateway` library.

mod commands;
mod report;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// A call is mostly small allocations, and this one takes half the instructions for them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One MCP server in front of everything an agent may touch: many operations behind five tools, or one.
#[derive(Parser)]
#[command(name = "aqueduct", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done · 1 the operation failed or findings were made · 2 wrong usage · \
3 wrong configuration · 4 data or network trouble";

#[derive(Subcommand)]
enum Command {
    /// Serve MCP clients, over HTTP or on standard input and output
    Serve(commands::serve::Arguments),
    Wrap(commands::wrap::Arguments),
    /// List the operations
    Ops(commands::ops::Arguments),
    /// Show one operation with its parameters and examples
    Describe(commands::describe::Arguments),
    /// Call one operation from the command line
    Call(commands::call::Arguments),
    /// Check the configuration and the operations, and say what could be better
    Check(commands::check::Arguments),
    /// Take over the servers that MCP clients have configured, or undo that
    Init(commands::init::Arguments),
    /// Capture what another server offers as a bundle, or see what has changed there
    Discover(commands::discover::Arguments),
    /// Make an adapter file of a bundle
    Adapt(commands::adapt::Arguments),
    /// Show how far an adapter file is trusted, raise it with evidence or lower it
    Trust(commands::trust::Arguments),
    /// Judge the tools of other servers: what they do, how dangerous that is, and why
    Classify(commands::classify::Arguments),
    Doctor(commands::doctor::Arguments),
    Operator(commands::operator::Arguments),
    Trace(commands::trace::Arguments),
    Inspector(commands::inspector::Arguments),
    #[cfg(feature = "tokens")]
    Tokens(commands::tokens::Arguments),
    /// Print a completion script for a shell
    Completions(commands::completions::Arguments),
}

/// Where the configuration comes from; every command takes it the same way.
#[derive(Args, Clone)]
pub(crate) struct Configuration {
    /// Configuration file [default: ./aqueduct.toml, then the user's configuration directory]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<std::path::PathBuf>,
    /// Data directory [default: the user's data directory]
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<std::path::PathBuf>,
    /// Endpoint mode: semantic, single, all or discrete
    #[arg(long, global = true)]
    mode: Option<String>,
    /// Endpoint profile: crude, discover or one of the configuration's own
    #[arg(long, global = true)]
    profile: Option<String>,
    /// Prefix of the tool names, such as github_
    #[arg(long, global = true)]
    prefix: Option<String>,
}

impl Configuration {
    fn overrides(&self) -> gateway::config::Overrides {
        gateway::config::Overrides {
            data: self.data.clone(),
            mode: self.mode.clone(),
            profile: self.profile.clone(),
            prefix: self.prefix.clone(),
            ..Default::default()
        }
    }

    /// The flags that make another process see the same configuration from any directory. `file` is the file in use,
    /// which may have been found without being named.
    fn as_arguments(&self, file: Option<&std::path::Path>) -> Vec<String> {
        let absolute = |path: &std::path::PathBuf| {
            std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
        };
        let flags = [
            ("--config", file.map(|file| normal(file).display().to_string())),
            ("--data", self.data.as_ref().map(absolute)),
            ("--mode", self.mode.clone()),
            ("--profile", self.profile.clone()),
            ("--prefix", self.prefix.clone()),
        ];
        let given = flags.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
        given.flatten().collect()
    }

    fn load(&self) -> Result<gateway::config::Checked, report::Failure> {
        self.load_with(self.overrides())
    }

    fn load_with(
        &self,
        flags: gateway::config::Overrides,
    ) -> Result<gateway::config::Checked, report::Failure> {
        let checked = self.read_with(flags).map_err(report::Failure::configuration)?;
        for warning in &checked.warnings {
            report::note(warning);
        }
        for left_out in &checked.left_out {
            report::note(&left_out.warning());
        }
        Ok(checked)
    }

    /// The configuration, with nothing said about it.
    fn read(&self) -> Result<gateway::config::Checked, gateway::config::Error> {
        self.read_with(self.overrides())
    }

    fn read_with(
        &self,
        flags: gateway::config::Overrides,
    ) -> Result<gateway::config::Checked, gateway::config::Error> {
        let environment = gateway::config::Environment::capture();
        gateway::config::load(gateway::config::Sources { file: self.config.clone(), environment, flags })
    }
}

/// The absolute path without detours. The last part stays as it is, also where it is a link: paths in the file start in
/// the directory of the link.
fn normal(file: &std::path::Path) -> std::path::PathBuf {
    let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let directory = whole.parent().and_then(|directory| directory.canonicalize().ok());
    match (directory, whole.file_name()) {
        (Some(directory), Some(name)) => directory.join(name),
        _ => whole,
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    report::install();
    let result = match cli.command {
        Command::Serve(arguments) => commands::serve::run(arguments),
        Command::Wrap(arguments) => commands::wrap::run(&arguments),
        Command::Ops(arguments) => commands::ops::run(&arguments),
        Command::Describe(arguments) => commands::describe::run(&arguments),
        Command::Call(arguments) => commands::call::run(arguments),
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Init(arguments) => commands::init::run(&arguments),
        Command::Discover(arguments) => commands::discover::run(&arguments),
        Command::Adapt(arguments) => commands::adapt::run(&arguments),
        Command::Trust(arguments) => commands::trust::run(&arguments),
        Command::Classify(arguments) => commands::classify::run(&arguments),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
        Command::Operator(arguments) => commands::operator::run(&arguments),
        Command::Trace(arguments) => commands::trace::run(&arguments),
        Command::Inspector(arguments) => commands::inspector::run(&arguments),
        #[cfg(feature = "tokens")]
        Command::Tokens(arguments) => commands::tokens::run(&arguments),
        Command::Completions(arguments) => commands::completions::run::<Cli>(&arguments),
    };
    match result {
        Ok(code) => code,
        Err(failure) => failure.print(),
    }
}
