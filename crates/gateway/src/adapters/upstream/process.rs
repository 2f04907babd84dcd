//! An upstream that is a process of ours: started in a group of its own, read line by line, and reaped with everything
//! that it started.

use std::{
    collections::VecDeque,
    io,
    os::fd::OwnedFd,
    path::Path,
    process::Stdio,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    net::unix::pipe,
    process::{Child, ChildStderr, Command},
    runtime::Handle,
};
use tokio_util::task::TaskTracker;

use super::{
    environment::{self, Inherits},
    lines::Lines,
    peer::{Inbox, Link, Peer},
    veil::Veil,
};
use crate::{
    config::Secret,
    hub::Hub,
    inline::{self, TOGETHER},
};

/// A longer message ends the connection: nobody could answer with it.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Room for what is in the pipes, so that large results take few steps.
const PIPE_BYTES: usize = 1024 * 1024;
const READ_BYTES: usize = 16 * 1024;
/// A long line gets as much room as the last one took, up to this, so that it need not move while it grows.
const ROOM_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How much of what it wrote to standard error is kept to explain its end.
const LAST_WORDS_LINES: usize = 20;
const LAST_WORDS_LINE_BYTES: usize = 500;

/// What a process gets to end by itself once its input is closed, and again once it is asked to.
/// Both together are shorter than clients wait for us.
const GRACE: Duration = Duration::from_secs(1);

/// What sees to the end of processes. The program must not end before, or some of them would stay behind.
static TENDED: LazyLock<TaskTracker> = LazyLock::new(TaskTracker::new);

/// Runs what sees to the end of a process.
pub(super) fn tend(task: impl Future<Output = ()> + Send + 'static) {
    TENDED.spawn(task);
}

/// Waits until all processes have ended that were told to.
pub(super) async fn all_ended() {
    TENDED.close();
    if tokio::time::timeout(GRACE * 3, TENDED.wait()).await.is_err() {
        tracing::warn!("some upstreams did not end in time");
    }
}

/// A running process. Dropped, it is killed with all it started.
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
    words: Arc<Mutex<VecDeque<String>>>,
}

/// Why a process could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct NotStarted {
    pub(super) message: String,
    pub(super) cause: Option<std::io::ErrorKind>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What to run.
#[derive(Clone, Copy)]
pub(super) struct Program<'a> {
    pub(super) path: &'a Path,
    pub(super) args: &'a [Secret],
    pub(super) env: &'a [(String, Secret)],
    pub(super) cwd: Option<&'a Path>,
    /// Whether our environment was made for it alone.
    pub(super) inherits: Inherits,
}

/// Starts the process and connects to it. What it says is read by the hub where there is one, else by the runtime.
pub(super) fn start(
    name: &str,
    program: Program<'_>,
    inbox: Arc<dyn Inbox>,
    hub: Option<&Hub>,
) -> Result<(Arc<Peer>, Process), NotStarted> {
    let mut prepared = Command::new(program.path);
    prepared
        .args(program.args.iter().map(Secret::expose))
        .env_clear()
        .envs(environment::inherited(program.inherits))
        .envs(program.env.iter().map(|(key, value)| (key, value.expose())))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if let Some(directory) = program.cwd {
        prepared.current_dir(directory);
    }
    #[cfg(unix)]
    prepared.process_group(0);
    let mut child = prepared.spawn().map_err(|error| not_started(program, &error))?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        let message = "its input and output could not be opened".to_owned();
        return Err(NotStarted { message, cause: None });
    };
    // Larger pipes are an economy, not a need.
    let _ = rustix::pipe::fcntl_setpipe_size(&stdout, PIPE_BYTES);
    let _ = rustix::pipe::fcntl_setpipe_size(&stdin, PIPE_BYTES);
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let words = Arc::default();
    let unusable = |error: io::Error| NotStarted {
        message: format!("its input and output are unusable: {error}"),
        cause: Some(error.kind()),
    };
    let stdin = stdin.into_owned_fd().and_then(pipe::Sender::from_owned_fd).map_err(unusable)?;
    let stdout = stdout.into_owned_fd().map_err(unusable)?;
    let runtime = Handle::current();
    let peer = Arc::new(Peer::new(Link::Lines(Lines::new(stdin, runtime.clone())), inbox));
    let reading = read(stdout, Arc::clone(&peer), runtime.clone());
    match hub {
        Some(hub) => hub.spawn(reading),
        None => drop(runtime.spawn(reading)),
    }
    let veil = Veil::of_process(program.args, program.env);
    tokio::spawn(listen(name.to_owned(), stderr, Arc::clone(&words), veil));
    Ok((peer, Process { child, group, words }))
}

fn not_started(program: Program<'_>, error: &std::io::Error) -> NotStarted {
    let Program { path, cwd, .. } = program;
    let program = path.display();
    let message = match error.kind() {
        _ if cwd.is_some_and(|directory| !directory.is_dir()) => {
            "its working directory 'cwd' does not exist".to_owned()
        }
        std::io::ErrorKind::NotFound => {
            format!("the command '{program}' was not found; install it, or give its whole path in 'command'")
        }
        std::io::ErrorKind::PermissionDenied => format!("the command '{program}' may not be run"),
        _ => format!("the command '{program}' could not be started: {error}"),
    };
    NotStarted { message, cause: Some(error.kind()) }
}

impl Process {
    /// Waits until it ends by itself, and says how.
    pub(super) async fn wait(&mut self) -> String {
        let status = self.child.wait().await;
        // Its last words may still be on their way.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let how = match status {
            Ok(status) => match status.code() {
                Some(code) => format!("its process ended with exit code {code}"),
                None => "its process was killed".to_owned(),
            },
            Err(_) => "its process is gone".to_owned(),
        };
        match self.last_words() {
            Some(words) => format!("{how}: {words}"),
            None => how,
        }
    }

    /// The line of what it wrote to standard error that says most: the last one that tells of a failure, or the first of
    /// npm, whose last ones only say where there is more.
    pub(super) fn last_words(&self) -> Option<String> {
        let words = lock(&self.words);
        let telling = |line: &&String| {
            let line = line.to_ascii_lowercase();
            ["error", "fail", "cannot", "not found", "missing", "denied", "invalid", "usage"]
                .iter()
                .any(|word| line.contains(word))
        };
        let of_npm = words.iter().find(|line| line.starts_with("npm error") || line.starts_with("npm ERR!"));
        of_npm.or_else(|| words.iter().rev().find(telling)).or(words.back()).cloned()
    }

    /// Lets it end: its input is closed already; what does not end is asked to, then killed with all it started.
    pub(super) async fn stop(mut self) {
        if tokio::time::timeout(GRACE, self.child.wait()).await.is_err() {
            self.signal(Signal::TERM);
            let _ = tokio::time::timeout(GRACE, self.child.wait()).await;
        }
        // Its children may have outlived it; the drop kills the group.
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // A group that is gone already needs no signal.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Reads what the process says.
async fn read(stdout: OwnedFd, peer: Arc<Peer>, runtime: Handle) {
    // Here, so that it belongs to who reads it.
    match pipe::Receiver::from_owned_fd(stdout) {
        Ok(stdout) => read_lines(stdout, &peer, &runtime).await,
        Err(error) => peer.end(&format!("its output cannot be read: {error}")),
    }
    peer.close_output();
}

async fn read_lines(mut stdout: pipe::Receiver, peer: &Arc<Peer>, runtime: &Handle) {
    let mut chunk = vec![0; READ_BYTES];
    let mut buffer = BytesMut::new();
    let mut searched = 0;
    let mut room = 0;
    loop {
        let mut long = None;
        if searched < READ_BYTES {
            match stdout.read(&mut chunk).await {
                Ok(0) | Err(_) => break,
                Ok(count) => buffer.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            }
        } else {
            let mut line = Vec::with_capacity(room.max(2 * buffer.len()));
            line.extend_from_slice(&buffer);
            let end = line_end(&mut stdout, &mut line).await;
            buffer = BytesMut::from(line.get(end.unwrap_or(0)..).unwrap_or_default());
            if end.is_none() && buffer.len() > MESSAGE_BYTES_MAX {
                return peer.end(&format!("it sent a message of more than {MESSAGE_BYTES_MAX} bytes"));
            }
            let Some(end) = end else { break };
            line.truncate(end);
            room = (end + READ_BYTES).min(ROOM_BYTES_MAX);
            (searched, long) = (0, Some(Bytes::from(line)));
        }
        let _context = runtime.enter();
        let mut next = || {
            long.take().or_else(|| {
                let found = memchr::memchr(b'\n', buffer.get(searched..)?)?;
                let line = buffer.split_to(std::mem::take(&mut searched) + found + 1);
                Some(line.freeze())
            })
        };
        let mut take = || {
            let lines = std::iter::from_fn(&mut next).take(TOGETHER);
            lines.map(|line| peer.receive(&line)).count()
        };
        while inline::batch(&mut take) == TOGETHER {}
        searched = buffer.len();
    }
    if !buffer.is_empty() {
        let _context = runtime.enter();
        inline::batch(|| peer.receive(&buffer.freeze()));
    }
}

/// Reads on, straight to where the line stays, until it has ended, and tells where. What was read behind it stands there
/// as well. Nothing comes back where the output has ended, or a message is too long.
async fn line_end(stdout: &mut (impl AsyncRead + Unpin), line: &mut Vec<u8>) -> Option<usize> {
    while line.len() <= MESSAGE_BYTES_MAX {
        let searched = line.len();
        if line.capacity() - searched < READ_BYTES {
            line.reserve(searched.max(READ_BYTES));
        }
        if stdout.read_buf(line).await.ok()? == 0 {
            return None;
        }
        if let Some(found) = memchr::memchr(b'\n', line.get(searched..).unwrap_or_default()) {
            return Some(searched + found + 1);
        }
    }
    None
}

/// Keeps the end of what it writes to standard error, which is where servers say why they fail.
async fn listen(name: String, stderr: ChildStderr, words: Arc<Mutex<VecDeque<String>>>, veil: Veil) {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = (&mut lines).take(READ_BYTES as u64);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        let text: String = text.trim().chars().filter(|letter| !letter.is_control()).collect();
        if text.is_empty() {
            continue;
        }
        let text = veil.cover(text);
        tracing::debug!(upstream = name, "{text}");
        let end = text.floor_char_boundary(LAST_WORDS_LINE_BYTES);
        let mut words = lock(&words);
        if words.len() == LAST_WORDS_LINES {
            words.pop_front();
        }
        words.push_back(text.get(..end).unwrap_or_default().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_long_line_is_read_to_its_end_and_what_follows_is_not_lost() {
        let long = "x".repeat(5 * READ_BYTES);
        let output = format!("{long}\nnext\nbegun");
        let mut output = output.as_bytes();
        let mut line = b"first ".to_vec();
        let end = line_end(&mut output, &mut line).await.unwrap();
        assert_eq!(&line[..end], format!("first {long}\n").as_bytes());
        assert_eq!([&line[end..], output].concat(), b"next\nbegun");
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_kept_and_one_that_is_too_long_is_given_up() {
        let mut line = b"a".to_vec();
        assert_eq!(line_end(&mut b"bc".as_slice(), &mut line).await, None);
        assert_eq!(line, b"abc");
        let mut line = Vec::new();
        assert_eq!(line_end(&mut tokio::io::repeat(b'x'), &mut line).await, None);
        assert!(line.len() > MESSAGE_BYTES_MAX && line.len() < 4 * MESSAGE_BYTES_MAX);
    }
}
