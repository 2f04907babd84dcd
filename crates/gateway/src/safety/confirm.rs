//! A call that a person has to agree to: asked for, waited for, and let through once.

use std::{sync::Arc, time::Duration};

use aql::{
    audit::Hash,
    autonomy::define::EXECUTE_AGENT,
    confirm::{self, Scope, Token, TokenKind},
    error::{Code, Error},
    operation::Operation,
    registry::ValidRequest,
    response::Questions,
    shared::CONFIRMATION_TOKEN,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    Confirmation, Safety, TOKENS_REFUSED_IN_A_MINUTE_MAX,
    record::{DENIED, undecided},
};
use crate::{
    client::{Caller, Client},
    limits::Look,
    random,
    session::Session,
    store::{
        self,
        safety::{Approval, ApprovalKind, ApprovalState, Claim, NewApproval, NewToken},
    },
    trace::OpenSpan,
};

/// Why a token is not even looked at.
const EXHAUSTED: &str = "too many tokens were refused in this minute";
/// How often it is looked whether another process has an answer.
const LOOKED_EVERY: Duration = Duration::from_millis(300);

/// What comes of asking.
pub(crate) enum Confirmed {
    /// The call may run. It is spent already.
    Yes(Scope),
    /// It was confirmed before, and comes back with answers to the questions of whoever does the work.
    Resumed(Scope),
    /// The client's user is asked by the call's answer.
    Ask(Box<Questions>),
}

/// Who asks, beside the request itself.
pub(crate) struct Asking<'a> {
    pub(crate) session: &'a Arc<Session>,
    pub(crate) caller: &'a Caller,
    /// Stands for what another server says that the operation is, where one does.
    pub(crate) definition: Option<&'a Hash>,
    /// The quotas that the call counts for, where there are any.
    pub(crate) quotas: Option<Look<'a>>,
    /// Whether the call may be held while a person is asked.
    pub(crate) may_wait: bool,
    /// The supervised agent that the session belongs to, if any. Such a caller never gets a token.
    pub(crate) agent: Option<String>,
}

impl Asking<'_> {
    /// Turns a call away that would not be let through although somebody agreed to it: their consent is kept for later.
    async fn afford(&self, request: &ValidRequest, now: Timestamp) -> Result<(), Error> {
        match &self.quotas {
            Some(quotas) => quotas.afford(request, self.session, now).await,
            None => Ok(()),
        }
    }
}

impl Safety {
    /// Asks for a call that needs a person, and returns once it may run or why it may not.
    pub(crate) async fn confirm(
        self: &Arc<Self>,
        request: &mut ValidRequest,
        reasons: Vec<String>,
        asking: &Asking<'_>,
    ) -> Result<Confirmed, Error> {
        let presented = request.take_param(CONFIRMATION_TOKEN);
        asking.afford(request, (self.clock)()).await?;
        let operation = request.operation();
        let scope = Scope {
            operation: operation.name().as_str().to_owned(),
            params_hash: confirm::call_hash(request.params(), asking.definition),
            adapter: operation.server().unwrap_or(request.registry().adapter()).to_owned(),
            session_id: asking.session.id().to_owned(),
            principal: asking.session.principal().to_owned(),
        };
        let state = asking.caller.resumed.as_ref().and_then(|resumed| resumed.state.as_deref());
        if state.is_some_and(|state| self.resumes(&scope, state)) {
            self.resumed(request, asking).await?;
            return Ok(Confirmed::Resumed(scope));
        }
        self.watch(asking.session);
        match (self.settings.confirmation, presented) {
            (Confirmation::Token, Some(Value::String(token))) if asking.agent.is_none() => {
                self.redeem(request, operation, &token, scope, asking).await
            }
            (Confirmation::Token, _) if asking.agent.is_none() => {
                Err(self.issue(request, operation, scope, reasons, asking).await)
            }
            _ => self.ask(request, operation, scope, reasons, asking).await,
        }
    }

    /// Notes a call that ends before anybody was asked for it.
    async fn turned_away(self: &Arc<Self>, request: &ValidRequest, asking: &Asking<'_>, why: &str) {
        let (registry, operation, params) = (request.registry(), request.operation(), Some(request.params()));
        self.denied(DENIED, registry, operation, params, &why, asking.session).await;
    }

    async fn redeem(
        self: &Arc<Self>,
        request: &ValidRequest,
        operation: &Operation,
        token: &str,
        scope: Scope,
        asking: &Asking<'_>,
    ) -> Result<Confirmed, Error> {
        let (now, tolerance) = ((self.clock)(), self.settings.lifetimes.tolerance);
        let principal = scope.principal.clone();
        if let Some(error) = self.refused.is_exhausted(&principal, TOKENS_REFUSED_IN_A_MINUTE_MAX, now) {
            self.turned_away(request, asking, EXHAUSTED).await;
            return Err(error);
        }
        let redeemed =
            self.store.redeem_token(token, TokenKind::Confirmation, scope.clone(), tolerance, now).await;
        match redeemed.map_err(|error| undecided(operation, &error))? {
            Ok(()) => Ok(Confirmed::Yes(scope)),
            Err(refused) => {
                let _ = self.refused.admit(&principal, TOKENS_REFUSED_IN_A_MINUTE_MAX, now);
                Err(refused.error(operation.name().as_str(), token, now))
            }
        }
    }

    /// Gives the caller a token, or says why not.
    async fn issue(
        self: &Arc<Self>,
        request: &ValidRequest,
        operation: &Operation,
        scope: Scope,
        reasons: Vec<String>,
        asking: &Asking<'_>,
    ) -> Error {
        let now = (self.clock)();
        if let Some(error) = self.refused.is_exhausted(&scope.principal, TOKENS_REFUSED_IN_A_MINUTE_MAX, now)
        {
            self.turned_away(request, asking, EXHAUSTED).await;
            return error;
        }
        let level = operation.danger().level;
        let expires_at = now.saturating_add(self.settings.lifetimes.of(level)).unwrap_or(now);
        let text = format!("{}{}", TokenKind::Confirmation.prefix(), unguessable());
        let token = Token {
            kind: TokenKind::Confirmation,
            scope,
            expires_at: Some(expires_at),
            not_before: cooldown(operation).and_then(|cooldown| now.checked_add(cooldown).ok()),
            uses_left: self.settings.token_uses,
            used_at: None,
            outlives_session: self.settings.persist_tokens,
        };
        let new = NewToken {
            text: text.clone(),
            id: uuid::Uuid::new_v4().to_string(),
            token,
            danger: level,
            trust: Some(operation.trust()),
            reasons: reasons.clone(),
        };
        if let Err(error) = self.store.issue_token(new, now).await {
            return undecided(operation, &error);
        }
        required(operation, request, &reasons)
            .with("confirmation_token", text)
            .with("expires_at", expires_at.to_string())
            .hint(
                "Ask your user. If they agree, repeat the same call with 'confirmation_token' in its params.",
            )
    }

    async fn ask(
        self: &Arc<Self>,
        request: &ValidRequest,
        operation: &Operation,
        scope: Scope,
        reasons: Vec<String>,
        asking: &Asking<'_>,
    ) -> Result<Confirmed, Error> {
        if let Some(Err(why)) = self.channels().map(super::channels::Channels::any_available) {
            self.turned_away(request, asking, &why).await;
            return Err(nobody(operation, &why));
        }
        let level = operation.danger().level;
        let new = NewApproval {
            id: approval_id(),
            kind: match operation.name().as_str() {
                EXECUTE_AGENT => ApprovalKind::Start,
                _ => ApprovalKind::Call,
            },
            scope: scope.clone(),
            agent: asking.agent.clone(),
            danger: level,
            trust: Some(operation.trust()),
            reasons: reasons.clone(),
            message: question(request),
            params: confirm::shown(operation, request.params(), confirm::SHOWN_BYTES_MAX),
            waits: self.settings.waits,
            holds: self.settings.lifetimes.of(level),
            cooldown: cooldown(operation),
        };
        let by_client = self.settings.elicitation
            && level <= super::elicit::MOST
            && asking.agent.is_none()
            && asking.caller.client.capabilities().is_some_and(|can| can.allow("elicitation/create", None));
        if by_client {
            self.hear(&scope, asking).await;
        }
        let deadline = tokio::time::Instant::now() + self.settings.hold;
        let mut elicited = None;
        let mut repeats = true;
        loop {
            let now = (self.clock)();
            // While a person thought about it, other calls may have used up what there was.
            if !repeats {
                asking.afford(request, now).await?;
            }
            let claimed = self.store.claim(new.clone(), now).await;
            let approval = match claimed.map_err(|error| undecided(operation, &error))? {
                Claim::Granted(_) => return Ok(Confirmed::Yes(scope)),
                Claim::Denied(approval) => {
                    // What was refused while the call was held is in the log with the answer.
                    if repeats {
                        self.turned_away(request, asking, "it was refused before").await;
                    }
                    return Err(refused(operation, &approval));
                }
                Claim::TooMany { retry_after_seconds } => {
                    self.turned_away(request, asking, "too many calls wait for approval").await;
                    return Err(too_many(operation, retry_after_seconds));
                }
                Claim::Asked(approval) => {
                    self.offer(&approval);
                    approval
                }
                Claim::Waiting(approval) | Claim::Cooling(approval) => approval,
            };
            repeats = false;
            if by_client && elicited.is_none() {
                match &asking.caller.client {
                    Client::Recalls(_) => return Ok(Confirmed::Ask(Box::new(self.question(&approval)))),
                    Client::Live(client) => elicited = Some(self.elicit(client, &approval)),
                    Client::Nobody => {}
                }
            }
            let held = asking.may_wait && tokio::time::Instant::now() < deadline;
            if !held {
                return Err(waits(operation, request, &approval));
            }
            let told = format!("Waiting for the operator to approve {}", approval.id);
            asking.caller.progress.report(0.0, told);
            let span = asking.caller.span.as_deref();
            let _waiting = span.map(|span| {
                let (id, name) = (&approval.id, &approval.operation);
                span.waits(json!({"approval_id": id, "operation": name, "danger_level": level as u8}))
            });
            let _unless_stopped = span.map(|span| Withdrawn { safety: self, approval: &approval, span });
            self.wait(&approval, deadline).await.map_err(|error| undecided(operation, &error))?;
        }
    }

    /// Returns when there is news of a question, or the time to wait is over.
    async fn wait(&self, approval: &Approval, deadline: tokio::time::Instant) -> Result<(), store::Error> {
        loop {
            let rung = self.answered.notified();
            let now = (self.clock)();
            let current = self.store.approval(&approval.id, now).await?;
            let state = current.as_ref().map(|approval| approval.state);
            let cooling = approval.not_before.is_some_and(|until| now < until);
            let open =
                state == Some(ApprovalState::Pending) || (state == Some(ApprovalState::Approved) && cooling);
            if !open || tokio::time::Instant::now() >= deadline {
                return Ok(());
            }
            let next = (tokio::time::Instant::now() + LOOKED_EVERY).min(deadline);
            tokio::select! {
                () = rung => {}
                () = tokio::time::sleep_until(next) => {}
            }
        }
    }

    /// Tells everybody who can answer that there is something to answer.
    fn offer(&self, approval: &Approval) {
        tracing::warn!(
            approval_id = approval.id,
            operation = approval.operation,
            "a call waits for approval; 'aqueduct operator pending' shows it"
        );
        if let Some(channels) = self.channels() {
            channels.offer(approval);
        }
    }
}

/// Refuses what is asked once the operator stops the call that waits for it: a later yes would let it be repeated.
struct Withdrawn<'a> {
    safety: &'a Safety,
    approval: &'a Approval,
    span: &'a OpenSpan,
}

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        if !self.span.is_stopped_by_operator() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            self.safety.withdraw(self.approval.id.clone(), &runtime);
        }
    }
}

impl Safety {
    /// Refuses a question whose call the operator has stopped. Whoever answered meanwhile was first.
    pub(super) fn withdraw(&self, id: String, runtime: &tokio::runtime::Handle) {
        let (store, now) = (self.store.clone(), (self.clock)());
        runtime.spawn(async move { store.answer(&id, false, "inspector", "stopped the call", now).await });
    }
}

/// 256 random bits as text.
pub(crate) fn unguessable() -> String {
    URL_SAFE_NO_PAD.encode(random::bytes::<32>())
}

/// What a question is called.
pub(crate) fn approval_id() -> String {
    format!("appr_{}", unguessable().get(..16).unwrap_or_default())
}

/// What a person is asked.
fn question(request: &ValidRequest) -> String {
    request.registry().confirmation_message(request.id(), request.params())
}

fn cooldown(operation: &Operation) -> Option<SignedDuration> {
    let seconds = operation.danger().cooldown_seconds?;
    Some(SignedDuration::from_secs(i64::from(seconds)))
}

/// The answer to a call that a person has not agreed to yet.
fn required(operation: &Operation, request: &ValidRequest, reasons: &[String]) -> Error {
    Error::new(Code::ConfirmationRequired, "This operation requires confirmation")
        .with_operation(operation.name().as_str())
        .with("danger_level", operation.danger().level.as_str())
        .with("reasons", reasons.to_vec())
        .with("confirmation_message", question(request))
}

fn waits(operation: &Operation, request: &ValidRequest, approval: &Approval) -> Error {
    let cooling = approval.state == ApprovalState::Approved;
    let hint = match cooling {
        true => "It is approved, but has to wait; repeat the same call a little later.",
        false => {
            "The operator was asked and has not answered yet. Repeat exactly this call later: once it is approved, it runs."
        }
    };
    required(operation, request, &approval.reasons)
        .with("approval_id", approval.id.as_str())
        .with("expires_at", approval.expires_at.to_string())
        .hint(hint)
}

fn refused(operation: &Operation, approval: &Approval) -> Error {
    Error::permission_denied(operation.name().as_str(), "the operator refused this call")
        .with("approval_id", approval.id.as_str())
        .hint("Do not repeat it. Tell your user, or go on without it.")
}

fn nobody(operation: &Operation, why: &str) -> Error {
    Error::permission_denied(operation.name().as_str(), why)
        .hint("Tell your user. The operator has to open a channel under '[operator]' in the configuration.")
}

fn too_many(operation: &Operation, retry_after_seconds: u64) -> Error {
    Error::new(Code::RateLimitExceeded, "Too many calls wait for approval")
        .with_operation(operation.name().as_str())
        .with("retry_after_seconds", retry_after_seconds)
        .hint(format!("Wait {retry_after_seconds} seconds, or until the operator has answered what is open."))
}
