//! The API: each answer is JSON, each refusal says what to do.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{RawQuery, State, rejection::BytesRejection},
    response::{IntoResponse, Response},
};
use http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;

use super::{
    Shared,
    reply::{Problem, ok},
    told::{
        Approvals, Audit, Blocks, Challenges, Code, Decided, NewToken, OneApproval, Revoked, ShownApproval,
        Unblocked,
    },
};
use crate::{
    inspect::query::{NoQuery, Place, Query},
    operator::{
        desk::Hand,
        explain::{Question, explain_today},
    },
    store::safety::{Answered, ApprovalState},
};

pub(super) type Answer = Result<Response, Problem>;
pub(super) type Body = Result<Bytes, BytesRejection>;

/// Audit entries in one answer.
const ENTRIES_DEFAULT: u32 = 100;
const ENTRIES_MAX: u32 = 1000;

pub(crate) const APPROVALS: &[&str] = &["state"];
pub(crate) const AUDIT: &[&str] = &["after", "limit"];
pub(crate) const POLICY: &[&str] = &["operation", "principal"];

/// The longest nonce of a process that asks whether we are one of its own.
const NONCE_CHARS_MAX: usize = 128;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Note {
    /// For the audit log.
    note: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reason {
    /// Why the block ends, for the audit log.
    #[schemars(length(min = 1))]
    reason: String,
}

pub(super) fn hand() -> Hand {
    Hand { by: "operator".to_owned(), channel: "page" }
}

pub(super) async fn approvals(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Answer {
    let query = Query::read(query.as_deref(), APPROVALS)?;
    let states = match query.text("state").as_deref() {
        None | Some("all") => ApprovalState::ALL.to_vec(),
        Some(word) => {
            let state = word.parse().map_err(|_| {
                let known: Vec<_> = ApprovalState::ALL.iter().map(|state| state.as_str()).collect();
                Problem::wrong(format!("'state' must be one of {} or all", known.join(", ")))
            })?;
            vec![state]
        }
    };
    let approvals = shared.desk.approvals(&states, Timestamp::now()).await?;
    let approvals = approvals.into_iter().map(ShownApproval::from).collect();
    Ok(ok(&Approvals { approvals }))
}

pub(super) async fn approval(
    State(shared): State<Arc<Shared>>,
    Place(id): Place<String>,
    _: NoQuery,
) -> Answer {
    let found = shared.desk.approval(&id, Timestamp::now()).await?;
    found.map(|approval| ok(&OneApproval { approval: approval.into() })).ok_or_else(no_approval)
}

pub(super) async fn approve(
    State(shared): State<Arc<Shared>>,
    Place(id): Place<String>,
    _: NoQuery,
    body: Body,
) -> Answer {
    answer(&shared, &id, true, body).await
}

pub(super) async fn deny(
    State(shared): State<Arc<Shared>>,
    Place(id): Place<String>,
    _: NoQuery,
    body: Body,
) -> Answer {
    answer(&shared, &id, false, body).await
}

async fn answer(shared: &Shared, id: &str, approve: bool, body: Body) -> Answer {
    let Note { note } = read_or_default(body)?;
    match shared.desk.answer(id, approve, &hand(), note.as_deref(), Timestamp::now()).await? {
        Answered::Done(approval) => Ok(ok(&OneApproval { approval: approval.into() })),
        Answered::AlreadyAnswered(approval) => {
            let message = format!("it is {} already; nothing was changed", approval.state.as_str());
            Err(Problem::new(StatusCode::CONFLICT, "ALREADY_ANSWERED", message))
        }
        Answered::Missing => Err(no_approval()),
    }
}

/// LREQ-TOKEN-12
pub(super) async fn revoke(
    State(shared): State<Arc<Shared>>,
    Place(id): Place<String>,
    _: NoQuery,
) -> Answer {
    if shared.desk.revoke(&id, &hand(), Timestamp::now()).await? {
        return Ok(ok(&Revoked { revoked: id }));
    }
    match shared.desk.approval(&id, Timestamp::now()).await? {
        Some(approval) => {
            let message = format!("it is {} and cannot be taken back", approval.state.as_str());
            Err(Problem::new(StatusCode::CONFLICT, "TOO_LATE", message))
        }
        None => Err(no_approval()),
    }
}

fn no_approval() -> Problem {
    Problem::missing("there is no such approval; GET /api/v1/approvals lists them")
}

pub(super) async fn blocks(State(shared): State<Arc<Shared>>, _: NoQuery) -> Answer {
    Ok(ok(&Blocks { blocks: shared.desk.blocks().await? }))
}

pub(super) async fn unblock(
    State(shared): State<Arc<Shared>>,
    Place(agent): Place<String>,
    _: NoQuery,
    body: Body,
) -> Answer {
    let Reason { reason } = read(body)?;
    if reason.trim().is_empty() {
        return Err(Problem::wrong("'reason' is empty; say why the block ends, for the audit log"));
    }
    let block = shared.desk.unblock(&agent, &hand(), &reason, Timestamp::now()).await?;
    let none = || Problem::missing("no such agent is blocked; GET /api/v1/blocks lists them");
    block.map(|unblocked| ok(&Unblocked { unblocked })).ok_or_else(none)
}

pub(super) async fn challenges(State(shared): State<Arc<Shared>>, _: NoQuery) -> Answer {
    Ok(ok(&Challenges { challenges: shared.desk.challenges(Timestamp::now()).await? }))
}

/// The code is in this one answer and nowhere else.
pub(super) async fn reveal(
    State(shared): State<Arc<Shared>>,
    Place(id): Place<String>,
    _: NoQuery,
) -> Answer {
    let revealed = shared.desk.reveal(&id, &hand(), Timestamp::now()).await?;
    let (challenge, code) = revealed.ok_or_else(|| {
        Problem::missing("there is no such challenge any more; GET /api/v1/challenges lists them")
    })?;
    Ok(ok(&Code { challenge, code }))
}

/// The token is in this one answer and nowhere else.
pub(super) async fn token(State(shared): State<Arc<Shared>>, Place(id): Place<String>, _: NoQuery) -> Answer {
    let made = shared.desk.token(&id, &hand(), Timestamp::now()).await?;
    let (approval, token) = made.ok_or_else(|| {
        Problem::missing("there is no such approval that waits; GET /api/v1/approvals lists them")
    })?;
    Ok(ok(&NewToken { approval: approval.into(), confirmation_token: token }))
}

pub(super) async fn audit(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Answer {
    let query = Query::read(query.as_deref(), AUDIT)?;
    let number = |name: &str| {
        let wrong = |_| Problem::wrong(format!("'{name}' must not be less than 0"));
        query.number(name)?.map(|number| u64::try_from(number).map_err(wrong)).transpose()
    };
    let after = number("after")?.unwrap_or_default();
    let limit = number("limit")?.map_or(ENTRIES_DEFAULT, |limit| u32::try_from(limit).unwrap_or(ENTRIES_MAX));
    let entries = shared.desk.audit(after, limit.clamp(1, ENTRIES_MAX)).await?;
    let last = shared.desk.audit_length().await?;
    Ok(ok(&Audit { entries, last }))
}

pub(super) async fn verify(State(shared): State<Arc<Shared>>, _: NoQuery) -> Answer {
    Ok(ok(&shared.desk.verify_audit().await?))
}

pub(super) async fn policy(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Answer {
    let query = Query::read(query.as_deref(), POLICY)?;
    let operation = query.text("operation");
    let operation = operation.ok_or_else(|| Problem::wrong("'operation' is missing; name one of ours"))?;
    let principal = query.text("principal");
    let blocks = shared.desk.blocks().await?;
    let Some(gateway) = &shared.gateway else {
        let message = "only the data is looked at here; ask the server that runs, or use 'aqueduct operator policy test'";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", message));
    };
    let surface = gateway.surface();
    let told =
        explain_today(surface.registry(), Question::Operation(operation), principal.as_deref(), blocks);
    told.map(|told| ok(&Decided::from(told))).map_err(|error| Problem::missing(error.message))
}

/// Answers another process of ours. It learns nothing that it does not know.
pub(super) async fn proof(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Answer {
    let query = Query::read(query.as_deref(), &["nonce"])?;
    let nonce = query.text("nonce").filter(|nonce| nonce.len() <= NONCE_CHARS_MAX);
    let nonce = nonce.ok_or_else(|| Problem::wrong("'nonce' is missing or too long"))?;
    Ok(ok(&json!({"proof": shared.key.proof(&nonce)})))
}

pub(super) async fn nothing() -> Problem {
    Problem::missing(
        "there is nothing here; the API begins with /api/v1, and GET /api/v1/openapi.json describes it",
    )
}

pub(super) async fn wrong_method() -> Response {
    let message = "this is asked with another method: GET to look, POST to act";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "WRONG_METHOD", message).into_response()
}

pub(super) fn read<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    let bytes = body.map_err(|_| {
        let limit = super::BODY_BYTES_MAX;
        let message = format!("the body is longer than {limit} bytes or was cut off");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE", message)
    })?;
    // A list would do for a struct too, with its values in our order.
    let object: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_slice(&bytes);
    object
        .and_then(|object| serde_json::from_value(object.into()))
        .map_err(|error| Problem::wrong(format!("the body is not the JSON that is expected: {error}")))
}

/// The same for a body that may be left out.
fn read_or_default<T: DeserializeOwned + Default>(body: Body) -> Result<T, Problem> {
    match &body {
        Ok(bytes) if bytes.is_empty() => Ok(T::default()),
        _ => read(body),
    }
}
