//! The execution safety loop over every wire, with the operator on their own side of the data directory.

mod blocks;
mod codes;
mod dongle;
mod gating;
mod modes;

use std::path::Path;

use gateway::{
    codes::Codes,
    store::{
        Options, SafetyStore,
        safety::{ApprovalState, agents::Block},
    },
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::harness::{Client, Setup};

const ENFORCING: &str = "[safety]\nhold_seconds = 0\n\n[safety.loop]\nmode = \"enforcing\"\n";

fn enforcing(directory: &Path) -> Setup {
    Setup::new(directory).config(ENFORCING)
}

/// The operator's side, as far as these tests need it: the store that the server uses, from another process.
struct Operator {
    runtime: tokio::runtime::Runtime,
    store: SafetyStore,
    codes: Codes,
}

impl Operator {
    fn of(directory: &Path) -> Self {
        let data = directory.join("data");
        Self {
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .unwrap(),
            store: SafetyStore::open(&data, Options::default()).unwrap(),
            codes: Codes::open(&data).unwrap(),
        }
    }

    fn pending(&self) -> Vec<String> {
        let pending = self.store.approvals(&[ApprovalState::Pending], 100, Timestamp::now());
        self.runtime.block_on(pending).unwrap().into_iter().map(|approval| approval.id).collect()
    }

    fn answer(&self, id: &str, approve: bool) {
        self.runtime.block_on(self.store.answer(id, approve, "test", "tester", Timestamp::now())).unwrap();
    }

    fn reveal(&self, challenge: &str) -> String {
        let revealed = self.codes.reveal(&self.store, challenge, "tester", "test", Timestamp::now());
        self.runtime.block_on(revealed).unwrap().1.expect("the challenge can be answered")
    }

    fn token(&self, approval: &str) -> String {
        let (token, hash) = self.codes.token();
        let kept = self.store.approval_token(approval, hash, "tester", "test", Timestamp::now());
        assert!(self.runtime.block_on(kept).unwrap().is_some());
        token
    }

    fn unblock(&self, agent: &str) -> Option<Block> {
        let unblocked = self.store.unblock(agent, "tester", "test", "checked", Timestamp::now());
        self.runtime.block_on(unblocked).unwrap()
    }

    fn blocks(&self) -> Vec<String> {
        self.runtime.block_on(self.store.blocks()).unwrap().into_iter().map(|block| block.agent).collect()
    }

    fn events(&self) -> Vec<Value> {
        let entries = self.runtime.block_on(self.store.audit_entries(0, 100_000)).unwrap();
        entries.iter().map(|entry| serde_json::from_str(&entry.text).unwrap()).collect()
    }

    fn count(&self, event: &str) -> usize {
        self.events().iter().filter(|one| one["event"] == event).count()
    }
}

/// Starts an agent, with the operator's consent where it is asked for.
fn start(client: &mut Client, operator: &Operator, agent: &str) -> Value {
    let answer = client.execute("execute_agent", json!({"element_name": agent}));
    if code(&answer) != "CONFIRMATION_REQUIRED" {
        return answer;
    }
    let approval = answer["error"]["details"]["approval_id"].as_str().unwrap();
    operator.answer(approval, true);
    client.execute("execute_agent", json!({"element_name": agent}))
}

/// What a report is answered with, where it is answered.
fn step(client: &mut Client, agent: &str, hint: &str) -> Value {
    let answer = report(client, agent, hint);
    assert_eq!(answer["success"], true, "{answer}");
    answer["data"].clone()
}

fn report(client: &mut Client, agent: &str, hint: &str) -> Value {
    client.create("record_execution_step", json!({"element_name": agent, "nextActionHint": hint}))
}

fn verify(client: &mut Client, challenge: &str, given: &str) -> Value {
    client.create("verify_challenge", json!({"challenge_id": challenge, "code": given}))
}

fn code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap_or("none")
}

fn verification_id(directive: &Value, kind: &str) -> String {
    let all = directive["notifications"].as_array().unwrap();
    let found = all.iter().find(|one| one["type"] == kind).unwrap_or_else(|| panic!("{directive}"));
    found["metadata"]["verificationId"].as_str().unwrap().to_owned()
}
