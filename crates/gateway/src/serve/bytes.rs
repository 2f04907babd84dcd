//! One frame's way from bytes to bytes, with no transport around it: what stdio and HTTP both do for a plain tool call.

use std::sync::Arc;

use super::{
    call::{self, Admitted, Ready},
    frame::{self, Era, Frame},
    reply, traced,
};
use crate::{pipeline::Gateway, session::Session, trace::ids::Given};

/// Answers a plain tool call of an established connection. Nothing comes back for a call that was cancelled and for
/// frames that a transport would hand to the library.
pub async fn answer(gateway: &Arc<Gateway>, session: &Arc<Session>, frame: &[u8]) -> Option<Vec<u8>> {
    let Frame::Call(tool_call) = frame::read(frame) else { return None };
    let self_contained = tool_call.era == Era::SelfContained;
    match call::admit(gateway, session, &tool_call) {
        Admitted::Call(endpoint, arguments) if tool_call.plain && tool_call.era != Era::Unclear => {
            let ready = Ready {
                endpoint,
                arguments,
                client: call::client(session, &tool_call),
                span: traced::call(gateway, session, &tool_call, Given::default()),
                request_id: tool_call.id.into_owned(),
                self_contained,
            };
            ready.run(gateway, session).await
        }
        Admitted::Answer(answer) => Some(reply::tool_result(&tool_call.id, &answer, self_contained)),
        Admitted::Call(..) | Admitted::Starts | Admitted::UnknownTool => None,
    }
}
