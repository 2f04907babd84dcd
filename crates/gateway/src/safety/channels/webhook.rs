//! An address of the operator's own, told in signed requests, which may answer signed.
//!
//! What is not signed by the shared secret, was signed too long ago or cannot be read is ignored and logged.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::{Answer, Answers, Channel, offer::seconds_left, running::Running, secret};
use crate::{config::Webhook, operator::signature, outgoing, store::safety::Approval};

const NAME: &str = "webhook";

/// The longest answer that is read.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// How long is waited before it is tried once more.
const RETRIES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

pub(super) struct WebhookChannel {
    webhook: Webhook,
    running: Running,
}

/// What an answer says; further members are the receiver's own.
#[derive(Debug, Deserialize)]
struct Said {
    decision: String,
}

/// `approve` or `deny`, and nothing that resembles them.
pub(crate) fn decision(text: &str) -> Option<bool> {
    match text {
        "approve" => Some(true),
        "deny" => Some(false),
        _ => None,
    }
}

impl WebhookChannel {
    pub(super) fn new(webhook: Webhook, running: Running) -> Self {
        Self { webhook, running }
    }
}

impl Channel for WebhookChannel {
    fn name(&self) -> &'static str {
        NAME
    }

    fn available(&self) -> Result<(), String> {
        secret::is_there(&self.webhook.secret)
    }

    fn offer(&self, offer: &Arc<Approval>, answers: &Answers) {
        let (webhook, offer, answers) = (self.webhook.clone(), Arc::clone(offer), answers.clone());
        self.running.start(&offer.id.clone(), async move {
            let longest = Duration::from_secs(seconds_left(&offer, Timestamp::now()));
            let told = tokio::time::timeout(longest, tell(&webhook, &offer)).await;
            match told.unwrap_or_else(|_| Err("no answer came in time".to_owned())) {
                Ok(None) => {}
                Ok(Some(approve)) => {
                    let by = format!("webhook {}", webhook.name);
                    let _ = answers.send(Answer::new(&offer.id, approve, NAME, &by)).await;
                }
                Err(why) => {
                    tracing::warn!(webhook = webhook.name, approval = offer.id, why, "a webhook failed");
                }
            }
        });
    }

    fn withdraw(&self, id: &str) {
        self.running.stop(id);
    }

    fn end(&self) {
        self.running.stop_all();
    }
}

/// Sends the offer; what was answered with it, if that is an answer.
async fn tell(webhook: &Webhook, offer: &Approval) -> Result<Option<bool>, String> {
    let key = secret::read(&webhook.secret).await?;
    let body = Bytes::from(json!({"type": "approval", "approval": offer}).to_string());
    let client = outgoing::client().map_err(|_| "no HTTP client could be made".to_owned())?;
    let mut waits = RETRIES.iter();
    let mut response = loop {
        let timestamp = Timestamp::now().as_second().to_string();
        let signed = signature::sign(key.expose().as_bytes(), &timestamp, &body);
        let sent = client
            .post(webhook.url.expose())
            .header(http::header::CONTENT_TYPE, "application/json")
            .header(signature::TIMESTAMP, timestamp)
            .header(signature::SIGNATURE, signed)
            .body(body.clone())
            .send()
            .await;
        // The address is the operator's secret, and an error of the library repeats it.
        let why = match sent {
            Ok(response) if response.status().is_success() => break response,
            Ok(response) if !response.status().is_server_error() => {
                return Err(format!("it answered {}", response.status().as_u16()));
            }
            Ok(response) => format!("it answered {}", response.status().as_u16()),
            Err(error) => error.without_url().to_string(),
        };
        match waits.next() {
            Some(wait) => tokio::time::sleep(*wait).await,
            None => return Err(why),
        }
    };
    let mut answer = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| error.without_url().to_string())? {
        answer.extend_from_slice(&chunk);
        if answer.len() > ANSWER_BYTES_MAX {
            return Err(format!("its answer is longer than {ANSWER_BYTES_MAX} bytes"));
        }
    }
    let Ok(Said { decision: said }) = serde_json::from_slice(&answer) else { return Ok(None) };
    let approve = decision(&said).ok_or("its decision is neither 'approve' nor 'deny'")?;
    let id = &offer.id;
    signature::verify(key.expose().as_bytes(), response.headers(), id, &said, Timestamp::now())
        .map_err(|why| format!("its answer is ignored: {why}"))?;
    Ok(Some(approve))
}
