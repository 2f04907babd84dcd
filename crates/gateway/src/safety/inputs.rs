//! Questions of servers behind us, which the operator may answer beside the client or in its place.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::Value;

use super::Safety;
use crate::store::safety::{
    NewInput,
    inputs::{Action, Ended, Heard},
};

/// How often it is looked whether the operator has answered, in whatever process.
const LOOKED_EVERY: Duration = Duration::from_millis(300);

impl Safety {
    /// Whether the operator can be asked for what servers want to know.
    pub(crate) fn takes_inputs(&self) -> bool {
        self.channels().is_some_and(super::channels::Channels::take_inputs)
    }

    /// Has the operator asked beside the client, if that is asked at all. The first answer counts.
    pub(crate) async fn input(
        self: &Arc<Self>,
        new: NewInput,
        client: Option<impl Future<Output = Result<Value, String>>>,
        is_wanted: impl Fn() -> bool,
    ) -> Result<Value, String> {
        let (id, within) = (new.id.clone(), new.waits.unsigned_abs());
        let shown = self.store.ask_input(new, (self.clock)()).await;
        let why = match shown {
            Ok(true) => None,
            Ok(false) => Some("too many questions wait for the operator already".to_owned()),
            Err(error) => {
                tracing::warn!(%error, "a question could not be shown to the operator");
                Some("the operator cannot be asked now".to_owned())
            }
        };
        match (why, client) {
            (Some(why), None) => Err(why),
            (Some(_), Some(client)) => client.await,
            (None, client) => {
                let open = Open { safety: Arc::clone(self), id, is_over: false };
                let answer = open.answered(client, is_wanted);
                let answer = tokio::time::timeout(within, answer).await;
                answer.unwrap_or_else(|_| Err("nobody answered in time".to_owned()))
            }
        }
    }
}

/// A question that is withdrawn when nobody waits for it any more.
struct Open {
    safety: Arc<Safety>,
    id: String,
    is_over: bool,
}

impl Open {
    async fn answered(
        mut self,
        client: Option<impl Future<Output = Result<Value, String>>>,
        is_wanted: impl Fn() -> bool,
    ) -> Result<Value, String> {
        let client = async {
            match client {
                Some(client) => client.await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(client);
        let mut due = tokio::time::interval(LOOKED_EVERY);
        due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                answer = &mut client => return Ok(self.by_client(answer?).await),
                _ = due.tick() => {}
            }
            if !is_wanted() {
                return Err("nobody waits for the answer any more".to_owned());
            }
            match self.heard().await {
                Some(Heard::Answer(answer)) => {
                    self.is_over = true;
                    return Ok(answer);
                }
                Some(Heard::Over) => return Err("nobody answered in time".to_owned()),
                // What cannot be read now may be the next time.
                Some(Heard::Waiting) | None => {}
            }
        }
    }

    /// The client's answer, unless the operator was faster.
    async fn by_client(&mut self, answer: Value) -> Value {
        let (store, now) = (&self.safety.store, (self.safety.clock)());
        let action = answer.get("action").and_then(|action| Action::deserialize(action).ok());
        let was_first = store.end_input(&self.id, Ended::ByClient, action, now).await;
        self.is_over = true;
        match was_first {
            Ok(false) => match self.heard().await {
                Some(Heard::Answer(faster)) => faster,
                _ => answer,
            },
            Ok(true) => answer,
            Err(error) => {
                tracing::warn!(%error, "a question could not be taken from the operator");
                answer
            }
        }
    }

    async fn heard(&self) -> Option<Heard> {
        let heard = self.safety.store.hear_input(&self.id, (self.safety.clock)()).await;
        heard.inspect_err(|error| tracing::warn!(%error, "the operator's answer cannot be read")).ok()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.is_over {
            return;
        }
        let (safety, id) = (Arc::clone(&self.safety), self.id.clone());
        runtime.spawn(async move {
            // Who cannot tell is taken for gone a few seconds later.
            let _ = safety.store.end_input(&id, Ended::Withdrawn, None, (safety.clock)()).await;
        });
    }
}
