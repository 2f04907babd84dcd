//! Names, parsed once where they enter, so that nothing further in has to check them again.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Serialize, Serializer};

/// Why a string is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{kind} '{given}' must be snake_case: a lowercase letter, then lowercase letters, digits or underscores"
)]
pub struct Error {
    kind: &'static str,
    given: String,
}

pub(crate) fn is_snake_case(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                if is_snake_case(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(Error { kind: $kind, given: text.to_owned() })
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }
    };
}

name_type!(
    /// The name of an operation, `create_entity`.
    OperationName, "operation name"
);
name_type!(
    /// The canonical, published name of a parameter or field, `entity_id`.
    ParamName, "parameter name"
);
name_type!(
    /// The name of an endpoint family, `read` or `manage`.
    FamilyName, "endpoint family"
);

/// What a tool prefix may hold: `github_`, so that several adapters fit into one session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolPrefix(String);

/// Why a string is no tool prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "tool prefix '{0}' must hold only lowercase letters, digits and underscores, and end with an underscore, as in 'github_'"
)]
pub struct PrefixError(String);

/// Longer prefixes work, but every tool name carries them.
pub const TOOL_PREFIX_CHARS_ADVISED: usize = 20;

impl ToolPrefix {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the prefix is longer than clients handle gladly; worth a warning, not a refusal.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.0.len() > TOOL_PREFIX_CHARS_ADVISED
    }
}

impl FromStr for ToolPrefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let allowed = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if text.is_empty() || (allowed && text.ends_with('_')) {
            Ok(Self(text.to_owned()))
        } else {
            Err(PrefixError(text.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// REQ-NAME-01
    #[test]
    fn operation_names_are_snake_case() {
        for bad in ["CreateItem", "create-item", "1create", "_create", "", "créer", "create item"] {
            let error = bad.parse::<OperationName>().unwrap_err();
            assert!(error.to_string().contains(&format!("'{bad}'")), "{error}");
        }
        assert_eq!("create_item2".parse::<OperationName>().unwrap().as_str(), "create_item2");
    }

    /// LREQ-MCP-18
    #[test]
    fn prefixes_are_lowercase_and_end_with_an_underscore() {
        for bad in ["GitHub_", "git-hub_", "github"] {
            assert!(bad.parse::<ToolPrefix>().is_err(), "{bad}");
        }
        assert!(!"github_".parse::<ToolPrefix>().unwrap().is_long());
        assert!("a_prefix_over_twenty_characters_".parse::<ToolPrefix>().unwrap().is_long());
    }
}
