//! `aqueduct operator`: what waits for a person, and their answers, from a terminal.
//!
//! It opens the data directory itself, while servers run or not: who may write there is the operator.

mod audit;
mod inputs;
mod policy;
mod waiting;

pub(crate) use waiting::shown_approval;

use std::process::ExitCode;

use gateway::{
    aql::danger::DangerLevel,
    config::Checked,
    operator::{
        Desk,
        desk::{self, Hand, Unclear},
        shown::line,
    },
    store,
};

use super::runtime;
use crate::{
    Configuration,
    report::{self, Failure},
};

/// See what waits for you, and answer it
///
/// Works on the data directory itself, beside servers that run on it: the right to write there is all it takes. Ids may be
/// shortened as long as they are clear.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    configuration: Configuration,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the calls that wait for approval, the challenges that wait for a code and what servers ask for
    Pending(waiting::Pending),
    /// Let a call run, once
    Approve(waiting::Answer),
    /// Refuse a call
    Deny(waiting::Answer),
    /// Answer what a server behind Aqueduct asks a person for
    Answer(inputs::Answer),
    /// Take back an approval that was not used yet
    Revoke(waiting::Revoke),
    /// List the agents that are blocked
    Blocks(waiting::Blocks),
    /// End an agent's block without a code
    Unblock(waiting::Unblock),
    /// Make the code for a challenge and show it on this terminal
    Reveal(waiting::Reveal),
    /// Make a token for 'confirm_operation' and show it on this terminal
    ///
    /// Another principal than the one that waits can confirm with it, such as a supervising client of yours.
    Token(waiting::Token),
    /// Show the audit log
    Audit(audit::Show),
    /// Check that nothing in the audit log was changed or removed
    VerifyAudit(audit::Verify),
    /// Ask what the rules make of a call
    #[command(subcommand)]
    Policy(policy::Policy),
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let _log = report::quiet_log();
    let configuration = &arguments.configuration;
    match &arguments.command {
        Command::Pending(command) => command.run(configuration),
        Command::Approve(command) => command.run(configuration, true),
        Command::Deny(command) => command.run(configuration, false),
        Command::Answer(command) => command.run(configuration),
        Command::Revoke(command) => command.run(configuration),
        Command::Blocks(command) => command.run(configuration),
        Command::Unblock(command) => command.run(configuration),
        Command::Reveal(command) => command.run(configuration),
        Command::Token(command) => command.run(configuration),
        Command::Audit(command) => command.run(configuration),
        Command::VerifyAudit(command) => command.run(configuration),
        Command::Policy(command) => command.run(configuration),
    }
}

/// Opens the desk, works on it, and closes it whatever came of the work.
fn at_desk<T>(
    configuration: &Configuration,
    work: impl AsyncFnOnce(&Desk, &Checked) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let config = configuration.read().map_err(Failure::configuration)?;
    runtime()?.block_on(async {
        let options = store::Options { max_database_bytes: config.store.max_database_bytes };
        let desk = Desk::open(&config.store.data, options).map_err(|error| no_desk(&error, &config))?;
        let done = work(&desk, &config).await;
        desk.close().await;
        done
    })
}

fn no_desk(error: &desk::Error, config: &Checked) -> Failure {
    let data = config.store.data.display();
    let help = match error {
        desk::Error::Nothing => format!(
            "data directory: {data}\nis it the one that 'aqueduct serve' uses? name it with '--data' or '--config'"
        ),
        desk::Error::Store(_) => format!("data directory: {data}"),
    };
    Failure::trouble(&error.to_string(), &help)
}

/// Who sits at the terminal, for the audit log.
fn hand() -> Hand {
    let name = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "operator".to_owned());
    Hand { by: line(&name, 64), channel: "command line" }
}

/// Answers from here are an option of the configuration.
fn may_answer(config: &Checked) -> Result<(), Failure> {
    if config.operator.command_line {
        return Ok(());
    }
    let help = "answer through another channel, or set 'command_line = true' under '[operator]'";
    Err(Failure::usage("the configuration does not let the command line answer", help))
}

fn unclear(error: Unclear) -> Failure {
    match error {
        Unclear::Store(error) => store_trouble(&error),
        Unclear::None(_) => Failure::usage(&error.to_string(), "'aqueduct operator pending' lists them"),
        Unclear::Several(_) => Failure::usage(&error.to_string(), "write more of the id"),
    }
}

fn store_trouble(error: &store::Error) -> Failure {
    Failure::trouble(
        &error.to_string(),
        "try again; if it stays, 'aqueduct doctor' looks at the data directory",
    )
}

/// Danger in capitals where it is more than a nuisance.
fn shown_danger(danger: DangerLevel) -> String {
    let word = danger.as_str();
    if danger >= DangerLevel::Destructive { word.to_uppercase() } else { word.to_owned() }
}
