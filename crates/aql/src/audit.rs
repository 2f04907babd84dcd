//! The audit log: what is written down of decisions, and the chain that shows whether anything was changed since.
//!
//! Every entry's hash covers the one before it, so changing, removing or reordering entries breaks the chain from there
//! on. Cutting off its end does not: whoever has to notice that keeps the hash of the last entry elsewhere.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{danger::DangerLevel, trust::TrustLevel};

/// A link of the chain.
pub type Hash = [u8; 32];

/// What the first entry's hash covers in place of one before it.
pub const START: Hash = [0; 32];

/// What came of something that was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Allowed,
    Confirmed,
    Denied,
    /// It waits for a person.
    Pending,
    Success,
    Failure,
}

/// One thing that happened. Parameters are redacted before they come here; tokens, codes and credentials never do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Event {
    /// What happened, as in `OPERATION_DENIED`.
    pub event: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The agent of a monitored execution, by its element's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter_trust: Option<TrustLevel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub danger_level: Option<DangerLevel>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// Which token it was, by an id that is no part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenge_id: Option<String>,
    /// How a person or another program answered, as in `command`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Anything else that belongs to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}

impl Event {
    #[must_use]
    pub fn new(event: &str) -> Self {
        Self { event: event.to_owned(), ..Self::default() }
    }
}

/// An entry as it is kept: the text of the event is what was hashed, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub number: u64,
    pub at: Timestamp,
    pub text: String,
    pub hash: Hash,
}

/// The hash of an entry that follows `before`.
#[must_use]
pub fn hash(before: &Hash, number: u64, at: Timestamp, text: &str) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update(before);
    hasher.update(number.to_be_bytes());
    hasher.update(at.as_microsecond().to_be_bytes());
    hasher.update(text.as_bytes());
    hasher.finalize().into()
}

/// Why a log is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("entry {number} is missing")]
    Missing { number: u64 },
    #[error("entry {number} was changed, or one before it")]
    Changed { number: u64 },
}

/// Follows the chain entry by entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    pub entries: u64,
    pub head: Hash,
}

impl Default for Chain {
    fn default() -> Self {
        Self { entries: 0, head: START }
    }
}

impl Chain {
    /// Takes the next entry, or says what is wrong with it.
    pub fn follow(&mut self, entry: &Entry) -> Result<(), Broken> {
        let number = self.entries + 1;
        if entry.number != number {
            return Err(Broken::Missing { number });
        }
        if hash(&self.head, number, entry.at, &entry.text) != entry.hash {
            return Err(Broken::Changed { number });
        }
        *self = Self { entries: number, head: entry.hash };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(texts: &[&str]) -> Vec<Entry> {
        let mut head = START;
        let numbered = texts.iter().zip(1..);
        let entries = numbered.map(|(text, number)| {
            let at = Timestamp::from_microsecond(1_700_000_000_000_000 + number as i64).unwrap();
            head = hash(&head, number, at, text);
            Entry { number, at, text: (*text).to_owned(), hash: head }
        });
        entries.collect()
    }

    fn follow(entries: &[Entry]) -> Result<Chain, Broken> {
        let mut chain = Chain::default();
        entries.iter().try_for_each(|entry| chain.follow(entry)).map(|()| chain)
    }

    #[test]
    fn any_change_breaks_the_chain_where_it_was_made() {
        let whole = log(&["a", "b", "c", "d"]);
        let chain = follow(&whole).unwrap();
        assert_eq!((chain.entries, chain.head), (4, whole[3].hash));

        let mut changed = whole.clone();
        changed[1].text = "x".to_owned();
        assert_eq!(follow(&changed), Err(Broken::Changed { number: 2 }));
        let mut later = whole.clone();
        later[2].at = Timestamp::UNIX_EPOCH;
        assert_eq!(follow(&later), Err(Broken::Changed { number: 3 }));
        let mut removed = whole.clone();
        removed.remove(1);
        assert_eq!(follow(&removed), Err(Broken::Missing { number: 2 }));
        let mut swapped = whole.clone();
        swapped.swap(1, 2);
        assert!(follow(&swapped).is_err());
        let mut rehashed = whole;
        rehashed[1].text = "x".to_owned();
        rehashed[1].hash = hash(&rehashed[0].hash, 2, rehashed[1].at, "x");
        assert_eq!(follow(&rehashed), Err(Broken::Changed { number: 3 }));
    }
}
