//! The definitions that a connection lists, held against those that were accepted before a tool is called.
//!
//! Whoever has looked last is not asked: every connection is looked at itself, so that a server which changes between
//! its start and the first call, in a process of its own or beside another gateway, changes nothing unnoticed.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    catalogue,
    peer::{Failure, Peer},
};

/// Stands for a definition: equal ones have equal pins.
pub(super) type Pin = [u8; 32];

/// The pin of a definition. The order of its keys means nothing.
pub(super) fn pin(definition: &Value) -> Pin {
    Sha256::digest(definition.to_string().as_bytes()).into()
}

/// What a connection lists.
#[derive(Default)]
pub(super) struct Listing {
    listed: ArcSwapOption<Listed>,
    asking: tokio::sync::Mutex<()>,
    /// Set when the upstream has said that something changed.
    stale: AtomicBool,
}

pub(super) struct Listed {
    /// No two listings have the same.
    pub(super) number: u64,
    pins: HashMap<String, Pin>,
}

impl Listed {
    /// Whether the tool is what was accepted. One that is not listed is the upstream's to refuse.
    pub(super) fn agrees(&self, tool: &str, accepted: &Pin) -> bool {
        self.pins.get(tool).is_none_or(|listed| listed == accepted)
    }
}

impl Listing {
    pub(super) fn has_changed(&self) {
        self.stale.store(true, Ordering::Release);
    }

    fn known(&self) -> Option<Arc<Listed>> {
        if self.stale.load(Ordering::Acquire) { None } else { self.listed.load_full() }
    }

    /// The listing, asked for where it is not known or may have changed.
    pub(super) async fn of(&self, peer: &Arc<Peer>, within: Duration) -> Result<Arc<Listed>, Failure> {
        match self.known() {
            Some(listed) => Ok(listed),
            None => Box::pin(self.ask(peer, within)).await,
        }
    }

    async fn ask(&self, peer: &Arc<Peer>, within: Duration) -> Result<Arc<Listed>, Failure> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let _one_at_a_time = self.asking.lock().await;
        if let Some(listed) = self.known() {
            return Ok(listed);
        }
        self.stale.store(false, Ordering::Release);
        let asked = tokio::time::timeout(within, catalogue::tools(peer, within)).await;
        let pages = asked.unwrap_or(Err(Failure::TimedOut(within))).inspect_err(|_| self.has_changed())?;
        let mut pins = HashMap::new();
        for tool in pages.iter().flat_map(|page| catalogue::items(page, "tools")) {
            if let Some(name) = tool.get("name").and_then(Value::as_str) {
                pins.entry(name.to_owned()).or_insert_with(|| pin(&tool));
            }
        }
        let listed = Arc::new(Listed { number: NUMBER.fetch_add(1, Ordering::Relaxed), pins });
        self.listed.store(Some(Arc::clone(&listed)));
        Ok(listed)
    }
}

/// The definition that a tool is called by, and the last listing that it was found in.
pub(super) struct Accepted {
    pin: Pin,
    found_in: AtomicU64,
}

impl Accepted {
    pub(super) fn new(definition: &Value) -> Self {
        Self { pin: pin(definition), found_in: AtomicU64::new(0) }
    }

    pub(super) fn pin(&self) -> &Pin {
        &self.pin
    }

    /// Whether the connection still offers it so.
    pub(super) async fn agrees(
        &self,
        peer: &Arc<Peer>,
        tool: &str,
        within: Duration,
    ) -> Result<bool, Failure> {
        let listed = peer.listing.of(peer, within).await?;
        if self.found_in.load(Ordering::Relaxed) == listed.number {
            return Ok(true);
        }
        let agrees = listed.agrees(tool, &self.pin);
        if agrees {
            self.found_in.store(listed.number, Ordering::Relaxed);
        }
        Ok(agrees)
    }
}
