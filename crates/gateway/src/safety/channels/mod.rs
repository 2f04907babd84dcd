//! Through which a person is asked: all channels at once, the first answer wins, the others are withdrawn.
//!
//! The page and the command line are looked at by the person; a dialog, a webhook and the operator's own command go to
//! them. No channel decides anything: what it hears goes to the store, which takes one answer for each approval.

mod dialog;
mod hook;
mod offer;
mod process;
mod running;
pub(crate) mod secret;
pub(crate) mod webhook;

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{runtime::Handle, sync::mpsc};

pub use self::offer::text;
use self::{dialog::Dialog, hook::HookChannel, running::Running, webhook::WebhookChannel};
use crate::{
    config,
    operator::Desk,
    store::{
        SafetyStore,
        safety::{Answered, Approval, ApprovalState},
    },
};

/// A way to a person.
trait Channel: Send + Sync {
    /// What the audit log calls it.
    fn name(&self) -> &'static str;

    /// Whether a person could answer here, or why not.
    fn available(&self) -> Result<(), String>;

    /// Asks, without waiting for anything.
    fn offer(&self, offer: &Arc<Approval>, answers: &Answers);

    /// Asks no longer, since somebody answered or nobody waits any more.
    fn withdraw(&self, id: &str);

    /// Ends everything that is under way.
    fn end(&self);
}

/// What a person said, on its way to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub id: String,
    pub approve: bool,
    /// Which channel it came through.
    pub channel: &'static str,
    /// Who said it, as far as the channel knows.
    pub by: String,
}

impl Answer {
    fn new(id: &str, approve: bool, channel: &'static str, by: &str) -> Self {
        Self { id: id.to_owned(), approve, channel, by: by.to_owned() }
    }
}

type Answers = mpsc::Sender<Answer>;

/// Answers on their way, at the most. A channel with one more waits.
const ANSWERS_MAX: usize = 64;

/// Takes an answer to the store.
type Record = Box<dyn Fn(Answer) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// All channels of this process. Cheap to clone.
#[derive(Clone)]
pub struct Channels {
    shared: Arc<Shared>,
}

struct Shared {
    channels: Vec<Arc<dyn Channel>>,
    /// The one of them that is told of challenges.
    hook: Option<Arc<HookChannel>>,
    answers: Answers,
    /// Whether the operator's listener is up, in this process or in another one on the data directory.
    page: AtomicBool,
    command_line: bool,
    /// Whether questions of servers are shown there.
    inputs: bool,
    /// Who looks whether an offer was answered elsewhere.
    watchers: Running,
    store: Option<SafetyStore>,
}

/// How often it is looked whether an offer was answered in another process.
const LOOK: std::time::Duration = std::time::Duration::from_secs(1);

impl Channels {
    /// The channels as configured, whose answers go to the store. To be called within a runtime, since asking goes on
    /// while nobody waits for it.
    #[must_use]
    pub fn new(settings: &config::Operator, store: SafetyStore) -> Self {
        let kept = store.clone();
        let record: Record = Box::new(move |answer| {
            let store = kept.clone();
            Box::pin(async move { take(&store, answer).await })
        });
        Self::with(settings, &Handle::current(), record, Some(store))
    }

    /// The channels as configured. `record` takes each answer to the store.
    fn with(
        settings: &config::Operator,
        runtime: &Handle,
        record: Record,
        store: Option<SafetyStore>,
    ) -> Self {
        let running = || Running::new(runtime.clone());
        let mut channels: Vec<Arc<dyn Channel>> = Vec::new();
        if settings.dialog {
            channels.push(Arc::new(Dialog::new(running())));
        }
        for webhook in &settings.webhooks {
            channels.push(Arc::new(WebhookChannel::new(webhook.clone(), running())));
        }
        let hook = settings.command.clone().map(|hook| Arc::new(HookChannel::new(hook, running())));
        channels.extend(hook.clone().map(|hook| hook as Arc<dyn Channel>));
        let (answers, heard) = mpsc::channel(ANSWERS_MAX);
        let page = AtomicBool::new(false);
        let shared = Arc::new(Shared {
            channels,
            hook,
            answers,
            page,
            command_line: settings.command_line,
            inputs: settings.inputs,
            watchers: running(),
            store,
        });
        runtime.spawn(hear(Arc::downgrade(&shared), heard, record));
        Self { shared }
    }

    /// Whether somebody could be asked, or why nobody can.
    pub fn any_available(&self) -> Result<(), String> {
        let shared = &self.shared;
        if shared.command_line || shared.page.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut whys = vec![
            "the command line is switched off".to_owned(),
            "the operator's listener is not open".to_owned(),
        ];
        for channel in &shared.channels {
            match channel.available() {
                Ok(()) => return Ok(()),
                Err(why) => whys.push(format!("{}: {why}", channel.name())),
            }
        }
        Err(format!("no person can be asked ({})", whys.join("; ")))
    }

    /// Whether a person could answer what servers ask: only the page has forms for that.
    pub(crate) fn take_inputs(&self) -> bool {
        self.shared.inputs && self.shared.page.load(Ordering::Relaxed)
    }

    /// Asks through every channel that goes to the person.
    pub fn offer(&self, offer: &Approval) {
        let offer = Arc::new(offer.clone());
        for channel in &self.shared.channels {
            channel.offer(&offer, &self.shared.answers);
        }
        if let Some(store) = self.shared.store.clone().filter(|_| !self.shared.channels.is_empty()) {
            let watch = watch(Arc::downgrade(&self.shared), store, offer.id.clone());
            self.shared.watchers.start(&offer.id, watch);
        }
    }

    /// Asks no longer.
    pub fn withdraw(&self, id: &str) {
        self.shared.withdraw(id);
    }

    /// Tells the operator's command that an agent was challenged, with a fresh code if it is to have them. Without such a
    /// command the operator finds the challenge on the page and on the command line.
    pub fn challenge(&self, desk: &Desk, id: &str) {
        if let Some(hook) = &self.shared.hook {
            hook.challenge(desk.clone(), id.to_owned());
        }
    }

    /// Says whether the operator's listener is open somewhere.
    pub(crate) fn page_is_open(&self, open: bool) {
        self.shared.page.store(open, Ordering::Relaxed);
    }

    /// Ends everything that is under way, such as open dialogs.
    pub fn close(&self) {
        self.shared.channels.iter().for_each(|channel| channel.end());
        self.shared.watchers.stop_all();
    }
}

impl Shared {
    fn withdraw(&self, id: &str) {
        self.channels.iter().for_each(|channel| channel.withdraw(id));
    }
}

/// Asks no longer once an offer is answered, wherever that was, or its time is up.
async fn watch(shared: Weak<Shared>, store: SafetyStore, id: String) {
    loop {
        tokio::time::sleep(LOOK).await;
        let current = store.approval(&id, jiff::Timestamp::now()).await;
        let Some(shared) = shared.upgrade() else { return };
        let is_open = matches!(&current, Ok(Some(found)) if found.state == ApprovalState::Pending);
        if !is_open && !matches!(&current, Err(error) if error.is_retryable()) {
            return shared.withdraw(&id);
        }
    }
}

/// Takes what is heard to the store, one answer after the other, and asks no longer then.
async fn hear(shared: Weak<Shared>, mut heard: mpsc::Receiver<Answer>, record: Record) {
    while let Some(answer) = heard.recv().await {
        let id = answer.id.clone();
        record(answer).await;
        match shared.upgrade() {
            Some(shared) => shared.withdraw(&id),
            None => return,
        }
    }
}

async fn take(store: &SafetyStore, answer: Answer) {
    let Answer { id, approve, channel, by } = answer;
    match store.answer(&id, approve, channel, &by, jiff::Timestamp::now()).await {
        Ok(Answered::Done(_)) => {}
        Ok(Answered::AlreadyAnswered(_) | Answered::Missing) => {
            tracing::info!(approval = id, channel, "an answer came too late");
        }
        Err(error) => tracing::error!(approval = id, channel, %error, "an answer could not be kept"),
    }
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, sync::Mutex};

    use serde_json::json;

    use super::*;
    use crate::config::{Hook, Operator, Secret, SecretSource, Webhook};

    fn closed() -> Operator {
        Operator { http: None, dialog: false, command_line: false, ..Operator::default() }
    }

    fn shell(script: &str, answers: bool) -> Operator {
        let args = ["-c", script].map(Secret::new).to_vec();
        let command = Some(Hook { program: PathBuf::from("/bin/sh"), args, answers, codes: false });
        Operator { command, ..closed() }
    }

    /// Channels that note what they hear.
    fn noting(settings: &Operator) -> (Channels, Arc<Mutex<Vec<Answer>>>) {
        let heard: Arc<Mutex<Vec<Answer>>> = Arc::default();
        let kept = Arc::clone(&heard);
        let record: Record = Box::new(move |answer| {
            kept.lock().unwrap().push(answer);
            Box::pin(async {})
        });
        (Channels::with(settings, &Handle::current(), record, None), heard)
    }

    /// REQ-OOB-05
    #[tokio::test]
    async fn where_no_channel_is_open_it_is_said_why() {
        let (channels, _) = noting(&closed());
        let why = channels.any_available().unwrap_err();
        assert!(
            why.contains("command line is switched off") && why.contains("listener is not open"),
            "{why}"
        );
        channels.page_is_open(true);
        assert_eq!(channels.any_available(), Ok(()));
        channels.page_is_open(false);
        assert!(channels.any_available().is_err());
        assert_eq!(noting(&Operator { command_line: true, ..closed() }).0.any_available(), Ok(()));
        assert_eq!(noting(&shell("", true)).0.any_available(), Ok(()));
        assert!(noting(&shell("", false)).0.any_available().unwrap_err().contains("does not answer"));
        let secret = SecretSource::Variable("AQUEDUCT_TEST_NEVER_SET".to_owned());
        let webhook = Webhook { name: "a".to_owned(), url: Secret::new("http://127.0.0.1:9/"), secret };
        let why = noting(&Operator { webhooks: vec![webhook], ..closed() }).0.any_available().unwrap_err();
        assert!(why.contains("AQUEDUCT_TEST_NEVER_SET"), "{why}");
    }

    /// REQ-OOB-26
    #[tokio::test]
    async fn an_offer_is_made_once_and_its_answer_heard() {
        let mut asked = offer::tests::offer(json!({}));
        asked.expires_at = jiff::Timestamp::MAX;
        let (channels, heard) = noting(&shell("exit 0", true));
        channels.offer(&asked);
        channels.offer(&asked);
        while heard.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(*heard.lock().unwrap(), [Answer::new("appr_1", true, "command", "command")]);
    }

    #[tokio::test]
    async fn what_is_withdrawn_ends_with_everything_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let mut asked = offer::tests::offer(json!({}));
        asked.expires_at = jiff::Timestamp::MAX;
        let pid = dir.path().join("pid");
        let script = format!("sleep 600 & echo $! > '{0}.new'; mv '{0}.new' '{0}'; wait", pid.display());
        let (channels, heard) = noting(&shell(&script, true));
        channels.offer(&asked);
        let child = loop {
            match std::fs::read_to_string(&pid) {
                Ok(child) => break child.trim().to_owned(),
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            }
        };
        channels.withdraw("appr_1");
        let is_alive = || {
            let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            !state.is_empty() && !state.contains(") Z")
        };
        while is_alive() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert!(heard.lock().unwrap().is_empty());
    }
}
