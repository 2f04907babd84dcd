//! From what was told on the way to what is kept: spans with their attributes, and events for who watches.

mod lasting;
mod said;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde_json::Value;

use self::{
    lasting::{Begun, Waits},
    said::{arguments_of, clear_names, id, part, understand},
};
use super::{
    Attributes, Event, Happening, Kind, Nanos, Span, SpanId, Status,
    levels::Level,
    live,
    names::{self, event},
    open::{About, Began, Ended, Entry, Failed},
    preview,
    recorder::{Settings, Underway},
    redact,
};
use crate::{
    dispatch::Surface,
    store::traces::{Batch, Packed, TAGS},
};

/// Who watches is told of progress no more often than this.
const PROGRESS_INTERVAL: Nanos = 500_000_000;
/// The method by which a server asks a client's model.
const SAMPLING: &str = "sampling/createMessage";
/// The method by which a server asks the person before a client.
const ELICITATION: &str = "elicitation/create";
/// What went wrong where a server did not answer in time.
const TIMEOUT: &str = "timeout";
/// The longest name of a client that is kept.
const CLIENT_BYTES_MAX: usize = 256;
/// Spans around each other that are looked at. Those of others could be around themselves.
const DEPTH_MAX: usize = 64;
/// Happenings within one span that are kept.
const HAPPENINGS_MAX: usize = 256;

/// A request that came in, or work that goes on by itself.
pub(super) type Started = (SpanId, Underway);

/// What the recorder's thread works on.
pub(super) struct Rows {
    settings: Settings,
    open: HashMap<SpanId, Open>,
    /// Open spans of which nothing is written yet, or something has changed since.
    fresh: Vec<SpanId>,
    /// Open spans with progress that nobody was told of yet.
    behind: Vec<SpanId>,
    spans: Vec<Span>,
    /// What others have recorded.
    reported: Vec<Packed>,
    events: Vec<Event>,
    began: Vec<Started>,
    ended: Vec<SpanId>,
}

struct Open {
    span: Span,
    level: Level,
    surface: Option<Arc<Surface>>,
    begins_session: bool,
    is_fresh: bool,
    waits: Waits,
    begun: Begun,
    /// Whether a server within it did not answer in time.
    timed_out: bool,
    /// When progress was told last, and what was not told since.
    progress_told: Nanos,
    progress: Option<(Nanos, Value)>,
}

impl Open {
    fn waits(&mut self, at: Nanos) {
        self.waits.begin(at);
        self.span.status = Status::Waiting;
    }

    fn waited(&mut self, count: u32, at: Nanos) {
        self.waits.end(count, at);
        self.span.waited = self.waits.before;
        if self.waits.now == 0 {
            self.span.status = Status::Running;
        }
    }
}

impl Rows {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            open: HashMap::new(),
            fresh: Vec::new(),
            behind: Vec::new(),
            spans: Vec::new(),
            reported: Vec::new(),
            events: Vec::new(),
            began: Vec::new(),
            ended: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Began(began) => self.begin(*began),
            Entry::Ended(ended) => self.end(*ended),
            Entry::Signal { span, at, waits, about } => self.signal(span, at, waits, about),
            Entry::Progress { span, at, told } => self.progress(span, at, told),
            Entry::Reported(spans) => self.reported.extend(spans),
        }
    }

    /// Requests that came in and those that are over, since the last time.
    pub(super) fn take_running(&mut self) -> (Vec<Started>, Vec<SpanId>) {
        (std::mem::take(&mut self.began), std::mem::take(&mut self.ended))
    }

    /// Everything that is new since the last time.
    pub(super) fn take(&mut self, now: Nanos) -> Batch {
        for id in std::mem::take(&mut self.fresh) {
            if let Some(open) = self.open.get_mut(&id) {
                open.is_fresh = false;
                self.spans.push(open.span.clone());
            }
        }
        for id in std::mem::take(&mut self.behind) {
            let due = self.open.get(&id).is_some_and(|open| now - open.progress_told >= PROGRESS_INTERVAL);
            if due {
                self.tell_progress(id);
            } else if self.open.contains_key(&id) {
                self.behind.push(id);
            }
        }
        let spans = std::mem::take(&mut self.spans);
        let mut reported = std::mem::take(&mut self.reported);
        if !reported.is_empty() {
            // Other servers are told the ids of our calls of them. What we know of those ourselves is what counts.
            let ours: HashSet<SpanId> =
                spans.iter().map(|span| span.id).chain(self.open.keys().copied()).collect();
            reported.retain(|span| !ours.contains(&span.id));
        }
        Batch { spans, reported, events: std::mem::take(&mut self.events) }
    }

    fn begin(&mut self, mut began: Began) {
        self.cover_began(&mut began);
        // Who asks may name any span as that around it, and says nothing of that by it.
        let around = began.ids.parent.filter(|_| began.kind != Kind::Server);
        let parent = around.and_then(|parent| self.open.get(&parent));
        // What belongs to something that is not recorded is not recorded either.
        let begins_session = began.kind == Kind::Server || matches!(began.about, About::Workflow { .. });
        if !begins_session && parent.is_none() {
            return;
        }
        let (operations, input) = self.understood(&began, parent);
        let operation = operations.first().filter(|_| operations.len() == 1);
        let operation = operation.map(|name| match began.surface.as_ref() {
            Some(surface) if surface.registry().id(name).is_some() => name.clone(),
            _ => redact::name(name).into_owned(),
        });
        let level = self.level(&began, &operations).min(parent.map_or(Level::Preview, |parent| parent.level));
        // What belongs to a call says no less of it than the call itself may.
        if let Some(parent) = around.and_then(|parent| self.open.get_mut(&parent))
            && level < parent.level
        {
            parent.level = level.max(Level::Metadata);
            for name in [names::INPUT, names::PROMPT_PARAMETERS] {
                parent.span.attributes.retain(|known, _| !known.starts_with(name));
            }
        }
        if level == Level::Off {
            return;
        }
        clear_names(&mut began);
        let is_run = matches!(began.about, About::Workflow { .. });
        let around = around.filter(|_| is_run).and_then(|parent| self.open.get_mut(&parent));
        if is_run && around.is_none() {
            // It stands for itself where the request that began it is not recorded.
            began.parent_request = None;
        }
        let within = around.filter(|open| open.span.kind == Kind::Server).map(|open| {
            open.begun.runs += 1;
            (open.span.id, Arc::from(&*open.span.session))
        });
        let mut attributes = self.attributes(&began, operation.as_deref());
        if begins_session && !self.settings.tags.is_empty() {
            attributes.insert(TAGS, self.settings.tags.as_slice().into());
        }
        if began.method == SAMPLING
            && let Some(preferences) =
                began.input.as_deref().and_then(|params| part(params, "modelPreferences"))
        {
            preview::keep(&mut attributes, names::MODEL_PREFERENCES, redact::result(&preferences));
        }
        if let (Some(input), Level::Preview) = (input, level) {
            let name = if began.method == "prompts/get" { names::PROMPT_PARAMETERS } else { names::INPUT };
            preview::keep(&mut attributes, name, input);
        }
        let name = match (&began.about, &operation) {
            (About::Workflow { name, .. }, _) => format!("workflow {name}"),
            (_, Some(operation)) if began.method.is_empty() => operation.clone(),
            (_, Some(operation)) => format!("{} {operation}", began.method),
            (About::Tool(about) | About::Prompt(about), None) => format!("{} {about}", began.method),
            (About::Resource(_) | About::Nothing, None) => began.method.clone(),
        };
        let span = Span {
            trace: began.ids.trace,
            id: began.ids.span,
            parent: began.ids.parent,
            session: began.session_id.to_string(),
            engine: began.engine,
            name,
            kind: began.kind,
            status: Status::Running,
            started: began.at,
            ended: None,
            waited: 0,
            attributes,
            events: Vec::new(),
            links: Vec::new(),
        };
        if begins_session {
            self.tell(event::SESSION_STARTED, began.at, &span, live::session_began(&span));
            let underway = Underway { session: began.session_id, within, stop: began.stop };
            self.began.push((span.id, underway));
        }
        self.tell(event::REQUEST_STARTED, began.at, &span, live::request(&span, None));
        self.fresh.push(span.id);
        let (surface, id) = (began.surface, span.id);
        let open = Open {
            span,
            level,
            surface,
            begins_session,
            is_fresh: true,
            waits: Waits::default(),
            begun: Begun::default(),
            timed_out: false,
            progress_told: 0,
            progress: None,
        };
        self.open.insert(id, open);
    }

    /// The operation that a request is about, and its arguments as they may be written down.
    fn understood(&self, began: &Began, parent: Option<&Open>) -> (Vec<String>, Option<String>) {
        // A call of operations: one that came in, or a workflow's step, which needs no tool.
        let called_through = match (&began.about, began.kind) {
            (About::Tool(tool), Kind::Server) => Some(tool.as_str()),
            (About::Nothing, Kind::Internal) => Some(""),
            _ => None,
        };
        if let (Some(tool), Some(surface), Some(input)) = (called_through, &began.surface, &began.input) {
            let (operations, input) = redact::arguments(input, tool, surface.registry());
            return (operations, Some(input));
        }
        match (&began.about, &began.input, began.kind) {
            (About::Tool(_), Some(input), Kind::Client) => {
                let known = parent.and_then(|parent| {
                    let name = parent.span.attributes.get(names::OPERATION)?.as_str()?;
                    let registry = parent.surface.as_ref()?.registry();
                    registry.get(registry.id(name)?)
                });
                (Vec::new(), Some(redact::sent(&arguments_of(input), known)))
            }
            (About::Workflow { operation, .. }, Some(input), _) => {
                let registry = began.surface.as_ref().map(|surface| surface.registry());
                let known = registry.and_then(|registry| registry.get(registry.id(operation)?));
                (vec![operation.clone()], Some(redact::sent(input, known)))
            }
            (About::Prompt(_), Some(input), _) => (Vec::new(), Some(redact::params(&arguments_of(input)))),
            (_, input, _) => (Vec::new(), input.as_deref().map(redact::params)),
        }
    }

    /// Takes callers' own tokens out.
    fn cover(&self, text: &mut String) {
        if let Some(bearers) = &self.settings.bearers {
            *text = bearers.cover(std::mem::take(text));
        }
    }

    fn covered(&self, told: Value) -> Value {
        let Some(bearers) = &self.settings.bearers else { return told };
        serde_json::from_str(&bearers.cover(told.to_string())).unwrap_or_default()
    }

    fn cover_began(&self, began: &mut Began) {
        if self.settings.bearers.is_none() {
            return;
        }
        let Began { about, input, progress_token, client, .. } = began;
        let about = match about {
            About::Nothing => None,
            About::Tool(text) | About::Resource(text) | About::Prompt(text) => Some(text),
            About::Workflow { name, .. } => Some(name),
        };
        [&mut began.method, &mut began.rpc_id].into_iter().for_each(|text| self.cover(text));
        let given = [about, input.as_mut(), progress_token.as_mut(), client.as_mut()];
        given.into_iter().flatten().for_each(|text| self.cover(text));
    }

    /// Of several operations that are called together, the one counts of which least is recorded.
    fn level(&self, began: &Began, operations: &[String]) -> Level {
        let levels = &self.settings.levels;
        let of = |name: &String| {
            let registry = began.surface.as_ref().map(|surface| surface.registry());
            let known = registry.and_then(|registry| registry.get(registry.id(name)?)?.server());
            levels.of(began.peer.as_deref().or(known), Some(name))
        };
        let server = began.peer.as_deref().or(began.server.as_deref());
        operations.iter().map(of).min().unwrap_or_else(|| levels.of(server, None))
    }

    fn attributes(&self, began: &Began, operation: Option<&str>) -> Attributes {
        let mut attributes = Attributes::new();
        let mut set = |name: &'static str, value: Value| attributes.insert(name, value);
        set(names::REQUEST_ID, (*began.ids.request).into());
        set(names::AGENT, self.settings.server_id.as_str().into());
        if !began.method.is_empty() {
            set(names::JSONRPC_VERSION, "2.0".into());
            set(names::METHOD, began.method.as_str().into());
            set(names::TRANSPORT, began.transport.into());
            set(names::DIRECTION, live::direction(began.kind).into());
        }
        if let Some(id) = id(&began.rpc_id) {
            set(names::RPC_ID, id);
        }
        set(names::CONNECTION, began.session.id().into());
        set(names::PRINCIPAL, began.session.principal().into());
        let named = began.client.as_deref().and_then(|client| part(client, "name"));
        let named = named.and_then(|name| serde_json::from_str::<String>(&name).ok());
        if let Some(client) = named.as_deref().or(began.session.client_name()) {
            let client = redact::name(client).into_owned();
            set(names::CLIENT, preview::beginning(client, CLIENT_BYTES_MAX).into());
        }
        if let Some(parent) = &began.parent_request {
            set(names::PARENT_REQUEST_ID, (**parent).into());
        }
        if let Some(peer) = &began.peer {
            set(names::PEER, (**peer).into());
        }
        if let Some(operation) = operation {
            set(names::OPERATION, operation.into());
        }
        if let Some(token) = &began.progress_token {
            set(names::PROGRESS_TOKEN, id(token).unwrap_or_default());
        }
        match &began.about {
            About::Nothing => {}
            About::Tool(tool) => set(names::TOOL, tool.as_str().into()),
            About::Resource(uri) => set(names::RESOURCE, redact::uri(uri).into()),
            About::Prompt(name) => set(names::PROMPT, name.as_str().into()),
            About::Workflow { name, .. } => set(names::WORKFLOW, name.as_str().into()),
        }
        preview::cut(&mut attributes);
        attributes
    }

    fn end(&mut self, ended: Ended) {
        if let Some(open) = self.open.get_mut(&ended.span).filter(|open| open.begun.runs > 0) {
            let took = (ended.at - open.span.started) as f64 / 1e6;
            open.span.attributes.insert(names::ANSWERED_MS, took.into());
            open.begun.answered = Some(Box::new(ended));
            // Only what it has begun can be stopped any more.
            self.ended.push(open.span.id);
            return;
        }
        let Some(Open { mut span, level, progress, begins_session, mut waits, begun, timed_out, .. }) =
            self.open.remove(&ended.span)
        else {
            return;
        };
        let Ended { at, waited, sent_as, mut end, .. } = ended;
        if waits.now > 0 {
            // Nobody is waited for any more, here and in what it was made within.
            let around = span.parent.filter(|_| span.kind != Kind::Server);
            self.each_around(around, |open| open.waited(waits.now, at));
            waits.end(waits.now, at);
        }
        if let Some((told_at, told)) = progress {
            happened(&mut span, event::PROGRESS, told_at, &told);
            self.tell(event::PROGRESS, told_at, &span, told.to_string());
        }
        span.ended = Some(at.max(span.started));
        // What was made within it may have waited, too.
        span.waited = waited.max(waits.before);
        if let Some(message) = end.message.take() {
            end.output = part(&message, "result");
        }
        if let Some(output) = &mut end.output {
            self.cover(output);
        }
        understand(&span, level, &mut end);
        if timed_out && let Some(failed) = &mut end.error {
            failed.kind = TIMEOUT.into();
        }
        let is_timeout =
            span.kind != Kind::Server && end.error.as_ref().is_some_and(|failed| failed.kind == TIMEOUT);
        let within = span.parent.filter(|_| is_timeout);
        if let Some(around) = within.and_then(|parent| self.open.get_mut(&parent)) {
            around.timed_out = true;
        }
        if let (Some(Status::Ok), Some((status, error))) = (end.status, begun.outcome) {
            (end.status, end.error) = (Some(status), error);
        }
        span.status = end.status.unwrap_or(Status::Ok);
        let took = span.ended.unwrap_or(at) - span.started;
        let set = |attributes: &mut Attributes, name: &'static str, value: Value| {
            attributes.insert(name, value);
        };
        let attributes = &mut span.attributes;
        set(attributes, names::DURATION_MS, (took as f64 / 1e6).into());
        if sent_as > 0 {
            set(attributes, names::RPC_ID, sent_as.into());
        }
        if attributes.contains_key(names::TRANSPORT) {
            set(attributes, names::TRANSPORT_STATUS, end.connection.as_str().into());
        }
        if end.reconnects > 0 {
            set(attributes, names::RECONNECTS, end.reconnects.into());
        }
        if let Some(Failed { code, message, kind }) = &end.error {
            set(attributes, names::ERROR_CODE, (&**code).into());
            let mut message = redact::result(message);
            self.cover(&mut message);
            preview::keep(attributes, names::ERROR_MESSAGE, message);
            set(attributes, names::ERROR_TYPE, (&**kind).into());
        }
        let method = span.attributes.get(names::METHOD).and_then(Value::as_str).unwrap_or_default();
        if method == ELICITATION {
            // What people say is between them and who asked.
            end.output = end.output.as_deref().and_then(|output| part(output, "action"));
        }
        if method == SAMPLING
            && let Some(reason) = end.output.as_deref().and_then(|output| part(output, "stopReason"))
        {
            let reason = serde_json::from_str(&redact::result(&reason)).unwrap_or_default();
            set(&mut span.attributes, names::STOP_REASON, reason);
        }
        let method = span.attributes.get(names::METHOD).and_then(Value::as_str).unwrap_or_default();
        if method == "resources/read" {
            // Of resources nothing is kept but what they are.
            if let Some((kind, bytes)) = end.output.as_deref().and_then(redact::resource) {
                if let Some(kind) = kind {
                    set(&mut span.attributes, names::RESOURCE_TYPE, kind.into());
                }
                set(&mut span.attributes, names::RESOURCE_BYTES, bytes.into());
            }
        } else if level == Level::Preview {
            if let Some(output) = &end.output {
                preview::keep(&mut span.attributes, names::OUTPUT, redact::result(output));
            }
            if let Some(structured) = &end.structured {
                preview::keep(&mut span.attributes, names::STRUCTURED_OUTPUT, redact::result(structured));
            }
        }
        let finished = live::Finished {
            status: if span.status == Status::Ok { "OK" } else { "ERROR" },
            error_code: match span.status {
                Status::Cancelled => Some("CANCELLED"),
                _ => end.error.as_ref().map(|error| &*error.code),
            },
            duration_us: took / 1000,
        };
        self.tell(event::REQUEST_FINISHED, at, &span, live::request(&span, Some(finished)));
        if begins_session {
            self.tell(event::SESSION_FINISHED, at, &span, live::session_ended(&span));
            self.ended.push(span.id);
        }
        let (status, parent) = (span.status, span.parent);
        let is_run = begins_session && span.kind == Kind::Internal;
        self.spans.push(span);
        // The request that began it is over now, if nothing else of it goes on.
        if let Some(open) = parent.filter(|_| is_run).and_then(|parent| self.open.get_mut(&parent))
            && open.span.kind == Kind::Server
        {
            open.begun.ended(status, end.error.as_ref());
            if let Some(answered) = open.begun.answered.take_if(|_| open.begun.runs == 0) {
                self.end(Ended { at, ..*answered });
            }
        }
    }

    fn signal(&mut self, id: SpanId, at: Nanos, waits: bool, about: Value) {
        let Some(open) = self.open.get_mut(&id) else { return };
        let name = if waits { event::WAITING } else { event::ANSWERED };
        happened(&mut open.span, name, at, &about);
        let mut told = Vec::new();
        self.each_around(Some(id), |open| {
            if waits {
                open.waits(at)
            } else {
                open.waited(1, at)
            }
            // Who watches looks at operations, and may look into one.
            if open.begins_session || open.span.id == id {
                told.push(open.span.clone());
            }
        });
        for span in told {
            self.tell(name, at, &span, about.to_string());
        }
    }

    /// A span, what it was made within, and so on, as far as they are under way.
    fn each_around(&mut self, span: Option<SpanId>, mut with: impl FnMut(&mut Open)) {
        let mut next = span;
        for _ in 0..DEPTH_MAX {
            let Some((id, open)) = next.and_then(|id| Some((id, self.open.get_mut(&id)?))) else { return };
            with(open);
            // Who asks may name any span as that around it.
            next = open.span.parent.filter(|_| open.span.kind != Kind::Server);
            if !std::mem::replace(&mut open.is_fresh, true) {
                self.fresh.push(id);
            }
        }
    }

    fn progress(&mut self, id: SpanId, at: Nanos, told: Value) {
        let token = self.progress_token(id).cloned();
        let told = self.covered(told);
        let Some(open) = self.open.get_mut(&id) else { return };
        let mut told = redact::told(told, open.level);
        if let Value::Object(told) = &mut told {
            told.extend(token.map(|token| ("token".to_owned(), token)));
            let mut shown: Attributes = std::mem::take(told).into_iter().collect();
            preview::cut(&mut shown);
            *told = shown.into_object();
        }
        let waits = open.progress.replace((at, told)).is_some();
        if at - open.progress_told >= PROGRESS_INTERVAL {
            self.tell_progress(id);
        } else if !waits {
            self.behind.push(id);
        }
    }

    /// That of the request, or of the one that it was made within.
    fn progress_token(&self, id: SpanId) -> Option<&Value> {
        let open = self.open.get(&id)?;
        let of = |open: &'_ Open| open.span.attributes.contains_key(names::PROGRESS_TOKEN);
        let open = if of(open) { open } else { self.open.get(&open.span.parent?)? };
        open.span.attributes.get(names::PROGRESS_TOKEN)
    }

    fn tell_progress(&mut self, id: SpanId) {
        let Some(open) = self.open.get_mut(&id) else { return };
        let Some((at, told)) = open.progress.take() else { return };
        open.progress_told = at;
        happened(&mut open.span, event::PROGRESS, at, &told);
        let span = open.span.clone();
        self.tell(event::PROGRESS, at, &span, told.to_string());
    }

    fn tell(&mut self, name: &'static str, at: Nanos, span: &Span, data: String) {
        let session = span.session.clone();
        self.events.push(Event { name, at, session, trace: span.trace, span: span.id, data });
    }
}

fn happened(span: &mut Span, name: &str, at: Nanos, about: &Value) {
    let is_progress = |happening: &Happening| happening.name == event::PROGRESS;
    // Work that goes on for long leaves room for what else happens, and says how far it came last.
    if name == event::PROGRESS
        && span.events.len() >= HAPPENINGS_MAX / 2
        && let Some(last) = span.events.iter().rposition(is_progress)
    {
        span.events.remove(last);
    }
    if span.events.len() < HAPPENINGS_MAX {
        let attributes = match about {
            Value::Object(about) => about.clone().into_iter().collect(),
            _ => Attributes::new(),
        };
        span.events.push(Happening { name: name.to_owned(), at, attributes });
    }
}
