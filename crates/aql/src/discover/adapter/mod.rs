//! Adapter files: Markdown with YAML front matter, which people review and a gateway serves.
//!
//! [`build`](build::build) makes one from a bundle and the operator's [`Overrides`];
//! [`read`](read::read) checks one and tells every mistake with its line; [`adopt`] makes a server's tools
//! into the operations that the file describes. What the form has no place for (provenance, warnings, reasons) stands in
//! files beside it.

pub mod apply;
pub mod build;
mod fields;
mod http;
mod operations;
pub mod overrides;
pub mod read;
mod report;
mod safety;
mod sidecar;
mod write;

use serde_json::{Map, Value};

pub use self::{
    apply::{Applied, adopt},
    build::{Built, build},
    fields::Problem,
    overrides::Overrides,
    read::read,
    safety::with_trust,
};
use super::{
    bundle::{Returns, Rules},
    target::Target,
};
use crate::{
    category::Category,
    danger::{DangerLevel, Words},
    trust,
};

/// An adapter, as its file says.
#[derive(Debug, Clone, PartialEq)]
pub struct Adapter {
    pub name: String,
    pub version: String,
    pub description: String,
    pub transport: Transport,
    /// As written: `mcp:NAME`, or the address of an API.
    pub base_url: String,
    /// Where credentials come from; never what they are.
    pub auth: Option<Map<String, Value>>,
    /// How far the adapter is trusted, and why. Untested, where the file says nothing.
    pub trust: trust::Block,
    pub operations: Vec<Operation>,
}

/// What stands behind an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// Another MCP server, by the name it has in the configuration.
    Mcp { server: String },
    /// An API over HTTP.
    Http,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    pub name: String,
    pub category: Category,
    pub maps_to: String,
    /// The tool, where another MCP server stands behind it.
    pub target: Option<Target>,
    pub description: Option<String>,
    pub danger: Option<DangerLevel>,
    /// What else is said of its danger.
    pub words: Words,
    pub requires_confirmation: bool,
    pub params: Vec<Param>,
    pub returns: Option<Returns>,
    /// Where it stands in its file; nothing where there is none.
    pub line: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    pub name: String,
    /// A type of JSON, or several joined by ` | `.
    pub kind: String,
    pub required: bool,
    /// Its values are shown and written nowhere, whatever the server says of them.
    pub sensitive: bool,
    pub rules: Rules,
}

/// What the name of an adapter file ends with.
pub const FILE_ENDING: &str = "-adapter.md";

/// An adapter's name has so many characters.
const NAME_CHARS_MIN: usize = 2;
const NAME_CHARS_MAX: usize = 64;

/// Whether an adapter may be called so.
fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (NAME_CHARS_MIN..=NAME_CHARS_MAX).contains(&name.len())
        && name.bytes().all(allowed)
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
}

/// Whether a version is one: three numbers, perhaps with a label.
fn is_version(version: &str) -> bool {
    let (numbers, label) = version.split_once('-').map_or((version, None), |(n, label)| (n, Some(label)));
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'.';
    numbers.split('.').count() == 3
        && numbers.split('.').all(number)
        && label.is_none_or(|label| !label.is_empty() && label.bytes().all(allowed))
}

#[cfg(test)]
mod tests;
