//! What has to be known of one call beside the operation it names.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// The facts of one call. Whoever asks for a decision has looked them up.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// As validation left them: every parameter under its one name, in its one place, defaults filled in.
    pub params: &'a Map<String, Value>,
    pub principal: &'a str,
    /// Whether the call only asks what would happen; see [`crate::operation::Operation::is_dry_run`].
    pub dry_run: bool,
    pub blocks: &'a Blocks,
    /// The monitored executions that belong to the calling session, where they are enforced.
    pub executing: &'a [Executing],
}

/// An agent that was stopped and waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub agent: String,
    pub principal: String,
    pub verification_id: String,
    pub reason: String,
}

/// Everybody who is blocked.
#[derive(Debug, Clone, Default)]
pub struct Blocks {
    all: Vec<Block>,
    by_principal: HashMap<String, usize>,
    by_agent: HashMap<String, usize>,
}

impl Blocks {
    /// Nobody.
    #[must_use]
    pub fn none() -> &'static Self {
        static NONE: std::sync::LazyLock<Blocks> = std::sync::LazyLock::new(Blocks::default);
        &NONE
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Block> {
        self.all.iter()
    }

    /// The first block of an agent of that principal.
    #[must_use]
    pub fn of_principal(&self, principal: &str) -> Option<&Block> {
        if self.all.is_empty() {
            return None;
        }
        self.all.get(*self.by_principal.get(principal)?)
    }

    #[must_use]
    pub fn of_agent(&self, agent: &str) -> Option<&Block> {
        if self.all.is_empty() {
            return None;
        }
        self.all.get(*self.by_agent.get(agent)?)
    }
}

impl FromIterator<Block> for Blocks {
    fn from_iter<I: IntoIterator<Item = Block>>(blocks: I) -> Self {
        let mut made = Self { all: blocks.into_iter().collect(), ..Self::default() };
        for (place, block) in made.all.iter().enumerate() {
            made.by_principal.entry(block.principal.clone()).or_insert(place);
            made.by_agent.entry(block.agent.clone()).or_insert(place);
        }
        made
    }
}

/// A monitored execution of the calling session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executing {
    /// It has reported nothing yet of what it is about to do.
    NothingReported {
        agent: String,
    },
    /// It waits for a person.
    Paused {
        agent: String,
        reason: String,
    },
    Running {
        agent: String,
    },
}
