//! Looking after the upstreams while we serve: first looks, second looks, calls that take too long, rest for the idle.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Weak, atomic::Ordering},
    time::{Duration, Instant},
};

use futures_util::future;
use tokio::{
    sync::{mpsc, oneshot},
    task::{self, JoinSet},
};

use super::{
    Upstreams,
    catalogue::{self, Kept},
    server::{Notice, Upstream},
    slot::explain,
};
use crate::pipeline::Gateway;

/// How exactly the time of a call is kept.
const TICK: Duration = Duration::from_millis(200);
/// How often idle connections are looked for.
const REST_INTERVAL: Duration = Duration::from_secs(5);
/// Notices come in bursts; one look answers all of them.
const GATHER: Duration = Duration::from_millis(50);
/// Servers that are asked for the first time answer one after the other.
const GATHER_FIRST: Duration = Duration::from_millis(400);
/// The pause after a look that failed, doubled each time.
const PAUSE_MIN: Duration = Duration::from_secs(2);
const PAUSE_MAX: Duration = Duration::from_mins(2);

/// Starts the tasks. They end with the gateway, or when the upstreams are closed.
pub(super) fn start(
    upstreams: Arc<Upstreams>,
    gateway: Weak<Gateway>,
    heard: mpsc::UnboundedReceiver<Notice>,
) {
    tokio::spawn(tend(Arc::clone(&upstreams), Weak::clone(&gateway)));
    tokio::spawn(look(upstreams, gateway, heard));
}

async fn tend(upstreams: Arc<Upstreams>, gateway: Weak<Gateway>) {
    let mut rested = Instant::now();
    let mut checked: HashMap<String, Instant> = HashMap::new();
    loop {
        tokio::select! {
            () = tokio::time::sleep(TICK) => {}
            () = upstreams.stopping.cancelled() => return,
        }
        let now = Instant::now();
        for upstream in &upstreams.all {
            upstream.expire(now);
        }
        if now.duration_since(rested) < REST_INTERVAL {
            continue;
        }
        rested = now;
        if upstreams.were_rewritten() {
            // Somebody accepted what was held back, or another process has looked.
            upstreams.publish(&gateway).await;
        }
        for upstream in &upstreams.all {
            // Saying goodbye takes its time, and calls of others are not to wait for it.
            let resting = Arc::clone(upstream);
            tokio::spawn(async move { resting.rest().await });
            if let Some(every) = upstream.settings.recheck {
                let last = checked.entry(upstream.name().to_owned()).or_insert(now);
                // One that does not run is looked at when it is started.
                if upstream.is_live() && now.duration_since(*last) >= every {
                    *last = now;
                    upstream.ask_for_a_look();
                }
            }
        }
    }
}

/// Looks under way, of each upstream one at most, so that none waits for another.
struct Looks {
    upstreams: Arc<Upstreams>,
    gateway: Weak<Gateway>,
    tasks: JoinSet<bool>,
    /// The place of the upstream that each task looks at.
    places: HashMap<task::Id, usize>,
    /// Upstreams to look at once more, because something was heard of them meanwhile.
    again: HashSet<usize>,
    /// How long to wait before the next try of those that could not be looked at.
    pauses: HashMap<usize, Duration>,
}

impl Looks {
    fn begin(&mut self, place: usize, after: Duration) {
        if self.places.values().any(|looked_at| *looked_at == place) {
            self.again.insert(place);
            return;
        }
        let (upstreams, gateway) = (Arc::clone(&self.upstreams), Weak::clone(&self.gateway));
        let task = self.tasks.spawn(async move {
            tokio::time::sleep(after).await;
            let Some(upstream) = upstreams.all.get(place) else { return true };
            let seen = upstreams.looked_at(upstream).await;
            if seen == Some(true) {
                upstreams.publish(&gateway).await;
            }
            seen.is_some()
        });
        self.places.insert(task.id(), place);
    }

    /// Waits for the end of a look and tells whose it was.
    async fn ended(&mut self) -> Option<usize> {
        let (id, seen) = match self.tasks.join_next_with_id().await? {
            Ok(ended) => ended,
            Err(error) => (error.id(), false),
        };
        let place = self.places.remove(&id)?;
        let pause = self.pauses.entry(place).or_insert(PAUSE_MIN);
        let after = if seen { GATHER.max(*pause / 100) } else { *pause };
        *pause = if seen { PAUSE_MIN } else { (*pause * 2).min(PAUSE_MAX) };
        // One that was never seen is asked again and again: nobody can call what is not known.
        let unknown = !seen && self.upstreams.is_unknown(place);
        if self.again.remove(&place) || unknown {
            self.begin(place, after);
        }
        Some(place)
    }
}

async fn look(upstreams: Arc<Upstreams>, gateway: Weak<Gateway>, mut heard: mpsc::UnboundedReceiver<Notice>) {
    let mut unknown: HashSet<usize> = upstreams.unknown().into_iter().map(|(place, _)| place).collect();
    let stopping = upstreams.stopping.clone();
    let mut looks = Looks {
        upstreams: Arc::clone(&upstreams),
        gateway: Weak::clone(&gateway),
        tasks: JoinSet::new(),
        places: HashMap::new(),
        again: HashSet::new(),
        pauses: HashMap::new(),
    };
    for place in &unknown {
        looks.begin(*place, Duration::ZERO);
    }
    let mut settled = false;
    loop {
        if unknown.is_empty() && !settled {
            settled = true;
            gateway.upgrade().iter().for_each(|gateway| gateway.settle());
        }
        tokio::select! {
            Some(place) = looks.ended() => {
                unknown.remove(&place);
            }
            notice = heard.recv() => {
                let Some(Notice::LookAgain(name)) = notice else { return };
                let place = upstreams.all.iter().position(|upstream| upstream.name() == name);
                place.into_iter().for_each(|place| looks.begin(place, GATHER));
            }
            () = stopping.cancelled() => return,
        }
    }
}

impl Upstreams {
    /// Those that were never asked, and their places.
    fn unknown(&self) -> Vec<(usize, &Arc<Upstream>)> {
        let all = self.all.iter().enumerate();
        all.filter(|(_, upstream)| self.catalogues.load(&upstream.settings).is_none()).collect()
    }

    /// Asks those that were never asked. What went wrong is told, a line for each.
    pub async fn learn(&self) -> Vec<String> {
        let looks = self.unknown().into_iter().map(|(_, upstream)| async move {
            let why = self.look_at(upstream).await.err()?;
            Some(format!("server '{}' is not known yet: {why}", upstream.name()))
        });
        future::join_all(looks).await.into_iter().flatten().collect()
    }

    fn is_unknown(&self, place: usize) -> bool {
        self.all.get(place).is_some_and(|upstream| self.catalogues.load(&upstream.settings).is_none())
    }

    /// Whether any catalogue is not the one in force any more.
    fn were_rewritten(&self) -> bool {
        let in_force = super::lock(&self.in_force);
        self.all.iter().any(|upstream| {
            in_force
                .get(upstream.name())
                .is_some_and(|known| *known != self.catalogues.written(&upstream.settings))
        })
    }

    /// Whether there is something new, if it could be looked at.
    async fn looked_at(&self, upstream: &Arc<Upstream>) -> Option<bool> {
        let seen = self.look_at(upstream).await;
        if let Err(why) = &seen {
            tracing::warn!(upstream = upstream.name(), why, "an upstream's tools could not be listed");
        }
        seen.ok()
    }

    /// Asks an upstream what it offers and keeps it. Tells whether that is something new.
    async fn look_at(&self, upstream: &Arc<Upstream>) -> Result<bool, String> {
        let name = upstream.name();
        let peer = upstream.peer().await.map_err(|trouble| trouble.why)?;
        let within = upstream.settings.start_timeout;
        let capture = match tokio::time::timeout(within, catalogue::capture(&peer, within)).await {
            Ok(capture) => capture.map_err(|failure| explain(&failure))?,
            Err(_) => return Err(format!("it did not list its tools within {} s", within.as_secs())),
        };
        let before = self.catalogues.load(&upstream.settings);
        let now = jiff::Timestamp::now();
        let kept = Kept::settle(before.clone(), &capture, &upstream.settings, now);
        if before.is_some_and(|before| before.offers_the_same(&kept)) {
            return Ok(false);
        }
        for tool in kept.held() {
            tracing::warn!(
                upstream = name,
                tool = tool.name(),
                changes = tool.changes().len(),
                "a tool's definition has changed; it is held back until it is accepted"
            );
        }
        self.catalogues
            .save(&upstream.settings, &kept)
            .map_err(|error| format!("its catalogue could not be kept: {error}"))?;
        Ok(true)
    }

    /// Puts what is known now in force. Asked for several times at once, it is done once for all of them.
    async fn publish(self: &Arc<Self>, gateway: &Weak<Gateway>) {
        let mine = self.asked.fetch_add(1, Ordering::AcqRel) + 1;
        let settled = gateway.upgrade().is_none_or(|gateway| gateway.is_settled());
        tokio::time::sleep(if settled { GATHER } else { GATHER_FIRST }).await;
        // What was put together earlier must not be published later.
        let mut done = self.publishing.lock().await;
        if *done >= mine {
            return;
        }
        let covers = self.asked.load(Ordering::Acquire);
        let (sender, built) = oneshot::channel();
        let upstreams = Arc::clone(self);
        // Building thousands of operations takes a while and much memory, which ends with the thread that took it.
        let thread = std::thread::Builder::new().name("publish".to_owned());
        let build = move || drop(sender.send(upstreams.surface()));
        if let Err(error) = thread.spawn(build) {
            tracing::error!(%error, "no thread could be started to put the upstreams' operations together");
            return;
        }
        let (built, Some(gateway)) = (built.await, gateway.upgrade()) else { return };
        match built {
            Ok(Ok(surface)) => {
                gateway.publish(surface);
                tokio::spawn(give_back());
            }
            Ok(Err(problems)) => {
                tracing::error!(%problems, "the upstreams' operations cannot be served together")
            }
            Err(_) => tracing::error!("the upstreams' operations could not be put together"),
        }
        *done = covers;
    }
}

/// When the allocator is reminded after a publication. It keeps what was freed for a second, in case it is needed again.
const REMINDERS: [Duration; 2] = [Duration::from_millis(700), Duration::from_millis(1500)];

/// Has the memory given back that a publication took and needs no longer, as much again as is in use. The allocator looks
/// for such memory when it has much to do, which it has not for a long time now, and when a thread ends.
async fn give_back() {
    for reminder in REMINDERS {
        tokio::time::sleep(reminder).await;
        let thread = std::thread::Builder::new().name("give back".to_owned());
        // Only a thread that has allocated something has something to give back. Without one, memory stays in use.
        let _ = thread.spawn(|| drop(std::hint::black_box(Box::new(0_u64))));
    }
}
