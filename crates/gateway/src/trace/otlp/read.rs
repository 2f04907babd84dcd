//! Export requests of OTLP, in protobuf and in JSON, packed or not, as spans of ours.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use prost::Message;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    SPANS_MAX, UNPACKED_BYTES_MAX,
    fields::{Broken, Fields, Shape, is_too_much},
    given::{self, Given},
    map::{Refusal, Reports},
    origin::Origin,
    wire::{Resource, Scope, Span as Wire},
};
use crate::{store::traces::Packed, trace::Nanos};

/// What a request reported.
#[derive(Debug, Default, PartialEq)]
pub struct Received {
    pub spans: Vec<Packed>,
    /// How many spans were not taken.
    pub rejected: usize,
    /// Why the first of them was not.
    pub why: Option<&'static str>,
}

/// Why a request cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("the body cannot be read: {0}")]
    Malformed(String),
    #[error("the body unpacks to more than {UNPACKED_BYTES_MAX} bytes; send fewer spans in one request")]
    TooLong,
}

/// The parts of JSON that are made before a limit of spans can count. Real requests of the longest kind have a third.
const JSON_PARTS_MAX: usize = 4_000_000;

/// Unpacks a body, but no more of it than may be.
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>, Unreadable> {
    let mut unpacked = Vec::with_capacity((packed.len() * 4).min(UNPACKED_BYTES_MAX));
    let limit = u64::try_from(UNPACKED_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let read = MultiGzDecoder::new(packed).take(limit).read_to_end(&mut unpacked);
    read.map_err(|_| Unreadable::Malformed("it is not gzip, or its end is missing".to_owned()))?;
    if unpacked.len() > UNPACKED_BYTES_MAX { Err(Unreadable::TooLong) } else { Ok(unpacked) }
}

/// Reads protobuf. What is wrong with one span keeps none of the others out.
pub fn protobuf(body: &[u8], now: Nanos) -> Result<Received, Unreadable> {
    let mut reports = Reports::new(now);
    for field in Fields(body) {
        if let (1, resource_spans) = field? {
            resource(resource_spans, &mut reports)?;
        }
    }
    Ok(reports.finish())
}

fn resource(bytes: &[u8], reports: &mut Reports) -> Result<(), Unreadable> {
    let process = Origin::new(part::<Resource>(Shape::Resource, bytes)?);
    for field in Fields(bytes) {
        if let (2, scope_spans) = field? {
            let origin = process.within(part::<Scope>(Shape::Scope, scope_spans)?);
            reports.count_origin()?;
            for field in Fields(scope_spans) {
                if let (2, span) = field? {
                    reports.take(&origin, || decode(span));
                }
            }
        }
    }
    Ok(())
}

/// The resource or the scope of what is reported; both are field 1, and may stand behind the rest.
fn part<T: Message + Default>(shape: Shape, bytes: &[u8]) -> Result<T, Unreadable> {
    let mut found = T::default();
    for field in Fields(bytes) {
        if let (1, inner) = field? {
            if is_too_much(shape, inner) {
                return Err(Unreadable::Malformed("a resource or scope has too many parts".to_owned()));
            }
            found.merge(inner).map_err(malformed)?;
        }
    }
    Ok(found)
}

fn decode(bytes: &[u8]) -> Result<Given<'_>, Refusal> {
    if is_too_much(Shape::Span, bytes) {
        return Err(Refusal::TooMuch);
    }
    match given::span(bytes) {
        Some(given) => Ok(given),
        None => Ok(Wire::decode(bytes).map_err(|_| Refusal::Broken)?.into()),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonRequest<'a> {
    #[serde(borrow, default, alias = "resource_spans")]
    resource_spans: Vec<JsonResource<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonResource<'a> {
    resource: Option<Resource>,
    #[serde(borrow, default, alias = "scope_spans", alias = "instrumentationLibrarySpans")]
    scope_spans: Vec<JsonScope<'a>>,
}

#[derive(Deserialize)]
struct JsonScope<'a> {
    #[serde(alias = "instrumentationLibrary")]
    scope: Option<Scope>,
    #[serde(borrow, default)]
    spans: Vec<&'a RawValue>,
}

/// Reads OTLP/JSON.
pub fn json(body: &[u8], now: Nanos) -> Result<Received, Unreadable> {
    if has_too_many_parts(body) {
        let message = format!("it has more than {JSON_PARTS_MAX} values; send fewer spans in one request");
        return Err(Unreadable::Malformed(message));
    }
    let request: JsonRequest<'_> = serde_json::from_slice(body)
        .map_err(|error| Unreadable::Malformed(format!("{error}").replace(" at ", ", ")))?;
    let mut reports = Reports::new(now);
    for resource_spans in request.resource_spans {
        let process = Origin::new(resource_spans.resource.unwrap_or_default());
        for scope_spans in resource_spans.scope_spans {
            let origin = process.within(scope_spans.scope.unwrap_or_default());
            reports.count_origin()?;
            for span in scope_spans.spans {
                reports.take(&origin, || {
                    let span: Wire = serde_json::from_str(span.get()).map_err(|_| Refusal::Broken)?;
                    Ok(span.into())
                });
            }
        }
    }
    Ok(reports.finish())
}

/// Counts what would become values, outside of texts.
fn has_too_many_parts(body: &[u8]) -> bool {
    // A value takes two bytes.
    if body.len() < 2 * JSON_PARTS_MAX {
        return false;
    }
    let (mut parts, mut in_text, mut escaped) = (0, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            b'{' | b'[' | b',' if !in_text => parts += 1,
            _ => {}
        }
    }
    parts > JSON_PARTS_MAX
}

fn malformed(_: prost::DecodeError) -> Unreadable {
    Unreadable::Malformed("its resource or scope is no such message".to_owned())
}

impl From<Broken> for Unreadable {
    fn from(_: Broken) -> Self {
        Self::Malformed("it is no protobuf message, or its end is missing".to_owned())
    }
}

/// Whether no more spans are taken from one request.
pub(super) fn is_full(taken: usize) -> bool {
    taken >= SPANS_MAX
}
