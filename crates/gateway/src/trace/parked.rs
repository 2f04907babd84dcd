//! Requests whose clients were asked something and have to call again: they go on where they were.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{
    SpanId,
    open::{End, OpenSpan},
    recorder::lock,
    redact,
};

const PARKED_MAX: usize = 1024;
/// How long a client is waited for.
const PARKED_TIME: Duration = Duration::from_secs(15 * 60);

/// What a request asks for, the same each time its client calls. Whoever brings back the state of another one does not go
/// on with that, and could hide behind it otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Wanted([u8; 32]);

impl Wanted {
    pub(crate) fn of(method: &str, name: &str, params: &Map<String, Value>) -> Self {
        let mut hash = Sha256::new();
        for part in [method, name] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hash.update(serde_json::to_vec(params).unwrap_or_default());
        Self(hash.finalize().into())
    }

    /// That of a request by all of its parameters.
    pub(crate) fn of_request(method: &str, params: &Map<String, Value>) -> Self {
        let mut params = params.clone();
        params.retain(|name, _| !redact::BESIDE.contains(&name.as_str()));
        Self::of(method, "", &params)
    }
}

/// The session that a request came in, what its client brings back, and what it asks for. Others may say the same.
type Key = (String, String, Wanted);

/// What a client is asked before its request goes on.
pub(crate) struct Asked<'a> {
    /// What it brings back.
    pub(crate) state: &'a str,
    pub(crate) questions: &'a Map<String, Value>,
    /// Whether the questions are recorded here, and not by who asks them.
    pub(crate) are_new: bool,
    /// What is to be done if the operator stops the request meanwhile.
    pub(crate) when_stopped: Option<WhenStopped>,
}

pub(crate) type WhenStopped = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub(super) struct Parked(Mutex<HashMap<Key, Waiting>>);

struct Waiting {
    span: Arc<OpenSpan>,
    since: Instant,
    /// What the client was asked, by the keys of its answers.
    questions: Vec<(String, OpenSpan)>,
    when_stopped: Option<WhenStopped>,
}

impl Parked {
    pub(super) fn park(&self, span: Arc<OpenSpan>, wanted: Wanted, asked: Asked<'_>) {
        let question = |(key, asked): (&String, &Value)| {
            let method = asked.get("method").and_then(Value::as_str).unwrap_or_default();
            (key.clone(), span.asks(method, asked.get("params")))
        };
        let questions = asked.questions.iter().filter(|_| asked.are_new).map(question).collect();
        let key = (span.connection().to_owned(), asked.state.to_owned(), wanted);
        let waiting = Waiting { span, since: Instant::now(), questions, when_stopped: asked.when_stopped };
        let mut parked = lock(&self.0);
        let oldest = if parked.len() >= PARKED_MAX {
            let oldest = parked.iter().min_by_key(|(_, waiting)| waiting.since).map(|(key, _)| key.clone());
            oldest.and_then(|key| parked.remove(&key))
        } else {
            None
        };
        let replaced = parked.insert(key, waiting);
        drop(parked);
        drop((oldest, replaced));
    }

    /// The request that a client goes on with, with what it answered. One that the operator stopped stays stopped, however
    /// often somebody tries.
    pub(super) fn resume(
        &self,
        session: &str,
        state: &str,
        wanted: Wanted,
        responses: &Map<String, Value>,
    ) -> Option<Arc<OpenSpan>> {
        let key = (session.to_owned(), state.to_owned(), wanted);
        let mut parked = lock(&self.0);
        let stopped = parked.get(&key).filter(|waiting| waiting.span.is_stopped_by_operator());
        if let Some(waiting) = stopped {
            return Some(Arc::clone(&waiting.span));
        }
        let Waiting { span, since, questions, .. } = parked.remove(&key)?;
        drop(parked);
        for (key, question) in questions {
            if let Some(answer) = responses.get(&key) {
                question.end(End::ok(Some(answer.to_string())));
            }
        }
        span.waited(since.elapsed());
        Some(span)
    }

    /// Ends one for the operator.
    pub(super) fn stop(&self, span: SpanId) -> bool {
        let mut parked = lock(&self.0);
        let found = parked.values_mut().find(|waiting| waiting.span.id() == span);
        let Some(waiting) = found.filter(|waiting| waiting.span.stop_while_parked()) else { return false };
        let (questions, when_stopped) = (std::mem::take(&mut waiting.questions), waiting.when_stopped.take());
        drop(parked);
        drop(questions);
        if let Some(then) = when_stopped {
            then();
        }
        true
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
        trace::{Recorder, Settings, open::Inbound},
    };

    fn recorder() -> Arc<Recorder> {
        Recorder::start(Settings::default(), Vec::new(), jiff::Timestamp::now).unwrap()
    }

    fn span(recorder: &Arc<Recorder>, session: &Arc<Session>) -> Arc<OpenSpan> {
        Arc::new(OpenSpan::inbound(recorder, Inbound::new("tools/call", session)))
    }

    fn session() -> Arc<Session> {
        Arc::new(Session::new(Transport::Http, LOCAL))
    }

    fn wanted(tool: &str) -> Wanted {
        Wanted::of("tools/call", tool, &Map::new())
    }

    fn park(parked: &Parked, state: &str, span: &Arc<OpenSpan>, when_stopped: Option<WhenStopped>) {
        let asked = Asked { state, questions: &Map::new(), are_new: true, when_stopped };
        parked.park(Arc::clone(span), wanted("ask"), asked);
    }

    fn resume(parked: &Parked, session: &Session, state: &str) -> Option<Arc<OpenSpan>> {
        parked.resume(session.id(), state, wanted("ask"), &Map::new())
    }

    #[test]
    fn what_waits_in_one_session_is_nobody_elses() {
        let (recorder, parked) = (recorder(), Parked::default());
        let (one, other) = (session(), session());
        let (first, second) = (span(&recorder, &one), span(&recorder, &other));
        park(&parked, "same", &first, None);
        park(&parked, "same", &second, None);
        assert!(resume(&parked, &session(), "same").is_none());
        assert!(resume(&parked, &one, "another").is_none());
        assert_eq!(resume(&parked, &other, "same").unwrap().id(), second.id());
        assert_eq!(resume(&parked, &one, "same").unwrap().id(), first.id());
        assert!(resume(&parked, &one, "same").is_none(), "it goes on once");
        recorder.close();
    }

    #[test]
    fn another_request_does_not_go_on_with_it() {
        let (recorder, parked, session) = (recorder(), Parked::default(), session());
        park(&parked, "state", &span(&recorder, &session), None);
        let other = wanted("delete");
        assert!(parked.resume(session.id(), "state", other, &Map::new()).is_none());
        assert!(resume(&parked, &session, "state").is_some(), "and it waits on");
        recorder.close();
    }

    #[test]
    fn what_was_stopped_while_it_waited_stays_stopped() {
        let (recorder, parked, session) = (recorder(), Parked::default(), session());
        let waiting = span(&recorder, &session);
        waiting.runs(Stop::default());
        let (told, came) = std::sync::mpsc::channel();
        park(&parked, "state", &waiting, Some(Box::new(move || told.send(()).unwrap())));
        assert!(parked.stop(waiting.id()));
        came.try_recv().unwrap();
        assert!(!parked.stop(waiting.id()), "once is enough");
        for _ in 0..2 {
            assert!(resume(&parked, &session, "state").unwrap().is_stopped_by_operator());
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
