//! Protobuf as it lies on the wire, field by field, without making anything of it yet.
//!
//! Two bytes can stand for a message of a hundred. So before spans are made of a long text, its parts are counted.

use bytes::Buf;
use prost::encoding::{WireType, decode_key, decode_varint};

/// A message that ends too early or is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken;

/// The fields of a message that have a length, with their numbers. Others are passed over.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, &'a [u8]), Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.0.is_empty() {
            match self.step() {
                Ok(Some(field)) => return Some(Ok(field)),
                Ok(None) => {}
                Err(broken) => {
                    self.0 = &[];
                    return Some(Err(broken));
                }
            }
        }
        None
    }
}

impl<'a> Fields<'a> {
    fn step(&mut self) -> Result<Option<(u32, &'a [u8])>, Broken> {
        let (number, kind) = decode_key(&mut self.0).map_err(|_| Broken)?;
        let length = match kind {
            WireType::Varint => {
                decode_varint(&mut self.0).map_err(|_| Broken)?;
                return Ok(None);
            }
            WireType::ThirtyTwoBit => 4,
            WireType::SixtyFourBit => 8,
            WireType::LengthDelimited => decode_varint(&mut self.0).map_err(|_| Broken)?,
            // Nothing of OTLP has groups.
            WireType::StartGroup | WireType::EndGroup => return Err(Broken),
        };
        let length = usize::try_from(length).map_err(|_| Broken)?;
        let (field, _) = self.0.split_at_checked(length).ok_or(Broken)?;
        self.0.advance(length);
        Ok((kind == WireType::LengthDelimited).then_some((number, field)))
    }
}

/// The messages of OTLP that can hold many others.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Span,
    Resource,
    Scope,
    Event,
    Link,
    KeyValue,
    AnyValue,
    ArrayValue,
    KeyValueList,
}

impl Shape {
    fn within(self, number: u32) -> Option<Self> {
        Some(match (self, number) {
            (Self::Span, 9)
            | (Self::Resource, 1)
            | (Self::Scope | Self::Event, 3)
            | (Self::Link, 4)
            | (Self::KeyValueList, 1) => Self::KeyValue,
            (Self::Span, 11) => Self::Event,
            (Self::Span, 13) => Self::Link,
            (Self::KeyValue, 2) | (Self::ArrayValue, 1) => Self::AnyValue,
            (Self::AnyValue, 5) => Self::ArrayValue,
            (Self::AnyValue, 6) => Self::KeyValueList,
            _ => return None,
        })
    }
}

/// Shorter messages cannot hold too much.
const COUNTED_FROM_BYTES: usize = 64 * 1024;
/// What one message may hold, at whatever depth.
const PARTS_MAX: usize = 50_000;
/// prost goes no deeper either.
const DEPTH_MAX: usize = 100;

/// Whether so much is in a message that it is not read.
pub(super) fn is_too_much(shape: Shape, bytes: &[u8]) -> bool {
    if bytes.len() < COUNTED_FROM_BYTES {
        return false;
    }
    let mut parts = 0;
    count(shape, bytes, 0, &mut parts).is_err()
}

fn count(shape: Shape, bytes: &[u8], depth: usize, parts: &mut usize) -> Result<(), Broken> {
    if depth > DEPTH_MAX {
        return Err(Broken);
    }
    for field in Fields(bytes) {
        let (number, inner) = field?;
        *parts += 1;
        if *parts > PARTS_MAX {
            return Err(Broken);
        }
        if let Some(shape) = shape.within(number) {
            count(shape, inner, depth + 1, parts)?;
        }
    }
    Ok(())
}
