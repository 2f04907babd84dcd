//! A connected client of the older revisions, asked through the library while its call runs.

use rmcp::{
    RoleServer,
    model::{
        ClientCapabilities, CustomNotification, CustomRequest, RequestId, ServerNotification, ServerRequest,
    },
    service::{OriginatingRequestId, Peer},
};
use serde_json::Value;

use crate::client::{Answering, Answers, Capabilities};

pub(super) struct ConnectedClient {
    peer: Peer<RoleServer>,
    capabilities: Capabilities,
    /// The request on whose stream it is asked, over HTTP.
    request: Option<RequestId>,
    name: Option<String>,
}

impl ConnectedClient {
    pub(super) fn new(
        peer: Peer<RoleServer>,
        declared: Option<&ClientCapabilities>,
        request: Option<RequestId>,
    ) -> Self {
        let declared = declared.and_then(|declared| serde_json::to_value(declared).ok());
        let capabilities = declared.map(|declared| Capabilities::of(&declared)).unwrap_or_default();
        Self { peer, capabilities, request, name: None }
    }

    /// The same with the name that it gives itself.
    pub(super) fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }
}

impl Answers for ConnectedClient {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn ask(&self, method: &str, params: Option<Value>) -> Answering {
        let mut request = CustomRequest::new(method, params);
        if let Some(id) = &self.request {
            request.extensions.insert(OriginatingRequestId(id.clone()));
        }
        let peer = self.peer.clone();
        Box::pin(async move {
            let answer = peer.send_request(ServerRequest::CustomRequest(request)).await;
            let answer = answer.map_err(|_| "the client refused the question or has gone".to_owned())?;
            serde_json::to_value(answer).map_err(|_| "the client's answer cannot be read".to_owned())
        })
    }

    fn tell(&self, method: &str, params: Option<Value>) {
        let (peer, notification) = (self.peer.clone(), CustomNotification::new(method, params));
        tokio::spawn(async move {
            // Whoever has gone needs to be told nothing.
            let _ = peer.send_notification(ServerNotification::CustomNotification(notification)).await;
        });
    }
}
