//! OTLP over HTTP, as its specification says: `POST /v1/traces`, answered in the form of the request.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::post,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use jiff::Timestamp;
use prost::Message;
use tokio::sync::Semaphore;

use super::{
    BODY_BYTES_MAX,
    read::{self, Received, Unreadable},
    wire::{Failure, PartialSuccess, Response as Answer},
};
use crate::{serve::http::Guard, trace::Span};

/// Where traces are reported.
pub const PATH: &str = "/v1/traces";

/// How many requests are read at once; each may take its longest body in memory.
const READING_MAX: usize = 8;
/// How long one waits for its turn, and for the rest of a body.
const TURN: Duration = Duration::from_secs(5);
pub(super) const BODY: Duration = Duration::from_secs(30);
/// What is longer is read aside, so that nobody waits for it.
const ASIDE_FROM_BYTES: usize = 64 * 1024;
/// When who reports too much may come back.
const RETRY_AFTER_SECONDS: u64 = 1;

/// Where reported spans go. It never waits.
pub trait Sink: Send + Sync + 'static {
    /// Takes all of them or none.
    fn report(&self, spans: Vec<Span>) -> Result<(), Full>;
}

/// There is no room for them now; they may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more is reported than can be written; send it again a little later")]
pub struct Full;

/// What both ways in share.
pub(super) struct Intake {
    sink: Arc<dyn Sink>,
    reading: Semaphore,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Protobuf,
    Json,
}

/// Why a request was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error("{0}")]
    Unreadable(#[from] Unreadable),
    #[error("the body is longer than {BODY_BYTES_MAX} bytes; send fewer spans in one request, or pack them")]
    TooLong,
    #[error("the body did not come to its end")]
    CutOff,
    #[error("the body must be 'application/x-protobuf' or 'application/json', packed with gzip or not")]
    Unsupported,
    #[error("{0}")]
    Full(#[from] Full),
    #[error("too many requests are being read; send it again a little later")]
    Busy,
    #[error("reading it failed; the log of the server tells more")]
    Failed,
}

impl Intake {
    pub(super) fn new(sink: Arc<dyn Sink>) -> Arc<Self> {
        Arc::new(Self { sink, reading: Semaphore::new(READING_MAX) })
    }

    /// A turn to read a body, which is asked for before any of it is kept.
    pub(super) async fn turn(&self) -> Result<tokio::sync::SemaphorePermit<'_>, Refused> {
        let turn = tokio::time::timeout(TURN, self.reading.acquire()).await;
        turn.map_err(|_| Refused::Busy)?.map_err(|_| Refused::Failed)
    }

    /// Reads a body and hands on what it reports.
    pub(super) async fn take(&self, body: Bytes, form: Form, packed: bool) -> Result<Answer, Refused> {
        let received = if body.len() < ASIDE_FROM_BYTES && !packed {
            received(&body, form, packed)?
        } else {
            let aside = tokio::task::spawn_blocking(move || received(&body, form, packed));
            aside.await.map_err(|_| Refused::Failed)??
        };
        let Received { spans, rejected, why } = received;
        if !spans.is_empty() {
            self.sink.report(spans)?;
        }
        let partial_success = why.map(|why| PartialSuccess {
            rejected_spans: i64::try_from(rejected).unwrap_or(i64::MAX),
            error_message: format!("{rejected} spans were not taken; the first because {why}"),
        });
        Ok(Answer { partial_success })
    }
}

fn received(body: &[u8], form: Form, packed: bool) -> Result<Received, Unreadable> {
    let unpacked = packed.then(|| read::unpack(body)).transpose()?;
    let body = unpacked.as_deref().unwrap_or(body);
    let now = i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
    match form {
        Form::Protobuf => read::protobuf(body, now),
        Form::Json => read::json(body, now),
    }
}

/// The router for OTLP over HTTP. The guard looks at every request before its body is read.
pub(super) fn router(intake: Arc<Intake>, guard: Guard) -> Router {
    Router::new()
        .route(PATH, post(traces))
        .with_state(intake)
        .fallback(nothing)
        .layer(middleware::from_fn_with_state(Arc::new(guard), admit))
}

/// A router for reported spans without a guard, for who brings their own.
pub fn bare(sink: Arc<dyn Sink>) -> Router {
    Router::new().route(PATH, post(traces)).with_state(Intake::new(sink))
}

async fn nothing() -> Response {
    let message = "traces are reported by POST to /v1/traces; metrics and logs are not taken here\n";
    (StatusCode::NOT_FOUND, message).into_response()
}

/// Pages in a browser may not report, and where tokens are configured they are asked for.
pub(super) async fn admit(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    // HTTP/2 says it elsewhere.
    if !request.headers().contains_key(header::HOST)
        && let Some(authority) = request.uri().authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        request.headers_mut().insert(header::HOST, host);
    }
    match guard.admit(request.headers()) {
        Ok(_) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

async fn traces(State(intake): State<Arc<Intake>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Some(form) = form(&parts.headers) else { return refuse(Form::Json, &Refused::Unsupported) };
    match take(&intake, &parts.headers, form, body).await {
        Ok(answer) => reply(StatusCode::OK, form, encode(form, &answer)),
        Err(refused) => refuse(form, &refused),
    }
}

async fn take(intake: &Intake, headers: &HeaderMap, form: Form, body: Body) -> Result<Answer, Refused> {
    let packed = match headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes) {
        None | Some(b"" | b"identity") => false,
        Some(b"gzip" | b"x-gzip") => true,
        Some(_) => return Err(Refused::Unsupported),
    };
    let _turn = intake.turn().await?;
    let read = tokio::time::timeout(BODY, axum::body::to_bytes(body, BODY_BYTES_MAX)).await;
    let body = read.map_err(|_| Refused::CutOff)?.map_err(|error| {
        let is_long = std::error::Error::source(&error)
            .is_some_and(|source| source.is::<http_body_util::LengthLimitError>());
        if is_long { Refused::TooLong } else { Refused::CutOff }
    })?;
    intake.take(body, form, packed).await
}

fn form(headers: &HeaderMap) -> Option<Form> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let kind = kind.split(';').next().unwrap_or_default().trim();
    match kind {
        _ if kind.eq_ignore_ascii_case("application/x-protobuf") => Some(Form::Protobuf),
        _ if kind.eq_ignore_ascii_case("application/json") => Some(Form::Json),
        _ => None,
    }
}

/// Statuses as the specification has them: what may be sent again is 429 or 503.
fn refuse(form: Form, refused: &Refused) -> Response {
    // The second number is gRPC's.
    let (status, code) = match refused {
        Refused::Unreadable(Unreadable::TooLong) | Refused::TooLong => (StatusCode::PAYLOAD_TOO_LARGE, 3),
        Refused::Unreadable(Unreadable::Malformed(_)) | Refused::CutOff => (StatusCode::BAD_REQUEST, 3),
        Refused::Unsupported => (StatusCode::UNSUPPORTED_MEDIA_TYPE, 3),
        Refused::Full(Full) => (StatusCode::TOO_MANY_REQUESTS, 8),
        Refused::Busy => (StatusCode::SERVICE_UNAVAILABLE, 14),
        Refused::Failed => (StatusCode::INTERNAL_SERVER_ERROR, 13),
    };
    let failure = Failure { code, message: refused.to_string() };
    let mut response = reply(status, form, encode(form, &failure));
    if matches!(refused, Refused::Full(_) | Refused::Busy) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
    }
    response
}

fn encode<T: Message + serde::Serialize>(form: Form, message: &T) -> Vec<u8> {
    match form {
        Form::Protobuf => message.encode_to_vec(),
        Form::Json => serde_json::to_vec(message).unwrap_or_else(|_| b"{}".to_vec()),
    }
}

fn reply(status: StatusCode, form: Form, body: Vec<u8>) -> Response {
    let kind = match form {
        Form::Protobuf => "application/x-protobuf",
        Form::Json => "application/json",
    };
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
}
