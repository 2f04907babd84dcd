//! MCP over the process's own standard input and output.
//!
//! A thread of its own reads lines and answers on the spot what needs no waiting; calls that wait go on as tasks, and
//! whatever is no plain tool call goes to the library, over a transport that loses no frame.

use std::{
    collections::HashSet,
    io::{Read, Write},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Poll, Waker},
    time::Duration,
};

use rmcp::{
    RoleServer, ServiceExt,
    model::{JsonRpcMessage, ServerResult},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio_util::task::TaskTracker;

use super::{
    call::{self, Admitted},
    frame::{self, Era, Frame, Opens, ToolCall},
    handler::Handler,
    lines::Lines,
    reply,
};
use crate::{
    pipeline::Gateway,
    session::{End, LOCAL, Session, Transport as Over},
};

/// Calls that wait, at the most; the reader stops reading until one of them ends.
const WAITING_CALLS_MAX: usize = 4096;
/// Frames handed to the library and not yet taken, at the most.
const LIBRARY_QUEUE_FRAMES: usize = 256;

/// A client that closed its end waits for what it asked no longer than this.
const CLOSED_GRACE: Duration = Duration::from_secs(1);

/// Serves one client on standard input and output until it closes them or `stop` resolves. Asked to stop once more
/// while calls finish, it stops at once.
pub async fn serve<S: Future<Output = ()>>(
    gateway: Arc<Gateway>,
    fast_path: bool,
    grace: Duration,
    stop: impl Fn() -> S,
) -> std::io::Result<()> {
    let session = Arc::new(Session::new(Over::Stdio, LOCAL));
    let (sender, receiver) = mpsc::channel(LIBRARY_QUEUE_FRAMES);
    let connection = Arc::new(Connection {
        gateway: Arc::clone(&gateway),
        session: Arc::clone(&session),
        output: Output::default(),
        tasks: TaskTracker::new(),
        waiting: Arc::new(Semaphore::new(WAITING_CALLS_MAX)),
        established: AtomicBool::new(false),
        asked: Mutex::default(),
        answered: Notify::new(),
        fast_path,
    });
    let reader = Reader { connection: Arc::clone(&connection), library: sender.clone(), library_open: false };
    let runtime = tokio::runtime::Handle::current();
    let (ended, mut end) = mpsc::channel::<()>(1);
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let _context = runtime.enter();
        reader.run(&runtime);
        drop(ended);
    })?;
    let handler = Handler { gateway, session: Some(Arc::clone(&session)), tasks: connection.tasks.clone() };
    let transport = LineTransport { incoming: receiver, connection: Arc::clone(&connection) };
    let library = tokio::spawn(async move {
        if let Ok(service) = handler.serve(transport).await {
            let _ = service.waiting().await;
        }
    });
    let stopped = tokio::select! {
        _ = end.recv() => false,
        () = stop() => true,
    };
    tokio::select! {
        () = connection.drain(if stopped { grace } else { grace.min(CLOSED_GRACE) }) => {}
        () = stop() => {}
    }
    let how = match (connection.output.is_broken(), stopped) {
        (true, _) => End::Disconnect,
        (false, true) => End::Shutdown,
        (false, false) => End::Graceful,
    };
    session.end(how);
    drop(sender);
    library.abort();
    Ok(())
}

/// What the reader, the library's transport and the calls under way share.
struct Connection {
    gateway: Arc<Gateway>,
    session: Arc<Session>,
    output: Output,
    tasks: TaskTracker,
    waiting: Arc<Semaphore>,
    /// Set when an `initialize` was answered.
    established: AtomicBool,
    /// Requests that the library still owes an answer.
    asked: Mutex<HashSet<String>>,
    answered: Notify,
    fast_path: bool,
}

impl Connection {
    fn asked(&self) -> MutexGuard<'_, HashSet<String>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, id: &str) {
        self.asked().remove(id);
        self.answered.notify_waiters();
    }

    /// Waits until everything asked is answered, but no longer than `grace`.
    async fn drain(&self, grace: Duration) {
        self.tasks.close();
        let answered = async {
            self.tasks.wait().await;
            loop {
                let notified = self.answered.notified();
                if self.asked().is_empty() {
                    break;
                }
                notified.await;
            }
        };
        if tokio::time::timeout(grace, answered).await.is_err() {
            tracing::warn!("some calls were still running when the time to finish was over");
        }
    }
}

/// Standard output. One frame is written whole or not at all.
#[derive(Default)]
struct Output {
    broken: AtomicBool,
}

impl Output {
    /// Writes frames, each already ended by a line feed.
    fn write(&self, frames: &[u8]) {
        if self.is_broken() {
            return;
        }
        let mut out = std::io::stdout().lock();
        if out.write_all(frames).and_then(|()| out.flush()).is_err() {
            self.broken.store(true, Ordering::Relaxed);
        }
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

struct Reader {
    connection: Arc<Connection>,
    library: mpsc::Sender<Vec<u8>>,
    /// Whether the library has been given a request that begins a connection; before that it takes no notifications.
    library_open: bool,
}

impl Reader {
    fn run(mut self, runtime: &tokio::runtime::Handle) {
        let mut lines = Lines::default();
        let mut input = std::io::stdin().lock();
        let mut chunk = vec![0; 64 * 1024];
        let mut replies = Vec::new();
        loop {
            let read = match input.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            lines.push(chunk.get(..read).unwrap_or_default());
            while let Some(line) = lines.next() {
                match line {
                    Ok(line) => self.line(&line, &mut replies, runtime),
                    Err(too_long) => end_line(&mut replies, too_long),
                }
            }
            if !replies.is_empty() {
                self.connection.output.write(&replies);
                replies.clear();
            }
            if self.connection.output.is_broken() {
                break;
            }
        }
        if let Some(line) = lines.rest() {
            self.line(&line, &mut replies, runtime);
            self.connection.output.write(&replies);
        }
    }

    fn line(&mut self, line: &[u8], replies: &mut Vec<u8>, runtime: &tokio::runtime::Handle) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let connection = Arc::clone(&self.connection);
        match frame::read(line) {
            Frame::Refused(reply) => end_line(replies, reply),
            Frame::NotUtf8 { id, offset } => {
                let answer = call::not_utf8(&connection.session, offset);
                end_line(replies, reply::tool_result(&id, &answer, false));
            }
            Frame::Call(tool_call) => self.call(line, &tool_call, replies, runtime),
            Frame::Cancelled(id) => {
                connection.session.cancel(id);
                connection.settle(id);
                self.notice(line);
            }
            Frame::Request { id, opens } => self.request(id, opens, line),
            Frame::Notice => self.notice(line),
        }
    }

    fn call(
        &mut self,
        line: &[u8],
        tool_call: &ToolCall<'_>,
        replies: &mut Vec<u8>,
        runtime: &tokio::runtime::Handle,
    ) {
        let connection = &self.connection;
        let established = connection.established.load(Ordering::Relaxed);
        let opens = if tool_call.era == Era::SelfContained { Opens::Connection } else { Opens::Nothing };
        if tool_call.era == Era::Unclear || (tool_call.era == Era::Initialized && !established) {
            return self.request(tool_call.id, opens, line);
        }
        connection.session.start();
        let self_contained = tool_call.era == Era::SelfContained;
        match call::admit(&connection.gateway, &connection.session, tool_call) {
            Admitted::Answer(answer) => {
                end_line(replies, reply::tool_result(tool_call.id, &answer, self_contained))
            }
            Admitted::Call(endpoint, arguments) if tool_call.plain && connection.fast_path => {
                let (connection, id) = (Arc::clone(connection), tool_call.id.to_owned());
                let work = async move {
                    let Connection { gateway, session, .. } = connection.as_ref();
                    call::run(gateway, session, endpoint, arguments, &id, self_contained).await
                };
                self.start(work, replies, runtime);
            }
            Admitted::Call(..) | Admitted::UnknownTool => self.request(tool_call.id, opens, line),
        }
    }

    /// Takes the first step of a call here, where most calls also end, and leaves the rest to a task.
    fn start(
        &self,
        work: impl Future<Output = Option<Vec<u8>>> + Send + 'static,
        replies: &mut Vec<u8>,
        runtime: &tokio::runtime::Handle,
    ) {
        let mut work = Box::pin(work);
        match work.as_mut().poll(&mut std::task::Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(reply)) => end_line(replies, reply),
            Poll::Ready(None) => {}
            Poll::Pending => {
                let Ok(permit) = runtime.block_on(Arc::clone(&self.connection.waiting).acquire_owned())
                else {
                    return;
                };
                let connection = Arc::clone(&self.connection);
                self.connection.tasks.spawn(async move {
                    if let Some(reply) = work.await {
                        let mut frame = Vec::new();
                        end_line(&mut frame, reply);
                        connection.output.write(&frame);
                    }
                    drop(permit);
                });
            }
        }
    }

    fn request(&mut self, id: &str, opens: Opens, line: &[u8]) {
        self.library_open |= opens == Opens::Connection;
        self.connection.asked().insert(id.to_owned());
        if self.library.blocking_send(line.to_vec()).is_err() {
            self.connection.settle(id);
        }
    }

    fn notice(&self, line: &[u8]) {
        if self.library_open {
            let _ = self.library.blocking_send(line.to_vec());
        }
    }
}

fn end_line(frames: &mut Vec<u8>, reply: Vec<u8>) {
    frames.extend_from_slice(&reply);
    frames.push(b'\n');
}

/// The library's end of the connection: whole frames in, whole frames out, and an answer for those it cannot read.
struct LineTransport {
    incoming: mpsc::Receiver<Vec<u8>>,
    connection: Arc<Connection>,
}

impl Transport<RoleServer> for LineTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), std::io::Error>> + Send + 'static {
        let connection = Arc::clone(&self.connection);
        std::future::ready(deliver(&connection, &item))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let line = self.incoming.recv().await?;
            match serde_json::from_slice(&line) {
                Ok(message) => return Some(message),
                Err(_) => {
                    let Frame::Request { id, .. } = frame::read(&line) else { continue };
                    let refusal =
                        reply::error(id, reply::INVALID_REQUEST, "The request's parameters are malformed");
                    let mut frame = Vec::new();
                    end_line(&mut frame, refusal);
                    self.connection.output.write(&frame);
                    self.connection.settle(id);
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), std::io::Error> {
        self.incoming.close();
        Ok(())
    }
}

fn deliver(connection: &Connection, item: &TxJsonRpcMessage<RoleServer>) -> Result<(), std::io::Error> {
    let mut frame = serde_json::to_vec(item)?;
    frame.push(b'\n');
    let id = match item {
        JsonRpcMessage::Response(response) => {
            if matches!(response.result, ServerResult::InitializeResult(_)) {
                connection.session.start();
                connection.established.store(true, Ordering::Relaxed);
            }
            Some(serde_json::to_string(&response.id)?)
        }
        JsonRpcMessage::Error(error) => Some(serde_json::to_string(&error.id)?),
        _ => None,
    };
    connection.output.write(&frame);
    if let Some(id) = id {
        connection.settle(&id);
    }
    if connection.output.is_broken() { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
}
