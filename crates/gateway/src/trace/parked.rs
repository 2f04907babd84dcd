//! Requests whose clients were asked something and have to call again: they go on where they were.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use super::{SpanId, open::OpenSpan, recorder::lock};

const PARKED_MAX: usize = 1024;
/// How long a client is waited for.
const PARKED_TIME: Duration = Duration::from_secs(15 * 60);

/// The session that a request came in, and what its client brings back. Others may say the same.
type Key = (String, String);

#[derive(Default)]
pub(super) struct Parked(Mutex<HashMap<Key, Waiting>>);

struct Waiting {
    span: Arc<OpenSpan>,
    since: Instant,
}

impl Parked {
    pub(super) fn park(&self, state: &str, span: Arc<OpenSpan>) {
        let key = (span.connection().to_owned(), state.to_owned());
        let mut parked = lock(&self.0);
        if parked.len() >= PARKED_MAX {
            let oldest = parked.iter().min_by_key(|(_, waiting)| waiting.since).map(|(key, _)| key.clone());
            oldest.map(|key| parked.remove(&key));
        }
        parked.insert(key, Waiting { span, since: Instant::now() });
    }

    /// The request that a client goes on with. One that the operator stopped stays stopped, however often somebody tries.
    pub(super) fn resume(&self, session: &str, state: &str) -> Option<Arc<OpenSpan>> {
        let key = (session.to_owned(), state.to_owned());
        let mut parked = lock(&self.0);
        let stopped = parked.get(&key).filter(|waiting| waiting.span.is_stopped_by_operator());
        if let Some(waiting) = stopped {
            return Some(Arc::clone(&waiting.span));
        }
        let Waiting { span, since } = parked.remove(&key)?;
        drop(parked);
        span.waited(since.elapsed());
        Some(span)
    }

    /// Ends one for the operator.
    pub(super) fn stop(&self, span: SpanId) -> bool {
        let parked = lock(&self.0);
        let found = parked.values().find(|waiting| waiting.span.id() == span);
        found.is_some_and(|waiting| waiting.span.stop_while_parked())
    }

    /// Gives up what nobody comes back for.
    pub(super) fn expire(&self) {
        let is_late = |waiting: &mut Waiting| waiting.since.elapsed() > PARKED_TIME;
        let gone: Vec<_> = lock(&self.0).extract_if(|_, waiting| is_late(waiting)).collect();
        drop(gone);
    }

    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *lock(&self.0));
        drop(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        session::{CancelledBy, LOCAL, Session, Stop, Transport},
        trace::{
            Recorder, Settings,
            ids::Given,
            open::{About, Inbound},
        },
    };

    fn recorder() -> Arc<Recorder> {
        Recorder::start(Settings::default(), Vec::new(), jiff::Timestamp::now).unwrap()
    }

    fn span(recorder: &Arc<Recorder>, session: &Arc<Session>) -> Arc<OpenSpan> {
        let request = Inbound {
            method: "tools/call",
            rpc_id: "1",
            about: About::Nothing,
            input: None,
            given: Given::default(),
            progress_token: None,
            session,
            surface: None,
        };
        Arc::new(OpenSpan::inbound(recorder, request))
    }

    fn session() -> Arc<Session> {
        Arc::new(Session::new(Transport::Http, LOCAL))
    }

    #[test]
    fn what_waits_in_one_session_is_nobody_elses() {
        let (recorder, parked) = (recorder(), Parked::default());
        let (one, other) = (session(), session());
        let (first, second) = (span(&recorder, &one), span(&recorder, &other));
        parked.park("same", Arc::clone(&first));
        parked.park("same", Arc::clone(&second));
        assert!(parked.resume(session().id(), "same").is_none());
        assert!(parked.resume(one.id(), "another").is_none());
        assert_eq!(parked.resume(other.id(), "same").unwrap().id(), second.id());
        assert_eq!(parked.resume(one.id(), "same").unwrap().id(), first.id());
        assert!(parked.resume(one.id(), "same").is_none(), "it goes on once");
        recorder.close();
    }

    #[test]
    fn what_was_stopped_while_it_waited_stays_stopped() {
        let (recorder, parked, session) = (recorder(), Parked::default(), session());
        let waiting = span(&recorder, &session);
        waiting.runs(Stop::default());
        parked.park("state", Arc::clone(&waiting));
        assert!(parked.stop(waiting.id()));
        assert!(!parked.stop(waiting.id()), "once is enough");
        for _ in 0..2 {
            assert!(parked.resume(session.id(), "state").unwrap().is_stopped_by_operator());
        }
        recorder.close();
    }

    #[test]
    fn what_goes_on_can_be_stopped_again() {
        let (recorder, session) = (recorder(), session());
        let span = span(&recorder, &session);
        let (first, second) = (Stop::default(), Stop::default());
        span.runs(first.clone());
        first.over();
        span.runs(second.clone());
        assert!(span.stopping().now());
        assert_eq!(second.asked_by(), Some(CancelledBy::Operator));
        recorder.close();
    }
}
