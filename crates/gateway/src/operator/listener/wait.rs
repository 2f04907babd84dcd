//! Waiting for news: an answer comes as soon as what waits for the operator is not what they have seen.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{RawQuery, State},
    response::Response,
};
use http::StatusCode;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::{
    Shared,
    reply::{Problem, ok},
    told::{News, ShownApproval},
};
use crate::{
    inspect::{Role, query::Query},
    operator::signature::hex,
};

pub(crate) const WAIT: &[&str] = &["seen"];

/// Other processes write to the store too, so that it has to be looked at.
const LOOK: Duration = Duration::from_millis(300);
/// Below what proxies and browsers take for a dead connection.
const LONGEST: Duration = Duration::from_secs(25);

/// `seen` is the tag of the last answer; without it what there is now is answered.
pub(super) async fn wait(
    State(shared): State<Arc<Shared>>,
    Extension(role): Extension<Role>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let query = Query::read(query.as_deref(), WAIT)?;
    let seen = query.text("seen");
    let Ok(_place) = shared.waiting.try_acquire() else {
        let message = "too many wait for news already; try again in a moment";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "BUSY", message));
    };
    let deadline = tokio::time::Instant::now() + LONGEST;
    loop {
        let now = Timestamp::now();
        let (approvals, challenges) = (shared.desk.pending(now).await?, shared.desk.challenges(now).await?);
        let mut hasher = Sha256::new();
        let inputs = super::inputs::shown(&shared, role).await?;
        let ids = approvals.iter().map(|approval| &approval.id);
        let ids =
            ids.chain(challenges.iter().map(|asked| &asked.id)).chain(inputs.iter().map(|input| &input.id));
        for id in ids {
            hasher.update(id);
            hasher.update([0]);
        }
        let tag: String = hex(&hasher.finalize()).chars().take(32).collect();
        let is_news = seen.as_ref().is_none_or(|seen| *seen != tag);
        if is_news || tokio::time::Instant::now() >= deadline {
            let approvals = approvals.into_iter().map(ShownApproval::from).collect();
            return Ok(ok(&News { seen: tag, approvals, challenges, inputs }));
        }
        tokio::time::sleep(LOOK).await;
    }
}
