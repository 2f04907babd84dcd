//! `aqueduct completions`: a completion script for a shell.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::report::{self, Failure};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    shell: Shell,
}

pub(crate) fn run<C: CommandFactory>(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut C::command(), "aqueduct", &mut script);
    report::print(String::from_utf8_lossy(&script).trim_end());
    Ok(ExitCode::SUCCESS)
}
