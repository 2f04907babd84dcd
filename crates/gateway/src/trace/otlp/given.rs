//! A span as it was given, in whatever form, with its attributes as we have them.
//!
//! What everybody sends is read in one go, straight from the wire. Whatever is unusual is left to prost, which knows all of
//! protobuf: so this says nothing of a message that prost would not say, or says nothing at all.

use std::borrow::Cow;

use ::base64::{Engine, prelude::BASE64_STANDARD};
use prost::encoding::decode_varint;
use serde_json::{Map, Value};

use super::{value, wire};

/// Attributes in the order in which they were given.
pub(super) type Pairs<'a> = Vec<(Cow<'a, str>, Value)>;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Given<'a> {
    pub(super) trace_id: Cow<'a, [u8]>,
    pub(super) span_id: Cow<'a, [u8]>,
    pub(super) parent_span_id: Cow<'a, [u8]>,
    pub(super) trace_state: String,
    pub(super) name: String,
    pub(super) kind: i32,
    pub(super) start_time_unix_nano: u64,
    pub(super) end_time_unix_nano: u64,
    pub(super) attributes: Pairs<'a>,
    pub(super) dropped_attributes_count: u32,
    pub(super) events: Vec<GivenEvent<'a>>,
    pub(super) dropped_events_count: u32,
    pub(super) links: Vec<GivenLink<'a>>,
    pub(super) dropped_links_count: u32,
    pub(super) status: wire::Status,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct GivenEvent<'a> {
    pub(super) time_unix_nano: u64,
    pub(super) name: String,
    pub(super) attributes: Pairs<'a>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct GivenLink<'a> {
    pub(super) trace_id: Vec<u8>,
    pub(super) span_id: Vec<u8>,
    pub(super) attributes: Pairs<'a>,
}

impl From<wire::Span> for Given<'static> {
    fn from(span: wire::Span) -> Self {
        let event = |event: wire::Event| GivenEvent {
            time_unix_nano: event.time_unix_nano,
            name: event.name,
            attributes: value::read(event.attributes),
        };
        let link = |link: wire::Link| GivenLink {
            trace_id: link.trace_id,
            span_id: link.span_id,
            attributes: value::read(link.attributes),
        };
        Self {
            trace_id: span.trace_id.into(),
            span_id: span.span_id.into(),
            parent_span_id: span.parent_span_id.into(),
            trace_state: span.trace_state,
            name: span.name,
            kind: span.kind,
            start_time_unix_nano: span.start_time_unix_nano,
            end_time_unix_nano: span.end_time_unix_nano,
            attributes: value::read(span.attributes),
            dropped_attributes_count: span.dropped_attributes_count,
            events: span.events.into_iter().map(event).collect(),
            dropped_events_count: span.dropped_events_count,
            links: span.links.into_iter().map(link).collect(),
            dropped_links_count: span.dropped_links_count,
            status: span.status.unwrap_or_default(),
        }
    }
}

/// Room for as many is made at once.
const USUAL_ATTRIBUTES: usize = 8;
/// How deep a value is followed here.
const DEPTH_MAX: usize = 8;

/// A field, as it is written.
#[derive(Clone, Copy)]
enum Field<'a> {
    Varint(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
}

/// Goes through the fields of a message with their numbers. Nothing comes of one that is better left to prost.
fn each<'a>(mut bytes: &'a [u8], mut take: impl FnMut(u64, Field<'a>) -> Option<()>) -> Option<()> {
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        if key < 8 || key > u64::from(u32::MAX) {
            return None;
        }
        let field = match key & 7 {
            0 => Field::Varint(varint(&mut bytes)?),
            1 => {
                let (number, rest) = bytes.split_first_chunk()?;
                bytes = rest;
                Field::Fixed(u64::from_le_bytes(*number))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (field, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                Field::Bytes(field)
            }
            // Neither groups nor numbers of 32 bits are in any message of OTLP that is read here.
            _ => return None,
        };
        take(key >> 3, field)?;
    }
    Some(())
}

/// Most numbers are of one byte.
#[inline]
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    if let [byte @ 0..0x80, rest @ ..] = *bytes {
        *bytes = rest;
        return Some(u64::from(*byte));
    }
    decode_varint(bytes).ok()
}

fn text(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

/// Reads a span, unless it is better left to prost.
#[expect(clippy::cast_possible_truncation, reason = "protobuf cuts them like this")]
pub(super) fn span(bytes: &[u8]) -> Option<Given<'_>> {
    let mut given = Given { attributes: Vec::with_capacity(USUAL_ATTRIBUTES), ..Given::default() };
    let mut has_status = false;
    each(bytes, |number, field| {
        match (number, field) {
            (1, Field::Bytes(id)) => given.trace_id = id.into(),
            (2, Field::Bytes(id)) => given.span_id = id.into(),
            (3, Field::Bytes(bytes)) => given.trace_state = text(bytes)?,
            (4, Field::Bytes(id)) => given.parent_span_id = id.into(),
            (5, Field::Bytes(bytes)) => given.name = text(bytes)?,
            (6, Field::Varint(kind)) => given.kind = kind as i32,
            (7, Field::Fixed(time)) => given.start_time_unix_nano = time,
            (8, Field::Fixed(time)) => given.end_time_unix_nano = time,
            (9, Field::Bytes(bytes)) => attribute(bytes, &mut given.attributes)?,
            (10, Field::Varint(count)) => given.dropped_attributes_count = count as u32,
            (11, Field::Bytes(bytes)) => given.events.push(event(bytes)?),
            (12, Field::Varint(count)) => given.dropped_events_count = count as u32,
            (13, Field::Bytes(bytes)) => given.links.push(link(bytes)?),
            (14, Field::Varint(count)) => given.dropped_links_count = count as u32,
            (15, Field::Bytes(bytes)) if !has_status => {
                has_status = true;
                given.status = status(bytes)?;
            }
            (1..=15, _) => return None,
            _ => {}
        }
        Some(())
    })?;
    Some(given)
}

#[expect(clippy::cast_possible_truncation, reason = "protobuf cuts them like this")]
fn status(bytes: &[u8]) -> Option<wire::Status> {
    let mut status = wire::Status::default();
    each(bytes, |number, field| {
        match (number, field) {
            (2, Field::Bytes(bytes)) => status.message = text(bytes)?,
            (3, Field::Varint(code)) => status.code = code as i32,
            (2 | 3, _) => return None,
            _ => {}
        }
        Some(())
    })?;
    Some(status)
}

fn event(bytes: &[u8]) -> Option<GivenEvent<'_>> {
    let mut event = GivenEvent::default();
    each(bytes, |number, field| {
        match (number, field) {
            (1, Field::Fixed(time)) => event.time_unix_nano = time,
            (2, Field::Bytes(bytes)) => event.name = text(bytes)?,
            (3, Field::Bytes(bytes)) => attribute(bytes, &mut event.attributes)?,
            (1..=3, _) => return None,
            _ => {}
        }
        Some(())
    })?;
    Some(event)
}

fn link(bytes: &[u8]) -> Option<GivenLink<'_>> {
    let mut link = GivenLink::default();
    each(bytes, |number, field| {
        match (number, field) {
            (1, Field::Bytes(id)) => link.trace_id = id.to_vec(),
            (2, Field::Bytes(id)) => link.span_id = id.to_vec(),
            (4, Field::Bytes(bytes)) => attribute(bytes, &mut link.attributes)?,
            (1 | 2 | 4, _) => return None,
            _ => {}
        }
        Some(())
    })?;
    Some(link)
}

/// An attribute without a name is none.
fn attribute<'a>(bytes: &'a [u8], attributes: &mut Pairs<'a>) -> Option<()> {
    let (name, value) = pair(bytes, 0)?;
    if !name.is_empty() {
        attributes.push((name.into(), value));
    }
    Some(())
}

fn pair(bytes: &[u8], depth: usize) -> Option<(&str, Value)> {
    let (mut name, mut value) = ("", None);
    each(bytes, |number, field| {
        match (number, field) {
            (1, Field::Bytes(bytes)) => name = std::str::from_utf8(bytes).ok()?,
            // Two of them would be one.
            (2, Field::Bytes(bytes)) if value.is_none() => value = Some(any(bytes, depth)?),
            (1 | 2, _) => return None,
            _ => {}
        }
        Some(())
    })?;
    Some((name, value.unwrap_or_default()))
}

#[expect(clippy::cast_possible_wrap, reason = "protobuf reads them like this")]
fn any(bytes: &[u8], depth: usize) -> Option<Value> {
    let mut value = None;
    each(bytes, |number, field| {
        if (1..=7).contains(&number) && (value.is_some() || depth > DEPTH_MAX) {
            return None;
        }
        value = Some(match (number, field) {
            (1, Field::Bytes(bytes)) => Value::String(text(bytes)?),
            (2, Field::Varint(flag)) => Value::Bool(flag != 0),
            (3, Field::Varint(number)) => Value::from(number as i64),
            (4, Field::Fixed(bits)) => value::double(f64::from_bits(bits)),
            (5, Field::Bytes(bytes)) => list(bytes, depth + 1)?,
            (6, Field::Bytes(bytes)) => members(bytes, depth + 1)?,
            (7, Field::Bytes(bytes)) => Value::String(BASE64_STANDARD.encode(bytes)),
            (1..=7, _) => return None,
            _ => return Some(()),
        });
        Some(())
    })?;
    Some(value.unwrap_or_default())
}

fn list(bytes: &[u8], depth: usize) -> Option<Value> {
    let mut values = Vec::new();
    each(bytes, |number, field| {
        match (number, field) {
            (1, Field::Bytes(bytes)) => values.push(any(bytes, depth)?),
            (1, _) => return None,
            _ => {}
        }
        Some(())
    })?;
    Some(Value::Array(values))
}

fn members(bytes: &[u8], depth: usize) -> Option<Value> {
    let mut members = Map::new();
    each(bytes, |number, field| {
        match (number, field) {
            (1, Field::Bytes(bytes)) => {
                let (name, value) = pair(bytes, depth)?;
                members.insert(name.to_owned(), value);
            }
            (1, _) => return None,
            _ => {}
        }
        Some(())
    })?;
    Some(Value::Object(members))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use prost::Message as _;

    use super::{DEPTH_MAX, Given, span, wire};
    use crate::trace::otlp::{tests, write};

    fn by_prost(bytes: &[u8]) -> Option<Given<'static>> {
        wire::Span::decode(bytes).ok().map(Given::from)
    }

    fn agree(bytes: &[u8]) -> Result<(), TestCaseError> {
        if let Some(given) = span(bytes) {
            prop_assert_eq!(Some(given), by_prost(bytes));
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        /// What is read here is what prost reads, whole and damaged.
        #[test]
        fn what_is_read_straight_is_what_prost_reads(
            given in tests::span(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let whole = write::write(&given).encode_to_vec();
            prop_assert_eq!(span(&whole), by_prost(&whole), "all that we write is usual");
            let mut bytes = whole.clone();
            for (place, byte) in damage {
                let place = place.index(bytes.len());
                bytes[place] = byte;
                agree(&bytes)?;
            }
            agree(&whole[..cut.index(whole.len())])?;
            // Fields that come twice.
            agree(&[whole.as_slice(), &bytes].concat())?;
        }

        #[test]
        fn the_same_for_bytes_that_are_anything(
            fields in prop::collection::vec((1_u8..17, 0_u8..6, prop::collection::vec(any::<u8>(), 0..12)), 0..6),
        ) {
            let mut bytes = Vec::new();
            for (number, kind, content) in &fields {
                bytes.push(number << 3 | kind);
                if *kind == 2 {
                    bytes.push(content.len() as u8);
                }
                bytes.extend(content);
            }
            agree(&bytes)?;
        }
    }

    /// A status that is told in two parts, a value in two, and depth: all of them are prost's.
    #[test]
    fn what_is_unusual_is_left_to_prost() {
        let twice = [0x7a, 2, 0x18, 2, 0x7a, 3, 0x12, 1, b'x'];
        assert_eq!(span(&twice), None);
        assert_eq!(by_prost(&twice).unwrap().status, wire::Status { message: "x".to_owned(), code: 2 });
        let mut value = wire::AnyValue { value: Some(wire::Any::Bool(true)) };
        for _ in 0..DEPTH_MAX + 2 {
            value =
                wire::AnyValue { value: Some(wire::Any::Array(wire::ArrayValue { values: vec![value] })) };
        }
        let attributes = vec![wire::KeyValue { key: "a".to_owned(), value: Some(value) }];
        let deep = wire::Span { attributes, ..wire::Span::default() }.encode_to_vec();
        assert_eq!(span(&deep), None);
        assert!(by_prost(&deep).is_some());
    }
}
