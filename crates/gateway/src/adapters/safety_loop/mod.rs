//! The execution safety loop: agents that say what they are about to do, and are told whether they may.
//!
//! What is decided is decided by [`aql::autonomy`], inside the transaction that keeps it. Here is what lives as long as the
//! process: who executes in which session, and a picture of the blocks that is as fresh as the file.

mod operations;
mod refusal;

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use aql::{
    audit::{Event, Hash, Outcome},
    autonomy::{Autonomy, Mode, Rules, Scorer, Settings, Words, define, fold, pattern},
    category::Category,
    confirm::call_hash,
    error::Error,
    operation::Operation,
    policy::{Blocks, Executing, Rule, Then},
    registry::RESERVED,
    shared::CONFIRMATION_TOKEN,
};
use jiff::SignedDuration;
use serde_json::{Map, Value};

pub(crate) use operations::known;
pub use operations::{definitions, operations};

use crate::{
    codes::Codes,
    pipeline::Clock,
    safety::Safety,
    session::Session,
    store::{
        self, SafetyStore,
        safety::agents::{Caller, Judge, Snapshot, Watch},
    },
};

/// How long a challenge can be answered, unless the operator says otherwise.
pub const CHALLENGE_SECONDS_DEFAULT: u64 = 300;

/// What the operator settled about the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub mode: Mode,
    pub rules: Rules,
    /// Agents with settings of their own, all of them.
    pub agents: BTreeMap<String, Rules>,
    pub challenge: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: Mode::Disabled,
            rules: Rules::default(),
            agents: BTreeMap::new(),
            challenge: Duration::from_secs(CHALLENGE_SECONDS_DEFAULT),
        }
    }
}

impl Options {
    /// The settings made ready.
    pub fn autonomy(&self) -> Result<Autonomy, pattern::Error> {
        let agents = self.agents.iter();
        let agents = agents
            .map(|(name, rules)| Ok((name.clone(), Settings::new(rules.clone())?)))
            .collect::<Result<_, _>>()?;
        Ok(Autonomy { mode: self.mode, all: Settings::new(self.rules.clone())?, agents })
    }

    /// What the gate asks a person for because of the loop: an execution begins with an approval.
    #[must_use]
    pub fn rule(&self) -> Option<Rule> {
        (self.mode == Mode::Enforcing).then(|| Rule {
            operations: vec![define::EXECUTE_AGENT.to_owned()],
            reason: Some("a monitored execution begins only if a person agrees".to_owned()),
            ..Rule::new(Then::Confirm)
        })
    }
}

/// The loop of one process.
pub struct SafetyLoop {
    store: SafetyStore,
    codes: Codes,
    judge: Judge,
    watch: Watch,
    /// Sessions whose end is waited for.
    watched: Mutex<HashSet<String>>,
    evaluations: AtomicU64,
    clock: Clock,
}

/// What holds for a session's calls because of the loop.
pub struct Supervised {
    seen: Arc<Snapshot>,
    agent: Option<String>,
    pub executing: Vec<Executing>,
}

impl Supervised {
    #[must_use]
    pub fn blocks(&self) -> &Blocks {
        &self.seen.blocks
    }

    /// The agent that the session belongs to.
    #[must_use]
    pub fn agent(&self) -> Option<String> {
        self.agent.clone()
    }
}

impl SafetyLoop {
    /// Opens the loop over a data directory. Blocks: meant for the start of the process.
    pub fn open(
        dir: &Path,
        store: SafetyStore,
        autonomy: Autonomy,
        challenge: Duration,
        adapter: &str,
        clock: Clock,
    ) -> Result<Arc<Self>, store::Error> {
        let owner = uuid::Uuid::new_v4().to_string();
        let judge = Judge {
            autonomy: Arc::new(autonomy),
            scorer: Arc::new(Words),
            challenge_life: SignedDuration::try_from(challenge).unwrap_or(SignedDuration::MAX),
            owner,
            adapter: adapter.to_owned(),
        };
        let watch = store.watch(&judge.owner)?;
        watch.look(clock())?;
        Ok(Arc::new(Self {
            codes: Codes::open(dir)?,
            watched: Mutex::default(),
            evaluations: AtomicU64::new(0),
            store,
            judge,
            watch,
            clock,
        }))
    }

    /// The same with another judge of risks.
    #[must_use]
    pub fn scored_by(self: Arc<Self>, scorer: Arc<dyn Scorer>) -> Arc<Self> {
        match Arc::try_unwrap(self) {
            Ok(mut own) => {
                own.judge.scorer = scorer;
                Arc::new(own)
            }
            Err(shared) => shared,
        }
    }

    #[must_use]
    pub fn mode(&self) -> Mode {
        self.judge.autonomy.mode
    }

    #[must_use]
    pub fn autonomy(&self) -> &Autonomy {
        &self.judge.autonomy
    }

    /// How many reports were judged.
    #[must_use]
    pub fn evaluations(&self) -> u64 {
        self.evaluations.load(Ordering::Relaxed)
    }

    /// What holds for a session's calls now, or nothing where nothing is enforced.
    pub fn supervised(&self, session: &Session) -> Result<Option<Supervised>, store::Error> {
        if self.mode() != Mode::Enforcing {
            return Ok(None);
        }
        let now = (self.clock)();
        let seen = self.watch.look(now)?;
        let bound = seen.sessions.get(session.id());
        let agent = bound.and_then(|bound| bound.first()).map(|bound| bound.agent.clone());
        let executing = seen.executing(session.id(), session.principal(), now);
        Ok(Some(Supervised { seen, agent, executing }))
    }

    /// What the loop has against a call before anybody is asked about it: an agent that is blocked is not started, and
    /// one whose call waits for a person makes no other.
    pub(crate) async fn refuses(
        &self,
        safety: &Arc<Safety>,
        (operation, definition): (&Operation, Option<&Hash>),
        params: &Map<String, Value>,
        session: &Session,
    ) -> Option<Error> {
        if self.mode() != Mode::Enforcing || operation.category() == Category::Read {
            return None;
        }
        let name = operation.name().as_str();
        let found = match name {
            define::EXECUTE_AGENT => self.refuses_start(safety, params, session).await,
            _ if RESERVED.contains(&name) || operation.is_dry_run(params) => return None,
            _ => self.holds((operation, definition), params, session).await,
        };
        found.unwrap_or_else(|error| Some(refusal::undecided(name, error)))
    }

    async fn refuses_start(
        &self,
        safety: &Arc<Safety>,
        params: &Map<String, Value>,
        session: &Session,
    ) -> Result<Option<Error>, store::Error> {
        let agent = fold(params.get("element_name").and_then(Value::as_str).unwrap_or_default()).text;
        let now = (self.clock)();
        if self.watch.look(now)?.blocks.of_agent(&agent).is_none() {
            return Ok(None);
        }
        let challenge_id = uuid::Uuid::new_v4().to_string();
        let judge = (self.judge.clone(), challenge_id.clone());
        let Some(why) = self.store.refusal(&agent, caller(session), judge, now).await? else {
            return Ok(None);
        };
        operations::announce(Some(safety), &why, &challenge_id).await;
        Ok(Some(refusal::refused(define::EXECUTE_AGENT, &agent, why)))
    }

    /// Whether another call of the session's agent waits for a person. The same one may be repeated, to learn the answer.
    async fn holds(
        &self,
        (operation, definition): (&Operation, Option<&Hash>),
        params: &Map<String, Value>,
        session: &Session,
    ) -> Result<Option<Error>, store::Error> {
        let (now, name) = ((self.clock)(), operation.name().as_str());
        let seen = self.watch.look(now)?;
        for bound in seen.sessions.get(session.id()).into_iter().flatten() {
            let waiting =
                self.store.waiting_calls(&self.judge.owner, session.id(), &bound.agent, now).await?;
            let Some(first) = waiting.first() else { continue };
            let mut params = params.clone();
            params.remove(CONFIRMATION_TOKEN);
            let hash = call_hash(&params, definition);
            if !waiting.iter().any(|call| call.operation == name && call.params_hash == hash) {
                return Ok(Some(refusal::held(name, &bound.agent, first)));
            }
        }
        Ok(None)
    }

    /// Writes down where an executing agent does something that it has not reported. The rule is cooperative, so it is
    /// for people to see; what can be held back is held back by the gate.
    pub async fn observe(&self, session: &Session, operation: &Operation) -> Result<(), store::Error> {
        let name = operation.name().as_str();
        if operation.category() == Category::Read || RESERVED.contains(&name) || self.mode() == Mode::Disabled
        {
            return Ok(());
        }
        let now = (self.clock)();
        let seen = self.watch.look(now)?;
        let Some(bound) = seen.sessions.get(session.id()).filter(|bound| !bound.is_empty()) else {
            return Ok(());
        };
        if bound.iter().any(|bound| bound.hints.iter().any(|hint| tells_of(hint, operation))) {
            return Ok(());
        }
        let agents: Vec<&str> = bound.iter().map(|bound| bound.agent.as_str()).collect();
        let event = Event {
            outcome: Some(Outcome::Failure),
            session_id: Some(session.id().to_owned()),
            principal: Some(session.principal().to_owned()),
            agent: Some(agents.join(", ")),
            operation: Some(name.to_owned()),
            danger_level: Some(operation.danger().level),
            reasons: vec!["no reported step tells of this operation".to_owned()],
            ..Event::new("PROTOCOL_VIOLATION")
        };
        self.store.audit(event, now).await
    }

    /// Ends what a session has open when it ends.
    fn watch(self: &Arc<Self>, session: &Arc<Session>) {
        if !self.watched().insert(session.id().to_owned()) {
            return;
        }
        let (own, session) = (Arc::clone(self), Arc::clone(session));
        tokio::spawn(async move {
            session.ended().await;
            own.watched().remove(session.id());
            let ended = own.store.end_agents_of(&own.judge.owner, session.id(), (own.clock)()).await;
            if let Err(error) = ended {
                tracing::warn!(%error, "the executions of a session's agents could not be ended");
            }
        });
    }

    fn watched(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn caller(session: &Session) -> Caller {
    Caller { session_id: session.id().to_owned(), principal: session.principal().to_owned() }
}

/// Whether a hint names the operation, or has all the words of its name.
fn tells_of(hint: &str, operation: &Operation) -> bool {
    let hint = fold(hint).text;
    let name = operation.name().as_str();
    let has = |word: &str| hint.contains(word.trim_end_matches('s').trim_end_matches('e'));
    hint.contains(name) || operation.bare_name().split('_').all(has)
}
