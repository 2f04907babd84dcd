//! The connections of both listeners: only so many, and none is kept by who merely begins to ask.
//!
//! A connection is at work from the last byte of a request until its answer is handed over. Where there are too many, the
//! one that has not been at work for the longest is closed, so that whoever really asks something gets in. Those at work
//! are left alone: where all are, the next one is told to come back.

use std::{
    collections::HashMap,
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{BoxError, Router, extract::ConnectInfo};
use bytes::Bytes;
use http::{Request, Response};
use hyper::{
    body::{Body, Frame, Incoming, SizeHint},
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::{Id, JoinSet},
    time::Sleep,
};
use tokio_util::sync::CancellationToken;

/// What a listener bears.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Connections at one time.
    pub(crate) connections: usize,
    /// How long a request's head may take, counted from the connection's beginning or the last answer.
    pub(crate) head: Duration,
    /// How long its body may take.
    pub(crate) body: Duration,
}

/// What a connection is told for which there is no room.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
    Content-Type: text/plain\r\nContent-Length: 42\r\n\r\nToo many requests are under way; try later";
/// So many are told at one time. Further ones are closed without a word.
const TOLD_MAX: usize = 16;
/// How long they get to read it.
const TELLING: Duration = Duration::from_secs(1);
/// How long the listener rests after it could not accept, which is so where files have run out.
const REST: Duration = Duration::from_millis(200);

/// Serves until `stop`, then lets the requests under way finish. Dropped, it cuts them off.
pub(crate) async fn serve(listener: TcpListener, app: Router, bounds: Bounds, stop: CancellationToken) {
    let mut connections = Connections {
        app: TowerToHyperService::new(app),
        bounds,
        stop: stop.clone(),
        turns: Arc::default(),
        open: HashMap::new(),
        tasks: JoinSet::new(),
        told: JoinSet::new(),
    };
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => connections.take(stream, from),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(REST).await;
                }
            },
            Some(ended) = connections.tasks.join_next_with_id() => {
                connections.open.remove(&ended.map_or_else(|error| error.id(), |(id, ())| id));
            }
            Some(_) = connections.told.join_next() => {}
            () = stop.cancelled() => break,
        }
    }
    drop(listener);
    while connections.tasks.join_next().await.is_some() {}
}

struct Connections {
    app: TowerToHyperService<Router>,
    bounds: Bounds,
    stop: CancellationToken,
    turns: Arc<AtomicU64>,
    open: HashMap<Id, Arc<Line>>,
    tasks: JoinSet<()>,
    told: JoinSet<()>,
}

impl Connections {
    fn take(&mut self, stream: TcpStream, from: SocketAddr) {
        // Without this every streamed answer waits for the client's delayed acknowledgement.
        let _ = stream.set_nodelay(true);
        if self.open.len() >= self.bounds.connections && !self.make_room() {
            if self.told.len() < TOLD_MAX {
                self.told.spawn(async move {
                    let _ = tokio::time::timeout(TELLING, turn_away(stream)).await;
                });
            }
            return;
        }
        let line = Arc::new(Line::new(&self.turns));
        let connection = Connection {
            app: self.app.clone(),
            bounds: self.bounds,
            from,
            line: Arc::clone(&line),
            stop: self.stop.clone(),
        };
        let task = self.tasks.spawn(connection.serve(stream));
        self.open.insert(task.id(), line);
    }

    /// Closes the connection that has not been at work for the longest, if there is one.
    fn make_room(&mut self) -> bool {
        let idle = self.open.iter().filter_map(|(id, line)| Some((line.idle_since()?, *id)));
        let Some((since, id)) = idle.min() else { return false };
        // It may have begun to work this very moment.
        if !self.open.get(&id).is_some_and(|line| line.close(since)) {
            return false;
        }
        self.open.remove(&id);
        true
    }
}

/// Says that there is no room, and lets it be read: what is closed with bytes unread is reset.
async fn turn_away(mut stream: TcpStream) -> std::io::Result<()> {
    stream.write_all(FULL).await?;
    stream.shutdown().await?;
    let mut unread = [0; 1024];
    while stream.read(&mut unread).await? > 0 {}
    Ok(())
}

/// Where a connection is between one answer and the next.
struct Line {
    /// [`AT_WORK`], [`CLOSED`], or the turn since which it is neither.
    state: AtomicU64,
    turns: Arc<AtomicU64>,
    closing: Notify,
}

const AT_WORK: u64 = 0;
const CLOSED: u64 = u64::MAX;

impl Line {
    fn new(turns: &Arc<AtomicU64>) -> Self {
        let turns = Arc::clone(turns);
        Self { state: AtomicU64::new(next(&turns)), turns, closing: Notify::new() }
    }

    fn idle_since(&self) -> Option<u64> {
        Some(self.state.load(Relaxed)).filter(|state| ![AT_WORK, CLOSED].contains(state))
    }

    /// Begins to work, unless the connection is closed already.
    fn works(&self) -> bool {
        self.state.fetch_update(Relaxed, Relaxed, |state| (state != CLOSED).then_some(AT_WORK)).is_ok()
    }

    fn rests(&self) {
        let _ = self.state.compare_exchange(AT_WORK, next(&self.turns), Relaxed, Relaxed);
    }

    /// Closes the connection, unless it did something since that turn.
    fn close(&self, since: u64) -> bool {
        let closes = self.state.compare_exchange(since, CLOSED, Relaxed, Relaxed).is_ok();
        if closes {
            self.closing.notify_one();
        }
        closes
    }
}

/// Turns begin with one, so that none is [`AT_WORK`].
fn next(turns: &AtomicU64) -> u64 {
    turns.fetch_add(1, Relaxed) + 1
}

struct Connection {
    app: TowerToHyperService<Router>,
    bounds: Bounds,
    from: SocketAddr,
    line: Arc<Line>,
    stop: CancellationToken,
}

impl Connection {
    async fn serve(self, stream: TcpStream) {
        let Self { app, bounds, from, line, stop } = self;
        let service = service_fn(|request: Request<Incoming>| {
            let line = Arc::clone(&line);
            let begins = !request.body().is_end_stream() || line.works();
            let mut request =
                request.map(|body| Reading { body, line: Arc::clone(&line), limit: bounds.body, late: None });
            request.extensions_mut().insert(ConnectInfo(from));
            let answer = begins.then(|| app.call(request));
            async move {
                // The connection is being closed: nothing is begun whose answer nobody would get.
                let Some(answer) = answer else { return std::future::pending().await };
                let response: Response<_> = answer.await?;
                Ok::<_, Infallible>(response.map(|body| Answering { body, line }))
            }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(bounds.head);
        let connection = http.serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let mut closing = std::pin::pin!(line.closing.notified());
        let mut stopping = std::pin::pin!(stop.cancelled());
        let mut stopped = false;
        loop {
            tokio::select! {
                biased;
                () = &mut closing => return,
                () = &mut stopping, if !stopped => {
                    stopped = true;
                    connection.as_mut().graceful_shutdown();
                }
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::trace!(%error, "a connection ended");
                    }
                    return;
                }
            }
        }
    }
}

/// A request's body. Its end is where the work begins.
struct Reading {
    body: Incoming,
    line: Arc<Line>,
    limit: Duration,
    late: Option<Pin<Box<Sleep>>>,
}

impl Body for Reading {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            let whole = frame.is_none() || this.body.is_end_stream();
            if whole && !this.line.works() {
                return Poll::Ready(Some(Err("the connection is closed".into())));
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(BoxError::from)));
        }
        let limit = this.limit;
        let late = this.late.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(late.as_mut().poll(context));
        Poll::Ready(Some(Err("the body took too long".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body. Once it is gone the connection rests.
struct Answering {
    body: axum::body::Body,
    line: Arc<Line>,
}

impl Body for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.line.rests();
    }
}

#[cfg(test)]
mod tests;
