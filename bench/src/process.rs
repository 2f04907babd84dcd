//! The programs that are measured from outside.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::OnceLock,
    time::Duration,
};

use crate::Result;

/// The repository this benchmark belongs to.
pub(crate) fn repository() -> &'static Path {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
    bench.parent().unwrap_or(bench)
}

/// This program. Asked before anything is built: a program that was replaced no longer knows its name.
pub(crate) fn this() -> Result<PathBuf> {
    static THIS: OnceLock<PathBuf> = OnceLock::new();
    let path = std::env::current_exe()?;
    Ok(THIS.get_or_init(|| path).clone())
}

/// Builds in release and says where the programs are.
pub(crate) fn build(directory: &Path, target: &Path, arguments: &[&str]) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--quiet"]).args(arguments);
    let status = command.current_dir(directory).env("CARGO_TARGET_DIR", target).status()?;
    if !status.success() {
        return Err(format!("building {} failed", arguments.join(" ")).into());
    }
    Ok(target.join("release"))
}

/// Waits for what is measured; there is nothing else to do meanwhile.
#[expect(clippy::disallowed_methods, reason = "a benchmark has one thread, and nobody shuts it down")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Asks a process to end.
pub(crate) fn terminate(process: u32) -> Result<()> {
    let status = Command::new("sh").args(["-c", "kill -TERM \"$0\""]).arg(process.to_string()).status()?;
    if status.success() { Ok(()) } else { Err("the server could not be asked to end".into()) }
}

/// A program that is stopped when it is no longer needed.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// Resident memory in megabytes.
    pub(crate) fn resident_megabytes(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes =
            line.and_then(|rest| rest.split_whitespace().next()).ok_or("no VmRSS in its status")?;
        Ok(kilobytes.parse::<f64>()? / 1024.0)
    }
}
