//! Processes: started, watched, signalled, and killed when the test lets go of them.

use std::{
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

/// Longer than anything here takes; a test that waits this long has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A data directory that goes when the test ends.
pub(crate) fn data() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) fn aqueduct() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_aqueduct"))
}

/// The example of this package that the build puts beside the binary.
pub(crate) fn fixture() -> PathBuf {
    aqueduct().parent().unwrap().join("examples/fixture")
}

/// A command that sees nothing of the environment's own configuration.
pub(crate) fn command(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("AQUEDUCT_") || name.starts_with("MCP_") {
            command.env_remove(name);
        }
    }
    command
        .current_dir(directory)
        .env("XDG_DATA_HOME", directory.join("data-home"))
        .env("XDG_CONFIG_HOME", directory.join("config-home"))
        .env("HOME", directory)
        .env("RUST_BACKTRACE", "0")
        // Most tests are about something else than being asked; those that are not say so with `asking`.
        .env("AQUEDUCT_CONFIRMATION", "off")
        .env_remove("RUST_LOG");
    command
}

/// A process that is killed when the test lets go of it.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) stderr: Arc<Mutex<String>>,
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stderr = Arc::new(Mutex::new(String::new()));
        let mut pipe = child.stderr.take().unwrap();
        let kept = Arc::clone(&stderr);
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = pipe.read(&mut chunk) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&chunk[..read]));
            }
        });
        Self { child, stderr }
    }

    /// What the process has written to standard error, once it holds `needle`.
    pub(crate) fn stderr_with(&self, needle: &str) -> String {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            let text = self.stderr.lock().unwrap().clone();
            if text.contains(needle) {
                return text;
            }
            assert!(std::time::Instant::now() < deadline, "no '{needle}' in:\n{text}");
            pause();
        }
    }

    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(std::time::Instant::now() < deadline, "the process does not end");
            pause();
        }
    }

    /// Sends a signal by name, as a person or a supervisor would.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a test that polls another process has nothing to await")]
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_millis(5));
}

#[expect(clippy::disallowed_methods, reason = "the other process has to be given this time")]
pub(crate) fn wait_for(duration: Duration) {
    std::thread::sleep(duration);
}
