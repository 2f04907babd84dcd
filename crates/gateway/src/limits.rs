//! Quotas and the limits of other servers, around the pure decision of [`aql::quota`].

use std::sync::Arc;

use aql::{
    confirm::{Refused, Scope, Token, TokenKind, params_hash},
    error::{Code, Error},
    operation::Operation,
    quota::{self, BYTES_A_TOKEN, Called, QuotaCount, Unit, Verdict},
    registry::{Registry, ValidRequest},
    request::Call,
    shared::{CONFIRMATION_TOKEN, QUOTA_CONTINUE, QUOTA_CONTINUE_PUBLISHED},
    warning::Warning,
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::{
    gate::Permitted,
    random,
    session::Session,
    store::{self, QuotaStore, SafetyStore, safety::NewToken},
};

/// How long such a token is good for.
const CONTINUE_TTL: SignedDuration = SignedDuration::from_mins(5);

/// What is counted, and where.
pub struct Limits {
    rules: Arc<quota::Limits>,
    counts: QuotaStore,
    tokens: SafetyStore,
}

/// A call that was counted.
#[derive(Debug, Default)]
pub struct Passage {
    pub warnings: Vec<Warning>,
    /// The quotas that its answer counts for.
    answers: Vec<QuotaCount>,
}

/// A look at what a call counts for, before a person's consent is spent on it. It counts and spends nothing.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(crate) limits: &'a Limits,
    /// What the call brings to continue after a pause.
    pub(crate) token: Option<&'a Value>,
}

impl Look<'_> {
    /// Whether the call would be let through now. It may still be too late when it is counted.
    pub(crate) async fn afford(
        &self,
        request: &ValidRequest,
        session: &Session,
        now: Timestamp,
    ) -> Result<(), Error> {
        let Self { limits, token } = *self;
        let plan = limits.rules.plan(&called(request.operation(), session));
        if let Some(token) = token {
            limits.check(token, request, session, now).await?;
        }
        if plan.is_empty() {
            return Ok(());
        }
        let counts = limits.counts.counts(plan.clone(), now).await.map_err(uncounted)?;
        let verdict = quota::decide(&plan, &counts, token.is_some(), now);
        limits.told(verdict, request, session, now).await.map(drop)
    }
}

/// The token of a call that continues after a pause, taken out of its parameters before they are checked. It may stand where
/// every token does.
#[must_use]
pub(crate) fn take_token(call: &mut Call, registry: &Registry) -> Option<Value> {
    let is_ours = |value: &Value| {
        value.as_str().is_some_and(|text| text.starts_with(TokenKind::QuotaContinue.prefix()))
    };
    let shared = call.params.get(CONFIRMATION_TOKEN).is_some_and(is_ours);
    let published =
        call.params.contains_key(QUOTA_CONTINUE_PUBLISHED) && registry.takes_quota_token(&call.operation);
    let names = [(QUOTA_CONTINUE, true), (QUOTA_CONTINUE_PUBLISHED, published), (CONFIRMATION_TOKEN, shared)];
    names.into_iter().filter(|(_, is_meant)| *is_meant).find_map(|(name, _)| call.params.remove(name))
}

impl Limits {
    #[must_use]
    pub fn new(rules: Arc<quota::Limits>, counts: QuotaStore, tokens: SafetyStore) -> Self {
        Self { rules, counts, tokens }
    }

    /// Counts a call, or says why it is not to be made. A token that it brings is spent first, whatever comes after.
    pub(crate) async fn admit(
        &self,
        permitted: &Permitted,
        session: &Session,
        token: Option<Value>,
        now: Timestamp,
    ) -> Result<Passage, Error> {
        let operation = permitted.operation();
        let plan = self.rules.plan(&called(operation, session));
        if plan.is_empty() && token.is_none() {
            return Ok(Passage::default());
        }
        let continued = token.is_some();
        if let Some(token) = token {
            self.redeem(&token, permitted.request(), session, now).await?;
        }
        let answers = plan.quotas.iter().filter(|counted| counted.quota.metric.unit == Unit::Tokens);
        let answers: Vec<QuotaCount> = answers.cloned().collect();
        let verdict = self.counts.admit(plan, continued, now).await.map_err(uncounted)?;
        let warnings = self.told(verdict, permitted.request(), session, now).await?;
        Ok(Passage { warnings, answers })
    }

    /// What a caller is told: warnings, or why the call is not made, with a token where it may go on.
    async fn told(
        &self,
        verdict: Verdict,
        request: &ValidRequest,
        session: &Session,
        now: Timestamp,
    ) -> Result<Vec<Warning>, Error> {
        let operation = request.operation();
        match verdict {
            Verdict::Admitted(warnings) => Ok(warnings),
            Verdict::Refused(error) => Err(error.with_operation(operation.name().as_str())),
            Verdict::Paused(paused) => {
                let expires_at = now.saturating_add(CONTINUE_TTL).unwrap_or(now);
                let text = self.issue(operation, scope(request, session), expires_at, now).await?;
                Err(paused.error(&text, expires_at).with_operation(operation.name().as_str()))
            }
        }
    }

    async fn redeem(
        &self,
        token: &Value,
        request: &ValidRequest,
        session: &Session,
        now: Timestamp,
    ) -> Result<(), Error> {
        let operation = request.operation().name().as_str();
        let Value::String(text) = token else { return Err(Refused::Invalid.error(operation, "", now)) };
        let scope = scope(request, session);
        let redeemed =
            self.tokens.redeem_token(text, TokenKind::QuotaContinue, scope, SignedDuration::ZERO, now).await;
        redeemed.map_err(uncounted)?.map_err(|refused| refused.error(operation, text, now))
    }

    /// Whether a token could be spent. One that could not is refused as if it had been tried, which is written down.
    async fn check(
        &self,
        token: &Value,
        request: &ValidRequest,
        session: &Session,
        now: Timestamp,
    ) -> Result<(), Error> {
        let text = token.as_str().unwrap_or_default();
        let scope = scope(request, session);
        let checked =
            self.tokens.check_token(text, TokenKind::QuotaContinue, scope, SignedDuration::ZERO, now).await;
        match checked.map_err(uncounted)? {
            Ok(()) => Ok(()),
            Err(refused) => {
                self.redeem(token, request, session, now).await?;
                Err(refused.error(request.operation().name().as_str(), text, now))
            }
        }
    }

    async fn issue(
        &self,
        operation: &Operation,
        scope: Scope,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<String, Error> {
        let secret = BASE64_URL_SAFE_NO_PAD.encode(random::bytes::<32>());
        let text = format!("{}{secret}", TokenKind::QuotaContinue.prefix());
        let token = Token {
            kind: TokenKind::QuotaContinue,
            scope,
            expires_at: Some(expires_at),
            not_before: None,
            uses_left: 1,
            used_at: None,
            outlives_session: false,
        };
        let new = NewToken {
            text: text.clone(),
            id: uuid::Uuid::new_v4().to_string(),
            token,
            danger: operation.danger().level,
            trust: None,
            reasons: vec!["a quota reached its pause threshold".to_owned()],
        };
        self.tokens.issue_token(new, now).await.map_err(uncounted)?;
        Ok(text)
    }

    /// Counts the answer of a call. A failure to do so is the operator's to know of, since the call is done.
    pub(crate) async fn answered(&self, passage: Passage, bytes: usize, now: Timestamp) {
        if passage.answers.is_empty() {
            return;
        }
        let tokens = u64::try_from(bytes.div_ceil(BYTES_A_TOKEN)).unwrap_or(u64::MAX);
        if let Err(error) = self.counts.count_tokens(passage.answers, tokens, now).await {
            tracing::error!(%error, "the tokens of an answer could not be counted");
        }
    }

    /// What `introspect` answers to `quota_status`: everything that a principal's calls count for, or only what calls
    /// of one server do.
    pub(crate) async fn status(
        &self,
        adapter: &str,
        server: Option<&str>,
        session: &Session,
        now: Timestamp,
    ) -> Result<Value, Error> {
        let plan = self.rules.overview(server, session.principal());
        let counts = self.counts.counts(plan.clone(), now).await.map_err(uncounted)?;
        Ok(quota::status(server.unwrap_or(adapter), &plan, &counts, now))
    }

    /// Closes what belongs to it alone.
    pub async fn close(&self) {
        self.counts.clone().close().await;
    }
}

/// The call that a token continues.
fn scope(request: &ValidRequest, session: &Session) -> Scope {
    Scope {
        operation: request.operation().name().as_str().to_owned(),
        params_hash: params_hash(request.params()),
        adapter: request.registry().adapter().to_owned(),
        session_id: session.id().to_owned(),
        principal: session.principal().to_owned(),
    }
}

fn called<'a>(operation: &'a Operation, session: &'a Session) -> Called<'a> {
    Called {
        operation: operation.name().as_str(),
        category: operation.category(),
        server: operation.server(),
        principal: session.principal(),
    }
}

/// What cannot be counted is not done.
fn uncounted(error: store::Error) -> Error {
    tracing::error!(%error, "a quota could not be looked up or counted");
    Error::new(Code::Unavailable, "The call could not be counted, so it was not made")
        .hint("Repeat it later. The operator finds the reason in the log.")
}
