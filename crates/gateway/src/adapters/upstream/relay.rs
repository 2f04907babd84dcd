//! Questions of an upstream, brought to the client whose call is under way, and their answers brought back.
//!
//! An upstream of the older revisions asks while the call runs; one of today's answers the call with its questions.
//! Clients are just as different. A call whose client has to call again waits here meanwhile.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use aql::error::{Code, Error};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use tokio::sync::{mpsc, oneshot};

use super::{
    peer::{Caller, NotOne, Peer},
    wire::{self, METHOD_NOT_FOUND, Raw},
};
use crate::{
    client::Client,
    session::Session,
    trace::open::{End, Failed},
};

/// How long a person may take to answer.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_mins(10);
/// Calls of one upstream that wait to be called again, at the most.
const PARKED_MAX: usize = 256;
/// What begins the states that are ours; the others are an upstream's own.
const OURS: &str = "aqueduct.";
const THEIRS: &str = "upstream.";

/// The error of a request that our side refuses.
const INTERNAL: i64 = -32603;

/// Questions of one call that nobody has asked its client yet, at the most.
const QUESTIONS_MAX: usize = 8;

/// Where the questions of a call go whose client has to call again for them.
#[derive(Clone)]
pub(super) struct Questions {
    sender: mpsc::Sender<Question>,
    parked: Arc<AtomicBool>,
}

impl Questions {
    pub(super) fn new() -> (Self, Asked) {
        let (sender, receiver) = mpsc::channel(QUESTIONS_MAX);
        let parked = Arc::new(AtomicBool::new(false));
        (Self { sender, parked: Arc::clone(&parked) }, Asked { receiver, parked })
    }

    /// Whether the call waits for its client to come back.
    pub(super) fn is_parked(&self) -> bool {
        self.parked.load(Ordering::Relaxed)
    }
}

/// The other end, with the call.
pub(super) struct Asked {
    receiver: mpsc::Receiver<Question>,
    parked: Arc<AtomicBool>,
}

/// A question that waits for its answer.
pub(super) struct Question {
    method: String,
    params: Option<Value>,
    answer: oneshot::Sender<Result<Value, String>>,
}

/// A call on its way to an upstream.
pub(super) type Call = Pin<Box<dyn Future<Output = Result<Raw, Error>> + Send>>;

/// A call whose client was asked something and has to call again.
struct Parked {
    session: Arc<Session>,
    /// The call it belongs to; no other may take it up.
    of: String,
    call: Call,
    questions: Asked,
    asked: Question,
    until: Instant,
}

#[derive(Default)]
pub(super) struct ParkedCalls(Mutex<HashMap<String, Parked>>);

/// What came of a call for now.
pub(super) enum Turn {
    Result(Raw),
    Asked(aql::response::Questions),
}

impl ParkedCalls {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Parked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops calls that nobody came back for, which cancels them.
    pub(super) fn expire(&self, now: Instant) {
        let late: Vec<_> =
            self.lock().extract_if(|_, parked| parked.until <= now || parked.session.has_ended()).collect();
        drop(late);
    }

    /// Waits for the call's result, or for a question that its client has to call again for.
    pub(super) async fn follow(
        &self,
        session: &Arc<Session>,
        of: String,
        mut call: Call,
        mut questions: Asked,
    ) -> Result<Turn, Error> {
        questions.parked.store(false, Ordering::Relaxed);
        let question = tokio::select! {
            biased;
            result = &mut call => return result.map(Turn::Result),
            Some(question) = questions.receiver.recv() => question,
        };
        let requests =
            Map::from_iter([("question".to_owned(), request(&question.method, question.params.clone()))]);
        let state = format!("{OURS}{}", uuid::Uuid::new_v4().simple());
        let mut parked = self.lock();
        if parked.len() >= PARKED_MAX {
            return Err(Error::new(Code::Unavailable, "Too many calls wait for answers of their clients")
                .hint("Answer the questions of earlier calls first."));
        }
        let until = Instant::now() + ANSWER_WITHIN;
        questions.parked.store(true, Ordering::Relaxed);
        let session = Arc::clone(session);
        parked.insert(state.clone(), Parked { session, of, call, questions, asked: question, until });
        Ok(Turn::Asked(aql::response::Questions { requests, state: Some(state) }))
    }

    /// Takes a waiting call up again with what its client answered.
    pub(super) async fn resume(
        &self,
        session: &Arc<Session>,
        of: String,
        state: &str,
        mut responses: Map<String, Value>,
    ) -> Result<Turn, Error> {
        let known = {
            let mut parked = self.lock();
            let fits = parked
                .get(state)
                .is_some_and(|parked| parked.session.id() == session.id() && parked.of == of);
            fits.then(|| parked.remove(state)).flatten()
        };
        let Some(Parked { call, questions, asked, .. }) = known else {
            return Err(Error::new(Code::InvalidState, "No such call of this session waits for an answer")
                .with("param_name", "requestState")
                .hint("Make the call again without 'requestState'."));
        };
        let answer = responses.remove("question").ok_or_else(|| "the client did not answer".to_owned());
        // An upstream that has ended meanwhile is told by its call.
        let _ = asked.answer.send(answer);
        self.follow(session, of, call, questions).await
    }
}

/// Whether a state is ours, or an upstream's own, which it gets back as it was.
pub(super) enum State<'a> {
    Ours(&'a str),
    Theirs(&'a str),
}

pub(super) fn state(given: &str) -> Option<State<'_>> {
    if given.starts_with(OURS) {
        return Some(State::Ours(given));
    }
    given.strip_prefix(THEIRS).map(State::Theirs)
}

/// A result that is no result yet: the upstream has questions.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Asks {
    #[serde(default)]
    pub(super) input_requests: Map<String, Value>,
    #[serde(default)]
    pub(super) request_state: Option<String>,
}

impl Asks {
    /// The questions for a client that will call again.
    pub(super) fn into_questions(self) -> aql::response::Questions {
        let state = format!("{THEIRS}{}", self.request_state.unwrap_or_default());
        aql::response::Questions { requests: self.input_requests, state: Some(state) }
    }

    /// Has a client answer that does so while its call runs.
    pub(super) async fn answered_by(&self, caller: &Caller) -> Result<Map<String, Value>, String> {
        let mut answers = Map::new();
        for (key, asked) in &self.input_requests {
            let method = asked.get("method").and_then(Value::as_str).unwrap_or_default();
            let params = asked.get("params").cloned();
            let asking = ask(&caller.client, method, params.clone());
            let answer = recorded(caller, method, params.as_ref(), asking).await?;
            answers.insert(key.clone(), answer);
        }
        Ok(answers)
    }
}

fn request(method: &str, params: Option<Value>) -> Value {
    match params {
        Some(params) => json!({"method": method, "params": params}),
        None => json!({"method": method}),
    }
}

/// Records a question to a client, and that its call waits for the answer.
async fn recorded(
    caller: &Caller,
    method: &str,
    params: Option<&Value>,
    asking: impl Future<Output = Result<Value, String>>,
) -> Result<Value, String> {
    let Some(within) = &caller.span else { return asking.await };
    let span = within.asks(method, params);
    let waiting = within.waits(json!({"asked": method}));
    let answer = asking.await;
    drop(waiting);
    span.end(match &answer {
        Ok(answer) => End::ok(Some(answer.to_string())),
        Err(why) => End::failed(Failed { message: why.clone(), ..Failed::of("NOT_ANSWERED") }, None),
    });
    answer
}

async fn ask(client: &Client, method: &str, params: Option<Value>) -> Result<Value, String> {
    let allowed = client.capabilities().is_some_and(|known| known.allow(method, params.as_ref()));
    match client {
        Client::Live(answers) if allowed => {
            match tokio::time::timeout(ANSWER_WITHIN, answers.ask(method, params)).await {
                Ok(answer) => answer,
                Err(_) => Err("the client did not answer".to_owned()),
            }
        }
        _ => Err(format!("the client cannot be asked for '{method}'")),
    }
}

/// Answers a request that an upstream makes while it works for somebody.
pub(super) async fn answer(peer: Arc<Peer>, id: Box<RawValue>, method: String, params: Option<Value>) {
    let answered = match peer.caller() {
        Ok(caller) => ask_caller(&peer, &caller, &method, params).await,
        Err(NotOne::Nobody) => Err("no call is under way that this could belong to".to_owned()),
        // The wrong client must not hear it.
        Err(NotOne::Several) => {
            Err("several clients use this server now; with 'per_session = true' each has its own".to_owned())
        }
    };
    let frame = match answered {
        Ok(answer) => wire::result(&id, &answer.to_string()),
        // A client without roots has none.
        Err(_) if method == "roots/list" => wire::result(&id, "{\"roots\":[]}"),
        Err(why) if why.contains("cannot be asked") => wire::refusal(&id, METHOD_NOT_FOUND, &why),
        Err(why) => wire::refusal(&id, INTERNAL, &why),
    };
    peer.send(frame);
}

async fn ask_caller(
    peer: &Peer,
    caller: &Caller,
    method: &str,
    params: Option<Value>,
) -> Result<Value, String> {
    let known = caller.client.capabilities();
    if !known.is_some_and(|known| known.allow(method, params.as_ref())) {
        return Err(format!("the client cannot be asked for '{method}'"));
    }
    // While a person thinks, the upstream's time stands still.
    peer.allow(caller.session.id(), Some(ANSWER_WITHIN));
    let asked = params.clone();
    let asking = async {
        let Some(questions) = &caller.questions else { return ask(&caller.client, method, params).await };
        let (answer, answered) = oneshot::channel();
        let question = Question { method: method.to_owned(), params, answer };
        match questions.sender.try_send(question) {
            Ok(()) => answered.await.unwrap_or_else(|_| Err("the client did not answer".to_owned())),
            Err(_) => Err("the client has gone or has too many questions already".to_owned()),
        }
    };
    let answer = recorded(caller, method, asked.as_ref(), asking).await;
    peer.allow(caller.session.id(), None);
    answer
}

/// Whether a request is one that clients answer.
pub(super) fn is_for_clients(method: &str) -> bool {
    matches!(method, "elicitation/create" | "sampling/createMessage" | "roots/list")
}
