//! The library's end of the connection: whole frames in, whole frames out, and an answer for those it cannot read.

use std::sync::{Arc, atomic::Ordering};

use rmcp::{
    RoleServer, ServiceExt,
    model::{JsonRpcMessage, ServerResult},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::sync::{Mutex, mpsc};

use super::{
    super::{
        frame::{self, Frame, ToolCall},
        handler::Handler,
        reply,
    },
    Connection, end_line,
};

/// Keeps the library serving until no frame can come any more. It gives a connection up over a notification that it
/// did not expect; the next request then meets it fresh.
pub(super) async fn run(connection: Arc<Connection>, incoming: mpsc::Receiver<Vec<u8>>) {
    let incoming = Arc::new(Mutex::new(incoming));
    loop {
        let handler = Handler {
            gateway: Arc::clone(&connection.gateway),
            session: Some(Arc::clone(&connection.session)),
            tasks: connection.tasks.clone(),
        };
        let transport =
            LineTransport { incoming: Arc::clone(&incoming), connection: Arc::clone(&connection) };
        if let Ok(service) = handler.serve(transport).await {
            let _ = service.waiting().await;
        }
        let incoming = incoming.lock().await;
        if incoming.is_closed() && incoming.is_empty() {
            return;
        }
    }
}

struct LineTransport {
    incoming: Arc<Mutex<mpsc::Receiver<Vec<u8>>>>,
    connection: Arc<Connection>,
}

impl Transport<RoleServer> for LineTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), std::io::Error>> + Send + 'static {
        let connection = Arc::clone(&self.connection);
        async move { deliver(&connection, &item).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let line = self.incoming.lock().await.recv().await?;
            match serde_json::from_slice(&line) {
                Ok(message) => return Some(message),
                Err(_) => refuse(&self.connection, &line).await,
            }
        }
    }

    async fn close(&mut self) -> Result<(), std::io::Error> {
        Ok(())
    }
}

/// Answers a request that the library cannot read.
async fn refuse(connection: &Connection, line: &[u8]) {
    let (Frame::Request { id, .. } | Frame::Call(ToolCall { id, .. })) = frame::read(line) else { return };
    let refusal = reply::error(&id, reply::INVALID_PARAMS, "The request's parameters are malformed");
    let mut frame = Vec::new();
    end_line(&mut frame, &refusal);
    connection.output.send(frame).await;
    connection.settle(&id);
}

async fn deliver(connection: &Connection, item: &TxJsonRpcMessage<RoleServer>) -> Result<(), std::io::Error> {
    let mut frame = serde_json::to_vec(item)?;
    frame.push(b'\n');
    let id = match item {
        JsonRpcMessage::Response(response) => {
            if matches!(response.result, ServerResult::InitializeResult(_)) {
                connection.session.start();
                connection.established.store(true, Ordering::Relaxed);
            }
            Some(serde_json::to_string(&response.id)?)
        }
        JsonRpcMessage::Error(error) => Some(serde_json::to_string(&error.id)?),
        _ => None,
    };
    connection.output.send(frame).await;
    if let Some(id) = id {
        connection.settle(&id);
    }
    if connection.output.is_broken() { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
}
