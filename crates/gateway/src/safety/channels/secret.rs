//! Secrets that the configuration says where to find.

use std::time::Duration;

use super::process::{Invocation, run};
use crate::config::{Secret, SecretSource};

const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// What is shorter could be found by trying.
const SECRET_BYTES_MIN: usize = 16;

/// The secret as it is now: it may be renewed while we run. The words about what is wrong hold nothing of it.
pub(crate) async fn read(source: &SecretSource) -> Result<Secret, String> {
    let text = match source {
        SecretSource::Variable(name) => {
            std::env::var(name).map_err(|_| format!("the environment variable '{name}' is not set"))?
        }
        SecretSource::File(path) => {
            let read = std::fs::read_to_string(path);
            read.map_err(|error| format!("the file of its secret cannot be read: {}", error.kind()))?
        }
        SecretSource::Command(program, args) => {
            let invocation = Invocation {
                program: program.clone(),
                args: args.clone(),
                env: Vec::new(),
                stdin: Vec::new(),
            };
            let ended = run(invocation, COMMAND_TIMEOUT).await?;
            if ended.code != Some(0) {
                return Err("the program that prints its secret failed".to_owned());
            }
            ended.stdout
        }
    };
    let text = text.trim();
    if text.len() < SECRET_BYTES_MIN {
        return Err(format!("its secret is shorter than {SECRET_BYTES_MIN} bytes"));
    }
    Ok(Secret::new(text))
}

/// Whether a secret can be there, as far as that is known without running anything.
pub(super) fn is_there(source: &SecretSource) -> Result<(), String> {
    match source {
        SecretSource::Variable(name) if std::env::var_os(name).is_none() => {
            Err(format!("the environment variable '{name}' is not set"))
        }
        SecretSource::File(path) if !path.is_file() => Err("the file of its secret is missing".to_owned()),
        _ => Ok(()),
    }
}
