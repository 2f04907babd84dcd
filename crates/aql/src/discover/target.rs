//! `maps_to` of an operation that a tool of another server does: which tool, and what it is always given.
//!
//! `tools/call create_issue` calls a tool with the operation's parameters. `tools/call issue_write?method=create` also
//! fixes an argument; `tools/call search?perPage={page_size}` takes an argument from a parameter of another name than
//! it would have. Everything but plain characters is percent-encoded.

use std::{fmt, str::FromStr};

use super::percent::{decoded, encoded};

const CALL: &str = "tools/call ";

/// A tool and its arguments that are not simply the parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// The server's own name of the tool.
    pub tool: String,
    pub arguments: Vec<Argument>,
}

/// One argument, by the server's own name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    pub name: String,
    pub from: From,
}

/// Where an argument's value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    /// It is always this text.
    Fixed(String),
    /// The parameter of this name.
    Param(String),
}

/// Why a text is no target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' names no tool; write 'tools/call NAME', or 'tools/call NAME?argument=value'")]
pub struct Error(String);

impl Target {
    /// The arguments that are always the same.
    pub fn fixed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.arguments.iter().filter_map(|argument| match &argument.from {
            From::Fixed(value) => Some((argument.name.as_str(), value.as_str())),
            From::Param(_) => None,
        })
    }

    /// The arguments that parameters of other names give.
    pub fn renamed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.arguments.iter().filter_map(|argument| match &argument.from {
            From::Param(param) => Some((argument.name.as_str(), param.as_str())),
            From::Fixed(_) => None,
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{CALL}{}", encoded(&self.tool))?;
        for (place, argument) in self.arguments.iter().enumerate() {
            let joint = if place == 0 { '?' } else { '&' };
            let name = encoded(&argument.name);
            match &argument.from {
                From::Fixed(value) => write!(f, "{joint}{name}={}", encoded(value))?,
                From::Param(param) => write!(f, "{joint}{name}={{{}}}", encoded(param))?,
            }
        }
        Ok(())
    }
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        read(text).ok_or_else(|| Error(text.to_owned()))
    }
}

fn read(text: &str) -> Option<Target> {
    let rest = text.strip_prefix(CALL)?.trim();
    let (tool, arguments) = rest.split_once('?').map_or((rest, None), |(tool, rest)| (tool, Some(rest)));
    if tool.contains(char::is_whitespace) {
        return None;
    }
    let arguments: Option<Vec<Argument>> = arguments
        .into_iter()
        .flat_map(|arguments| arguments.split('&'))
        .map(|pair| {
            let (name, value) = pair.split_once('=')?;
            let param = value.strip_prefix('{').and_then(|value| value.strip_suffix('}'));
            let from = match param {
                Some(param) => From::Param(decoded(param)?),
                None => From::Fixed(decoded(value)?),
            };
            Some(Argument { name: decoded(name)?, from })
        })
        .collect();
    Some(Target { tool: decoded(tool)?, arguments: arguments? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn targets_read_as_they_are_written() {
        for (text, tool, fixed, renamed) in [
            ("tools/call create_issue", "create_issue", vec![], vec![]),
            ("tools/call issue_write?method=create", "issue_write", vec![("method", "create")], vec![]),
            ("tools/call a%20b?x=1%262&y={z}", "a b", vec![("x", "1&2")], vec![("y", "z")]),
            ("tools/call ", "", vec![], vec![]),
        ] {
            let target: Target = text.parse().unwrap();
            assert_eq!(target.tool, tool);
            assert_eq!(target.fixed().collect::<Vec<_>>(), fixed);
            assert_eq!(target.renamed().collect::<Vec<_>>(), renamed);
            assert_eq!(target.to_string(), text);
        }
        for text in [
            "",
            "GET /x",
            "tools/call",
            "tools/call a b",
            "tools/call a?b",
            "tools/call a%",
            "tools/call a?b=%",
        ] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_names_come_back(tool in "\\PC*", pairs in proptest::collection::vec(("\\PC*", "\\PC*", any::<bool>()), 0..4)) {
            let arguments = pairs
                .into_iter()
                .map(|(name, value, fixed)| Argument { name, from: if fixed { From::Fixed(value) } else { From::Param(value) } })
                .collect();
            let target = Target { tool, arguments };
            prop_assert_eq!(target.to_string().parse::<Target>(), Ok(target));
        }
    }
}
