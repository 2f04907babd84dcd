//! Keeping executions and their processes in step: leases, what others did, sessions that end, old records.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use aql::execution::Command;

use super::{Executions, Following};
use crate::{session::Session, store::executions::Run};

/// How often this process looks whether another one stopped something of its.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Leases are renewed this many times before they would run out.
const RENEWALS: u32 = 6;
/// How long the end of a session waits for work that notes how far it is.
const WIND_DOWN: Duration = Duration::from_secs(2);
/// Finished executions of one principal beyond these go, the oldest first.
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
        let mut unknown: HashSet<(String, u32)> = HashSet::new();
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
            let runs = || -> HashSet<(String, u32)> {
                self.live().runs.iter().map(|(id, following)| (id.clone(), following.attempt)).collect()
            };
            let known = runs();
            let alive = if since_renewal >= self.renewal_interval() {
                since_renewal = Duration::ZERO;
                self.0.store.renew(&self.0.owner, (self.0.clock)(), self.0.options.lease).await
            } else {
                self.0.store.statuses(&self.0.owner).await
            };
            let Ok(alive) = alive else { continue };
            let alive: HashSet<(String, u32)> =
                alive.into_iter().map(|alive| (alive.id, alive.attempt)).collect();
            for (id, attempt) in known.difference(&alive) {
                self.stop(id, *attempt);
            }
            // What is ours and run by nobody twice in a row is lost: the first time it may just have been written down,
            // or just have ended.
            let nobodys: HashSet<(String, u32)> = alive.difference(&runs()).cloned().collect();
            for (id, attempt) in nobodys.intersection(&unknown) {
                let run = Run { id: id.clone(), owner: self.0.owner.clone(), attempt: *attempt };
                let _ = self.0.store.advance(&run, Command::OwnerLost, (self.0.clock)()).await;
            }
            unknown = nobodys;
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
            tokio::time::sleep(executions.patience()).await;
            executions.clear().await;
            executions.live().is_swept = false;
        });
    }

    /// The same at once, for those who do not stay; it takes time only where there is something to end.
    pub async fn settle(&self) {
        if self.0.store.has_expired((self.0.clock)()).await.unwrap_or(false) {
            tokio::time::sleep(self.patience()).await;
            self.clear().await;
        }
    }

    /// How long those who live may need to renew their leases.
    fn patience(&self) -> Duration {
        self.renewal_interval() + LOOK_INTERVAL
    }

    async fn clear(&self) {
        let now = (self.0.clock)();
        match self.0.store.expire(now).await {
            Ok(ended) => {
                for execution in ended {
                    let id = &execution.record().execution_id;
                    tracing::info!(execution = id, "ended an execution whose process is gone");
                }
            }
            Err(error) => tracing::warn!(%error, "left executions could not be ended"),
        }
        let keep = jiff::SignedDuration::try_from(self.0.options.keep).unwrap_or_default();
        if let Ok(older_than) = now.checked_sub(keep)
            && let Err(error) = self.0.store.purge(older_than, KEPT_MAX).await
        {
            tracing::warn!(%error, "old executions could not be removed");
        }
    }

    /// Waits for the session's end, which is the end of what it runs.
    pub(super) fn watch(&self, session: &Arc<Session>) {
        if !self.live().watched.insert(session.id().to_owned()) {
            return;
        }
        let (executions, session) = (self.clone(), Arc::clone(session));
        // Not among the tasks that a stop waits for, which ends sessions itself, until this one is being ended here.
        tokio::spawn(async move {
            session.ended().await;
            let ending = executions.0.tasks.track_future(executions.end_session(session.id()));
            ending.await;
        });
    }

    /// Ends what a session has in this process.
    pub(super) async fn end_session(&self, session_id: &str) {
        // First, so that whatever starts from now on is watched anew.
        self.live().watched.remove(session_id);
        self.wind_down(session_id).await;
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
    }

    /// Gives those who listen a moment to finish the call they are in and to note it, so that a retry need not repeat it.
    async fn wind_down(&self, session_id: &str) {
        let runs: Vec<Following> = self
            .live()
            .runs
            .values()
            .filter(|following| following.session_id == session_id)
            .cloned()
            .collect();
        for following in &runs {
            following.wind_down.cancel();
        }
        let listening = runs.iter().filter(|following| following.winds_down.load(Ordering::Relaxed));
        let ends = futures_util::future::join_all(listening.map(|following| following.ended.cancelled()));
        let _ = tokio::time::timeout(WIND_DOWN, ends).await;
    }
}
