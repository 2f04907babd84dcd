//! Who is let in: the right Host, a page of ours if any, and the key.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aql::audit::{Event, Outcome};
use axum::{
    extract::{ConnectInfo, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use jiff::Timestamp;
use serde_json::json;

use super::{
    super::lockout::Lockout,
    Shared,
    reply::{Problem, add_headers},
};
use crate::{
    inspect::{Role, page},
    serve::http::Refusal,
};

/// Where processes of ours find out about each other.
pub(super) const PROOF_PATH: &str = "/api/proof";
/// Where webhooks answer. A signature stands in place of the key.
pub(super) const WEBHOOK_PATH: &str = "/api/webhook/answer";

/// Every request passes here, and every answer gets its headers here.
pub(super) async fn entrance(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    // The page holds no data, so no key is asked of who loads it. Nothing else is reached this way.
    if is_of_page(&request) && came_here(&shared, request.headers()).is_ok() {
        return page::answer(request.uri().path(), request.headers());
    }
    let now = Timestamp::now();
    let mut response = match admit(&shared, from.ip(), &request, now) {
        Ok(role) => {
            request.extensions_mut().insert(role);
            next.run(request).await
        }
        Err(Refused { response, begun }) => {
            if let Some(wait) = begun {
                tell(&shared, from.ip(), wait, now).await;
            }
            *response
        }
    };
    add_headers(response.headers_mut());
    response
}

/// Who is not let in, and for how long they are not listened to from now on.
struct Refused {
    response: Box<Response>,
    begun: Option<Duration>,
}

impl From<Response> for Refused {
    fn from(response: Response) -> Self {
        Self { response: Box::new(response), begun: None }
    }
}

/// Whether it asks for the page, whatever the place of it.
fn is_of_page(request: &Request) -> bool {
    let mut parts = request.uri().path().split('/').skip(1);
    let is_api = matches!(parts.next(), Some("api" | "metrics"));
    matches!(*request.method(), Method::GET | Method::HEAD) && !is_api
}

/// Whether the right Host was asked, by a page of ours if by any. Whose key was brought, if anybody's.
fn came_here(shared: &Shared, headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let foreign = || Problem::new(StatusCode::FORBIDDEN, "FORBIDDEN", "other pages may not call here");
    let principal = match shared.guard.admit(headers) {
        Err(Refusal::Host) => {
            let message = "this Host is not known here; use the address that the server printed";
            return Err(Problem::new(StatusCode::FORBIDDEN, "FORBIDDEN", message));
        }
        Err(Refusal::Twice) => return Err(Problem::wrong("a header is given twice; send it once")),
        Err(Refusal::Origin) => return Err(foreign()),
        Ok(principal) => Some(principal),
        Err(Refusal::Credential) => None,
    };
    // Stricter than for agents: other pages of this machine are none of ours either.
    if is_own_page(headers) { Ok(principal) } else { Err(foreign()) }
}

fn admit(shared: &Shared, from: IpAddr, request: &Request, now: Timestamp) -> Result<Role, Refused> {
    let headers = request.headers();
    let principal = came_here(shared, headers).map_err(IntoResponse::into_response)?;
    let refuse = |status, code, message: &str| Problem::new(status, code, message).into_response();
    let path = request.uri().path();
    let has_other_proof = (request.method() == Method::GET && path == PROOF_PATH)
        || (request.method() == Method::POST && path == WEBHOOK_PATH);
    if has_other_proof {
        return Ok(Role::Viewer);
    }
    // Whoever else of this machine guesses must not keep the operator out, so the right key is never made to wait. Nobody
    // finds it by asking more often: it has 256 random bits.
    if let Some(principal) = principal {
        if principal == Role::Operator.as_str() {
            return Ok(Role::Operator);
        }
        // What is secret is only ever told to who posts.
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let message = "the viewer's key only looks; whoever acts brings the operator's key";
            return Err(refuse(StatusCode::FORBIDDEN, "FORBIDDEN", message).into());
        }
        return Ok(Role::Viewer);
    }
    if let Some(wait) = remaining(&shared.lockout, from, now) {
        return Err(locked(wait).into());
    }
    let unauthorized = || {
        let message = "the operator's key is missing or wrong; send it as 'Authorization: Bearer KEY'";
        let mut response = refuse(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message);
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        response
    };
    // Who brings nothing has guessed nothing.
    if !headers.contains_key(header::AUTHORIZATION) {
        return Err(unauthorized().into());
    }
    let begun = lock(&shared.lockout).failed(from, now);
    Err(Refused { begun, ..unauthorized().into() })
}

/// A page may only call the very address that it came from.
fn is_own_page(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let text = |value: &HeaderValue| value.to_str().ok().map(str::to_ascii_lowercase);
    let (Some(origin), Some(host)) = (text(origin), headers.get(header::HOST).and_then(text)) else {
        return false;
    };
    origin == format!("http://{host}") || origin == format!("https://{host}")
}

/// The log tells the first of it; a flood of guesses is no flood of entries.
async fn tell(shared: &Shared, from: IpAddr, wait: Duration, now: Timestamp) {
    tracing::warn!(target: "audit", %from, seconds = wait.as_secs(), "wrong keys for the operator's listener");
    let event = Event {
        outcome: Some(Outcome::Denied),
        channel: Some("page".to_owned()),
        reasons: vec!["too many wrong keys".to_owned()],
        detail: Some(json!({"from": from.to_string(), "seconds": wait.as_secs()})),
        ..Event::new("OPERATOR_LOCKED_OUT")
    };
    if let Err(error) = shared.desk.note(event, now).await {
        tracing::error!(%error, "a lockout could not be written down");
    }
}

pub(super) fn remaining(lockout: &Mutex<Lockout>, from: IpAddr, now: Timestamp) -> Option<Duration> {
    lock(lockout).remaining(from, now)
}

pub(super) fn lock(lockout: &Mutex<Lockout>) -> std::sync::MutexGuard<'_, Lockout> {
    lockout.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn locked(wait: Duration) -> Response {
    let seconds = wait.as_secs().max(1);
    let message = format!(
        "too many wrong attempts; try again in {seconds} seconds, or use 'aqueduct operator' meanwhile"
    );
    let mut response = Problem::new(StatusCode::TOO_MANY_REQUESTS, "LOCKED_OUT", message).into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}
