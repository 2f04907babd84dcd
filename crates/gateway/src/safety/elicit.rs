//! Asking the client's user, where the operator chose that: for what is destructive and no worse, and never for a
//! supervised agent, since a hostile client answers for itself.
//!
//! A client of today's revision is asked by its call's answer and comes back with a state. The state is sealed, names
//! the approval, and is good for one answer: the approval takes no second one.

use std::sync::Arc;

use aql::{confirm::Scope, danger::DangerLevel, response::Questions};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::Mac;
use serde_json::{Map, Value, json};
use subtle::ConstantTimeEq;
use tokio::runtime::Handle;

use super::{Safety, confirm::Asking};
use crate::{client::Answers, store::safety::Approval, trace::parked::WhenStopped};

/// Nothing worse than this is asked of the client.
pub(super) const MOST: DangerLevel = DangerLevel::Destructive;

/// What begins the states that are ours.
const OURS: &str = "approval.";
/// The key of our question.
const KEY: &str = "approval";
/// How an answer of the client is noted.
const CHANNEL: &str = "elicitation";

/// Whether a state continues a question of ours.
pub(crate) fn is_ours(state: &str) -> bool {
    state.starts_with(OURS)
}

/// Whoever is asked sees what would run, with what, and why they are asked.
fn form(approval: &Approval) -> Value {
    let Approval { message, operation, adapter, danger, reasons, params, .. } = approval;
    let reasons = reasons.join("; ");
    json!({
        "mode": "form",
        "message": format!("{message}\n\n{operation} of '{adapter}' is {danger}: {reasons}\nParameters: {params}"),
        "requestedSchema": {
            "type": "object",
            "properties": {"approve": {"type": "boolean", "title": "Allow it", "default": false}},
            "required": ["approve"],
        },
    })
}

/// Whether somebody said yes. Anything else is a no, but for a form that was put aside, which says nothing.
fn said(answer: &Value) -> Option<bool> {
    match answer.get("action").and_then(Value::as_str) {
        Some("accept") => {
            Some(answer.get("content").and_then(|content| content.get("approve")) == Some(&Value::Bool(true)))
        }
        Some("decline") => Some(false),
        _ => None,
    }
}

impl Safety {
    /// Asks a connected client while its call is held.
    pub(super) fn elicit(self: &Arc<Self>, client: &Arc<dyn Answers>, approval: &Approval) -> Elicited {
        let (safety, id, principal) = (Arc::clone(self), approval.id.clone(), approval.principal.clone());
        let asked = client.ask("elicitation/create", Some(form(approval)));
        let task = tokio::spawn(async move {
            if let Some(approve) = asked.await.ok().as_ref().and_then(said) {
                safety.take(&id, approve, &principal).await;
            }
        });
        Elicited(task.abort_handle())
    }

    /// The question for a client that comes back with its answer.
    pub(super) fn question(&self, approval: &Approval) -> Questions {
        let asks = json!({"method": "elicitation/create", "params": form(approval)});
        let requests: Map<String, Value> = [(KEY.to_owned(), asks)].into_iter().collect();
        Questions { requests, state: Some(self.sealed(&approval.id, &approval.session_id)) }
    }

    /// Takes the answer that a client came back with, if it is one to a question of its own session.
    pub(super) async fn hear(&self, scope: &Scope, asking: &Asking<'_>) {
        let Some(resumed) = &asking.caller.resumed else { return };
        let Some(id) = resumed.state.as_deref().and_then(|state| self.unsealed(state, &scope.session_id))
        else {
            return;
        };
        if let Some(approve) = resumed.responses.get(KEY).and_then(said) {
            self.take(&id, approve, &scope.principal).await;
        }
    }

    /// What is to be done if the operator stops a call whose client was given this state: a later yes would let it be
    /// repeated.
    pub(crate) fn withdrawal(self: &Arc<Self>, state: &str, session_id: &str) -> Option<WhenStopped> {
        let (safety, id) = (Arc::clone(self), self.unsealed(state, session_id)?);
        // Whoever stops it may be a thread that knows no runtime.
        let runtime = Handle::try_current().ok()?;
        Some(Box::new(move || safety.withdraw(id, &runtime)))
    }

    async fn take(&self, id: &str, approve: bool, principal: &str) {
        if let Err(error) = self.store.answer(id, approve, CHANNEL, principal, (self.clock)()).await {
            tracing::error!(%error, "a client's answer could not be kept");
        }
        self.answered();
    }

    fn sealed(&self, id: &str, session_id: &str) -> String {
        format!("{OURS}{id}.{}", URL_SAFE_NO_PAD.encode(self.tag(id, session_id)))
    }

    /// The approval that a state names, if we gave it to this session.
    fn unsealed(&self, state: &str, session_id: &str) -> Option<String> {
        let (id, tag) = state.strip_prefix(OURS)?.rsplit_once('.')?;
        let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
        bool::from(tag.ct_eq(&self.tag(id, session_id))).then(|| id.to_owned())
    }

    fn tag(&self, id: &str, session_id: &str) -> [u8; 32] {
        let mut mac = self.seal.clone();
        mac.update(&(id.len() as u64).to_be_bytes());
        mac.update(id.as_bytes());
        mac.update(session_id.as_bytes());
        mac.finalize().into_bytes().into()
    }
}

/// A question that is withdrawn when nobody waits for it any more.
pub(super) struct Elicited(tokio::task::AbortHandle);

impl Drop for Elicited {
    fn drop(&mut self) {
        self.0.abort();
    }
}
