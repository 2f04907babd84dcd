//! What lets a dangerous call through: a person, asked where the agent cannot answer.
//!
//! Decisions are made by `aql::policy`; this is what a decision needs and what follows from it. Everything that was
//! decided is on disk before it is acted upon, and where that fails, nothing is let through.

pub mod channels;
mod confirm;
mod denials;
mod elicit;
mod inputs;
mod record;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use aql::{
    audit::Hash,
    confirm::{Lifetimes, Scope},
};
use hmac::{Hmac, digest::KeyInit};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use tokio::sync::Notify;

use crate::{
    adapters::safety_loop::SafetyLoop, operator::desk::Desk, pipeline::Clock, random, rates::Rates,
    session::Session, store::SafetyStore,
};

pub(crate) use confirm::{Asking, Confirmed, approval_id};
pub(crate) use elicit::is_ours;
pub(crate) use record::{DENIED, undecided};

/// Who is asked before a call that needs a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Confirmation {
    /// The operator, by a way that the agent has no part in.
    #[default]
    Operator,
    /// The caller, who gets a token to call again with. Weaker: an agent can confirm for itself.
    Token,
    /// Nobody; what destroys runs at once.
    Off,
}

/// What the operator settled about confirmation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub confirmation: Confirmation,
    pub lifetimes: Lifetimes,
    /// How long a call is held while the operator is asked.
    pub hold: Duration,
    /// How long a question waits for its answer.
    pub waits: SignedDuration,
    /// Whether tokens outlive the session they were given to.
    pub persist_tokens: bool,
    /// How many times a token may be used.
    pub token_uses: u32,
    /// Whether the client's user may answer for what is destructive and no worse.
    pub elicitation: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            confirmation: Confirmation::default(),
            lifetimes: Lifetimes::default(),
            hold: Duration::from_secs(50),
            waits: SignedDuration::from_mins(15),
            persist_tokens: false,
            token_uses: 1,
            elicitation: false,
        }
    }
}

/// How often what ended long ago is forgotten.
const FORGOTTEN_EVERY: Duration = Duration::from_mins(20);
/// Tokens that do not fit, in a minute, before a principal's next ones are not even looked at.
const TOKENS_REFUSED_IN_A_MINUTE_MAX: u32 = 60;
/// How long a confirmed call may take to come back with answers to the questions of whoever does the work.
const RESUMED_WITHIN: SignedDuration = SignedDuration::from_mins(15);
/// Confirmed calls that wait for their client's answers, at the most.
const RESUMABLE_MAX: usize = 1024;

/// The runtime of safety: the store, the settings, and what only lives as long as the process.
pub struct Safety {
    store: SafetyStore,
    settings: Settings,
    /// Through which a person is asked.
    channels: OnceLock<channels::Channels>,
    /// What makes codes for those channels.
    desk: OnceLock<Desk>,
    clock: Clock,
    /// Rung whenever an answer may have come in.
    answered: Notify,
    refused: Rates,
    /// Denials that are counted before they are written.
    denials: denials::Denials,
    /// Sessions for whose calls somebody was asked.
    asked: Mutex<HashSet<String>>,
    /// Confirmed calls that were answered with a question, by the state that continues them.
    resumable: Mutex<HashMap<Hash, (Scope, Timestamp)>>,
    /// Seals what clients carry for us.
    seal: Hmac<Sha256>,
    /// The loop of monitored executions, where there is one.
    safety_loop: OnceLock<Arc<SafetyLoop>>,
}

impl Safety {
    #[must_use]
    pub fn new(store: SafetyStore, settings: Settings, clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            store,
            settings,
            channels: OnceLock::new(),
            desk: OnceLock::new(),
            clock,
            answered: Notify::new(),
            refused: Rates::default(),
            denials: denials::Denials::default(),
            asked: Mutex::default(),
            resumable: Mutex::default(),
            seal: <Hmac<Sha256> as KeyInit>::new(&random::bytes::<64>().into()),
            safety_loop: OnceLock::new(),
        })
    }

    #[must_use]
    pub fn store(&self) -> &SafetyStore {
        &self.store
    }

    /// Asks through these from now on. They are set once, when the gateway is put together.
    pub fn ask_through(&self, channels: channels::Channels, desk: Desk) {
        let _ = self.channels.set(channels);
        let _ = self.desk.set(desk);
    }

    /// Tells whoever can answer of what an agent was paused or stopped for, if these are what came of it.
    pub(crate) async fn announce(&self, approval_id: &str, challenge_id: &str) {
        let (Some(channels), Some(desk)) = (self.channels(), self.desk.get()) else { return };
        let now = (self.clock)();
        if let Ok(Some(approval)) = self.store.approval(approval_id, now).await {
            channels.offer(&approval);
        }
        let asked = desk.challenges(now).await.unwrap_or_default();
        if asked.iter().any(|asked| asked.id == challenge_id) {
            channels.challenge(desk, challenge_id);
        }
    }

    #[must_use]
    pub fn channels(&self) -> Option<&channels::Channels> {
        self.channels.get()
    }

    /// Lets calls be decided with the loop; only the first one counts.
    pub fn supervise(&self, safety_loop: Arc<SafetyLoop>) {
        let _ = self.safety_loop.set(safety_loop);
    }

    /// The loop of monitored executions, where there is one.
    #[must_use]
    pub fn safety_loop(&self) -> Option<&Arc<SafetyLoop>> {
        self.safety_loop.get()
    }

    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Forgets what ended long ago, now and then.
    pub fn tend(self: &Arc<Self>) {
        let weak = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut due = tokio::time::interval(FORGOTTEN_EVERY);
            loop {
                due.tick().await;
                let Some(safety) = weak.upgrade() else { return };
                if let Err(error) = safety.store.purge((safety.clock)()).await {
                    tracing::warn!(%error, "what ended long ago could not be forgotten");
                }
            }
        });
    }

    /// Waits until everything that was decided is on disk.
    pub async fn close(&self) {
        if let Some(channels) = self.channels() {
            channels.close();
        }
        let asked = std::mem::take(&mut *self.asked());
        for session_id in asked {
            self.end(&session_id).await;
        }
        self.write_denials(self.denials.all()).await;
        self.store.clone().close().await;
    }

    /// Says that something was answered in this process, so that whoever waits looks at once.
    pub fn answered(&self) {
        self.answered.notify_waiters();
    }

    /// Notes that a confirmed call continues when its client comes back with this state, once.
    pub(crate) fn let_resume(&self, scope: Scope, state: &str) {
        let now = (self.clock)();
        let mut resumable = self.resumable.lock().unwrap_or_else(PoisonError::into_inner);
        resumable.retain(|_, (_, until)| *until > now);
        if resumable.len() < RESUMABLE_MAX {
            let until = now.saturating_add(RESUMED_WITHIN).unwrap_or(now);
            resumable.insert(hash(state), (scope, until));
        }
    }

    /// Whether this is a confirmed call that comes back with answers.
    fn resumes(&self, scope: &Scope, state: &str) -> bool {
        let mut resumable = self.resumable.lock().unwrap_or_else(PoisonError::into_inner);
        match resumable.get(&hash(state)) {
            Some((confirmed, until)) if confirmed == scope && *until > (self.clock)() => {
                resumable.remove(&hash(state));
                true
            }
            _ => false,
        }
    }

    /// What a session has open is taken back when it ends.
    fn watch(self: &Arc<Self>, session: &Arc<Session>) {
        if !self.asked().insert(session.id().to_owned()) {
            return;
        }
        let (safety, session) = (Arc::clone(self), Arc::clone(session));
        tokio::spawn(async move {
            session.ended().await;
            if safety.asked().remove(session.id()) {
                safety.end(session.id()).await;
            }
        });
    }

    async fn end(&self, session_id: &str) {
        if let Err(error) = self.store.end_session(session_id, (self.clock)()).await {
            tracing::warn!(%error, "what a session had asked for could not be taken back");
        }
    }

    fn asked(&self) -> MutexGuard<'_, HashSet<String>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(text: &str) -> Hash {
    Sha256::digest(text.as_bytes()).into()
}
