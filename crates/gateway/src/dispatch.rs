//! From a permitted call to whoever does the work.

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, OnceLock},
};

use aql::{
    audit::Hash,
    error::Error,
    operation::OperationId,
    query::Query,
    registry::Registry,
    response::{Data, Questions},
    warning::Warning,
};
use futures_util::FutureExt;
use serde_json::value::RawValue;

use crate::{
    client::{Client, Resumed},
    gate::Permitted,
    pipeline::Gateway,
    progress::Progress,
    serve::Listed,
    session::Session,
    trace::OpenSpan,
};

/// What a handler answers.
#[derive(Debug)]
pub struct Outcome {
    pub data: Data,
    pub warnings: Vec<Warning>,
    /// Blocks of MCP content that follow the answer unchanged: images, audio, links.
    pub content: Vec<Box<RawValue>>,
    /// Members for the `_meta` of the MCP result.
    pub meta: Option<Box<RawValue>>,
    /// Set where the client has to be asked something before there is a result.
    pub questions: Option<Box<Questions>>,
}

impl From<Data> for Outcome {
    fn from(data: Data) -> Self {
        Self { data, warnings: Vec::new(), content: Vec::new(), meta: None, questions: None }
    }
}

/// What a handler knows about its call besides the parameters.
#[derive(Clone)]
pub struct Context {
    /// For calls of other operations, each of which goes the whole way.
    pub gateway: Arc<Gateway>,
    pub session: Arc<Session>,
    pub now: jiff::Timestamp,
    pub progress: Progress,
    /// The client, as far as it can be asked something.
    pub client: Client,
    pub resumed: Option<Arc<Resumed>>,
    /// What is recorded of the call.
    pub span: Option<Arc<OpenSpan>>,
    /// What is to be answered of the operation's collection, where it has one and the handler does that itself.
    pub query: Option<Box<Query>>,
    /// Whether the call may wait for something to happen. A step of an execution may not: it might wait for itself, and
    /// holds a place meanwhile.
    pub may_wait: bool,
}

/// A call under way.
pub type Work = Pin<Box<dyn Future<Output = Result<Outcome, Error>> + Send>>;

/// Does the work of one operation. Taking a [`Permitted`] is what keeps every call behind the gate.
pub trait Handler: Send + Sync {
    fn call(&self, permitted: Permitted, context: Context) -> Work;

    /// Stands for what the operation is said to be, where another server says it and may say something else tomorrow.
    fn definition(&self) -> Option<&Hash> {
        None
    }
}

impl<F: Fn(Permitted, Context) -> Work + Send + Sync> Handler for F {
    fn call(&self, permitted: Permitted, context: Context) -> Work {
        self(permitted, context)
    }
}

/// A registry with a handler for every operation, published together and never changed.
pub struct Surface {
    pub(crate) registry: Arc<Registry>,
    /// By the operation's place in the registry. `introspect` needs none: the registry answers it.
    pub(crate) handlers: Vec<Option<Arc<dyn Handler>>>,
    /// The tool list as it is served, made when it is first asked for.
    pub(crate) listed: OnceLock<Listed>,
    /// What a server that is wrapped says of itself, for the client that would have talked to it.
    pub(crate) introduction: Option<String>,
}

impl Surface {
    #[must_use]
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Stands for what another server says that the operation is.
    pub(crate) fn definition(&self, id: OperationId) -> Option<&Hash> {
        self.handlers.get(id.index())?.as_ref()?.definition()
    }

    /// The same with the words of the server behind it.
    #[must_use]
    pub(crate) fn introduced(self, introduction: Option<String>) -> Self {
        Self { introduction, ..self }
    }
}

/// Runs a call. A handler that panics fails its own call and nothing else.
pub(crate) async fn run(surface: &Surface, permitted: Permitted, context: Context) -> Result<Outcome, Error> {
    let Some(Some(handler)) = surface.handlers.get(permitted.id().index()) else {
        return Err(Error::internal("this operation has no handler"));
    };
    let id = permitted.id();
    let handler = Arc::clone(handler);
    // The handler's own code runs inside the guard too, not only the future it returns.
    let work = async move { handler.call(permitted, context).await };
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(result) => result,
        Err(_) => {
            let operation = surface.registry.get(id).map(|operation| operation.name().as_str());
            tracing::error!(operation, "the operation's handler panicked");
            Err(Error::internal("the operation failed unexpectedly; other operations still work"))
        }
    }
}
