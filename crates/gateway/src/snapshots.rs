//! Lists that were answered in part, kept so that the next page needs no second call of whoever made them.

use std::{collections::VecDeque, sync::Arc};

use aql::query::listing::Listing;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// What one session may keep. The oldest lists go first.
const KEPT_BYTES_MAX: usize = 16 * 1024 * 1024;
const KEPT_LISTS_MAX: usize = 32;

/// A list as an operation returned it.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The operation and the parameters it was called with.
    pub(crate) call: String,
    /// Stands for the content, so that a cursor is only ever used on the list it was made for.
    pub(crate) id: String,
    pub(crate) listing: Listing,
    bytes: usize,
}

impl Snapshot {
    pub(crate) fn new(call: String, listing: Listing) -> Self {
        let mut hash = Hashing { hash: Sha256::new(), bytes: 0 };
        // Writing into a hash cannot fail.
        let _ = listing.items.serialize(&mut serde_json::Serializer::new(&mut hash));
        let _ = listing.beside.serialize(&mut serde_json::Serializer::new(&mut hash));
        let id = hash.hash.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        Self { call, id, listing, bytes: hash.bytes }
    }
}

struct Hashing {
    hash: Sha256,
    bytes: usize,
}

impl std::io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.hash.update(bytes);
        self.bytes += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The lists of one session, the last used one last.
#[derive(Debug, Default)]
pub(crate) struct Snapshots(VecDeque<Arc<Snapshot>>);

impl Snapshots {
    pub(crate) fn keep(&mut self, snapshot: Arc<Snapshot>) {
        self.0.retain(|known| (&known.call, &known.id) != (&snapshot.call, &snapshot.id));
        self.0.push_back(snapshot);
        let mut bytes: usize = self.0.iter().map(|snapshot| snapshot.bytes).sum();
        // The newest stays however large it is: somebody is about to ask for its next page.
        while self.0.len() > 1 && (self.0.len() > KEPT_LISTS_MAX || bytes > KEPT_BYTES_MAX) {
            bytes -= self.0.pop_front().map_or(0, |oldest| oldest.bytes);
        }
    }

    /// What this call returned before, the last time first.
    pub(crate) fn of(&self, call: &str) -> Vec<Arc<Snapshot>> {
        self.0.iter().rev().filter(|snapshot| snapshot.call == call).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn snapshot(call: &str, items: Value) -> Arc<Snapshot> {
        Arc::new(Snapshot::new(call.to_owned(), Listing::of(items).unwrap()))
    }

    #[test]
    fn lists_are_told_apart_by_what_is_in_them() {
        let mut kept = Snapshots::default();
        for items in [json!([1]), json!([2]), json!([1])] {
            kept.keep(snapshot("a", items));
        }
        kept.keep(snapshot("b", json!([1])));
        let found: Vec<Value> = kept.of("a").iter().map(|s| json!(s.listing.items)).collect();
        assert_eq!(found, [json!([1]), json!([2])]);
        assert!(kept.of("c").is_empty());
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many_or_they_are_too_large() {
        let mut kept = Snapshots::default();
        for n in 0..100 {
            kept.keep(snapshot("a", json!([n])));
        }
        assert_eq!(kept.of("a").len(), KEPT_LISTS_MAX);
        kept.keep(snapshot("big", json!(["x".repeat(KEPT_BYTES_MAX + 1)])));
        assert_eq!((kept.of("a").len(), kept.of("big").len()), (0, 1));
    }
}
