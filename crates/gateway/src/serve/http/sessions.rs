//! Sessions over HTTP: by the wire's id for legacy clients, by principal for stateless ones.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::{Duration, Instant},
};

use http::HeaderMap;
use rmcp::transport::streamable_http_server::session::{SessionManager, local::LocalSessionManager};

use crate::session::{End, Session, Transport};

/// The header that carries a legacy session's id.
const SESSION_HEADER: &str = "mcp-session-id";

/// Each costs memory until it is closed or idle for long, and not every client closes its own.
const LEGACY_SESSIONS_MAX: usize = 1024;

pub(super) fn wire_id(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_HEADER)?.to_str().ok()
}

pub(super) struct Sessions {
    legacy: RwLock<HashMap<String, Arc<Session>>>,
    stateless: RwLock<HashMap<String, Arc<Session>>>,
    /// The library's side of legacy sessions.
    manager: Arc<LocalSessionManager>,
    since: Instant,
}

type Table = RwLock<HashMap<String, Arc<Session>>>;

fn read(table: &Table) -> RwLockReadGuard<'_, HashMap<String, Arc<Session>>> {
    table.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(table: &Table) -> RwLockWriteGuard<'_, HashMap<String, Arc<Session>>> {
    table.write().unwrap_or_else(PoisonError::into_inner)
}

fn longest_unused(table: &HashMap<String, Arc<Session>>, but: &str) -> Option<String> {
    let unused = table.iter().filter(|(id, session)| *id != but && session.is_idle(u64::MAX, 0));
    unused.min_by_key(|(_, session)| session.used_at()).map(|(id, _)| id.clone())
}

impl Sessions {
    pub(super) fn new(manager: Arc<LocalSessionManager>) -> Self {
        Self { legacy: RwLock::default(), stateless: RwLock::default(), manager, since: Instant::now() }
    }

    fn now(&self) -> u64 {
        self.since.elapsed().as_secs()
    }

    /// The legacy session a request belongs to. A session is its principal's alone.
    pub(super) fn of(&self, headers: &HeaderMap, principal: &str) -> Option<Arc<Session>> {
        let session = read(&self.legacy).get(wire_id(headers)?).cloned()?;
        if session.principal() != principal {
            return None;
        }
        session.touch(self.now());
        Some(session)
    }

    /// Everything a principal does without a session on the wire.
    pub(super) fn stateless(&self, principal: &str) -> Arc<Session> {
        // Used while the table is held: one that was idle until now must not be ended in between.
        let used = |session: &Arc<Session>| {
            session.touch(self.now());
            Arc::clone(session)
        };
        let known = read(&self.stateless).get(principal).map(used);
        known.unwrap_or_else(|| {
            let mut table = write(&self.stateless);
            let fresh = || Arc::new(Session::new(Transport::StatelessHttp, principal));
            used(table.entry(principal.to_owned()).or_insert_with(fresh))
        })
    }

    /// Begins a legacy session under the id that the library gave it. Where there are too many, the one unused the
    /// longest makes room.
    pub(super) async fn open(&self, id: &str, session: Arc<Session>) {
        session.touch(self.now());
        session.start();
        let oldest = {
            let mut table = write(&self.legacy);
            table.insert(id.to_owned(), session);
            if table.len() > LEGACY_SESSIONS_MAX { longest_unused(&table, id) } else { None }
                .and_then(|known| table.remove_entry(&known))
        };
        if let Some((id, session)) = oldest {
            session.end(End::Idle);
            let _ = self.manager.close_session(&id.into()).await;
        }
    }

    /// Ends a legacy session that its client closed.
    pub(super) fn close(&self, id: &str) {
        if let Some(session) = write(&self.legacy).remove(id) {
            session.end(End::Graceful);
        }
    }

    pub(super) async fn end_idle(&self, idle: Duration) {
        let (now, idle) = (self.now(), idle.as_secs());
        for table in [&self.legacy, &self.stateless] {
            let mut ended = Vec::new();
            write(table).retain(|id, session| {
                let keep = !session.is_idle(now, idle);
                if !keep {
                    ended.push((id.clone(), Arc::clone(session)));
                }
                keep
            });
            for (id, session) in ended {
                session.end(End::Idle);
                let _ = self.manager.close_session(&id.into()).await;
            }
        }
    }

    pub(super) fn end_all(&self) {
        for table in [&self.legacy, &self.stateless] {
            for (_, session) in write(table).drain() {
                session.end(End::Shutdown);
            }
        }
    }
}
