//! Keeping executions and their processes in step: leases, what others did, sessions that end, old records.

use std::{sync::Arc, time::Duration};

use super::Executions;
use crate::session::Session;

/// How often this process looks whether another one stopped something of its.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Leases are renewed this many times before they would run out.
const RENEWALS: u32 = 6;
/// Finished executions beyond these go, the oldest first.
pub(super) const KEPT_MAX: usize = 10_000;

impl Executions {
    fn renewal_interval(&self) -> Duration {
        self.0.options.lease / RENEWALS
    }

    /// Tends the leases for as long as something runs here.
    pub(super) fn tend(&self) {
        let mut live = self.live();
        if std::mem::replace(&mut live.is_tended, true) {
            return;
        }
        drop(live);
        let executions = self.clone();
        // Not among the tasks that a stop waits for: what it tends is.
        tokio::spawn(async move { executions.tend_until_idle().await });
    }

    async fn tend_until_idle(&self) {
        let mut since_renewal = Duration::ZERO;
        let step = LOOK_INTERVAL.min(self.renewal_interval());
        loop {
            tokio::time::sleep(step).await;
            since_renewal += step;
            {
                let mut live = self.live();
                if live.runs.is_empty() {
                    live.is_tended = false;
                    return;
                }
            }
            let known: Vec<(String, u32)> =
                self.live().runs.iter().map(|(id, following)| (id.clone(), following.attempt)).collect();
            let alive = if since_renewal >= self.renewal_interval() {
                since_renewal = Duration::ZERO;
                self.0.store.renew(&self.0.owner, (self.0.clock)(), self.0.options.lease).await
            } else {
                self.0.store.statuses(&self.0.owner).await
            };
            let Ok(alive) = alive else { continue };
            for (id, attempt) in known {
                if !alive.iter().any(|alive| alive.id == id && alive.attempt == attempt) {
                    self.stop(&id, attempt);
                }
            }
        }
    }

    /// Ends, a little later, what was left by processes that are gone, and removes what is old.
    ///
    /// Later, because after the machine slept all leases have run out, and those who live need a moment to renew theirs.
    pub fn sweep(&self) {
        if tokio::runtime::Handle::try_current().is_err()
            || std::mem::replace(&mut self.live().is_swept, true)
        {
            return;
        }
        let executions = self.clone();
        // Not among the tasks that a stop waits for.
        tokio::spawn(async move {
            tokio::time::sleep(executions.renewal_interval() + LOOK_INTERVAL).await;
            let now = (executions.0.clock)();
            match executions.0.store.expire(now).await {
                Ok(ended) => {
                    for execution in ended {
                        let id = &execution.record().execution_id;
                        tracing::info!(execution = id, "ended an execution whose process is gone");
                    }
                }
                Err(error) => tracing::warn!(%error, "left executions could not be ended"),
            }
            let keep = jiff::SignedDuration::try_from(executions.0.options.keep).unwrap_or_default();
            if let Ok(older_than) = now.checked_sub(keep)
                && let Err(error) = executions.0.store.purge(older_than, KEPT_MAX).await
            {
                tracing::warn!(%error, "old executions could not be removed");
            }
            executions.live().is_swept = false;
        });
    }

    /// Waits for the session's end, which is the end of what it runs.
    pub(super) fn watch(&self, session: &Arc<Session>) {
        if !self.live().watched.insert(session.id().to_owned()) {
            return;
        }
        let (executions, session) = (self.clone(), Arc::clone(session));
        // Not among the tasks that a stop waits for: it ends the sessions itself.
        tokio::spawn(async move {
            session.ended().await;
            executions.end_session(session.id()).await;
        });
    }

    /// Ends what a session has in this process.
    pub(super) async fn end_session(&self, session_id: &str) {
        let ended = self.0.store.end_session(&self.0.owner, session_id, (self.0.clock)()).await;
        match ended {
            Ok(ended) => {
                for execution in ended {
                    let record = execution.record();
                    self.stop(&record.execution_id, record.attempt);
                }
            }
            Err(error) => tracing::warn!(%error, "the executions of a session could not be ended"),
        }
        self.live().watched.remove(session_id);
    }
}
