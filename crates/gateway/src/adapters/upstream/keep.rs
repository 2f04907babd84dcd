//! Looking after the upstreams while we serve: first looks, second looks, calls that take too long, rest for the idle.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use futures_util::future;
use tokio::sync::mpsc;

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

/// Starts the tasks. They end with the gateway, or when the upstreams are closed.
pub(super) fn start(
    upstreams: Arc<Upstreams>,
    gateway: Weak<Gateway>,
    heard: mpsc::UnboundedReceiver<Notice>,
) {
    tokio::spawn(tend(Arc::clone(&upstreams)));
    tokio::spawn(look(upstreams, gateway, heard));
}

async fn tend(upstreams: Arc<Upstreams>) {
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
        for upstream in &upstreams.all {
            upstream.rest().await;
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

async fn look(upstreams: Arc<Upstreams>, gateway: Weak<Gateway>, mut heard: mpsc::UnboundedReceiver<Notice>) {
    let first = upstreams.unknown().into_iter().map(|upstream| async {
        if upstreams.looked_at(upstream).await {
            upstreams.publish(&gateway).await;
        }
    });
    future::join_all(first).await;
    if let Some(gateway) = gateway.upgrade() {
        gateway.settle();
    }
    loop {
        let notice = tokio::select! {
            notice = heard.recv() => notice,
            () = upstreams.stopping.cancelled() => return,
        };
        let Some(Notice::LookAgain(name)) = notice else { return };
        let mut names = vec![name];
        tokio::time::sleep(GATHER).await;
        while let Ok(Notice::LookAgain(name)) = heard.try_recv() {
            names.push(name);
        }
        let asked = upstreams.all.iter().filter(|upstream| names.iter().any(|name| name == upstream.name()));
        let looks = asked.map(|upstream| upstreams.looked_at(upstream));
        if future::join_all(looks).await.contains(&true) {
            upstreams.publish(&gateway).await;
        }
    }
}

impl Upstreams {
    fn unknown(&self) -> Vec<&Arc<Upstream>> {
        self.all.iter().filter(|upstream| self.catalogues.load(&upstream.settings).is_none()).collect()
    }

    /// Asks those that were never asked. What went wrong is told, a line for each.
    pub async fn learn(&self) -> Vec<String> {
        let looks = self.unknown().into_iter().map(|upstream| async move {
            let why = self.look_at(upstream).await.err()?;
            Some(format!("server '{}' is not known yet: {why}", upstream.name()))
        });
        future::join_all(looks).await.into_iter().flatten().collect()
    }

    async fn looked_at(&self, upstream: &Arc<Upstream>) -> bool {
        self.look_at(upstream).await.unwrap_or_else(|why| {
            tracing::warn!(upstream = upstream.name(), why, "an upstream's tools could not be listed");
            false
        })
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

    /// Puts what is known now in force.
    async fn publish(self: &Arc<Self>, gateway: &Weak<Gateway>) {
        let upstreams = Arc::clone(self);
        // Building thousands of operations takes a while.
        let built = tokio::task::spawn_blocking(move || upstreams.surface()).await;
        let Some(gateway) = gateway.upgrade() else { return };
        match built {
            Ok(Ok(surface)) => gateway.publish(surface),
            Ok(Err(problems)) => {
                tracing::error!(%problems, "the upstreams' operations cannot be served together")
            }
            Err(_) => tracing::error!("the upstreams' operations could not be put together"),
        }
    }
}
