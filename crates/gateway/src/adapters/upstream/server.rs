//! One upstream: its connections, how many calls it takes at once, and what it says by itself.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use aql::error::Error;
use serde_json::{Value, value::RawValue};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};

use super::{
    error::{self, Place},
    http::Behalf,
    offers,
    open::Era,
    peer::{Caller, Failure, Inbox, Peer},
    pins::Accepted,
    pressure::Pressure,
    relay::{self, ParkedCalls},
    slot::{Slot, Trouble},
    veil::Veil,
    wire::{self, METHOD_NOT_FOUND, Params, Raw, RpcError},
};
use crate::{
    bearers::Bearers,
    config::{self, Definitions},
    hub::Hub,
    session::Session,
    trace::{
        OpenSpan,
        open::{About, Connection, End, Failed, Outbound},
    },
};

/// How often a request was made, and what came of it last, as far as that is recorded.
#[derive(Default)]
struct Tries {
    failures: u32,
    timed_out: bool,
    lost: bool,
    /// What the server itself answered instead of a result.
    said: Option<RpcError>,
}

impl Tries {
    fn failed(&mut self, failure: Option<&Failure>) {
        self.timed_out = matches!(failure, Some(Failure::TimedOut(_)));
        self.lost = matches!(
            failure,
            Some(Failure::Gone(_) | Failure::SessionLost | Failure::Unreachable(_) | Failure::Broken(_))
        );
        self.failures += u32::from(self.lost);
        self.said = match failure {
            Some(Failure::Rpc(error)) => Some(error.clone()),
            _ => None,
        };
    }

    fn not_opened(&mut self, trouble: &Trouble) {
        self.lost = true;
        // While it pauses, nothing is tried.
        self.failures += u32::from(trouble.pause.is_none());
    }

    /// What is recorded of it, with how often it was tried in vain since the server was last reached.
    fn end(&self, asked: &Result<Raw, Error>, veil: &Veil, in_vain: &AtomicU32) -> End {
        let end = match asked {
            Ok(raw) => raw.end(|text| veil.cover(text)),
            Err(error) => {
                let failed = match &self.said {
                    Some(RpcError { code, message, .. }) => {
                        let code = code.to_string();
                        let message = veil.cover(message.clone());
                        Failed { kind: code.clone().into(), code: code.into(), message }
                    }
                    None => {
                        let code = error.code.as_str();
                        let kind = if self.timed_out { "timeout" } else { code };
                        Failed { code: code.into(), message: error.message.clone(), kind: kind.into() }
                    }
                };
                End::failed(failed, None)
            }
        };
        let before = match self.lost {
            true => in_vain.fetch_add(self.failures, Ordering::Relaxed),
            false => in_vain.swap(0, Ordering::Relaxed),
        };
        let connection = match (self.lost, before) {
            (false, _) => Connection::Open,
            (true, 0) => Connection::Lost,
            (true, _) => Connection::Retried,
        };
        End { reconnects: before + self.failures, connection, ..end }
    }
}

/// Counts the time that something takes as time in which the server did nothing for a call.
async fn waiting<T>(recorded: [Option<&OpenSpan>; 2], work: impl Future<Output = T>) -> T {
    let since = Instant::now();
    let done = work.await;
    recorded.into_iter().flatten().for_each(|span| span.queued(since.elapsed()));
    done
}

/// What has to be looked into, by whoever keeps the catalogues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Notice {
    /// The upstream says that its tools have changed, or was started again.
    LookAgain(String),
}

pub(super) struct Upstream {
    pub(super) settings: Arc<config::Upstream>,
    /// Its name, as it is recorded.
    label: Arc<str>,
    /// The connection that everybody shares, where they do.
    shared: Arc<Slot>,
    /// The connections of sessions that have one each.
    sessions: Mutex<HashMap<String, Arc<Slot>>>,
    /// Callers' own tokens, where it is to get them.
    bearers: Option<Arc<Bearers>>,
    permits: Semaphore,
    /// How often it was tried in vain since it was last reached, for the record.
    in_vain: AtomicU32,
    inbox: Arc<Ears>,
    hub: Option<Hub>,
    /// Calls whose clients have to call again.
    pub(super) parked: ParkedCalls,
    veil: Veil,
    /// Whether it asks to be left alone.
    pub(super) pressure: Arc<Pressure>,
}

/// Hears what an upstream says without being asked.
struct Ears {
    name: String,
    notices: mpsc::UnboundedSender<Notice>,
}

impl Upstream {
    pub(super) fn new(
        settings: config::Upstream,
        last_era: Option<Era>,
        notices: mpsc::UnboundedSender<Notice>,
        bearers: Option<Arc<Bearers>>,
        hub: Option<Hub>,
    ) -> Arc<Self> {
        let settings = Arc::new(settings);
        let veil = Veil::of(&settings.link);
        let pressure = Arc::new(Pressure::new(&settings.name, settings.limit_headers.clone()));
        let inbox = Arc::new(Ears { name: settings.name.clone(), notices });
        let ears: Arc<dyn Inbox> = Arc::<Ears>::clone(&inbox);
        let shared = Slot::new(Arc::clone(&settings), ears, last_era, Arc::clone(&pressure), hub.clone());
        Arc::new(Self {
            label: settings.name.as_str().into(),
            shared: Arc::new(shared),
            hub,
            pressure,
            sessions: Mutex::default(),
            bearers,
            permits: Semaphore::new(settings.max_concurrent_calls),
            in_vain: AtomicU32::new(0),
            settings,
            inbox,
            parked: ParkedCalls::default(),
            veil,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.settings.name
    }

    /// The same, as it is handed on with every call.
    pub(super) fn label(&self) -> &Arc<str> {
        &self.label
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Slot>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection that a session's calls go over.
    fn slot(self: &Arc<Self>, session: &Arc<Session>) -> Arc<Slot> {
        if !self.settings.per_session {
            return Arc::clone(&self.shared);
        }
        let mut sessions = self.sessions();
        if let Some(slot) = sessions.get(session.id()) {
            return Arc::clone(slot);
        }
        let ears: Arc<dyn Inbox> = Arc::<Ears>::clone(&self.inbox);
        let (settings, pressure) = (Arc::clone(&self.settings), Arc::clone(&self.pressure));
        let mut slot = Slot::new(settings, ears, None, pressure, self.hub.clone());
        if let Some(bearers) = &self.bearers {
            slot = slot.on_behalf_of(Behalf::new(bearers, session.principal()));
        }
        let slot = Arc::new(slot);
        sessions.insert(session.id().to_owned(), Arc::clone(&slot));
        // It ends with its session.
        let (upstream, session) = (Arc::downgrade(self), Arc::clone(session));
        let ending = Arc::clone(&slot);
        tokio::spawn(async move {
            session.ended().await;
            if let Some(upstream) = upstream.upgrade() {
                upstream.sessions().remove(session.id());
            }
            ending.end("its session has ended").await;
        });
        slot
    }

    /// A connection for what belongs to no session.
    pub(super) async fn peer(&self) -> Result<Arc<Peer>, Trouble> {
        self.shared.peer().await
    }

    /// Asks the upstream for a session, over a connection that is opened again if it was lost unnoticed.
    pub(super) async fn request(
        self: &Arc<Self>,
        method: &str,
        params: &Params,
        about: &str,
        caller: &Caller,
        accepted: Option<&Accepted>,
    ) -> Result<Raw, Error> {
        let span = caller
            .span
            .as_ref()
            .map(|within| Arc::new(within.outbound(self.outbound(method, params, about))));
        let mut tries = Tries::default();
        let asked = self.ask(method, params, about, (caller, span.as_ref()), accepted, &mut tries).await;
        if let Some(span) = span {
            span.end(tries.end(&asked, &self.veil, &self.in_vain));
        }
        asked
    }

    fn outbound<'a>(&'a self, method: &'a str, params: &Params, about: &str) -> Outbound<'a> {
        let about = match method {
            "tools/call" => About::Tool(about.to_owned()),
            "resources/read" => About::Resource(about.to_owned()),
            "prompts/get" => About::Prompt(about.to_owned()),
            _ => About::Nothing,
        };
        let transport = match self.settings.link {
            config::Link::Command { .. } => "stdio",
            config::Link::Http { .. } => "http",
        };
        Outbound { method, about, input: Some(params.to_json()), peer: &self.label, transport }
    }

    async fn ask(
        self: &Arc<Self>,
        method: &str,
        params: &Params,
        about: &str,
        (caller, span): (&Caller, Option<&Arc<OpenSpan>>),
        accepted: Option<&Accepted>,
        tries: &mut Tries,
    ) -> Result<Raw, Error> {
        let place = Place { server: self.name(), tool: about };
        self.pressure.check()?;
        let recorded = [caller.span.as_deref(), span.map(Arc::as_ref)];
        let _permit = match self.permits.try_acquire() {
            Ok(permit) => permit,
            Err(_) => waiting(recorded, self.permit(place)).await?,
        };
        // It may have said so while this call waited for its turn.
        self.pressure.check()?;
        let slot = self.slot(&caller.session);
        let mut again = false;
        loop {
            let opened = match slot.now() {
                Some(_) => slot.peer().await,
                None => waiting(recorded, slot.peer()).await,
            };
            let peer = opened.map_err(|trouble| {
                tries.not_opened(&trouble);
                self.covered(error::of_opening(place, &trouble))
            })?;
            if let Some(accepted) = accepted
                && !accepted.agrees(&peer, about, self.settings.start_timeout).await.map_err(|failure| {
                    tries.failed(Some(&failure));
                    self.covered(error::of_call(place, &failure))
                })?
            {
                self.ask_for_a_look();
                return Err(match self.settings.definitions {
                    Definitions::Pin => super::call::held(self.name(), about, &[]),
                    Definitions::Follow => super::call::became_another(about),
                });
            }
            let asked =
                peer.request(method, params, self.settings.call_timeout, Some(caller.within(span))).await;
            tries.failed(asked.as_ref().err());
            match asked {
                Ok(raw) => return Ok(raw),
                // Neither has looked at the request.
                Err(Failure::SessionLost) if !again => slot.lost(&peer),
                Err(Failure::Unreachable(_)) if !again && peer.is_over() => {}
                Err(failure) => {
                    if matches!(&failure, Failure::Refused(status, _) if error::is_too_much(*status)) {
                        self.pressure.check()?;
                    }
                    return Err(self.covered(error::of_call(place, &failure)));
                }
            }
            again = true;
        }
    }

    /// A place among the calls that the upstream takes at once. Whoever waits too long for one is told.
    async fn permit(&self, place: Place<'_>) -> Result<SemaphorePermit<'_>, Error> {
        match tokio::time::timeout(self.settings.call_timeout, self.permits.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(Error::internal("the server is stopping")),
            Err(_) => Err(error::busy(place, self.settings.max_concurrent_calls)),
        }
    }

    /// The error without what the upstream must not repeat.
    pub(super) fn covered(&self, mut error: Error) -> Error {
        if let Some(Value::Object(upstream)) = error.details.get_mut("upstream_error")
            && let Some(Value::String(message)) = upstream.get_mut("message")
        {
            *message = self.veil.cover(std::mem::take(message));
            if let Some(data) = upstream.get_mut("data") {
                let covered = self.veil.cover(data.to_string());
                *data = serde_json::from_str(&covered).unwrap_or(Value::String(covered));
            }
        }
        error
    }

    fn slots(&self) -> Vec<Arc<Slot>> {
        let mut slots: Vec<Arc<Slot>> = self.sessions().values().cloned().collect();
        slots.push(Arc::clone(&self.shared));
        slots
    }

    /// Gives up calls that took too long.
    pub(super) fn expire(&self, now: Instant) {
        self.parked.expire(now);
        for peer in self.slots().iter().filter_map(|slot| slot.now()) {
            peer.expire(now);
        }
    }

    /// Ends connections that nobody has used for long.
    pub(super) async fn rest(&self) {
        let Some(idle) = self.settings.idle else { return };
        for slot in self.slots() {
            let unused = slot.now().is_some_and(|peer| peer.in_flight() == 0) && slot.unused_for() >= idle;
            if unused {
                tracing::info!(upstream = self.name(), "an unused upstream is stopped");
                slot.stop("it was not used").await;
            }
        }
    }

    /// Has somebody look at what it offers.
    pub(super) fn ask_for_a_look(&self) {
        let _ = self.inbox.notices.send(Notice::LookAgain(self.name().to_owned()));
    }

    /// Tells it how much to log, if it runs and knows what that means.
    pub(super) fn set_level(&self, level: Value) {
        for peer in self.slots().iter().filter_map(|slot| slot.now()) {
            let listens =
                peer.hello().is_some_and(|hello| hello.era == Era::Initialized && hello.offers("logging"));
            if listens {
                let (level, within) = (level.clone(), self.settings.call_timeout);
                tokio::spawn(async move {
                    let params = Params::none().value("level", &level);
                    let _ = peer.request("logging/setLevel", &params, within, None).await;
                });
            }
        }
    }

    /// How it is, and why it failed last without what must not be repeated.
    pub(super) fn state(&self) -> (&'static str, Option<String>) {
        let states = self.slots().into_iter().map(|slot| slot.state());
        let rank = |(state, _): &(&str, _)| {
            ["failed", "starting", "running"].iter().position(|known| known == state)
        };
        let (state, why) = states.max_by_key(rank).unwrap_or(("idle", None));
        (state, why.map(|why| self.veil.cover(why)))
    }

    /// Whether something runs or is connected.
    pub(super) fn is_live(&self) -> bool {
        self.slots().iter().any(|slot| slot.now().is_some())
    }

    /// Ends all connections.
    pub(super) async fn stop(&self) {
        for slot in self.slots() {
            slot.end("the gateway is stopping").await;
        }
    }
}

impl Inbox for Ears {
    fn notified(&self, peer: &Arc<Peer>, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/tools/list_changed" => {
                peer.listing.has_changed();
                let _ = self.notices.send(Notice::LookAgain(self.name.clone()));
            }
            "notifications/resources/list_changed" | "notifications/prompts/list_changed" => {
                // Nobody listens any more when everything stops.
                let _ = self.notices.send(Notice::LookAgain(self.name.clone()));
            }
            "notifications/message" => offers::log(peer, params),
            _ => {}
        }
    }

    fn asked(&self, peer: &Arc<Peer>, id: Box<RawValue>, method: &str, params: Option<Box<RawValue>>) {
        if !relay::is_for_clients(method) {
            return peer.send(wire::refusal(
                &id,
                METHOD_NOT_FOUND,
                &format!("'{method}' is not offered here"),
            ));
        }
        let params = params.and_then(|params| serde_json::from_str(params.get()).ok());
        tokio::spawn(relay::answer(Arc::clone(peer), id, method.to_owned(), params));
    }

    fn opened(&self, _peer: &Arc<Peer>) {
        let _ = self.notices.send(Notice::LookAgain(self.name.clone()));
    }
}
