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
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::BodyExt;
use jiff::Timestamp;
use prost::Message;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use super::{
    BODY_BYTES_MAX,
    read::{self, Received, Unreadable},
    wire::{Failure, PartialSuccess, Response as Answer},
};
use crate::{serve::http::Guard, store::traces::Packed};

/// Where traces are reported.
pub const PATH: &str = "/v1/traces";

/// How long one waits for its turn.
const TURN: Duration = Duration::from_secs(5);
/// Bodies that have come in part or wait for their turn take so much memory together.
const BODIES_KIBIBYTES_MAX: usize = 64 * 1024;
/// How long a body may take to come: this, and the more the longer it is, up to a limit.
const BODY: Duration = Duration::from_secs(5);
const BODY_BYTES_A_SECOND_MIN: usize = 256 * 1024;
const BODY_MAX: Duration = Duration::from_secs(30);
/// What is longer is read aside, so that nobody waits for it.
const ASIDE_FROM_BYTES: usize = 64 * 1024;
/// How long a body waits for room before who sent it is asked to come again, and how often is looked. Without room it would be
/// read in vain, and take the time that is needed to make some.
const ROOM: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(2);
/// When who reports too much may come back.
const RETRY_AFTER_SECONDS: u64 = 1;

/// Where reported spans go. It never waits.
pub trait Sink: Send + Sync + 'static {
    /// Takes all of them or none.
    fn report(&self, spans: Vec<Packed>) -> Result<(), Full>;
    /// Whether there is room for a few more.
    fn has_room(&self) -> bool;
}

/// There is no room for them now; they may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more is reported than can be written; send it again a little later")]
pub struct Full;

/// What both ways in share.
pub(super) struct Intake {
    sink: Arc<dyn Sink>,
    reading: Semaphore,
    /// Kibibytes that bodies may still take.
    room: Arc<Semaphore>,
}

/// How many requests are read at once: half as many as there are processors, which leaves the others to calls and to the
/// thread that writes what was read. A turn is taken once the body is there, so that slow senders hold none.
fn reading_max() -> usize {
    (std::thread::available_parallelism().map_or(1, usize::from) / 2).max(1)
}

/// A body that has come whole, and the room that it takes.
pub(super) struct Whole {
    pub(super) bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
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
        let room = Arc::new(Semaphore::new(BODIES_KIBIBYTES_MAX));
        Arc::new(Self { sink, reading: Semaphore::new(reading_max()), room })
    }

    /// Waits for the whole of a body, for as long as it keeps coming. It takes room as it comes, so that who sends slowly
    /// takes little.
    pub(super) async fn whole(&self, body: Body, bytes_max: usize) -> Result<Whole, Refused> {
        self.whole_within(BODY, body, bytes_max).await
    }

    pub(super) async fn whole_within(
        &self,
        time: Duration,
        body: Body,
        bytes_max: usize,
    ) -> Result<Whole, Refused> {
        let begin = Instant::now();
        let mut body = body;
        let mut bytes = BytesMut::new();
        let mut room: Option<OwnedSemaphorePermit> = None;
        loop {
            let more = u64::try_from(bytes.len() / BODY_BYTES_A_SECOND_MIN).unwrap_or(u64::MAX);
            let until = begin + time.saturating_add(Duration::from_secs(more)).min(BODY_MAX);
            let frame = tokio::time::timeout_at(until, body.frame()).await.map_err(|_| Refused::CutOff)?;
            let Some(frame) = frame else { break };
            let Ok(data) = frame.map_err(|_| Refused::CutOff)?.into_data() else { continue };
            if bytes.len() + data.len() > bytes_max {
                return Err(Refused::TooLong);
            }
            let held = room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            let wanted = (bytes.len() + data.len()).div_ceil(1024).saturating_sub(held);
            if wanted > 0 {
                let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
                let more =
                    tokio::time::timeout(TURN, Arc::clone(&self.room).acquire_many_owned(wanted)).await;
                let more = more.map_err(|_| Refused::Busy)?.map_err(|_| Refused::Failed)?;
                match &mut room {
                    Some(room) => room.merge(more),
                    None => room = Some(more),
                }
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Whole { bytes: bytes.freeze(), _room: room })
    }

    /// A turn to read a body.
    pub(super) async fn turn(&self) -> Result<tokio::sync::SemaphorePermit<'_>, Refused> {
        let turn = tokio::time::timeout(TURN, self.reading.acquire()).await;
        turn.map_err(|_| Refused::Busy)?.map_err(|_| Refused::Failed)
    }

    /// Waits until there is room for what a body reports.
    async fn wait_for_room(&self) -> Result<(), Full> {
        let begin = Instant::now();
        while !self.sink.has_room() {
            if begin.elapsed() >= ROOM {
                return Err(Full);
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Reads a body and hands on what it reports.
    pub(super) async fn take(&self, body: Bytes, form: Form, packed: bool) -> Result<Answer, Refused> {
        self.wait_for_room().await?;
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
pub(super) fn router(intake: Arc<Intake>, door: Door) -> Router {
    Router::new()
        .route(PATH, post(traces))
        .with_state(intake)
        .fallback(nothing)
        .layer(middleware::from_fn_with_state(Arc::new(door), admit))
}

/// A router for reported spans without a guard, for who brings their own.
pub fn bare(sink: Arc<dyn Sink>) -> Router {
    Router::new().route(PATH, post(traces)).with_state(Intake::new(sink))
}

async fn nothing() -> Response {
    let message = "traces are reported by POST to /v1/traces; metrics and logs are not taken here\n";
    (StatusCode::NOT_FOUND, message).into_response()
}

/// Who may report.
#[derive(Clone)]
pub(super) struct Door {
    pub(super) guard: Guard,
    /// Pages that may, by what the operator has written. Elsewhere pages of this machine may call; here none may that is not
    /// named, since a page that anybody's program serves on a port of it could write what it likes into the Inspector.
    pub(super) origins: Vec<String>,
}

impl Door {
    fn is_for(&self, headers: &HeaderMap) -> bool {
        headers.get_all(header::ORIGIN).iter().all(|origin| {
            self.origins.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(origin.as_bytes()))
        })
    }
}

/// Pages in a browser may not report, and where tokens are configured they are asked for.
pub(super) async fn admit(State(door): State<Arc<Door>>, mut request: Request, next: Next) -> Response {
    // HTTP/2 says it elsewhere.
    if !request.headers().contains_key(header::HOST)
        && let Some(authority) = request.uri().authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        request.headers_mut().insert(header::HOST, host);
    }
    if !door.is_for(request.headers()) {
        let message = "Forbidden: pages may not report. Add the page's Origin to [server] allowed_origins if it should.\n";
        return (StatusCode::FORBIDDEN, message).into_response();
    }
    match door.guard.admit(request.headers()) {
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
    let body = intake.whole(body, BODY_BYTES_MAX).await?;
    let _turn = intake.turn().await?;
    intake.take(body.bytes.clone(), form, packed).await
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
