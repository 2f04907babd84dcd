//! The ids of a request: made here, or given by whoever asks.

use std::sync::Arc;

use aql::autonomy::code;

use super::span::{SpanId, TraceId};

/// The longest request id that is taken from others.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// What a request says of itself and of what it is part of, in headers or in `_meta`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Given<'a> {
    pub(crate) request_id: Option<&'a str>,
    pub(crate) traceparent: Option<&'a str>,
    /// Who asks, as JSON.
    pub(crate) client: Option<&'a str>,
}

impl<'a> Given<'a> {
    /// What stands in a request counts more than what stands around it, as far as it says anything.
    #[must_use]
    pub(crate) fn or(self, around: Given<'a>) -> Self {
        let is_trace = |text: &&str| read_traceparent(text).is_some();
        Self {
            request_id: self.request_id.filter(|id| is_request_id(id)).or(around.request_id),
            traceparent: self.traceparent.filter(is_trace).or(around.traceparent),
            client: self.client.or(around.client),
        }
    }

    /// What the headers of a request say.
    pub(crate) fn of_headers(headers: &'a http::HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        Self {
            request_id: text(super::names::header::REQUEST_ID),
            traceparent: text(super::names::header::TRACEPARENT),
            client: None,
        }
    }
}

/// The ids of one request.
#[derive(Debug, Clone)]
pub(crate) struct Ids {
    pub(crate) trace: TraceId,
    pub(crate) span: SpanId,
    pub(crate) parent: Option<SpanId>,
    pub(crate) request: Arc<str>,
}

impl Ids {
    /// Takes what is given and well-formed, and makes up the rest.
    pub(crate) fn of(given: Given<'_>) -> Self {
        let (trace, parent) = match given.traceparent.and_then(read_traceparent) {
            Some(Parent { trace, span, .. }) => (trace, Some(span)),
            None => (TraceId(fastrand::u128(1..).to_be_bytes()), None),
        };
        let request = match given.request_id.filter(|id| is_request_id(id)) {
            Some(id) => id.into(),
            None => made_up(),
        };
        Self { trace, span: span_id(), parent, request }
    }

    /// Those that whoever asks gave, for somebody who adds nothing to them, and which of them those are.
    pub(crate) fn passed_on(given: Given<'_>) -> Option<(Self, Said)> {
        let parent = given.traceparent.and_then(read_traceparent);
        let request = given.request_id.is_some_and(is_request_id);
        if parent.is_none() && !request {
            return None;
        }
        let ids = Self::of(given);
        let span = ids.parent.unwrap_or(ids.span);
        Some((Self { span, ..ids }, Said { request, is_sampled: parent.map(|parent| parent.is_sampled) }))
    }

    /// Those of something that happens within.
    pub(crate) fn within(&self, request: Arc<str>) -> Self {
        Self { trace: self.trace, span: span_id(), parent: Some(self.span), request }
    }
}

/// Which ids others are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) request: bool,
    /// Of the trace, where it is told, whether anybody records it.
    pub(crate) is_sampled: Option<bool>,
}

impl Said {
    pub(crate) const ALL: Self = Self { request: true, is_sampled: Some(true) };
}

fn span_id() -> SpanId {
    SpanId(fastrand::u64(1..).to_be_bytes())
}

/// A request id of our own.
pub(crate) fn made_up() -> Arc<str> {
    TraceId(fastrand::u128(1..).to_be_bytes()).to_string().into()
}

/// Visible ASCII, so that it can be a header and be shown; nothing that ends a text in JSON, where it stands as it is; no
/// part of a path, and no code that somebody was told.
fn is_request_id(id: &str) -> bool {
    (1..=REQUEST_ID_BYTES_MAX).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
        && !matches!(id, "." | "..")
        && code::mask(id) == id
}

/// What a `traceparent` says.
struct Parent {
    trace: TraceId,
    span: SpanId,
    is_sampled: bool,
}

/// Versions that come later may have more behind it.
fn read_traceparent(text: &str) -> Option<Parent> {
    let mut parts = text.trim().split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let hex =
        |text: &str| u8::from_str_radix(text, 16).ok().filter(|_| text.len() == 2 && !text.starts_with('+'));
    let (version, flags) = (hex(version)?, hex(flags)?);
    if version == 0xff || (version == 0 && parts.next().is_some()) {
        return None;
    }
    let (trace, span): (TraceId, SpanId) = (trace.parse().ok()?, span.parse().ok()?);
    (!trace.is_none() && !span.is_none()).then_some(Parent { trace, span, is_sampled: flags & 1 == 1 })
}

/// What a request that is made within a span says of it.
pub(crate) fn traceparent(trace: TraceId, span: SpanId, is_sampled: bool) -> String {
    let mut text = String::with_capacity(55);
    text.push_str("00-");
    trace.push_to(&mut text);
    text.push('-');
    span.push_to(&mut text);
    text.push_str(if is_sampled { "-01" } else { "-00" });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// REQ-IPROP-01 REQ-IPROP-04
    #[test]
    fn what_is_given_is_taken_and_what_is_not_is_made_up() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let given = Given { request_id: Some("r-1"), traceparent: Some(parent), client: None };
        let ids = Ids::of(given);
        assert_eq!(&*ids.request, "r-1");
        assert_eq!(ids.trace.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(ids.parent.unwrap().to_string(), "00f067aa0ba902b7");
        assert_ne!(Some(ids.span), ids.parent);
        let (one, other) = (Ids::of(Given::default()), Ids::of(Given::default()));
        assert_ne!((one.request, one.trace, one.span), (other.request, other.trace, other.span));
        assert_eq!(traceparent(ids.trace, ids.parent.unwrap(), true), parent);
    }

    #[test]
    fn what_is_no_id_does_not_hide_one_around_it() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let around = Given { request_id: Some("r-1"), traceparent: Some(parent), client: None };
        let broken = Given { request_id: Some("two words"), traceparent: Some("00-what"), client: None };
        let given = broken.or(around);
        assert_eq!((given.request_id, given.traceparent), (Some("r-1"), Some(parent)));
        let other = "00-5bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        let within = Given { request_id: Some("r-2"), traceparent: Some(other), client: None };
        let given = within.or(around);
        assert_eq!((given.request_id, given.traceparent), (Some("r-2"), Some(other)));
    }

    #[test]
    fn who_adds_nothing_passes_on_what_was_given() {
        for parent in [
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
        ] {
            let given = Given { request_id: Some("r-1"), traceparent: Some(parent), client: None };
            let (ids, said) = Ids::passed_on(given).unwrap();
            let told = traceparent(ids.trace, ids.span, said.is_sampled.unwrap());
            assert_eq!((&*ids.request, told.as_str(), said.request), ("r-1", parent, true));
            let (_, said) = Ids::passed_on(Given { request_id: None, ..given }).unwrap();
            assert!(!said.request);
        }
        let given = Given { request_id: Some("r-1"), traceparent: Some("00-what"), client: None };
        let (ids, said) = Ids::passed_on(given).unwrap();
        assert_eq!((&*ids.request, said), ("r-1", Said { request: true, is_sampled: None }));
        let given = Given { request_id: Some("two words"), traceparent: None, client: Some("{}") };
        assert!(Ids::passed_on(given).is_none());
    }

    #[test]
    fn what_is_no_id_is_not_taken_for_one() {
        let long = "x".repeat(REQUEST_ID_BYTES_MAX + 1);
        for request_id in [
            "",
            ".",
            "..",
            "0000-0000-0000-0000-0000-0000-0000",
            "two words",
            "a\u{7f}",
            "ä",
            "a\",\"b\":\"c",
            "a\\",
            &long,
        ] {
            assert_ne!(
                &*Ids::of(Given { request_id: Some(request_id), ..Given::default() }).request,
                request_id
            );
        }
        for traceparent in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b77-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-+1",
        ] {
            assert!(read_traceparent(traceparent).is_none(), "{traceparent}");
        }
        assert!(read_traceparent("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more").is_some());
    }
}
