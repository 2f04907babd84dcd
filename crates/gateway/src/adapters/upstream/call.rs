//! A permitted call of an operation, made as a call of an upstream's tool.

use std::sync::{Arc, LazyLock, OnceLock};

use aql::{
    adopt::Wiring,
    audit::Hash,
    error::{Code, Error},
    listed::ListedTool,
    response::{Data, Questions},
};
use memchr::memmem::Finder;
use serde_json::{Map, Value};

use super::{
    error::{self, Place},
    peer::Caller,
    pins::Accepted,
    relay::{self, Asks, State, Turn},
    result::{self, ToolResult},
    server::Upstream,
    wire::{Params, Raw},
};
use crate::{
    client::Client,
    config::Definitions,
    dispatch::{Context, Handler, Outcome, Work},
    gate::Permitted,
};

/// Makes the calls of one operation.
pub(super) struct ToolCall(Arc<Prepared>);

struct Prepared {
    upstream: Arc<Upstream>,
    tool: Arc<str>,
    /// The tool's name as JSON.
    name: String,
    wiring: Wiring,
    /// Properties that the upstream wants in headers too, each with the header's name.
    in_headers: Vec<(String, String)>,
    /// What it is called by.
    accepted: Option<Accepted>,
    /// Whether every definition is taken as it comes. A call that a person agreed to is made by the one that they saw.
    follows: bool,
    /// Why it may not be called, where its definition has changed.
    held: Option<Error>,
    /// Who may answer what it asks, made once for all of its calls.
    operator: OnceLock<Option<Arc<relay::Operator>>>,
}

impl ToolCall {
    pub(super) fn new(
        upstream: Arc<Upstream>,
        tool: &ListedTool,
        wiring: Wiring,
        accepted: Option<Accepted>,
        held: Option<Error>,
    ) -> Self {
        let name = Value::from(tool.name.as_str()).to_string();
        let in_headers = in_headers(&tool.input_schema);
        let follows = upstream.settings.definitions == Definitions::Follow;
        Self(Arc::new(Prepared {
            upstream,
            tool: tool.name.as_str().into(),
            name,
            wiring,
            in_headers,
            accepted,
            follows,
            held,
            operator: OnceLock::new(),
        }))
    }
}

impl Handler for ToolCall {
    fn call(&self, mut permitted: Permitted, context: Context) -> Work {
        let prepared = Arc::clone(&self.0);
        let params = permitted.take_params();
        let confirmed = permitted.confirmed().is_some();
        Box::pin(async move { prepared.call(params, confirmed, context).await })
    }

    fn definition(&self) -> Option<&Hash> {
        self.0.accepted.as_ref().map(Accepted::pin)
    }
}

/// Properties with an `x-mcp-header`.
fn in_headers(schema: &Map<String, Value>) -> Vec<(String, String)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let named = properties.into_iter().flatten().filter_map(|(name, property)| {
        let header = property.get("x-mcp-header")?.as_str()?;
        Some((name.clone(), header.to_owned()))
    });
    named.collect()
}

/// An upstream of today's may ask again and again; this often it is answered.
const ROUNDS_MAX: usize = 10;
/// What the names of a call's members take.
const NAMES_BYTES: usize = "\"name\":,\"arguments\":".len();

impl Prepared {
    async fn call(
        self: Arc<Self>,
        params: Map<String, Value>,
        confirmed: bool,
        context: Context,
    ) -> Result<Outcome, Error> {
        if let Some(held) = &self.held {
            return Err(held.clone());
        }
        context.progress.relays();
        let arguments = self.wiring.arguments(params);
        let arguments = serde_json::to_string(&arguments)
            .map_err(|_| Error::internal("the parameters could not be written"))?;
        let operator = context.may_wait.then(|| self.operator(&context)).flatten();
        let Context { session, progress, client, resumed, span, .. } = context;
        let recalls = matches!(client, Client::Recalls(_));
        let (asked, questions) = if recalls { split(relay::Questions::new()) } else { (None, None) };
        let caller =
            Caller { session: Arc::clone(&session), progress, client, questions: asked, operator, span };
        let state = resumed.as_ref().and_then(|resumed| relay::state(resumed.state.as_deref()?));
        let of = || format!("{} {arguments}", self.name);
        let turn = match (state, questions) {
            (Some(State::Ours(state)), _) => {
                let responses = resumed.as_ref().map(|resumed| resumed.responses.clone()).unwrap_or_default();
                self.upstream.parked.resume(&session, of(), state, responses).await?
            }
            (state, Some(questions)) => {
                let theirs = match state {
                    Some(State::Theirs(state)) => {
                        resumed.as_ref().map(|resumed| (state.to_owned(), resumed.responses.clone()))
                    }
                    _ => None,
                };
                let (prepared, of, span) = (Arc::clone(&self), of(), caller.span.clone());
                let call =
                    Box::pin(async move { prepared.rounds(&arguments, confirmed, caller, theirs).await });
                self.upstream.parked.follow(&session, of, call, questions, span).await?
            }
            (_, None) => Turn::Result(self.rounds(&arguments, confirmed, caller, None).await?),
        };
        match turn {
            Turn::Asked(questions) => Ok(asks(questions)),
            Turn::Result(raw) => self.outcome(&raw, recalls),
        }
    }

    /// The operator, if they can be asked now.
    fn operator(&self, context: &Context) -> Option<Arc<relay::Operator>> {
        let make = || relay::Operator::of(context, self.upstream.label(), &self.tool);
        self.operator.get_or_init(make).clone().filter(|operator| operator.is_there())
    }

    /// Calls the tool, and again with the client's answers as long as an upstream of today's asks for them and the
    /// client can be asked while its call runs.
    async fn rounds(
        &self,
        arguments: &str,
        confirmed: bool,
        caller: Caller,
        mut answers: Option<(String, Map<String, Value>)>,
    ) -> Result<Raw, Error> {
        let accepted = self.accepted.as_ref().filter(|_| confirmed || !self.follows);
        for _ in 0..ROUNDS_MAX {
            let room = self.name.len() + arguments.len() + NAMES_BYTES;
            let mut params = Params::with_room(room)
                .raw("name", &self.name)
                .raw("arguments", arguments)
                .about(Arc::clone(&self.tool))
                .in_headers(self.headers(arguments));
            if let Some((state, responses)) = &answers {
                params = params.value("inputResponses", responses);
                if !state.is_empty() {
                    params = params.value("requestState", state);
                }
            }
            let raw = self.upstream.request("tools/call", &params, &self.tool, &caller, accepted).await?;
            if !relay::can_be_asked(&caller) || !is_asking(&raw) {
                return Ok(raw);
            }
            let Ok(asks) = serde_json::from_str::<Asks>(raw.get()) else { return Ok(raw) };
            if !asks.are_for_here(&caller) {
                return Ok(raw);
            }
            let responses = asks.answered_by(&caller).await.map_err(|why| self.failed(&why))?;
            answers = Some((asks.request_state.unwrap_or_default(), responses));
        }
        Err(self.failed("it asks without end"))
    }

    /// The tool ran and says that it failed.
    fn failed(&self, text: &str) -> Error {
        let place = Place { server: self.upstream.name(), tool: &self.tool };
        self.upstream.covered(error::of_tool(place, text))
    }

    /// The parameters that the upstream wants in headers as well.
    fn headers(&self, arguments: &str) -> Vec<(String, String)> {
        if self.in_headers.is_empty() {
            return Vec::new();
        }
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let value = |property: &str| match arguments.get(property)? {
            Value::String(text) => Some(text.clone()),
            other @ (Value::Bool(_) | Value::Number(_)) => Some(other.to_string()),
            _ => None,
        };
        let given =
            self.in_headers.iter().filter_map(|(property, header)| Some((header.clone(), value(property)?)));
        given.collect()
    }

    fn outcome(&self, raw: &Raw, recalls: bool) -> Result<Outcome, Error> {
        if let Some((text, meta)) = raw.text() {
            return Ok(result::of_one_text(text, meta));
        }
        let Ok(result) = serde_json::from_str::<ToolResult<'_>>(raw.get()) else {
            return Err(self.failed("its result cannot be read"));
        };
        if result.result_type.as_deref() == Some(INPUT_REQUIRED) {
            return match serde_json::from_str::<Asks>(raw.get()) {
                Ok(asked) if recalls => Ok(asks(asked.into_questions())),
                _ => Err(self.failed("it has a question, and the client cannot be asked")),
            };
        }
        if result.is_error == Some(true) {
            let mut error = self.failed(&result::text(&result.content));
            if let (Some(Value::Object(upstream)), Some(data)) =
                (error.details.get_mut("upstream_error"), result.structured_content)
            {
                upstream.insert("data".to_owned(), serde_json::from_str(data.get()).unwrap_or_default());
            }
            return Err(error);
        }
        Ok(result::outcome(&result))
    }
}

const INPUT_REQUIRED: &str = "input_required";

/// Making one costs more than looking through most results.
static ASKING: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(INPUT_REQUIRED));

fn is_asking(raw: &Raw) -> bool {
    // A text that is the whole result asks nothing.
    raw.text().is_none()
        && ASKING.find(raw.get().as_bytes()).is_some()
        && serde_json::from_str::<ToolResult<'_>>(raw.get())
            .is_ok_and(|result| result.result_type.as_deref() == Some(INPUT_REQUIRED))
}

fn asks(questions: Questions) -> Outcome {
    Outcome { questions: Some(Box::new(questions)), ..Outcome::from(Data::Value(Value::Null)) }
}

fn split<A, B>((one, other): (A, B)) -> (Option<A>, Option<B>) {
    (Some(one), Some(other))
}

/// Why a call is not made whose tool became another while a person was asked about it.
pub(super) fn became_another(tool: &str) -> Error {
    let reason = format!("the definition of tool '{tool}' has changed since the call was approved");
    Error::new(Code::PermissionDenied, format!("Permission denied: {reason}"))
        .with("reason", reason)
        .hint("Look the operation up again. If you still want the call, repeat it, so that somebody is asked again.")
}

/// Why a tool may not be called whose definition has changed.
pub(super) fn held(server: &str, tool: &str, changes: &[aql::drift::Change]) -> Error {
    const SHOWN: usize = 20;
    // Only where: what a definition says that nobody accepted is not for the model.
    let shown: Vec<&str> = changes.iter().take(SHOWN).map(|change| change.path.as_str()).collect();
    let reason = format!("the definition of tool '{tool}' has changed since it was accepted");
    Error::new(Code::PermissionDenied, format!("Permission denied: {reason}"))
        .with("reason", reason)
        .with("changes", shown)
        .hint(format!(
            "The operator can look with 'aqueduct discover {server} --diff' and accept with '--accept'."
        ))
}
