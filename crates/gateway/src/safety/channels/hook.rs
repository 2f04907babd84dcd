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
use crate::{
    config::Hook,
    operator::{Desk, desk::Hand},
    store::safety::Approval,
};

const NAME: &str = "command";

/// What the program gets to pass a challenge on.
const CHALLENGE_TIMEOUT: Duration = Duration::from_mins(5);

pub(super) struct HookChannel {
    hook: Hook,
    running: Running,
}

impl HookChannel {
    pub(super) fn new(hook: Hook, running: Running) -> Self {
        Self { hook, running }
    }
}

fn invocation(hook: &Hook, told: &serde_json::Value) -> Invocation {
    Invocation {
        program: hook.program.clone(),
        args: hook.args.clone(),
        env: Vec::new(),
        stdin: told.to_string().into_bytes(),
    }
}

impl HookChannel {
    /// Tells of a challenge. The code goes to the program's standard input and nowhere else.
    pub(super) fn challenge(&self, desk: Desk, id: String) {
        let (hook, key) = (self.hook.clone(), id.clone());
        self.running.start(&key, async move {
            let now = Timestamp::now();
            let hand = Hand { by: NAME.to_owned(), channel: NAME };
            let told = if hook.codes {
                desk.reveal(&id, &hand, now).await.map(|revealed| {
                    let told = |(challenge, code)| json!({"type": "challenge", "challenge": challenge, "code": code});
                    revealed.map(told)
                })
            } else {
                let found = desk.challenges(now).await;
                found.map(|all| all.into_iter().find(|challenge| challenge.id == id))
                    .map(|found| found.map(|challenge| json!({"type": "challenge", "challenge": challenge})))
            };
            let told = match told {
                Ok(Some(told)) => told,
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(challenge = id, %error, "the operator's command was not told of a challenge");
                    return;
                }
            };
            if let Err(why) = run(invocation(&hook, &told), CHALLENGE_TIMEOUT).await {
                tracing::warn!(challenge = id, why, "the operator's command failed");
            }
        });
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
        let invocation = invocation(&self.hook, &json!({"type": "approval", "approval": **offer}));
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
