//! Programs that ask a person: started with nothing of ours but what they are given, ended with all they started.

use std::{path::PathBuf, process::Stdio, time::Duration};

use tokio::{io::AsyncReadExt, io::AsyncWriteExt, process::Command, time::timeout};

use crate::config::Secret;

/// Output that is read of such a program, at the most.
const OUTPUT_BYTES_MAX: u64 = 64 * 1024;

/// How to start a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invocation {
    pub(super) program: PathBuf,
    pub(super) args: Vec<Secret>,
    pub(super) env: Vec<(&'static str, String)>,
    pub(super) stdin: Vec<u8>,
}

/// How it ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// None if a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Runs a program for so long. Dropping the future, or the end of the time, ends it and what it started.
///
/// Its standard output is never ours, which may be the connection to a client.
pub(super) async fn run(invocation: Invocation, longest: Duration) -> Result<Ended, String> {
    let mut command = Command::new(&invocation.program);
    command
        .args(invocation.args.iter().map(Secret::expose))
        .envs(invocation.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let program = invocation.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut child =
        command.spawn().map_err(|error| format!("'{program}' could not be run: {}", error.kind()))?;
    #[cfg(unix)]
    let _group = Group(child.id());
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let told = async move {
        if let Some(mut stdin) = stdin {
            // Who does not read it has no use for it.
            let _ = stdin.write_all(&invocation.stdin).await;
        }
    };
    let work = async { tokio::join!(told, read(stdout), read(stderr), child.wait()) };
    match timeout(longest, work).await {
        Ok(((), stdout, stderr, Ok(status))) => Ok(Ended { code: status.code(), stdout, stderr }),
        Ok((.., Err(error))) => Err(format!("'{program}' was lost: {}", error.kind())),
        Err(_) => Err(format!("'{program}' took too long")),
    }
}

async fn read(pipe: Option<impl tokio::io::AsyncRead + Unpin>) -> String {
    let Some(mut pipe) = pipe else { return String::new() };
    let mut bytes = Vec::new();
    let _ = (&mut pipe).take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes).await;
    // The rest is taken too, so that nobody waits for us to read it.
    let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Ends everything a program started, with it.
#[cfg(unix)]
struct Group(Option<u32>);

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let pid = self.0.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}
