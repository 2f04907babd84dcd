//! A program of the operator's own, told of everything that waits, which may answer by its exit code.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::json;

use super::{
    Answer, Answers, Channel,
    offer::seconds_left,
    process::{Invocation, run},
    running::Running,
};
use crate::{config::Hook, store::safety::Approval};

const NAME: &str = "command";

pub(super) struct HookChannel {
    hook: Hook,
    running: Running,
}

impl HookChannel {
    pub(super) fn new(hook: Hook, running: Running) -> Self {
        Self { hook, running }
    }

    fn invocation(&self, told: &serde_json::Value) -> Invocation {
        Invocation {
            program: self.hook.program.clone(),
            args: self.hook.args.clone(),
            env: Vec::new(),
            stdin: told.to_string().into_bytes(),
        }
    }
}

impl Channel for HookChannel {
    fn name(&self) -> &'static str {
        NAME
    }

    /// A program that is only told cannot release anything.
    fn available(&self) -> Result<(), String> {
        if self.hook.answers {
            Ok(())
        } else {
            Err("'operator.command' is told but does not answer".to_owned())
        }
    }

    fn offer(&self, offer: &Arc<Approval>, answers: &Answers) {
        let invocation = self.invocation(&json!({"type": "approval", "approval": **offer}));
        let longest = Duration::from_secs(seconds_left(offer, Timestamp::now()));
        let (offer, answers, answering) = (Arc::clone(offer), answers.clone(), self.hook.answers);
        self.running.start(&offer.id.clone(), async move {
            let ended = run(invocation, longest).await;
            let code = match &ended {
                Ok(ended) => ended.code,
                Err(why) => {
                    tracing::warn!(approval = offer.id, why, "the operator's command failed");
                    return;
                }
            };
            let approve = match code {
                Some(0) => true,
                Some(1) => false,
                _ => {
                    tracing::warn!(approval = offer.id, ?code, "the operator's command gave no answer");
                    return;
                }
            };
            if answering {
                let answer = Answer::new(&offer.id, approve, NAME, NAME);
                let _ = answers.send(answer).await;
            }
        });
    }

    fn withdraw(&self, id: &str) {
        // Who is only told may finish telling.
        if self.hook.answers {
            self.running.stop(id);
        }
    }

    fn end(&self) {
        self.running.stop_all();
    }
}
