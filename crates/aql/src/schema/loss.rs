//! What a schema says that a parameter cannot.

use std::fmt;

/// Something that was loosened while a schema was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Loss {
    /// A keyword that nothing of ours enforces.
    Keyword(&'static str),
    /// A keyword whose value has a shape it may not have.
    Malformed(&'static str),
    UnknownType(String),
    Unresolved(String),
    /// A definition that is nothing but itself.
    Circular,
    /// Alternatives that differ in more than their type.
    Variants,
    /// Rules that no value fits.
    Contradiction,
    /// Values of an enum that are no strings, which still are carried.
    NonStringEnum,
    /// Values of an enum that cannot be told apart, such as objects.
    Enum,
    Pattern(String),
    Format(String),
    Bound(&'static str),
    Default,
    Deep,
    Huge,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keyword(keyword) => write!(f, "'{keyword}' is not enforced here"),
            Self::Malformed(keyword) => {
                write!(f, "'{keyword}' does not have the shape it should, and was left out")
            }
            Self::UnknownType(name) => write!(f, "the type '{name}' is unknown, so any value is accepted"),
            Self::Unresolved(reference) => {
                write!(f, "'{reference}' leads nowhere in the schema, so any value is accepted")
            }
            Self::Circular => {
                f.write_str("a definition refers to nothing but itself, so any value is accepted")
            }
            Self::Variants => {
                f.write_str("alternatives were merged into one description that fits each of them")
            }
            Self::Contradiction => f.write_str("no value fits all that is said, so the rules were left out"),
            Self::NonStringEnum => f.write_str("some values to choose from are no strings"),
            Self::Enum => f.write_str(
                "values to choose from are objects or arrays, or none; they are not enforced here",
            ),
            Self::Pattern(pattern) => write!(f, "the pattern '{pattern}' cannot be enforced here"),
            Self::Format(format) => write!(f, "the format '{format}' is not enforced here"),
            Self::Bound(keyword) => write!(f, "'{keyword}' is enforced including its bound"),
            Self::Default => f.write_str("the default is not one that could be given, and was left out"),
            Self::Deep => f.write_str("it is nested too deeply to be described further"),
            Self::Huge => f.write_str("the schema is too large to be described further"),
        }
    }
}
