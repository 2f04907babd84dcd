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
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use tokio::sync::{mpsc, oneshot};

use super::{
    peer::{Caller, NotOne, Peer},
    wire::{self, METHOD_NOT_FOUND, Raw},
};
use crate::{
    client::{Capabilities, Client},
    dispatch::Context,
    operator::form::{self as asked, Mode},
    safety::Safety,
    session::Session,
    store::safety::NewInput,
    trace::{
        OpenSpan,
        open::{End, Failed},
    },
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
    /// What is recorded of the call.
    span: Option<Arc<OpenSpan>>,
}

impl Parked {
    /// Whether there is no use in waiting for its client.
    fn is_over(&self, now: Instant) -> bool {
        let is_stopped = || self.span.as_ref().is_some_and(|span| span.is_stopped_by_operator());
        self.until <= now || self.session.has_ended() || is_stopped()
    }
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

    /// Drops calls that nobody came back for, or that the operator stopped, which cancels them.
    pub(super) fn expire(&self, now: Instant) {
        let over: Vec<_> = self.lock().extract_if(|_, parked| parked.is_over(now)).collect();
        drop(over);
    }

    /// Waits for the call's result, or for a question that its client has to call again for.
    pub(super) async fn follow(
        &self,
        session: &Arc<Session>,
        of: String,
        mut call: Call,
        mut questions: Asked,
        span: Option<Arc<OpenSpan>>,
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
        parked.insert(state.clone(), Parked { session, of, call, questions, asked: question, until, span });
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
        let Some(Parked { call, questions, asked, span, .. }) = known else {
            return Err(Error::new(Code::InvalidState, "No such call of this session waits for an answer")
                .with("param_name", "requestState")
                .hint("Make the call again without 'requestState'."));
        };
        let answer = responses.remove("question").ok_or_else(|| "the client did not answer".to_owned());
        // An upstream that has ended meanwhile is told by its call.
        let _ = asked.answer.send(answer);
        self.follow(session, of, call, questions, span).await
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
    given.strip_prefix(THEIRS)?.split_once('.').map(|(_, theirs)| State::Theirs(theirs))
}

/// Whether a state that a client was given is an upstream's own, and its questions, too.
pub(crate) fn is_servers_own(given: &str) -> bool {
    matches!(state(given), Some(State::Theirs(_)))
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
        // Servers may say the same to everyone, or nothing; what goes on is told apart by what is before it.
        let state = format!("{THEIRS}{:016x}.{}", fastrand::u64(..), self.request_state.unwrap_or_default());
        aql::response::Questions { requests: self.input_requests, state: Some(state) }
    }

    /// Whether they are answered while the call runs: by a client that does so, or by the operator alone. A client that calls
    /// again gets them as they are.
    pub(super) fn are_for_here(&self, caller: &Caller) -> bool {
        caller.client.answers_live()
            || self.input_requests.values().all(|asked| {
                let (method, params) = (method_of(asked), asked.get("params"));
                !allows(caller, method, params) && operator(caller, method, params).is_some()
            })
    }

    /// Has them answered while the call runs.
    pub(super) async fn answered_by(&self, caller: &Caller) -> Result<Map<String, Value>, String> {
        let mut answers = Map::new();
        for (key, asked) in &self.input_requests {
            // Whoever gives the call up gives this up too.
            let answer = ask(caller, method_of(asked), asked.get("params").cloned(), || true).await?;
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

fn method_of(asked: &Value) -> &str {
    asked.get("method").and_then(Value::as_str).unwrap_or_default()
}

/// What a server asks people with.
const ELICIT: &str = "elicitation/create";

/// The operator, who may answer a question beside the client of a call or in its place.
pub(super) struct Operator {
    safety: Arc<Safety>,
    server: Arc<str>,
    tool: Arc<str>,
}

impl Operator {
    /// Who may answer what the server asks for the sake of a call like this.
    pub(super) fn of(context: &Context, server: &Arc<str>, tool: &Arc<str>) -> Option<Arc<Self>> {
        let safety = Arc::clone(context.gateway.safety()?);
        Some(Arc::new(Self { safety, server: Arc::clone(server), tool: Arc::clone(tool) }))
    }

    /// Whether anybody sits where questions are shown.
    pub(super) fn is_there(&self) -> bool {
        self.safety.takes_inputs()
    }
}

/// What can be asked for the sake of a call, whoever answers it.
pub(super) fn capabilities(caller: Option<&Caller>) -> Capabilities {
    let Some(caller) = caller else { return Capabilities::default() };
    let known = caller.client.capabilities().cloned().unwrap_or_default();
    if caller.operator.is_some() { known.and_forms() } else { known }
}

/// Whether anybody can be asked while the call runs.
pub(super) fn can_be_asked(caller: &Caller) -> bool {
    caller.operator.is_some() || caller.client.answers_live()
}

fn allows(caller: &Caller, method: &str, params: Option<&Value>) -> bool {
    caller.client.capabilities().is_some_and(|known| known.allow(method, params))
}

/// The operator, if the question is one for people. An address is opened by a client or by nobody.
fn operator<'a>(caller: &'a Caller, method: &str, params: Option<&Value>) -> Option<&'a Operator> {
    let is_shown = Mode::of(params) == Mode::Form || allows(caller, method, params);
    caller.operator.as_deref().filter(|_| method == ELICIT && is_shown)
}

/// Asks whoever can be asked, for as long as the answer is wanted. The first one counts.
async fn ask(
    caller: &Caller,
    method: &str,
    params: Option<Value>,
    is_wanted: impl Fn() -> bool,
) -> Result<Value, String> {
    let client = allows(caller, method, params.as_ref());
    let operator = operator(caller, method, params.as_ref());
    if !client && operator.is_none() {
        return Err(format!("the client cannot be asked for '{method}'"));
    }
    let id = format!("input_{}", uuid::Uuid::new_v4().simple());
    let _waiting = caller.span.as_ref().map(|span| match operator {
        Some(Operator { server, tool, .. }) => {
            span.waits(json!({"input_id": id, "server": &**server, "operation": &**tool}))
        }
        None => span.waits(json!({"method": method})),
    });
    let span = caller.span.as_ref().map(|within| within.asks(method, params.as_ref()));
    let answer = match operator {
        None => ask_client(caller, method, params).await,
        Some(operator) => {
            let new = NewInput {
                id,
                server: operator.server.to_string(),
                operation: operator.tool.to_string(),
                session_id: caller.session.id().to_owned(),
                principal: caller.session.principal().to_owned(),
                question: asked::Question::read(params.as_ref()),
                waits: SignedDuration::try_from(ANSWER_WITHIN).unwrap_or_default(),
            };
            let client = client.then(|| ask_client(caller, method, params));
            operator.safety.input(new, client, is_wanted).await
        }
    };
    if let Some(span) = span {
        span.end(match &answer {
            Ok(answer) => End::ok(Some(answer.to_string())),
            Err(why) => End::failed(Failed { message: why.clone(), ..Failed::of("NOT_ANSWERED") }, None),
        });
    }
    answer
}

/// Asks the client, while its call runs or by having it call again.
async fn ask_client(caller: &Caller, method: &str, params: Option<Value>) -> Result<Value, String> {
    let unanswered = || "the client did not answer".to_owned();
    match (&caller.questions, &caller.client) {
        (Some(questions), _) => {
            let (answer, answered) = oneshot::channel();
            let question = Question { method: method.to_owned(), params, answer };
            match questions.sender.try_send(question) {
                Ok(()) => answered.await.unwrap_or_else(|_| Err(unanswered())),
                Err(_) => Err("the client has gone or has too many questions already".to_owned()),
            }
        }
        (None, Client::Live(client)) => {
            let answer = tokio::time::timeout(ANSWER_WITHIN, client.ask(method, params)).await;
            answer.unwrap_or_else(|_| Err(unanswered()))
        }
        (None, _) => Err(format!("the client cannot be asked for '{method}'")),
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
    if !allows(caller, method, params.as_ref()) && operator(caller, method, params.as_ref()).is_none() {
        return Err(format!("the client cannot be asked for '{method}'"));
    }
    let session = caller.session.id();
    // While a person thinks, the upstream's time stands still.
    peer.allow(session, Some(ANSWER_WITHIN));
    let answer = ask(caller, method, params, || peer.works_for(session)).await;
    peer.allow(session, None);
    answer
}

/// Whether a request is one that clients answer.
pub(super) fn is_for_clients(method: &str) -> bool {
    matches!(method, "elicitation/create" | "sampling/createMessage" | "roots/list")
}
