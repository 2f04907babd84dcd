//! What the system shows of processes under `/proc`.

use std::path::{Path, PathBuf};

use super::places::lexical;

enum Through {
    Root,
    Working,
}

/// Whether a path could go through there.
pub(super) fn is_there(path: &Path) -> bool {
    memchr::memmem::find(path.as_os_str().as_encoded_bytes(), b"proc").is_some()
}

/// The path with the root and the working directory of the server in place of what stands for them.
pub(super) fn led_out(path: &Path, working: Option<&Path>) -> PathBuf {
    let mut led = PathBuf::new();
    for part in path.components() {
        led.push(part);
        match (through(&lexical(&led)), working) {
            (Some(Through::Root), _) => led = PathBuf::from("/"),
            (Some(Through::Working), Some(directory)) => led = directory.to_owned(),
            _ => {}
        }
    }
    led
}

/// What a path like `/proc/self/cwd` stands for.
fn through(path: &Path) -> Option<Through> {
    match shown(path)? {
        ("root", true) => Some(Through::Root),
        ("cwd", true) => Some(Through::Working),
        _ => None,
    }
}

/// Whether a path shows variables or memory. Those of any process may hold what approvals rest on: another gateway's, or
/// the shell's that started it.
pub(super) fn is_secret(path: &Path) -> bool {
    matches!(shown(path), Some(("environ" | "mem", _)))
}

/// What of a process the path is, and whether it ends there.
fn shown(path: &Path) -> Option<(&str, bool)> {
    let mut parts = path.strip_prefix("/proc").ok()?.components().map(|part| part.as_os_str().to_str());
    let process = parts.next()??;
    let is_process =
        matches!(process, "self" | "thread-self") || process.bytes().all(|byte| byte.is_ascii_digit());
    let mut shown = parts.next().filter(|_| is_process)??;
    if shown == "task" {
        parts.next()??;
        shown = parts.next()??;
    }
    Some((shown, parts.next().is_none()))
}

/// What the system shows of the asking process is that of the server, not ours.
pub(super) fn is_own(path: &Path) -> bool {
    path.starts_with("/proc/self") || path.starts_with("/proc/thread-self")
}
