//! What who watches is told of a request, as JSON that is written as it grows: it is made several times a call.

use serde_json::Value;

use super::{Kind, Nanos, Span, json, names};

pub(super) fn direction(kind: Kind) -> &'static str {
    match kind {
        Kind::Client => "outbound",
        Kind::Internal => "internal",
        Kind::Server | Kind::Producer | Kind::Consumer => "inbound",
    }
}

/// A session, when it begins.
pub(super) fn session_began(span: &Span) -> String {
    let mut told = Members::default();
    told.add("engine", Some(span.engine.as_str()));
    told.add("title", Some(&span.name));
    told.whole()
}

/// The same once it is over.
pub(super) fn session_ended(span: &Span) -> String {
    let mut told = Members::default();
    told.add("status", Some(span.status.as_str()));
    told.whole()
}

/// A request, and how it came out once it has ended.
pub(super) fn request(span: &Span, finished: Option<Finished<'_>>) -> String {
    let known = |name: &str| span.attributes.get(name).and_then(Value::as_str);
    let mut told = Members::default();
    told.add("method", known(names::METHOD));
    told.add("direction", Some(direction(span.kind)));
    told.add("tool", known(names::TOOL));
    told.add("operation", known(names::OPERATION));
    told.add("peer", known(names::PEER));
    told.add("agent", known(names::AGENT));
    told.add("client", known(names::CLIENT));
    told.add("name", Some(&span.name));
    if let Some(Finished { status, error_code, duration_us }) = finished {
        told.add("status", Some(status));
        told.add("error_code", error_code);
        told.name("duration_us");
        told.0.push_str(&duration_us.to_string());
    }
    told.whole()
}

pub(super) struct Finished<'a> {
    pub(super) status: &'static str,
    pub(super) error_code: Option<&'a str>,
    pub(super) duration_us: Nanos,
}

/// An object of texts, written as it grows: it is made several times a call.
#[derive(Default)]
struct Members(String);

impl Members {
    fn name(&mut self, name: &str) {
        self.0.push_str(if self.0.is_empty() { "{\"" } else { ",\"" });
        self.0.push_str(name);
        self.0.push_str("\":");
    }

    fn add(&mut self, name: &str, value: Option<&str>) {
        self.name(name);
        match value {
            Some(text) => json::push_text(&mut self.0, text),
            None => self.0.push_str("null"),
        }
    }

    fn whole(mut self) -> String {
        self.0.push('}');
        self.0
    }
}
