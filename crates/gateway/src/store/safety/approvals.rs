//! Calls that wait for a person, and what the person said.
//!
//! An approval is good for one call of one session, once. It is spent in the transaction that finds it approved,
//! before the call runs: of two processes that try, one gets it, and after a crash in between it stays spent.

use aql::{
    audit::{Event, Outcome},
    confirm::Scope,
    danger::DangerLevel,
    trust::TrustLevel,
};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};

use super::SafetyStore;
use crate::failpoint;
use crate::store::Error;
use crate::store::columns::{all, storable};
use crate::store::writer::Effect;

mod claim;
mod rows;

pub(super) use claim::answer;
use claim::{Which, claim, revoke};
use rows::{COLUMNS, approval};
pub(super) use rows::{danger, find, insert, set_state};

pub(super) const TABLES: &str = "
CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    operation TEXT NOT NULL,
    params_hash BLOB NOT NULL,
    adapter TEXT NOT NULL,
    trust TEXT,
    session_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    agent TEXT,
    danger INTEGER NOT NULL,
    reasons TEXT NOT NULL,
    message TEXT NOT NULL,
    params TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    holds INTEGER NOT NULL,
    not_before INTEGER,
    answered_at INTEGER,
    answered_by TEXT,
    channel TEXT
) STRICT;
CREATE INDEX approvals_open ON approvals (session_id, operation) WHERE state IN ('pending', 'approved', 'denied');
CREATE INDEX approvals_asked ON approvals (principal, asked_at);
CREATE INDEX approvals_old ON approvals (expires_at);
";

/// How long after its end an approval is still shown.
const KEPT: SignedDuration = SignedDuration::from_hours(24);

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalKind {
    /// A call to run.
    Call,
    /// A monitored execution to begin.
    Start,
    /// A paused agent to go on.
    Pause,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalState {
    Pending,
    Approved,
    Denied,
    /// It was approved and its call has been let through.
    Spent,
    Expired,
    Revoked,
}

macro_rules! texts {
    ($type:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        impl $type {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }

        impl std::str::FromStr for $type {
            type Err = Unknown;

            fn from_str(text: &str) -> Result<Self, Unknown> {
                Self::ALL.iter().copied().find(|known| known.as_str() == text).ok_or_else(|| Unknown(text.to_owned()))
            }
        }
    };
}

texts!(ApprovalKind { Call = "call", Start = "start", Pause = "pause" });
texts!(ApprovalState {
    Pending = "pending",
    Approved = "approved",
    Denied = "denied",
    Spent = "spent",
    Expired = "expired",
    Revoked = "revoked",
});

/// A word that the file should not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is none of the words that belong here")]
pub struct Unknown(String);

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Approval {
    pub id: String,
    pub kind: ApprovalKind,
    pub state: ApprovalState,
    pub operation: String,
    pub adapter: String,
    pub session_id: String,
    pub principal: String,
    pub agent: Option<String>,
    #[serde(rename = "danger_level")]
    pub danger: DangerLevel,
    pub trust: Option<TrustLevel>,
    pub reasons: Vec<String>,
    pub message: String,
    /// As they may be shown.
    pub params: Value,
    pub asked_at: Timestamp,
    /// While it waits, until when it may be answered; once approved, until when the call has to come.
    pub expires_at: Timestamp,
    /// Before this an approved call does not run yet.
    pub not_before: Option<Timestamp>,
    pub answered_at: Option<Timestamp>,
    pub answered_by: Option<String>,
    pub channel: Option<String>,
}

/// What a call has to be approved with.
#[derive(Debug, Clone)]
pub struct NewApproval {
    /// Used if nothing is there yet.
    pub id: String,
    pub kind: ApprovalKind,
    pub scope: Scope,
    pub agent: Option<String>,
    pub danger: DangerLevel,
    pub trust: Option<TrustLevel>,
    pub reasons: Vec<String>,
    pub message: String,
    pub params: Value,
    /// How long it waits for an answer.
    pub waits: SignedDuration,
    /// How long an answer holds.
    pub holds: SignedDuration,
    /// How long after the question an approved call has to wait in any case.
    pub cooldown: Option<SignedDuration>,
}

/// What there is for a call that needs a person.
#[derive(Debug, Clone, PartialEq)]
pub enum Claim {
    /// It was approved, and is spent now: the call runs.
    Granted(Approval),
    /// It is approved, but has to wait until `not_before`.
    Cooling(Approval),
    /// It was asked before and not answered yet.
    Waiting(Approval),
    /// It is asked now.
    Asked(Approval),
    Denied(Approval),
    /// Too much was asked already.
    TooMany {
        retry_after_seconds: u64,
    },
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered {
    Done(Approval),
    /// Somebody else was faster, or it is too late.
    AlreadyAnswered(Approval),
    Missing,
}

impl SafetyStore {
    /// Spends what was approved for this call, or asks for it.
    pub async fn claim(&self, new: NewApproval, now: Timestamp) -> Result<Claim, Error> {
        let claimed = self
            .database
            .write(Effect::default(), move |connection| {
                let claimed = claim(connection, &new, storable(now))?;
                failpoint::hit("approval.claiming");
                Ok(claimed)
            })
            .await;
        failpoint::hit("approval.claimed");
        claimed
    }

    /// Answers for a person. The first answer counts; whoever gives it is not the agent, which has no way here. So
    /// it may use the reserve: a log that an agent has filled must not keep the operator from answering.
    pub async fn answer(
        &self,
        id: &str,
        approve: bool,
        channel: &str,
        by: &str,
        now: Timestamp,
    ) -> Result<Answered, Error> {
        let (id, channel, by) = (id.to_owned(), channel.to_owned(), by.to_owned());
        let answered = self
            .database
            .write(Effect { frees_space: true, ..Effect::default() }, move |connection| {
                let answered = answer(connection, &id, approve, &channel, &by, storable(now))?;
                failpoint::hit("approval.answering");
                Ok(answered)
            })
            .await;
        failpoint::hit("approval.answered");
        answered
    }

    /// One approval, as it is now.
    pub async fn approval(&self, id: &str, now: Timestamp) -> Result<Option<Approval>, Error> {
        let id = id.to_owned();
        self.database.read(move |connection| Ok(find(connection, &id)?.map(|found| found.at(now)))).await
    }

    /// Those in these states, the latest first.
    pub async fn approvals(
        &self,
        states: &[ApprovalState],
        most: u32,
        now: Timestamp,
    ) -> Result<Vec<Approval>, Error> {
        let states = states.to_vec();
        self.database
            .read(move |connection| {
                let sql =
                    format!("SELECT {COLUMNS} FROM approvals ORDER BY asked_at DESC, id DESC LIMIT 2000");
                let found = all(connection.prepare_cached(&sql)?, [], approval)?;
                let found = found.into_iter().map(|approval| approval.at(now));
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                Ok(found.filter(|approval| states.contains(&approval.state)).take(most).collect())
            })
            .await
    }

    /// What a session has open ends with it, and so does what it was given.
    pub async fn end_session(&self, session_id: &str, now: Timestamp) -> Result<(), Error> {
        let session_id = session_id.to_owned();
        self.database
            .write(Effect { frees_space: true, ..Effect::default() }, move |connection| {
                revoke(connection, Which::Session(&session_id), "the session has ended", storable(now))?;
                super::tokens::revoke_of_session(connection, &session_id, storable(now))
            })
            .await
    }

    /// Takes back what was approved and not used yet.
    pub async fn revoke_approval(&self, id: &str, by: &str, now: Timestamp) -> Result<bool, Error> {
        let (id, by) = (id.to_owned(), by.to_owned());
        self.database
            .write(Effect { frees_space: true, ..Effect::default() }, move |connection| {
                Ok(revoke(connection, Which::Id(&id), &format!("revoked by {by}"), storable(now))? > 0)
            })
            .await
    }

    /// Forgets what ended long ago. The audit log keeps it.
    pub async fn purge(&self, now: Timestamp) -> Result<(), Error> {
        self.database
            .write(Effect { frees_space: true, ..Effect::default() }, move |connection| {
                let before = now.saturating_sub(KEPT).unwrap_or(now).as_microsecond();
                connection.execute("DELETE FROM approvals WHERE expires_at < ?1", [before])?;
                super::agents::purge(connection, now)?;
                super::inputs::purge(connection, now)?;
                super::tokens::purge(connection, now)
            })
            .await
    }
}

impl NewApproval {
    pub(super) fn asked(&self, now: Timestamp) -> Approval {
        let Scope { operation, adapter, session_id, principal, .. } = self.scope.clone();
        let after = |duration: SignedDuration| now.saturating_add(duration).map(storable).unwrap_or(now);
        Approval {
            id: self.id.clone(),
            kind: self.kind,
            state: ApprovalState::Pending,
            operation,
            adapter,
            session_id,
            principal,
            agent: self.agent.clone(),
            danger: self.danger,
            trust: self.trust,
            reasons: self.reasons.clone(),
            message: self.message.clone(),
            params: self.params.clone(),
            asked_at: now,
            expires_at: after(self.waits),
            not_before: self.cooldown.map(after),
            answered_at: None,
            answered_by: None,
            channel: None,
        }
    }
}

impl Approval {
    /// The same with the state that the time has brought.
    pub(super) fn at(self, now: Timestamp) -> Self {
        let open =
            matches!(self.state, ApprovalState::Pending | ApprovalState::Approved | ApprovalState::Denied);
        match open && now >= self.expires_at {
            true => Self { state: ApprovalState::Expired, ..self },
            false => self,
        }
    }

    /// What the audit log says of it.
    pub(super) fn event(&self, event: &str, outcome: Outcome) -> Event {
        Event {
            outcome: Some(outcome),
            session_id: Some(self.session_id.clone()),
            principal: Some(self.principal.clone()),
            agent: self.agent.clone(),
            operation: Some(self.operation.clone()),
            adapter_name: Some(self.adapter.clone()),
            adapter_trust: self.trust,
            danger_level: Some(self.danger),
            reasons: self.reasons.clone(),
            params: Some(self.params.clone()),
            approval_id: Some(self.id.clone()),
            channel: self.channel.clone(),
            detail: self.answered_by.as_ref().map(|by| json!({"answered_by": by})),
            ..Event::new(event)
        }
    }
}
