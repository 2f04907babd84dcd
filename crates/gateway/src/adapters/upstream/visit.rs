//! One visit to a server, to see what it offers. Nothing is kept, and no tool is called unless that is asked for.

use std::{io, path::Path, sync::Arc};

use aql::drift::Change;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{
    catalogue::{self, Capture, Catalogues, Kept},
    server::Upstream,
    slot::explain,
    wire::Params,
};
use crate::config;

/// What a visit brought.
#[derive(Debug)]
pub struct Visit {
    pub capture: Capture,
    /// What tools answered that were tried, by their names.
    pub tried: Vec<(String, Result<Value, String>)>,
}

/// Asks a server for everything it offers, and tries the tools that `choose` names, without arguments. The connection is
/// closed again whatever happens.
pub async fn visit(
    settings: &config::Upstream,
    choose: impl FnOnce(&Capture) -> Vec<String>,
) -> Result<Visit, String> {
    let (notices, _unheard) = mpsc::unbounded_channel();
    let upstream = Upstream::new(settings.clone(), None, notices, None, None);
    let visited = look(&upstream, choose).await;
    upstream.stop().await;
    visited
}

async fn look(
    upstream: &Arc<Upstream>,
    choose: impl FnOnce(&Capture) -> Vec<String>,
) -> Result<Visit, String> {
    let peer = upstream.peer().await.map_err(|trouble| trouble.why)?;
    let within = upstream.settings.start_timeout;
    let capture = match tokio::time::timeout(within, catalogue::capture(&peer, within)).await {
        Ok(capture) => capture.map_err(|failure| explain(&failure))?,
        Err(_) => return Err(format!("it did not list its tools within {} s", within.as_secs())),
    };
    let mut tried = Vec::new();
    for tool in choose(&capture) {
        let params = Params::none()
            .about(tool.as_str().into())
            .value("name", &tool)
            .value("arguments", &Map::<String, Value>::new());
        let within = upstream.settings.call_timeout;
        let asked = peer.request("tools/call", &params, within, None);
        let answer = match tokio::time::timeout(within, asked).await {
            Ok(Ok(raw)) => serde_json::from_str(raw.get()).map_err(|_| "its answer is no JSON".to_owned()),
            Ok(Err(failure)) => Err(explain(&failure)),
            Err(_) => Err(format!("it did not answer within {} s", within.as_secs())),
        };
        tried.push((tool, answer));
    }
    Ok(Visit { capture, tried })
}

/// The definitions that were accepted of a server, if it was ever asked.
#[must_use]
pub fn pinned(data: &Path, settings: &config::Upstream) -> Option<Kept> {
    Catalogues::new(data).load(settings)
}

/// Takes what a server offers now for what it is to be. Tells which tools that changed, field by field.
pub fn accept(
    data: &Path,
    settings: &config::Upstream,
    capture: &Capture,
    now: jiff::Timestamp,
) -> io::Result<Vec<(String, Vec<Change>)>> {
    let catalogues = Catalogues::new(data);
    let mut kept = Kept::settle(catalogues.load(settings), capture, settings, now);
    let changed = kept.held().map(|tool| (tool.name().to_owned(), tool.changes())).collect();
    kept.accept();
    catalogues.save(settings, &kept)?;
    Ok(changed)
}
