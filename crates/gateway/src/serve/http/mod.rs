//! MCP over streamable HTTP at `/mcp`.
//!
//! Every request passes the guard first: Host, Origin, credential. Then a plain tool call of a known session, or one
//! that says everything itself, is answered here; all else goes to the library untouched.

mod fast;
mod guard;
mod sessions;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::any,
};
use http::{Method, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use self::guard::Refusal;
pub use self::guard::{Credential, Guard};
use self::sessions::Sessions;
use super::{
    FRAME_BYTES_MAX, call,
    connections::{self, Bounds},
    frame::{self, Era, Frame, Opens},
    handler::Handler,
    reply, traced,
};
use crate::{
    pipeline::Gateway,
    session::{CancelledBy, Session, Transport},
    trace::ids::Given,
};

/// What the HTTP side needs to know besides the gateway.
pub struct Options {
    pub guard: Guard,
    /// A session unused for this long is ended.
    pub session_idle: Duration,
    /// How long calls may go on after a stop.
    pub grace: Duration,
    pub fast_path: bool,
}

/// A server that has its address but serves nobody yet.
pub struct Server {
    listener: tokio::net::TcpListener,
    gateway: Arc<Gateway>,
    options: Options,
}

/// Many, since each client may keep several; and not so many that the files of a process run out.
const BOUNDS: Bounds = Bounds {
    connections: 512,
    // Clients keep idle connections, and send into one that was just closed.
    head: Duration::from_mins(2),
    // A long message over a slow line takes its time.
    body: Duration::from_mins(2),
};

/// What connections get to close in any case.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How often idle sessions are looked for.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(15);

impl Server {
    pub async fn bind(address: SocketAddr, gateway: Arc<Gateway>, options: Options) -> std::io::Result<Self> {
        let listener = tokio::net::TcpListener::bind(address).await?;
        gateway.guard().listens(listener.local_addr()?);
        Ok(Self { listener, gateway, options })
    }

    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` resolves, then lets running calls finish, unless it is asked to stop once more.
    pub async fn serve<S: Future<Output = ()>>(self, stop: impl Fn() -> S) -> std::io::Result<()> {
        let Self { listener, gateway, options } = self;
        let tasks = TaskTracker::new();
        let streams = CancellationToken::new();
        let mut manager = LocalSessionManager::default();
        // The library would end sessions it sees no calls of; fast ones it never sees. We end idle ones ourselves.
        manager.session_config.keep_alive = None;
        let manager = Arc::new(manager);
        let handler = Handler { gateway: Arc::clone(&gateway), session: None, tasks: tasks.clone() };
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_json_response(true)
            .with_max_request_body_bytes(FRAME_BYTES_MAX)
            .with_cancellation_token(streams.clone());
        let library = StreamableHttpService::new(move || Ok(handler.clone()), Arc::clone(&manager), config);
        let front = Arc::new(Front {
            gateway,
            guard: options.guard,
            sessions: Sessions::new(manager),
            library,
            tasks: tasks.clone(),
            fast_path: options.fast_path,
        });
        let reaper = tokio::spawn(reap(Arc::clone(&front), options.session_idle));
        let app = Router::new().route("/mcp", any(entrance)).with_state(Arc::clone(&front));
        let stopping = CancellationToken::new();
        let mut server = tokio::spawn(connections::serve(listener, app, BOUNDS, stopping.clone()));
        tokio::select! {
            ended = &mut server => return ended.map_err(std::io::Error::other),
            () = stop() => {}
        }
        stopping.cancel();
        tasks.close();
        let deadline = tokio::time::Instant::now() + options.grace;
        tokio::select! {
            () = tasks.wait() => {}
            () = tokio::time::sleep_until(deadline) => {
                tracing::warn!("some calls were still running when the time to finish was over");
            }
            () = stop() => {}
        }
        reaper.abort();
        front.sessions.end_all();
        // Only now: streams carry the answers of calls that were still running.
        streams.cancel();
        // A slow reader may take what is left of the time for an answer that is on its way.
        let rest = deadline.saturating_duration_since(tokio::time::Instant::now()).max(LAST_WORDS);
        tokio::select! {
            _ = tokio::time::timeout(rest, server) => {}
            () = stop() => {}
        }
        Ok(())
    }
}

struct Front {
    gateway: Arc<Gateway>,
    guard: Guard,
    sessions: Sessions,
    library: StreamableHttpService<Handler, LocalSessionManager>,
    tasks: TaskTracker,
    fast_path: bool,
}

async fn reap(front: Arc<Front>, idle: Duration) {
    loop {
        tokio::time::sleep(IDLE_CHECK_INTERVAL.min(idle)).await;
        front.sessions.end_idle(idle).await;
    }
}

async fn entrance(State(front): State<Arc<Front>>, request: Request) -> Response {
    let principal = match front.guard.admit(request.headers()) {
        Ok(principal) => principal,
        Err(refusal) => return refusal.into_response(),
    };
    if let Some(bearers) = front.gateway.upstreams().and_then(|upstreams| upstreams.bearers()) {
        bearers.note(&principal, request.headers());
    }
    match *request.method() {
        Method::POST => {
            // Held until the answer's last byte is handed over, so that a stop waits for it.
            let running = front.tasks.token();
            let response = front.post(&principal, request).await;
            response.map(|body| {
                Body::new(body.map_frame(move |frame| {
                    let _ = &running;
                    frame
                }))
            })
        }
        Method::DELETE => front.delete(&principal, request).await,
        _ => front.pass(&principal, request).await,
    }
}

impl Front {
    async fn post(self: &Arc<Self>, principal: &str, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let announced =
            parts.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if announced.is_some_and(|length: usize| length > FRAME_BYTES_MAX) {
            return too_long();
        }
        let Ok(body) = Limited::new(body, FRAME_BYTES_MAX).collect().await.map(|body| body.to_bytes()) else {
            return too_long();
        };
        let known = self.sessions.of(&parts.headers, principal);
        let mut initializes = false;
        let id = match frame::read(&body) {
            Frame::Refused(reply) => return json(StatusCode::BAD_REQUEST, reply),
            Frame::NotUtf8 { id, tool, era, offset } => {
                let about = ("tools/call", Some(&*tool));
                let session = self.session_of_request(&parts.headers, principal, known.as_ref(), era, about);
                let Some(session) = session else {
                    let message = "The message is not valid UTF-8";
                    return json(StatusCode::BAD_REQUEST, reply::error(&id, reply::PARSE_ERROR, message));
                };
                let answer = call::not_utf8(&session, offset);
                let around = Given::of_headers(&parts.headers);
                traced::unreadable(&self.gateway, &session, (&id, &tool), around, &answer);
                return json(StatusCode::OK, reply::tool_result(&id, &answer, era == Era::SelfContained));
            }
            Frame::Call(tool_call) => {
                if let Some(response) = self.call(&parts.headers, principal, known.as_ref(), &tool_call).await
                {
                    return response;
                }
                Some(tool_call.id)
            }
            Frame::Cancelled(id) => {
                if let Some(session) = &known {
                    session.cancel(&id, CancelledBy::Client);
                }
                None
            }
            Frame::Request { id, opens, elsewhere } => {
                if let Some(request) = elsewhere
                    && let Some(response) =
                        self.elsewhere(&parts.headers, principal, known.as_ref(), &id, &request).await
                {
                    return response;
                }
                initializes = opens == Opens::Initialize && sessions::wire_id(&parts.headers).is_none();
                Some(id)
            }
            Frame::Notice => None,
        };
        // The library has only its own parser's words for what it cannot read.
        if serde_json::from_slice::<ClientJsonRpcMessage>(&body).is_err() {
            let message = "The message's parameters are malformed";
            let id = id.as_deref().unwrap_or("null");
            return json(StatusCode::BAD_REQUEST, reply::error(id, reply::INVALID_PARAMS, message));
        }
        let request = http::Request::from_parts(parts, Body::from(body.clone()));
        if !initializes {
            return self.library(principal, known, request).await;
        }
        // A client that hangs up meanwhile must not leave a session behind that nobody knows.
        let (front, principal) = (Arc::clone(self), principal.to_owned());
        let opening = self.tasks.spawn(async move { front.initialize(&principal, request).await });
        opening.await.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
    }

    async fn delete(&self, principal: &str, request: Request) -> Response {
        let id = sessions::wire_id(request.headers()).map(str::to_owned);
        let known = self.sessions.of(request.headers(), principal);
        let mut response = self.library(principal, known.clone(), request).await;
        if let (Some(id), Some(_), true) = (id, known, response.status().is_success()) {
            self.sessions.close(&id);
            // It is done, not merely accepted; clients take the library's 202 for a failure.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        response
    }

    async fn pass(&self, principal: &str, request: Request) -> Response {
        let known = self.sessions.of(request.headers(), principal);
        self.library(principal, known, request).await
    }

    /// Hands a request to the library that belongs to a session, or to its principal where it names none.
    async fn library(&self, principal: &str, known: Option<Arc<Session>>, request: Request) -> Response {
        if sessions::wire_id(request.headers()).is_some() && known.is_none() {
            // Unknown, or somebody else's: both get the same words.
            return (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response();
        }
        let session = known.unwrap_or_else(|| self.sessions.stateless(principal));
        self.hand_over(session, request).await
    }

    /// Has the library begin a session. It is there once the library has given it an id.
    async fn initialize(&self, principal: &str, request: Request) -> Response {
        let session = Arc::new(Session::new(Transport::Http, principal));
        let response = self.hand_over(Arc::clone(&session), request).await;
        if let Some(id) = sessions::wire_id(response.headers()) {
            self.sessions.open(id, session).await;
        }
        response
    }

    async fn hand_over(&self, session: Arc<Session>, mut request: Request) -> Response {
        if request.headers().get(header::CONTENT_TYPE).is_none() && request.method() == Method::POST {
            return (StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json")
                .into_response();
        }
        request.extensions_mut().insert(session);
        self.library.handle(request).await.into_response()
    }
}

fn too_long() -> Response {
    let message = format!("The message is longer than {FRAME_BYTES_MAX} bytes or was cut off");
    json(StatusCode::PAYLOAD_TOO_LARGE, reply::error("null", reply::PARSE_ERROR, &message))
}

fn json(status: StatusCode, body: Vec<u8>) -> Response {
    let content_type = (header::CONTENT_TYPE, "application/json");
    (status, [content_type], Body::new(Full::from(body))).into_response()
}
