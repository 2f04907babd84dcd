//! Live events: read by their numbers, and waited for.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::sync::watch;

use super::{super::Error, Shared, TraceStore, events, readers::Readers, rows::EventRow};

/// How often it is looked whether another process wrote something, while anybody waits.
const LOOK: Duration = Duration::from_millis(25);

/// Nobody has looked yet.
const UNKNOWN: i64 = -1;

/// The number of the last event, as long as anybody wants to know.
#[derive(Default)]
pub(super) struct Watch {
    last: Mutex<Weak<watch::Sender<i64>>>,
}

impl TraceStore {
    /// Events after a number, the oldest first.
    pub async fn events_after(&self, seq: i64, limit: u32) -> Result<Vec<EventRow>, Error> {
        let read = move |readers: &Readers| {
            let rows = readers.events(|connection| events::after(connection, seq, limit))?;
            Ok(rows.unwrap_or_default())
        };
        self.shared.readers.run_events(read).await
    }

    /// The number of the last event; 0 if there never was any.
    pub async fn last_event(&self) -> Result<i64, Error> {
        self.shared.last_event().await
    }

    /// Events after a number, as soon as there are any.
    pub async fn next_events(&self, mut seq: i64, limit: u32) -> Result<Vec<EventRow>, Error> {
        let mut news = self.watch();
        loop {
            news.mark_unchanged();
            let last = self.last_event().await?;
            let events = self.events_after(seq, limit).await?;
            if !events.is_empty() {
                return Ok(events);
            }
            // Numbers begin anew where the file was removed, and what cannot be read is not read again and again.
            seq = last;
            let is_over = news.changed().await.is_err();
            if is_over {
                news = self.watch();
            }
        }
    }

    /// The number of the last event, kept up to date while it is held.
    fn watch(&self) -> watch::Receiver<i64> {
        let mut known = self.shared.watch.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = known.upgrade() {
            return sender.subscribe();
        }
        let (sender, receiver) = watch::channel(UNKNOWN);
        let sender = Arc::new(sender);
        *known = Arc::downgrade(&sender);
        tokio::spawn(look(Arc::downgrade(&self.shared), sender));
        receiver
    }
}

impl Shared {
    async fn last_event(&self) -> Result<i64, Error> {
        let read = |readers: &Readers| {
            let last = readers.events(events::last)?;
            Ok(last.unwrap_or_default())
        };
        self.readers.run_events(read).await
    }
}

/// Looks for one and all until nobody waits any more.
async fn look(shared: Weak<Shared>, last: Arc<watch::Sender<i64>>) {
    while last.receiver_count() > 0 {
        let Some(shared) = shared.upgrade() else { return };
        let news = shared.news.notified();
        if let Ok(seq) = shared.last_event().await {
            last.send_if_modified(|known| std::mem::replace(known, seq) != seq);
        }
        let _ = tokio::time::timeout(LOOK, news).await;
    }
}
