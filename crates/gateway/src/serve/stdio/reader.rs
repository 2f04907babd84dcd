//! The thread that reads standard input.

use std::{
    io::Read,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
};

use tokio::sync::mpsc;

use super::{
    super::{
        call::{self, Admitted, Ready},
        elsewhere::{self, OwnedElsewhere},
        frame::{self, Elsewhere, Era, Frame, Opens, ToolCall},
        reply, traced,
    },
    Connection, end_line,
    lines::Lines,
};
use crate::{
    inline::{self, TOGETHER, Task},
    session::CancelledBy,
    trace::{OpenSpan, ids::Given},
};

pub(super) struct Reader {
    connection: Arc<Connection>,
    library: mpsc::Sender<Vec<u8>>,
    /// Whether the library was given a request that begins a connection; before that it takes no notifications.
    library_open: bool,
    runtime: tokio::runtime::Handle,
}

impl Reader {
    /// Starts reading; what comes back resolves when the input has ended.
    pub(super) fn start(
        connection: Arc<Connection>,
        library: mpsc::Sender<Vec<u8>>,
    ) -> std::io::Result<mpsc::Receiver<()>> {
        let runtime = tokio::runtime::Handle::current();
        let reader = Self { connection, library, library_open: false, runtime: runtime.clone() };
        let (ended, end) = mpsc::channel(1);
        std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
            let _context = runtime.enter();
            reader.run();
            drop(ended);
        })?;
        Ok(end)
    }

    fn run(mut self) {
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
            while self.take(&mut lines, &mut replies) {}
            if self.connection.output.is_broken() {
                break;
            }
        }
        if let Some(line) = lines.rest() {
            inline::batch(|| self.line(&line, &mut replies));
            self.connection.output.write_blocking(&replies);
        }
    }

    /// Takes some lines; whether there may be more.
    fn take(&mut self, lines: &mut Lines, replies: &mut Vec<u8>) -> bool {
        let taken = inline::batch(|| {
            let taken = std::iter::from_fn(|| lines.next()).take(TOGETHER).map(|line| match line {
                Ok(line) => self.line(&line, replies),
                Err(too_long) => end_line(replies, &too_long),
            });
            let taken = taken.count();
            self.connection.output.write_blocking(replies);
            taken
        });
        replies.clear();
        taken == TOGETHER
    }

    fn line(&mut self, line: &[u8], replies: &mut Vec<u8>) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match frame::read(line) {
            Frame::Refused(reply) => end_line(replies, &reply),
            Frame::NotUtf8 { id, tool, era, offset } => {
                end_line(replies, &self.not_utf8(&id, &tool, era, offset))
            }
            Frame::Call(tool_call) => self.call(line, &tool_call, replies),
            Frame::Cancelled(id) => {
                self.connection.session.cancel(&id, CancelledBy::Client);
                self.connection.settle(&id);
                self.notice(line);
            }
            Frame::Request { id, opens, elsewhere } => {
                if !elsewhere.is_some_and(|request| self.elsewhere(&id, &request)) {
                    self.request(&id, opens, line, replies);
                }
            }
            Frame::Notice => self.notice(line),
        }
    }

    /// Whether a call of that era belongs to a connection that has begun.
    fn has_begun(&self, era: Era) -> bool {
        match era {
            Era::SelfContained => true,
            Era::Initialized => self.connection.established.load(Ordering::Relaxed),
            Era::Unclear => false,
        }
    }

    fn not_utf8(&self, id: &str, tool: &str, era: Era, offset: usize) -> Vec<u8> {
        if !self.has_begun(era) {
            return reply::error(id, reply::PARSE_ERROR, "The message is not valid UTF-8");
        }
        let Connection { gateway, session, .. } = &*self.connection;
        let answer = call::not_utf8(session, offset);
        traced::unreadable(gateway, session, (id, tool), Given::default(), &answer);
        reply::tool_result(id, &answer, era == Era::SelfContained)
    }

    fn call(&mut self, line: &[u8], tool_call: &ToolCall<'_>, replies: &mut Vec<u8>) {
        let self_contained = tool_call.era == Era::SelfContained;
        let opens = if self_contained { Opens::SelfContained } else { Opens::Nothing };
        if !self.has_begun(tool_call.era) {
            return self.request(&tool_call.id, opens, line, replies);
        }
        let connection = &self.connection;
        connection.session.start();
        match call::admit(&connection.gateway, &connection.session, tool_call) {
            Admitted::Answer(answer) => {
                if let Some(span) = self.traced(tool_call) {
                    traced::answered(&connection.gateway, span, &answer);
                }
                end_line(replies, &reply::tool_result(&tool_call.id, &answer, self_contained));
            }
            Admitted::Call(endpoint, arguments) if tool_call.plain && connection.fast_path => {
                let (client, span) = (call::client(&connection.session, tool_call), self.traced(tool_call));
                traced::may_go_on(span.as_deref(), &client, &tool_call.tool, &arguments);
                let ready = Ready {
                    endpoint,
                    arguments,
                    client,
                    span,
                    request_id: tool_call.id.clone().into_owned(),
                    self_contained,
                };
                let connection = Arc::clone(connection);
                let work = async move { ready.run(&connection.gateway, &connection.session).await };
                self.start_work(Box::pin(work));
            }
            Admitted::UnknownTool => {
                if let Some(span) = self.traced(tool_call) {
                    traced::unknown_tool(&span, &tool_call.tool);
                }
                end_line(replies, &call::unknown_tool(&connection.gateway, tool_call));
            }
            Admitted::Call(..) | Admitted::Starts => self.request(&tool_call.id, opens, line, replies),
        }
    }

    fn traced(&self, tool_call: &ToolCall<'_>) -> Option<Arc<OpenSpan>> {
        traced::call(&self.connection.gateway, &self.connection.session, tool_call, Given::default())
    }

    /// Has another server answer a request, if there are any.
    fn elsewhere(&self, id: &str, request: &Elsewhere<'_>) -> bool {
        let connection = &self.connection;
        if connection.gateway.upstreams().is_none() || !self.has_begun(request.era) {
            return false;
        }
        let (gateway, session) = (&connection.gateway, &connection.session);
        let request = OwnedElsewhere::new(gateway, session, id, request, Given::default());
        let Some(request) = request else { return false };
        connection.session.start();
        let (connection, id) = (Arc::clone(connection), id.to_owned());
        let work =
            async move { elsewhere::answer(&connection.gateway, &connection.session, &id, request).await };
        self.start_work(Box::pin(work));
        true
    }

    /// Takes the first step of a call here, where most calls also end. The others go on when what they wait for is there.
    fn start_work(&self, work: Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>>) {
        let connection = Arc::clone(&self.connection);
        let waiting = Arc::clone(&connection.waiting);
        let permit =
            waiting.clone().try_acquire_owned().or_else(|_| self.runtime.block_on(waiting.acquire_owned()));
        let Ok(permit) = permit else { return };
        let token = connection.tasks.token();
        let work = async move {
            if let Some(reply) = work.await {
                connection.output.answer(reply, token).await;
            }
            drop(permit);
        };
        Task::start(Box::pin(work), &self.runtime);
    }

    fn request(&mut self, id: &str, opens: Opens, line: &[u8], replies: &mut Vec<u8>) {
        self.library_open |= opens != Opens::Nothing;
        self.connection.asked().insert(id.to_owned());
        if self.library.blocking_send(line.to_vec()).is_err() {
            self.connection.settle(id);
            end_line(replies, &reply::error(id, reply::INTERNAL_ERROR, "The server is stopping"));
        }
    }

    fn notice(&self, line: &[u8]) {
        if self.library_open {
            let _ = self.library.blocking_send(line.to_vec());
        }
    }
}
