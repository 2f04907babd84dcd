//! The client behind a call, as far as it can be asked something while the call runs.

use std::{pin::Pin, sync::Arc};

use serde_json::{Map, Value, json};

use crate::{pipeline::Gateway, progress::Progress, trace::OpenSpan};

/// What a server may ask a client for, and the capability that offers it.
const REQUESTS: [(&str, &str); 3] =
    [("elicitation/create", "elicitation"), ("sampling/createMessage", "sampling"), ("roots/list", "roots")];

/// Who makes a call, besides the session it belongs to.
#[derive(Clone, Default)]
pub struct Caller {
    pub progress: Progress,
    pub client: Client,
    /// What it has to say to the questions that its call was answered with before.
    pub resumed: Option<Arc<Resumed>>,
    /// What is recorded of the call.
    pub span: Option<Arc<OpenSpan>>,
}

impl From<Progress> for Caller {
    fn from(progress: Progress) -> Self {
        Self { progress, ..Self::default() }
    }
}

/// How a client can be asked.
#[derive(Clone, Default)]
pub enum Client {
    /// It cannot.
    #[default]
    Nobody,
    /// It answers requests while its call runs.
    Live(Arc<dyn Answers>),
    /// It gets questions as its call's answer, and calls again with what it has to say.
    Recalls(Arc<Capabilities>),
}

/// A client that answers requests.
pub trait Answers: Send + Sync {
    fn capabilities(&self) -> &Capabilities;
    /// What it calls itself.
    fn name(&self) -> Option<&str> {
        None
    }
    /// Asks, and waits for the answer.
    fn ask(&self, method: &str, params: Option<Value>) -> Answering;
    /// Tells something that needs no answer.
    fn tell(&self, method: &str, params: Option<Value>);
}

/// An answer under way: a result, or why there is none.
pub type Answering = Pin<Box<dyn Future<Output = Result<Value, String>> + Send>>;

/// What a client can be asked for, of all that it declared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Capabilities(Map<String, Value>);

impl Capabilities {
    /// Keeps what matters here of a client's declaration.
    #[must_use]
    pub fn of(declared: &Value) -> Self {
        let kept = REQUESTS.iter().filter_map(|(_, capability)| {
            let given = declared.get(capability).filter(|given| given.is_object())?;
            Some(((*capability).to_owned(), given.clone()))
        });
        Self(kept.collect())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the client can be asked this.
    #[must_use]
    pub fn allow(&self, method: &str, params: Option<&Value>) -> bool {
        let Some((_, capability)) = REQUESTS.iter().find(|(known, _)| *known == method) else { return false };
        let Some(given) = self.0.get(*capability) else { return false };
        // A form is what a client can show that names no mode.
        let mode = params.and_then(|params| params.get("mode")).and_then(Value::as_str).unwrap_or("form");
        *capability != "elicitation" || mode == "form" || given.get(mode).is_some()
    }

    /// The same with forms, which somebody else can show.
    #[must_use]
    pub fn and_forms(mut self) -> Self {
        self.0.entry("elicitation").or_insert_with(|| json!({"form": {}}));
        self
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        json!(self.0).to_string()
    }
}

impl Client {
    #[must_use]
    pub fn capabilities(&self) -> Option<&Capabilities> {
        match self {
            Self::Nobody => None,
            Self::Live(client) => Some(client.capabilities()),
            Self::Recalls(capabilities) => Some(capabilities),
        }
    }

    /// Whether it can be asked something while its call runs.
    #[must_use]
    pub fn answers_live(&self) -> bool {
        matches!(self, Self::Live(client) if !client.capabilities().is_empty())
    }

    /// The same for a call that cannot be made again: only a client that answers while it runs can be asked.
    #[must_use]
    pub fn while_running(self) -> Self {
        match self {
            Self::Recalls(_) => Self::Nobody,
            other => other,
        }
    }

    /// The same for a server behind us, which is not to be handed what is ours.
    pub(crate) fn guarded(self, gateway: &Arc<Gateway>) -> Self {
        match self {
            Self::Live(client) if !client.capabilities().is_empty() => {
                Self::Live(Arc::new(Guarded { client, gateway: Arc::clone(gateway) }))
            }
            other => other,
        }
    }

    /// A client that is asked by its call's answer, if it can be asked anything.
    #[must_use]
    pub fn recalls(declared: &Value) -> Self {
        let capabilities = Capabilities::of(declared);
        if capabilities.is_empty() { Self::Nobody } else { Self::Recalls(Arc::new(capabilities)) }
    }
}

/// A client whose answers are for another server, so that they may lead there no more than its calls.
struct Guarded {
    client: Arc<dyn Answers>,
    gateway: Arc<Gateway>,
}

impl Answers for Guarded {
    fn capabilities(&self) -> &Capabilities {
        self.client.capabilities()
    }

    fn ask(&self, method: &str, params: Option<Value>) -> Answering {
        let (asked, gateway) = (self.client.ask(method, params), Arc::clone(&self.gateway));
        Box::pin(async move {
            let answer = asked.await?;
            match answer.as_object().map(|answer| gateway.guard().check_request(answer)) {
                Some(Err(place)) => Err(place.to_string()),
                _ => Ok(answer),
            }
        })
    }

    fn tell(&self, method: &str, params: Option<Value>) {
        self.client.tell(method, params);
    }
}

/// What a call that was answered with questions brings when it comes again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resumed {
    pub state: Option<String>,
    /// By the questions' keys.
    pub responses: Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_declared_may_be_asked() {
        let declared = json!({"elicitation": {}, "roots": {"listChanged": true}, "tasks": {}, "sampling": 5});
        let capabilities = Capabilities::of(&declared);
        assert!(capabilities.allow("elicitation/create", None));
        assert!(capabilities.allow("elicitation/create", Some(&json!({"mode": "form"}))));
        assert!(!capabilities.allow("elicitation/create", Some(&json!({"mode": "url"}))));
        assert!(capabilities.allow("roots/list", None));
        assert!(!capabilities.allow("sampling/createMessage", None));
        assert!(!capabilities.allow("tools/call", None));
        assert_eq!(capabilities.to_json(), "{\"elicitation\":{},\"roots\":{\"listChanged\":true}}");
        let with_links = Capabilities::of(&json!({"elicitation": {"url": {}}}));
        assert!(with_links.allow("elicitation/create", Some(&json!({"mode": "url"}))));
        assert!(matches!(Client::recalls(&json!({"tasks": {}})), Client::Nobody));
    }
}
