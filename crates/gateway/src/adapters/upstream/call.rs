//! A permitted call of an operation, made as a call of an upstream's tool.

use std::sync::Arc;

use aql::{
    adopt::Wiring,
    error::{Code, Error},
};
use serde_json::{Map, Value};

use super::{
    error::{self, Place},
    peer::Caller,
    result::{self, ToolResult},
    server::Upstream,
    wire::Params,
};
use crate::{
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
    /// Why it may not be called, where its definition has changed.
    held: Option<Error>,
}

impl ToolCall {
    pub(super) fn new(upstream: Arc<Upstream>, tool: &str, wiring: Wiring, held: Option<Error>) -> Self {
        let name = Value::from(tool).to_string();
        Self(Arc::new(Prepared { upstream, tool: tool.into(), name, wiring, held }))
    }
}

impl Handler for ToolCall {
    fn call(&self, mut permitted: Permitted, context: Context) -> Work {
        let prepared = Arc::clone(&self.0);
        let params = permitted.take_params();
        Box::pin(async move { prepared.call(params, context).await })
    }
}

impl Prepared {
    async fn call(&self, params: Map<String, Value>, context: Context) -> Result<Outcome, Error> {
        if let Some(held) = &self.held {
            return Err(held.clone());
        }
        context.progress.relays();
        let arguments = self.wiring.arguments(params);
        let params = Params::none()
            .raw("name", &self.name)
            .value("arguments", &arguments)
            .about(Arc::clone(&self.tool));
        let caller = Caller { session: context.session, progress: context.progress };
        let raw = self.upstream.request("tools/call", &params, &self.tool, caller).await?;
        let place = Place { server: self.upstream.name(), tool: &self.tool };
        let Ok(result) = serde_json::from_str::<ToolResult<'_>>(raw.get()) else {
            return Err(error::of_tool(place, "its result cannot be read"));
        };
        if result.is_error == Some(true) {
            return Err(error::of_tool(place, &result::text(&result.content)));
        }
        Ok(result::outcome(&result))
    }
}

/// Why a tool may not be called whose definition has changed.
pub(super) fn held(server: &str, tool: &str, changes: &[aql::drift::Change]) -> Error {
    const SHOWN: usize = 20;
    let shown: Vec<&aql::drift::Change> = changes.iter().take(SHOWN).collect();
    let reason = format!("the definition of tool '{tool}' has changed since it was accepted");
    Error::new(Code::PermissionDenied, format!("Permission denied: {reason}"))
        .with("reason", reason)
        .with("changes", serde_json::to_value(shown).unwrap_or_default())
        .hint(format!(
            "The operator can look with 'aqueduct discover {server} --diff' and accept with '--accept'."
        ))
}
