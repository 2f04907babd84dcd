//! What is worth knowing about tools that were adopted, for machines and for people.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::schema::loss::Loss;

/// What a warning is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// The schema says something that a parameter cannot; whatever it allows is accepted.
    UnsupportedShape,
    /// The schema is broken in one place, which was left out.
    MalformedSchema,
    /// A parameter or operation goes by another name here, for more than its spelling.
    Renamed,
    /// One tool became several operations.
    SplitTool,
    /// The name was taken, so the newcomer got a suffix.
    NameClash,
    NonStringEnum,
    FormatDropped,
    PatternDropped,
    DefaultDropped,
    /// A bound of a number or of a list is told, but not enforced.
    LimitDropped,
    /// It is nested too deeply or too large to be described whole.
    TooLarge,
    /// Nobody knows for sure what the tool does.
    NeedsReview,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// One thing worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    pub code: Code,
    pub severity: Severity,
    pub message: String,
    /// The upstream's own name of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The parameter as it is called here, with dots and brackets for what stands inside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnsupportedShape => "UNSUPPORTED_SHAPE",
            Self::MalformedSchema => "MALFORMED_SCHEMA",
            Self::Renamed => "RENAMED",
            Self::SplitTool => "SPLIT_TOOL",
            Self::NameClash => "NAME_CLASH",
            Self::NonStringEnum => "NON_STRING_ENUM",
            Self::FormatDropped => "FORMAT_DROPPED",
            Self::PatternDropped => "PATTERN_DROPPED",
            Self::DefaultDropped => "DEFAULT_DROPPED",
            Self::LimitDropped => "LIMIT_DROPPED",
            Self::TooLarge => "TOO_LARGE",
            Self::NeedsReview => "NEEDS_REVIEW",
        })
    }
}

/// How much a loss matters, and what it is called.
pub(super) fn judged(loss: &Loss) -> (Code, Severity) {
    match loss {
        Loss::Keyword(
            "minItems" | "maxItems" | "uniqueItems" | "multipleOf" | "minProperties" | "maxProperties",
        )
        | Loss::Bound(_) => (Code::LimitDropped, Severity::Info),
        Loss::Keyword(_) | Loss::Variants => (Code::UnsupportedShape, Severity::Info),
        Loss::Malformed(_) => (Code::MalformedSchema, Severity::Warning),
        Loss::UnknownType(_) | Loss::Unresolved(_) | Loss::Circular | Loss::Contradiction | Loss::Enum => {
            (Code::UnsupportedShape, Severity::Warning)
        }
        Loss::NonStringEnum => (Code::NonStringEnum, Severity::Info),
        Loss::Pattern(_) => (Code::PatternDropped, Severity::Info),
        Loss::Format(_) => (Code::FormatDropped, Severity::Info),
        Loss::Default => (Code::DefaultDropped, Severity::Info),
        Loss::Deep | Loss::Huge => (Code::TooLarge, Severity::Warning),
    }
}
