//! Parameters and fields, frozen: the one description that validation enforces and introspection shows.

use std::sync::OnceLock;

use regex::Regex;
use serde::Serialize;
use serde_json::Value;

use crate::{define::Deprecation, name::ParamName, types::TypeId, validate::Format};

/// A frozen parameter, or a field of an object type.
#[derive(Debug, Clone)]
pub struct Param {
    /// Snake case for parameters; a field of a protocol type keeps the spelling the specification prints.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    pub(crate) unless: Option<ParamName>,
    pub(crate) description: String,
    pub(crate) default: Option<Value>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) min_length: Option<usize>,
    pub(crate) max_length: Option<usize>,
    pub(crate) pattern: Option<Box<Pattern>>,
    pub(crate) format: Option<Format>,
    pub(crate) items: Option<Box<Param>>,
    /// The type whose fields an object must have, where it is not free-form.
    pub(crate) fields_of: Option<TypeId>,
    /// Whether such an object may have other fields too.
    pub(crate) open: bool,
    pub(crate) sensitive: bool,
    pub(crate) nul_safe: bool,
    pub(crate) aliases: Vec<String>,
    pub(crate) deprecated: Option<Deprecation>,
    pub(crate) nullable: bool,
}

/// A regular expression that a text has to match. It is compiled when the first text is held against it: compiled, it
/// takes far more room than its text, and most parameters of other servers' tools are never given.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Nothing comes back for what is no regular expression.
    pub(crate) fn new(text: &str) -> Option<Self> {
        Regex::new(text).ok()?;
        Some(Self { text: text.to_owned(), compiled: OnceLock::new() })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| Regex::new(&self.text).ok());
        compiled.as_ref().is_some_and(|compiled| compiled.is_match(text))
    }
}

/// Which JSON types a parameter takes.
#[derive(Debug, Clone)]
pub struct Kind {
    /// As introspection prints it.
    pub(crate) text: String,
    pub(crate) shapes: Vec<Shape>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    String,
    Number,
    Integer,
    Boolean,
    Object,
    Array,
    ArrayOf(Box<Shape>),
    /// A declared enum: a string.
    Enum,
    /// A declared object type.
    Record(TypeId),
}

impl Shape {
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        match self {
            Self::String | Self::Enum => value.is_string(),
            Self::Number => value.is_number(),
            Self::Integer => is_integer(value),
            Self::Boolean => value.is_boolean(),
            Self::Object | Self::Record(_) => value.is_object(),
            Self::Array => value.is_array(),
            Self::ArrayOf(element) => {
                value.as_array().is_some_and(|all| all.iter().all(|one| element.accepts(one)))
            }
        }
    }
}

/// `5.0` is an integer, as in JSON Schema.
fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.is_finite() && n.fract() == 0.0)
}

impl Param {
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn is_required(&self) -> bool {
        self.required
    }

    #[must_use]
    pub fn is_sensitive(&self) -> bool {
        self.sensitive
    }

    /// The type whose fields this object holds: its own declared type, or the one its `input` is bound to.
    pub(crate) fn record(&self) -> Option<TypeId> {
        self.fields_of.or_else(|| {
            self.kind.shapes.iter().find_map(|shape| match shape {
                Shape::Record(id) => Some(*id),
                _ => None,
            })
        })
    }

    /// Whether it takes a list and nothing else.
    pub(crate) fn is_list(&self) -> bool {
        let list = |shape: &Shape| matches!(shape, Shape::Array | Shape::ArrayOf(_));
        !self.kind.shapes.is_empty() && self.kind.shapes.iter().all(list)
    }

    pub(crate) fn info(&self) -> ParamInfo<'_> {
        ParamInfo {
            name: &self.name,
            kind: &self.kind.text,
            required: self.required,
            description: &self.description,
            default: self.default.as_ref(),
            allowed: &self.allowed,
            minimum: self.minimum.map(number),
            maximum: self.maximum.map(number),
            min_length: self.min_length,
            max_length: self.max_length,
            pattern: self.pattern.as_deref().map(Pattern::as_str),
            format: self.format.map(Format::as_str),
            items: self.items.as_deref().map(|element| Box::new(element.info())),
            sensitive: self.sensitive,
        }
    }

    /// As a signature prints it: `priority?: integer = 5`.
    pub(crate) fn signature(&self) -> String {
        let optional = if self.required { "" } else { "?" };
        let kind = if self.allowed.is_empty() {
            self.kind.text.clone()
        } else {
            self.allowed.iter().map(Value::to_string).collect::<Vec<_>>().join("|")
        };
        let default = self.default.as_ref().map(|value| format!(" = {value}")).unwrap_or_default();
        format!("{}{optional}: {kind}{default}", self.name)
    }
}

/// A bound without a needless `.0`.
pub(crate) fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
        Value::from(value as i64)
    } else {
        Value::from(value)
    }
}

/// A parameter as introspection shows it; no key beyond the specification's closed set.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ParamInfo<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    required: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<&'a Value>,
    #[serde(rename = "enum", skip_serializing_if = "<[Value]>::is_empty")]
    allowed: &'a [Value],
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    maximum: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_length: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_length: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Box<ParamInfo<'a>>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    sensitive: bool,
}
