//! An upstream that is reached by streamable HTTP. A request is a POST, its answer JSON or a stream of messages.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use sse_stream::SseStream;

use super::{
    open::Era,
    peer::{Failure, Peer},
    pressure::Pressure,
    veil::Veil,
    wire::{Params, SELF_CONTAINED},
};
use crate::{
    bearers::Bearers,
    config::{Bearer, Secret},
    outgoing,
    trace::OpenSpan,
};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// A longer answer is given up: nobody could answer with it.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How much of an error's body is repeated.
const ERROR_TEXT_BYTES: usize = 300;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A stream of the server's own messages that ends is asked for again after this.
const LISTEN_AGAIN: Duration = Duration::from_secs(5);
/// A program that prints a token and hangs is given up.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(30);
/// What nobody waits for is given up after this.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// A token is asked for again after this, or when it is refused.
const TOKEN_KEPT: Duration = Duration::from_mins(5);

/// How the reason begins where there is none.
pub(super) const NO_TOKEN: &str = "there is no bearer token";
/// How it begins where nobody listens.
pub(super) const NO_CONNECTION: &str = "no connection could be made";

pub(super) struct HttpLink {
    client: reqwest::Client,
    url: String,
    headers: HeaderMap,
    bearer: Option<Bearer>,
    behalf: Option<Behalf>,
    /// The token that was last asked for, and when.
    token: tokio::sync::Mutex<Option<(HeaderValue, Instant)>>,
    session: Mutex<Session>,
    /// Hears when to come back.
    pressure: Arc<Pressure>,
}

/// The caller that a connection is for, with the token that they show us.
#[derive(Clone)]
pub(super) struct Behalf {
    bearers: Arc<Bearers>,
    principal: String,
}

impl Behalf {
    pub(super) fn new(bearers: &Arc<Bearers>, principal: &str) -> Self {
        Self { bearers: Arc::clone(bearers), principal: principal.to_owned() }
    }

    fn token(&self) -> Option<HeaderValue> {
        self.bearers.of(&self.principal)
    }
}

#[derive(Default)]
struct Session {
    era: Option<Era>,
    /// The revision that an initialized session speaks.
    version: Option<HeaderValue>,
    id: Option<HeaderValue>,
}

fn client() -> Result<reqwest::Client, Failure> {
    outgoing::client().map_err(|error| Failure::Unreachable(format!("no HTTP client could be made: {error}")))
}

impl HttpLink {
    pub(super) fn new(
        url: &str,
        given: &[(String, Secret)],
        bearer: Option<&Bearer>,
    ) -> Result<Self, Failure> {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            let name: HeaderName =
                name.parse().map_err(|_| Failure::Unreachable(format!("'{name}' is no name of a header")))?;
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| {
                Failure::Unreachable(format!("the value of header '{name}' has characters it may not have"))
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(Self {
            client: client()?,
            url: url.to_owned(),
            headers,
            bearer: bearer.cloned(),
            behalf: None,
            token: tokio::sync::Mutex::default(),
            session: Mutex::default(),
            pressure: Arc::default(),
        })
    }

    /// The same, telling that one when the server wants to be left alone.
    #[must_use]
    pub(super) fn under(self, pressure: Arc<Pressure>) -> Self {
        Self { pressure, ..self }
    }

    /// The same with a caller's own token, as long as there is one.
    #[must_use]
    pub(super) fn on_behalf_of(self, behalf: Option<Behalf>) -> Self {
        Self { behalf, ..self }
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which life the connection leads from now on.
    pub(super) fn lives(&self, era: Era, version: &str) {
        let mut session = self.session();
        session.era = Some(era);
        session.version = HeaderValue::from_str(version).ok();
    }

    /// The headers of a request. `method` and `name` are told apart only where the protocol wants them.
    async fn headers(
        &self,
        method: Option<&str>,
        name: Option<&str>,
        extra: &[(String, String)],
    ) -> Result<HeaderMap, Failure> {
        let mut headers = self.headers.clone();
        {
            let session = self.session();
            match session.era {
                Some(Era::Initialized) => {
                    headers.extend(session.version.clone().map(|version| (VERSION, version)));
                    headers.extend(session.id.clone().map(|id| (SESSION, id)));
                }
                Some(Era::SelfContained) => {
                    headers.insert(VERSION, HeaderValue::from_static(SELF_CONTAINED));
                    if let Some(method) = method.and_then(|method| HeaderValue::from_str(method).ok()) {
                        headers.insert(METHOD, method);
                    }
                    if let Some(name) = name.and_then(header_value) {
                        headers.insert(NAME, name);
                    }
                    for (param, value) in extra {
                        let name = HeaderName::from_bytes(format!("mcp-param-{param}").as_bytes());
                        if let (Ok(name), Some(value)) = (name, header_value(value)) {
                            headers.insert(name, value);
                        }
                    }
                }
                None => {}
            }
        }
        match (self.behalf.as_ref().and_then(Behalf::token), &self.bearer) {
            (Some(token), _) => drop(headers.insert(header::AUTHORIZATION, token)),
            (None, Some(bearer)) => {
                headers.insert(header::AUTHORIZATION, self.authorization(bearer).await?);
            }
            (None, None) => {}
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        Ok(headers)
    }

    async fn authorization(&self, bearer: &Bearer) -> Result<HeaderValue, Failure> {
        let mut kept = self.token.lock().await;
        if let Some((value, since)) = kept.as_ref()
            && since.elapsed() < TOKEN_KEPT
        {
            return Ok(value.clone());
        }
        let token = token(bearer).await?;
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
            Failure::Unreachable("the bearer token has characters it may not have".to_owned())
        })?;
        value.set_sensitive(true);
        *kept = Some((value.clone(), Instant::now()));
        Ok(value)
    }

    /// Posts a request and hands everything that comes back to the peer, until the answer is there.
    pub(super) async fn request(
        &self,
        peer: &Arc<Peer>,
        frame: Vec<u8>,
        method: &str,
        params: &Params,
        id: u64,
        span: Option<&OpenSpan>,
    ) -> Result<(), Failure> {
        let mut headers = self.headers(Some(method), params.name(), params.headers()).await?;
        headers.extend(span.into_iter().flat_map(OpenSpan::headers));
        let token = headers.get(header::AUTHORIZATION).cloned();
        let post = |headers, frame| self.client.post(&self.url).headers(headers).body(frame).send();
        let mut response = post(headers, frame.clone()).await.map_err(unreachable)?;
        if response.status() == StatusCode::UNAUTHORIZED && self.bearer.is_some() {
            // The token may have run out since it was asked for, and others may have noticed that already.
            self.token.lock().await.take_if(|(kept, _)| Some(&*kept) == token.as_ref());
            let mut headers = self.headers(Some(method), params.name(), params.headers()).await?;
            headers.extend(span.into_iter().flat_map(OpenSpan::headers));
            response = post(headers, frame).await.map_err(unreachable)?;
        }
        if method == "initialize"
            && let Some(given) = response.headers().get(SESSION)
        {
            self.session().id = Some(given.clone());
        }
        let status = response.status();
        self.pressure.heed(status, response.headers()).await;
        if status == StatusCode::NOT_FOUND && self.session().id.is_some() && method != "initialize" {
            return Err(Failure::SessionLost);
        }
        let is_stream = content_type(&response).starts_with("text/event-stream");
        if status.is_success() && is_stream {
            return stream(response, peer, Some(id)).await;
        }
        let body = whole(response).await?;
        if status == StatusCode::BAD_REQUEST && method != "initialize" && self.has_lost_session(&body, id) {
            return Err(Failure::SessionLost);
        }
        // An error of the protocol comes with an HTTP error, and its answer in the body.
        if status.is_success() || answers(&body, id) {
            peer.receive(&body);
            return Ok(());
        }
        Err(Failure::Refused(status, self.veil().await.cover(refused(status, &body))))
    }

    /// Whether a refusal says that the session is not known. 404 is the code for that, but many servers send 400.
    fn has_lost_session(&self, body: &[u8], id: u64) -> bool {
        let text = String::from_utf8_lossy(body).to_ascii_lowercase();
        self.session().id.is_some() && !answers(body, id) && text.contains("session")
    }

    /// Covers what we sent, should the server repeat it.
    async fn veil(&self) -> Veil {
        let mut veil = Veil::default();
        let token = self.token.lock().await;
        for value in self.headers.values().chain(token.iter().map(|(value, _)| value)) {
            let value = value.to_str().unwrap_or_default();
            veil.add(value.strip_prefix("Bearer ").unwrap_or(value));
        }
        veil
    }

    /// Sends what needs no answer, without waiting.
    pub(super) fn send_later(self: &Arc<Self>, frame: Vec<u8>) {
        let link = Arc::clone(self);
        tokio::spawn(async move { link.send(frame).await });
    }

    async fn send(&self, frame: Vec<u8>) {
        let method = super::wire::Message::read(&frame)
            .and_then(|message| message.method.map(|method| method.into_owned()));
        if let Ok(headers) = self.headers(method.as_deref(), None, &[]).await {
            // What nobody waits for can only be tried.
            let sent = self.client.post(&self.url).headers(headers).body(frame).send();
            let _ = tokio::time::timeout(SEND_TIMEOUT, sent).await;
        }
    }

    /// Tells an initialized session that a request is given up. Elsewhere the end of the request has said it.
    pub(super) fn cancel_later(self: &Arc<Self>, frame: Vec<u8>) {
        if self.session().era == Some(Era::Initialized) {
            self.send_later(frame);
        }
    }

    /// Listens to what an initialized session says by itself, as long as the peer lives. Many servers say nothing.
    pub(super) async fn listen(&self, peer: &Arc<Peer>) {
        while !peer.is_over() {
            let Ok(mut headers) = self.headers(None, None, &[]).await else { return };
            headers.remove(header::CONTENT_TYPE);
            headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
            let response = tokio::select! {
                response = self.client.get(&self.url).headers(headers).send() => response,
                () = peer.ended() => return,
            };
            match response {
                Ok(response)
                    if response.status().is_success()
                        && content_type(&response).starts_with("text/event-stream") =>
                {
                    tokio::select! {
                        _ = stream(response, peer, None) => {}
                        () = peer.ended() => return,
                    }
                }
                // It offers no such stream, or no longer knows the session.
                Ok(_) => return,
                Err(_) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(LISTEN_AGAIN) => {}
                () = peer.ended() => return,
            }
        }
    }

    /// Whether the older transport is spoken there: a stream of events that begins with where to post.
    pub(super) async fn is_older(&self) -> bool {
        let Ok(mut headers) = self.headers(None, None, &[]).await else { return false };
        headers.remove(header::CONTENT_TYPE);
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        let first = async {
            let response = self.client.get(&self.url).headers(headers).send().await.ok()?;
            let is_stream = content_type(&response).starts_with("text/event-stream");
            if !response.status().is_success() || !is_stream {
                return None;
            }
            let mut events = SseStream::from_bytes_stream(response.bytes_stream());
            events.next().await?.ok()?.event
        };
        let first = tokio::time::timeout(CONNECT_TIMEOUT, first).await.ok().flatten();
        first.is_some_and(|event| event == "endpoint")
    }

    /// Says that an initialized session is not needed any more.
    pub(super) async fn close(&self) {
        if self.session().id.is_none() {
            return;
        }
        if let Ok(headers) = self.headers(None, None, &[]).await {
            let deleted = self.client.delete(&self.url).headers(headers).send();
            let _ = tokio::time::timeout(CONNECT_TIMEOUT, deleted).await;
        }
    }
}

fn content_type(response: &reqwest::Response) -> String {
    let given = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    given.unwrap_or_default().to_ascii_lowercase()
}

/// Reads a stream of messages until its end, or until the request with that id is answered.
async fn stream(response: reqwest::Response, peer: &Arc<Peer>, until: Option<u64>) -> Result<(), Failure> {
    // What came since the last message: one without end must not fill the memory.
    let pending = AtomicUsize::new(0);
    let counted = response.bytes_stream().map(|chunk| {
        let chunk = chunk.map_err(std::io::Error::other)?;
        match pending.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len() {
            0..=MESSAGE_BYTES_MAX => Ok(chunk),
            _ => Err(std::io::Error::from(std::io::ErrorKind::FileTooLarge)),
        }
    });
    let mut events = SseStream::from_bytes_stream(counted);
    while let Some(event) = events.next().await {
        if pending.swap(0, Ordering::Relaxed) > MESSAGE_BYTES_MAX {
            return Err(too_long());
        }
        let Ok(event) = event else {
            return Err(Failure::Broken("its stream of messages broke off".to_owned()));
        };
        let Some(data) = event.data.filter(|data| !data.is_empty()) else { continue };
        let message = Bytes::from(data);
        peer.receive(&message);
        if until.is_some_and(|id| answers(&message, id)) {
            return Ok(());
        }
    }
    Ok(())
}

fn answers(message: &[u8], id: u64) -> bool {
    super::wire::Message::read(message).is_some_and(|message| message.answers() == Some(id))
}

fn too_long() -> Failure {
    Failure::Unreachable(format!("it sent a message of more than {MESSAGE_BYTES_MAX} bytes"))
}

async fn whole(response: reqwest::Response) -> Result<Bytes, Failure> {
    if response.content_length().is_some_and(|length| length > MESSAGE_BYTES_MAX as u64) {
        return Err(too_long());
    }
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk.map_err(unreachable)?);
        if body.len() > MESSAGE_BYTES_MAX {
            return Err(too_long());
        }
    }
    Ok(body.into())
}

/// Without the address: it may hold a secret.
fn unreachable(error: reqwest::Error) -> Failure {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    let text = match (error.is_connect(), error.is_timeout()) {
        (_, true) => "it did not answer in time".to_owned(),
        (true, _) => format!("{NO_CONNECTION}: {text}"),
        _ => text,
    };
    Failure::Unreachable(text)
}

fn refused(status: StatusCode, body: &[u8]) -> String {
    let what = match status {
        StatusCode::UNAUTHORIZED => {
            "it wants a credential (HTTP 401); set 'bearer_env', 'bearer_command' or 'headers', or 'forward_auth' if it takes your callers' tokens".to_owned()
        }
        StatusCode::FORBIDDEN => "its credential does not allow this (HTTP 403)".to_owned(),
        StatusCode::NOT_FOUND => {
            "nothing is there (HTTP 404); check the path in 'url', often '/mcp'".to_owned()
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            "it takes no POST (HTTP 405); the older HTTP+SSE transport is not spoken".to_owned()
        }
        status if status.is_redirection() => {
            format!("it redirects elsewhere (HTTP {}); put the final address in 'url'", status.as_u16())
        }
        status => format!("it answered HTTP {}", status.as_u16()),
    };
    let text = String::from_utf8_lossy(body);
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() || status == StatusCode::UNAUTHORIZED || text.starts_with('<') {
        return what;
    }
    let end = text.floor_char_boundary(ERROR_TEXT_BYTES);
    format!("{what}: {}", text.get(..end).unwrap_or_default())
}

/// Values that a header cannot carry as they are go in base64.
fn header_value(value: &str) -> Option<HeaderValue> {
    let plain = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && !value.starts_with(' ')
        && !value.ends_with(' ')
        && (!value.starts_with("=?base64?") || !value.ends_with("?="));
    if plain {
        return HeaderValue::from_str(value).ok();
    }
    HeaderValue::from_str(&format!("=?base64?{}?=", BASE64_STANDARD.encode(value))).ok()
}

/// The token as it is now: it may be renewed while we run.
async fn token(bearer: &Bearer) -> Result<String, Failure> {
    let no_token = |why: &str| Failure::Unreachable(format!("{NO_TOKEN}: {why}"));
    match bearer {
        Bearer::Variable(name) => std::env::var(name)
            .map(|token| token.trim().to_owned())
            .map_err(|_| no_token(&format!("the environment variable '{name}' is not set"))),
        Bearer::Command(command) => {
            let Some((program, args)) = command.split_first() else {
                return Err(no_token("'bearer_command' is empty"));
            };
            let run = tokio::process::Command::new(program).args(args).kill_on_drop(true).output();
            match tokio::time::timeout(TOKEN_TIMEOUT, run).await {
                Ok(Ok(output)) if output.status.success() => {
                    let token = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                    if token.is_empty() {
                        Err(no_token(&format!("'{program}' printed nothing")))
                    } else {
                        Ok(token)
                    }
                }
                Ok(Ok(output)) => {
                    let code = output
                        .status
                        .code()
                        .map_or("a signal".to_owned(), |code| format!("exit code {code}"));
                    Err(no_token(&format!("'{program}' ended with {code}")))
                }
                Ok(Err(error)) => Err(no_token(&format!("'{program}' could not be run: {error}"))),
                Err(_) => Err(no_token(&format!("'{program}' took too long"))),
            }
        }
    }
}
