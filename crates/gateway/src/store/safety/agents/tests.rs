//! The loop over the store, with the clock and the scores in the test's hands.

mod blocks;
mod pauses;
mod steps;

use std::path::Path;
use std::sync::Arc;

use aql::autonomy::{Action, Autonomy, Hint, Mode, Risk, Rules, Settings};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::codes::Codes;
use crate::store::Options;

/// A hint of "score 70" scores 70, and everything else 10.
fn by_number(action: &Action) -> Risk {
    let number =
        action.hint.folded.text.strip_prefix("score ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    let score = number.unwrap_or(10);
    Risk { score, factors: vec![format!("risk score {score}")] }
}

fn rules() -> Rules {
    Rules { auto_approve: vec!["read_*".to_owned()], ..Rules::default() }
}

/// One process on a data directory.
struct Process {
    store: SafetyStore,
    codes: Codes,
    judge: Judge,
    now: Timestamp,
}

impl Process {
    fn start(dir: &Path) -> Self {
        Self::with(dir, Mode::Enforcing, rules())
    }

    fn with(dir: &Path, mode: Mode, rules: Rules) -> Self {
        let autonomy = Autonomy { mode, all: Settings::new(rules).unwrap(), agents: Default::default() };
        Self {
            store: SafetyStore::open(dir, Options::default()).unwrap(),
            codes: Codes::open(dir).unwrap(),
            judge: Judge {
                autonomy: Arc::new(autonomy),
                scorer: Arc::new(by_number),
                challenge_life: SignedDuration::from_secs(300),
                owner: uuid::Uuid::new_v4().to_string(),
                adapter: "test".to_owned(),
            },
            now: Timestamp::from_second(1_800_000_000).unwrap(),
        }
    }

    fn wait(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    async fn start_agent(&self, agent: &str) -> Result<AgentExecution, Refused> {
        let new = NewAgentExecution {
            id: uuid::Uuid::new_v4().to_string(),
            agent: agent.to_owned(),
            caller: mallory(),
            goal: None,
            challenge_id: uuid::Uuid::new_v4().to_string(),
        };
        self.store.start_agent(new, self.judge.clone(), self.now).await.unwrap()
    }

    async fn end_agent(&self, agent: &str, status: Status) -> Result<AgentExecution, Refused> {
        let judge = (self.judge.clone(), uuid::Uuid::new_v4().to_string());
        self.store.end_agent(agent, mallory(), status, None, judge, self.now).await.unwrap()
    }

    async fn report(
        &self,
        agent: &str,
        hint: &str,
        outcome: Option<StepOutcome>,
    ) -> Result<Recorded, Refused> {
        let step = NewStep {
            agent: agent.to_owned(),
            caller: mallory(),
            hint: hint.to_owned(),
            judged: Hint::read(hint),
            known: None,
            description: Some("what was done".to_owned()),
            outcome,
            findings: Some("what was found".to_owned()),
            challenge_id: uuid::Uuid::new_v4().to_string(),
            approval_id: format!("appr_{}", uuid::Uuid::new_v4()),
        };
        self.store.record_step(step, self.judge.clone(), self.now).await.unwrap()
    }

    /// The directive as JSON, with what holds for every directive checked.
    async fn step(&self, agent: &str, hint: &str) -> Value {
        let told = json!(self.report(agent, hint, None).await.unwrap().directive);
        let keys: Vec<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
        let known =
            ["continue", "factors", "stopped", "reason", "stepsRemaining", "nextStepRisk", "notifications"];
        assert!(keys.iter().all(|key| known.contains(key)), "{told}");
        assert!(told["continue"].is_boolean() && told["factors"].is_array(), "{told}");
        if told["continue"] == false {
            assert!(!told["factors"].as_array().unwrap().is_empty() && told["reason"].is_string(), "{told}");
        }
        let text = told.to_string();
        for key in ["\"code\"", "\"secret\"", "\"pin\"", "conf_"] {
            assert!(!text.contains(key), "{text}");
        }
        told
    }

    async fn reveal(&self, challenge: &str) -> String {
        let revealed = self.codes.reveal(&self.store, challenge, "tester", "test", self.now).await.unwrap();
        revealed.1.unwrap_or_else(|| panic!("{:?}", revealed.0))
    }

    async fn give(&self, challenge: &str, code: &str) -> Verified {
        let hash = self.codes.hash(challenge, code);
        self.store.verify(challenge, hash, mallory(), self.now).await.unwrap()
    }

    async fn events(&self) -> Vec<Value> {
        let entries = self.store.audit_entries(0, 100_000).await.unwrap();
        entries.iter().map(|entry| serde_json::from_str(&entry.text).unwrap()).collect()
    }

    async fn count(&self, event: &str) -> usize {
        self.events().await.iter().filter(|one| one["event"] == event).count()
    }
}

/// The principal of the agents.
fn mallory() -> Caller {
    Caller { session_id: "session-1".to_owned(), principal: "mallory".to_owned() }
}

/// Somebody else.
fn alice() -> Caller {
    Caller { session_id: "session-2".to_owned(), principal: "alice".to_owned() }
}

/// The notifications of a type.
fn told_of<'a>(directive: &'a Value, kind: &str) -> Vec<&'a Value> {
    let all = directive["notifications"].as_array();
    all.into_iter().flatten().filter(|one| one["type"] == kind).collect()
}

fn verification_id(notification: &Value) -> String {
    notification["metadata"]["verificationId"].as_str().unwrap().to_owned()
}
