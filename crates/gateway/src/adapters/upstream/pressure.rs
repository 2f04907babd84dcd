//! Until when a server asks to be left alone. Nothing is sent to it before, by anybody.

use std::sync::{
    OnceLock,
    atomic::{AtomicI64, Ordering},
};

use aql::{
    error::{Code, Error},
    quota::{HeaderNames, held_until, seconds_until},
};
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;

use crate::store::QuotaStore;

#[derive(Default)]
pub(super) struct Pressure {
    name: String,
    headers: Vec<HeaderNames>,
    /// Microseconds since 1970; zero is never.
    until: AtomicI64,
    /// What keeps it over a restart.
    kept: OnceLock<QuotaStore>,
}

impl Pressure {
    pub(super) fn new(name: &str, headers: Vec<HeaderNames>) -> Self {
        Self { name: name.to_owned(), headers, ..Self::default() }
    }

    /// Keeps what comes from now on, and takes over what was kept.
    pub(super) fn remember(&self, store: &QuotaStore, held: &[(String, Timestamp)]) {
        let _ = self.kept.set(store.clone());
        if let Some((_, until)) = held.iter().find(|(name, _)| *name == self.name) {
            self.until.fetch_max(until.as_microsecond(), Ordering::Relaxed);
        }
    }

    /// Reads what a response says, and returns once it is kept.
    pub(super) async fn heed(&self, status: StatusCode, headers: &HeaderMap) {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let Some(until) = held_until(status.as_u16(), header, &self.headers, Timestamp::now()) else {
            return;
        };
        self.until.fetch_max(until.as_microsecond(), Ordering::Relaxed);
        tracing::info!(upstream = self.name, %until, "an upstream asks to be left alone");
        if let Some(store) = self.kept.get()
            && let Err(error) = store.hold(&self.name, until).await
        {
            tracing::warn!(%error, "that an upstream asks to be left alone could not be kept");
        }
    }

    /// Why nothing is sent now, if that is so.
    pub(super) fn check(&self) -> Result<(), Error> {
        let until = self.until.load(Ordering::Relaxed);
        if until == 0 {
            return Ok(());
        }
        let now = Timestamp::now();
        match Timestamp::from_microsecond(until).ok().filter(|until| *until > now) {
            None => Ok(()),
            Some(until) => {
                let wait = seconds_until(until, now);
                Err(Error::new(Code::RateLimitExceeded, "API rate limit exceeded")
                    .with("server", self.name.as_str())
                    .with("remaining", 0)
                    .with("resets_at", until.to_string())
                    .with("retry_after_seconds", wait)
                    .hint(format!("The server asked to wait. Repeat the call in {wait} seconds.")))
            }
        }
    }
}
