//! What is written down of a decision before it is acted upon.

use std::{sync::Arc, time::Duration};

use aql::{
    audit::{Event, Outcome},
    confirm,
    danger::DangerLevel,
    error::{Code, Error},
    operation::Operation,
    registry::{Registry, ValidRequest},
};
use serde_json::{Map, Value, json};

use super::{Asking, Safety};
use crate::{guard::OwnPlace, session::Session, store};

/// Everything that can do this much harm is written down, whatever was decided.
const RECORDED: DangerLevel = DangerLevel::Destructive;
/// What the audit log calls a call that was denied.
pub(crate) const DENIED: &str = "OPERATION_DENIED";
/// What the parameters of a denied call may take: nobody decides by them any more.
const DENIED_PARAMS_BYTES_MAX: usize = 2 * 1024;
/// How long after a minute's end the counts of its denials are written, so that it surely is over.
const COUNTS_WRITTEN_AFTER: Duration = Duration::from_secs(1);

impl Safety {
    /// Whether every decision about an operation is written down.
    pub(crate) fn is_recorded(operation: &Operation) -> bool {
        operation.danger().level >= RECORDED
    }

    /// Notes that a call is allowed, if it is one that has to be noted. Without the note it does not run.
    pub(crate) async fn allowed(
        &self,
        registry: &Registry,
        operation: &Operation,
        params: &Map<String, Value>,
        session: &Session,
    ) -> Result<(), Error> {
        if !Self::is_recorded(operation) {
            return Ok(());
        }
        let event = Event {
            outcome: Some(Outcome::Allowed),
            params: Some(confirm::shown(operation, params, confirm::SHOWN_BYTES_MAX)),
            ..event(registry, operation, session, "OPERATION_ALLOWED")
        };
        self.note(event, operation).await
    }

    /// Notes that a call is denied. It is denied whether or not that can be written.
    pub(crate) async fn denied(
        self: &Arc<Self>,
        what: &str,
        registry: &Registry,
        operation: &Operation,
        params: Option<&Map<String, Value>>,
        reason: &(dyn std::fmt::Display + Sync),
        session: &Session,
    ) {
        let event = Event {
            outcome: Some(Outcome::Denied),
            reasons: vec![reason.to_string()],
            params: params.map(|params| confirm::shown(operation, params, DENIED_PARAMS_BYTES_MAX)),
            ..event(registry, operation, session, what)
        };
        self.write_or_count(event).await;
    }

    /// Notes that a request which is no operation's leads to what is ours.
    pub(crate) async fn kept_away(
        self: &Arc<Self>,
        method: &str,
        params: &Map<String, Value>,
        place: OwnPlace,
        session: &Session,
    ) {
        let event = Event {
            outcome: Some(Outcome::Denied),
            session_id: Some(session.id().to_owned()),
            principal: Some(session.principal().to_owned()),
            operation: Some(method.to_owned()),
            reasons: vec![place.to_string()],
            params: Some(confirm::shown_request(params, DENIED_PARAMS_BYTES_MAX)),
            ..Event::new(OwnPlace::EVENT)
        };
        self.write_or_count(event).await;
    }

    /// Writes a denial, or counts it where there were many and has the count written later.
    async fn write_or_count(self: &Arc<Self>, event: Event) {
        let noted = self.denials.note(event, (self.clock)());
        if let Some(rest) = noted.come_back {
            self.come_back(rest + COUNTS_WRITTEN_AFTER);
        }
        self.write_denials(noted.write).await;
    }

    fn come_back(self: &Arc<Self>, after: Duration) {
        let weak = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            let Some(safety) = weak.upgrade() else { return };
            safety.write_denials(safety.denials.over((safety.clock)())).await;
        });
    }

    pub(super) async fn write_denials(&self, events: Vec<Event>) {
        for event in events {
            if let Err(error) = self.store.audit(event, (self.clock)()).await {
                tracing::error!(%error, "a denial could not be written to the audit log");
            }
        }
    }

    /// Notes with what a confirmed call goes on.
    pub(super) async fn resumed(&self, request: &ValidRequest, asking: &Asking<'_>) -> Result<(), Error> {
        let operation = request.operation();
        let responses = asking.caller.resumed.as_ref().map(|resumed| resumed.responses.clone());
        let event = Event {
            outcome: Some(Outcome::Confirmed),
            params: Some(confirm::shown(operation, request.params(), confirm::SHOWN_BYTES_MAX)),
            detail: Some(
                json!({"responses": confirm::shown(operation, &responses.unwrap_or_default(), confirm::SHOWN_BYTES_MAX)}),
            ),
            ..event(request.registry(), operation, asking.session, "OPERATION_RESUMED")
        };
        self.note(event, operation).await
    }

    async fn note(&self, event: Event, operation: &Operation) -> Result<(), Error> {
        self.store.audit(event, (self.clock)()).await.map_err(|error| undecided(operation, &error))
    }
}

/// The answer where the store fails: nothing is let through that could not be written down.
pub(crate) fn undecided(operation: &Operation, error: &store::Error) -> Error {
    tracing::error!(%error, "a safety decision could not be kept");
    let reason = "no decision could be made, because the store of safety decisions failed";
    let denied = Error::permission_denied(operation.name().as_str(), reason);
    match error.is_retryable() {
        true => denied.hint("Repeat the call in a moment."),
        false => denied.hint("The operator finds the cause in the server's log."),
    }
    .with("cause", Code::Unavailable.as_str())
}

/// What every entry about a call says.
pub(super) fn event(registry: &Registry, operation: &Operation, session: &Session, event: &str) -> Event {
    Event {
        session_id: Some(session.id().to_owned()),
        principal: Some(session.principal().to_owned()),
        operation: Some(operation.name().as_str().to_owned()),
        adapter_name: Some(operation.server().unwrap_or(registry.adapter()).to_owned()),
        adapter_trust: Some(operation.trust()),
        endpoint: Some(registry.family_name(operation).to_owned()),
        danger_level: Some(operation.danger().level),
        detail: (!operation.danger().audit_context.is_empty())
            .then(|| json!({"audit_context": operation.danger().audit_context})),
        ..Event::new(event)
    }
}
