//! What an operator can see and do, the same through the listener and on the command line.

use std::path::Path;

use aql::audit::{Broken, Chain, Entry};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    listener::words::{self, AuditEvent},
    shown::line,
};
use crate::{
    codes::Codes,
    store::{
        self, SafetyStore,
        safety::{
            Answered, Approval, ApprovalState, Input, InputAnswered,
            agents::{Asked, Block, Revealed},
            inputs::Action,
        },
    },
};

/// So much of what waits is shown at once.
pub const SHOWN_MAX: u32 = 500;

/// Longest note or reason, in characters.
const NOTE_CHARS_MAX: usize = 500;

/// The time, for whoever asks on behalf of a person.
#[must_use]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// Who acts, and through what: both stand in the audit log.
#[derive(Debug, Clone)]
pub struct Hand {
    pub by: String,
    pub channel: &'static str,
}

/// The operator's desk: a handle on the store and what codes are made with.
#[derive(Clone)]
pub struct Desk {
    store: SafetyStore,
    codes: Codes,
}

/// Why there is no desk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("there is no 'safety.db' in the data directory, so that nothing was ever decided there")]
    Nothing,
    #[error("{0}")]
    Store(#[from] store::Error),
}

/// Which of what waits is meant by the beginning of its id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unclear {
    #[error("nothing has an id that begins with '{0}'")]
    None(String),
    #[error("several ids begin with '{0}'")]
    Several(String),
    #[error("{0}")]
    Store(#[from] store::Error),
}

/// Why a question was not answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("{0}")]
    Wrong(String),
    #[error("{0}")]
    Store(#[from] store::Error),
}

/// A hard block, as it is shown.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShownBlock {
    pub agent: String,
    pub principal: String,
    pub challenge_id: String,
    pub reason: String,
    pub hint: String,
    #[schemars(schema_with = "words::time")]
    pub blocked_at: Timestamp,
}

/// A challenge, as it is shown. Its code is not here.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShownChallenge {
    pub id: String,
    #[schemars(schema_with = "words::challenge_state")]
    pub state: &'static str,
    /// Whether the agent is paused, or blocked everywhere.
    #[schemars(schema_with = "words::tier")]
    pub tier: &'static str,
    pub agent: String,
    pub principal: String,
    pub session_id: String,
    pub reason: String,
    pub hint: String,
    #[schemars(schema_with = "words::time")]
    pub asked_at: Timestamp,
    #[schemars(schema_with = "words::time")]
    pub expires_at: Timestamp,
}

/// An entry of the audit log, as it is shown: the event is what was hashed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShownEntry {
    pub number: u64,
    #[schemars(schema_with = "words::time")]
    pub at: Timestamp,
    #[schemars(with = "AuditEvent")]
    pub event: Box<RawValue>,
    pub hash: String,
}

/// How whole the audit log is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Verified {
    Whole { entries: u64, head: String },
    Broken { why: String },
}

impl Desk {
    /// The desk of a data directory that was served before. It makes no files but what codes need.
    pub fn open(dir: &Path, options: store::Options) -> Result<Self, Error> {
        if !dir.join(store::safety::FILE).is_file() {
            return Err(Error::Nothing);
        }
        Ok(Self::new(SafetyStore::open(dir, options)?, dir)?)
    }

    /// The desk of a store that is open.
    pub fn new(store: SafetyStore, dir: &Path) -> Result<Self, store::Error> {
        Ok(Self { store, codes: Codes::open(dir)? })
    }

    pub async fn close(self) {
        self.store.close().await;
    }

    /// What waits for an answer, the latest first.
    pub async fn pending(&self, now: Timestamp) -> Result<Vec<Approval>, store::Error> {
        self.approvals(&[ApprovalState::Pending], now).await
    }

    pub async fn approvals(
        &self,
        states: &[ApprovalState],
        now: Timestamp,
    ) -> Result<Vec<Approval>, store::Error> {
        self.store.approvals(states, SHOWN_MAX, now).await
    }

    pub async fn approval(&self, id: &str, now: Timestamp) -> Result<Option<Approval>, store::Error> {
        self.store.approval(id, now).await
    }

    /// The approval whose id begins so, if it is the only one.
    pub async fn find_approval(&self, beginning: &str, now: Timestamp) -> Result<Approval, Unclear> {
        if let Some(found) = self.approval(beginning, now).await? {
            return Ok(found);
        }
        let all = self.approvals(ApprovalState::ALL, now).await?;
        only(all, beginning, |approval| &approval.id)
    }

    /// The challenge whose id begins so, if it is the only one.
    pub async fn find_challenge(&self, beginning: &str, now: Timestamp) -> Result<ShownChallenge, Unclear> {
        only(self.challenges(now).await?, beginning, |challenge| &challenge.id)
    }

    /// Answers for the person. A note goes into the log with their name.
    pub async fn answer(
        &self,
        id: &str,
        approve: bool,
        hand: &Hand,
        note: Option<&str>,
        now: Timestamp,
    ) -> Result<Answered, store::Error> {
        let by = match note.map(str::trim).filter(|note| !note.is_empty()) {
            Some(note) => format!("{}: {}", hand.by, line(note, NOTE_CHARS_MAX)),
            None => hand.by.clone(),
        };
        self.store.answer(id, approve, hand.channel, &by, now).await
    }

    /// Takes back what was approved and is not used yet.
    pub async fn revoke(&self, id: &str, hand: &Hand, now: Timestamp) -> Result<bool, store::Error> {
        self.store.revoke_approval(id, &hand.by, now).await
    }

    pub async fn blocks(&self) -> Result<Vec<ShownBlock>, store::Error> {
        Ok(self.store.blocks().await?.into_iter().map(ShownBlock::from).collect())
    }

    /// Ends a block without a code; the block as it was.
    pub async fn unblock(
        &self,
        agent: &str,
        hand: &Hand,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<ShownBlock>, store::Error> {
        let reason = line(reason, NOTE_CHARS_MAX);
        let block = self.store.unblock(agent, &hand.by, hand.channel, &reason, now).await?;
        Ok(block.map(ShownBlock::from))
    }

    /// The challenges that can still be answered.
    pub async fn challenges(&self, now: Timestamp) -> Result<Vec<ShownChallenge>, store::Error> {
        Ok(self.store.challenges(now).await?.into_iter().map(ShownChallenge::from).collect())
    }

    /// A fresh code for a challenge, worth nothing to anybody but who is shown it now. None if it is too late for one.
    pub async fn reveal(
        &self,
        id: &str,
        hand: &Hand,
        now: Timestamp,
    ) -> Result<Option<(ShownChallenge, String)>, store::Error> {
        let (revealed, code) = self.codes.reveal(&self.store, id, &hand.by, hand.channel, now).await?;
        match (revealed, code) {
            (Revealed::Shown(asked), Some(code)) => Ok(Some((asked.into(), code))),
            _ => Ok(None),
        }
    }

    /// A token with which another principal than the one that waits can confirm an approval. None if it is answered.
    pub async fn token(
        &self,
        id: &str,
        hand: &Hand,
        now: Timestamp,
    ) -> Result<Option<(Approval, String)>, store::Error> {
        let (token, hash) = self.codes.token();
        let kept = self.store.approval_token(id, hash, &hand.by, hand.channel, now).await?;
        Ok(kept.map(|approval| (approval, token)))
    }

    /// What servers ask for, the oldest first.
    pub async fn inputs(&self, now: Timestamp) -> Result<Vec<Input>, store::Error> {
        self.store.inputs(now).await
    }

    /// The question whose id begins so, if it is the only one.
    pub async fn find_input(&self, beginning: &str, now: Timestamp) -> Result<Input, Unclear> {
        only(self.inputs(now).await?, beginning, |input| &input.id)
    }

    /// Answers a server's question for the person. What is accepted has to fit the form.
    pub async fn answer_input(
        &self,
        id: &str,
        action: Action,
        content: Option<Map<String, Value>>,
        hand: &Hand,
        now: Timestamp,
    ) -> Result<InputAnswered, Refused> {
        let Some(found) = self.store.input(id, now).await? else { return Ok(InputAnswered::Missing) };
        let content = match (action, content) {
            (Action::Accept, content) if found.is_pending() => {
                let Some(form) = &found.question.form else {
                    let why = found.question.no_form.unwrap_or_default();
                    return Err(Refused::Wrong(format!("it can only be declined here: {why}")));
                };
                let content = content.unwrap_or_default();
                form.check(&content).map_err(Refused::Wrong)?;
                Some(content)
            }
            (Action::Accept, content) => content,
            (Action::Decline | Action::Cancel, None) => None,
            (Action::Decline | Action::Cancel, Some(_)) => {
                return Err(Refused::Wrong("'content' goes with 'accept' only".to_owned()));
            }
        };
        Ok(self.store.answer_input(id, action, content, hand.channel, &hand.by, now).await?)
    }

    /// Audit entries after a number, oldest first.
    pub async fn audit(&self, after: u64, most: u32) -> Result<Vec<ShownEntry>, store::Error> {
        Ok(self.store.audit_entries(after, most).await?.into_iter().map(ShownEntry::from).collect())
    }

    pub async fn audit_length(&self) -> Result<u64, store::Error> {
        self.store.audit_length().await
    }

    /// Adds an entry about the operator's side itself.
    pub(super) async fn note(&self, event: aql::audit::Event, now: Timestamp) -> Result<(), store::Error> {
        self.store.audit(event, now).await
    }

    /// Follows the whole audit log. A head that was kept elsewhere shows whether its end was cut off.
    pub async fn verify_audit(&self) -> Result<Verified, store::Error> {
        Ok(match self.store.verify_audit().await? {
            Ok(Chain { entries, head }) => Verified::Whole { entries, head: super::signature::hex(&head) },
            Err(broken @ (Broken::Missing { .. } | Broken::Changed { .. })) => {
                Verified::Broken { why: broken.to_string() }
            }
        })
    }
}

fn only<T>(all: Vec<T>, beginning: &str, id: impl Fn(&T) -> &String) -> Result<T, Unclear> {
    let none = || Unclear::None(line(beginning, NOTE_CHARS_MAX));
    if beginning.is_empty() {
        return Err(none());
    }
    let mut fitting = all.into_iter().filter(|one| id(one).starts_with(beginning));
    match (fitting.next(), fitting.next()) {
        (Some(found), None) => Ok(found),
        (None, _) => Err(none()),
        (Some(_), Some(_)) => Err(Unclear::Several(line(beginning, NOTE_CHARS_MAX))),
    }
}

impl From<Block> for ShownBlock {
    fn from(block: Block) -> Self {
        let Block { agent, principal, challenge_id, reason, hint, blocked_at } = block;
        Self { agent, principal, challenge_id, reason, hint, blocked_at }
    }
}

impl From<Asked> for ShownChallenge {
    fn from(asked: Asked) -> Self {
        let Asked { challenge, agent, principal, session_id, reason, hint } = asked;
        Self {
            id: challenge.id,
            state: challenge.state.as_str(),
            tier: challenge.tier.as_str(),
            agent,
            principal,
            session_id,
            reason,
            hint,
            asked_at: challenge.asked_at,
            expires_at: challenge.expires_at,
        }
    }
}

impl From<Entry> for ShownEntry {
    fn from(entry: Entry) -> Self {
        let event = RawValue::from_string(entry.text).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self { number: entry.number, at: entry.at, event, hash: super::signature::hex(&entry.hash) }
    }
}
