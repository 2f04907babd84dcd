//! OTLP's messages as they stand in `opentelemetry/proto/trace/v1`, for protobuf and for JSON alike.
//!
//! In JSON ids are hexadecimal, 64-bit numbers are strings, and enumerations are numbers. Others write all of these
//! differently, and every form of them is read.

use prost::Message;
use serde::{Deserialize, Serialize};

use super::json::{base64, enumeration, hex, list, number};

/// Left out of JSON where it says nothing.
fn is_empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    #[prost(message, repeated, tag = "1")]
    pub resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Resource {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "list")]
    pub attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    pub spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Scope {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub version: String,
    #[prost(message, repeated, tag = "3")]
    #[serde(deserialize_with = "list", skip_serializing_if = "is_empty")]
    pub attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Span {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(alias = "trace_id", with = "hex")]
    pub trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(alias = "span_id", with = "hex")]
    pub span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    #[serde(alias = "trace_state", skip_serializing_if = "is_empty")]
    pub trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    #[serde(alias = "parent_span_id", with = "hex", skip_serializing_if = "is_empty")]
    pub parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub name: String,
    #[prost(int32, tag = "6")]
    #[serde(deserialize_with = "enumeration::kind")]
    pub kind: i32,
    #[prost(fixed64, tag = "7")]
    #[serde(alias = "start_time_unix_nano", with = "number::unsigned")]
    pub start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    #[serde(alias = "end_time_unix_nano", with = "number::unsigned")]
    pub end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    #[serde(deserialize_with = "list")]
    pub attributes: Vec<KeyValue>,
    #[prost(uint32, tag = "10")]
    #[serde(alias = "dropped_attributes_count", skip_serializing_if = "is_empty")]
    pub dropped_attributes_count: u32,
    #[prost(message, repeated, tag = "11")]
    #[serde(deserialize_with = "list", skip_serializing_if = "is_empty")]
    pub events: Vec<Event>,
    #[prost(uint32, tag = "12")]
    #[serde(alias = "dropped_events_count", skip_serializing_if = "is_empty")]
    pub dropped_events_count: u32,
    #[prost(message, repeated, tag = "13")]
    #[serde(deserialize_with = "list", skip_serializing_if = "is_empty")]
    pub links: Vec<Link>,
    #[prost(uint32, tag = "14")]
    #[serde(alias = "dropped_links_count", skip_serializing_if = "is_empty")]
    pub dropped_links_count: u32,
    #[prost(message, optional, tag = "15")]
    #[serde(skip_serializing_if = "is_empty")]
    pub status: Option<Status>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Event {
    #[prost(fixed64, tag = "1")]
    #[serde(alias = "time_unix_nano", with = "number::unsigned")]
    pub time_unix_nano: u64,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(message, repeated, tag = "3")]
    #[serde(deserialize_with = "list", skip_serializing_if = "is_empty")]
    pub attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Link {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(alias = "trace_id", with = "hex")]
    pub trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(alias = "span_id", with = "hex")]
    pub span_id: Vec<u8>,
    #[prost(message, repeated, tag = "4")]
    #[serde(deserialize_with = "list", skip_serializing_if = "is_empty")]
    pub attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Status {
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_empty")]
    pub message: String,
    #[prost(int32, tag = "3")]
    #[serde(deserialize_with = "enumeration::status")]
    pub code: i32,
}

/// The codes of a [`Status`].
pub(super) mod status {
    pub(in super::super) const UNSET: i32 = 0;
    pub(in super::super) const OK: i32 = 1;
    pub(in super::super) const ERROR: i32 = 2;
}

/// The kinds of a [`Span`].
pub(super) mod kind {
    pub(in super::super) const INTERNAL: i32 = 1;
    pub(in super::super) const SERVER: i32 = 2;
    pub(in super::super) const CLIENT: i32 = 3;
    pub(in super::super) const PRODUCER: i32 = 4;
    pub(in super::super) const CONSUMER: i32 = 5;
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AnyValue {
    #[prost(oneof = "Any", tags = "1, 2, 3, 4, 5, 6, 7")]
    pub value: Option<Any>,
}

#[derive(Clone, PartialEq, prost::Oneof, Serialize)]
pub(super) enum Any {
    #[prost(string, tag = "1")]
    #[serde(rename = "stringValue")]
    Text(String),
    #[prost(bool, tag = "2")]
    #[serde(rename = "boolValue")]
    Bool(bool),
    #[prost(int64, tag = "3")]
    #[serde(rename = "intValue")]
    Int(#[serde(serialize_with = "number::as_text")] i64),
    #[prost(double, tag = "4")]
    #[serde(rename = "doubleValue")]
    Double(#[serde(serialize_with = "number::double")] f64),
    #[prost(message, tag = "5")]
    #[serde(rename = "arrayValue")]
    Array(ArrayValue),
    #[prost(message, tag = "6")]
    #[serde(rename = "kvlistValue")]
    List(KeyValueList),
    #[prost(bytes = "vec", tag = "7")]
    #[serde(rename = "bytesValue")]
    Bytes(#[serde(with = "base64")] Vec<u8>),
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ArrayValue {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "list")]
    pub values: Vec<AnyValue>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct KeyValueList {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "list")]
    pub values: Vec<KeyValue>,
}

/// What is answered.
#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Response {
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "is_empty")]
    pub partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    #[serde(with = "number::signed")]
    pub rejected_spans: i64,
    #[prost(string, tag = "2")]
    pub error_message: String,
}

/// `google.rpc.Status`, what is answered to a request that cannot be taken.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct Failure {
    #[prost(int32, tag = "1")]
    pub code: i32,
    #[prost(string, tag = "2")]
    pub message: String,
}
