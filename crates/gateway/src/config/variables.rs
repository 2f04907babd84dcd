//! `${VAR}` and `${VAR:-default}` in values, taken from the environment. `$$` is a dollar.

use std::ops::Range;

use super::{environment::Environment, error::Error};

/// A piece of a value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    Dollar,
    Variable { name: &'a str, default: Option<&'a str> },
}

/// Why a value has no pieces. It may be a secret, so nothing of it is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("holds a '$' on its own")]
    Lone,
    #[error("holds a '${{' without its '}}'")]
    Open,
    #[error("holds a '${{…}}' whose name is not one of letters, digits and underscores")]
    Name,
}

pub(crate) fn pieces(text: &str) -> Result<Vec<Piece<'_>>, Malformed> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        if !before.is_empty() {
            pieces.push(Piece::Text(before));
        }
        if let Some(after) = after.strip_prefix('$') {
            pieces.push(Piece::Dollar);
            rest = after;
            continue;
        }
        let inner = after.strip_prefix('{').ok_or(Malformed::Lone)?;
        let (inner, after) = inner.split_once('}').ok_or(Malformed::Open)?;
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        if !is_name(name) {
            return Err(Malformed::Name);
        }
        pieces.push(Piece::Variable { name, default });
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    Ok(pieces)
}

/// A name that every shell can set.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Adds the variables to which a value must wait, each once. What is malformed is for the check of its form.
pub(super) fn add_unset(text: &str, environment: &Environment, unset: &mut Vec<String>) {
    for piece in pieces(text).unwrap_or_default() {
        let Piece::Variable { name, default: None } = piece else { continue };
        if environment.named(name).is_none() && !unset.iter().any(|earlier| earlier == name) {
            unset.push(name.to_owned());
        }
    }
}

/// What values are made complete with. Those of an upstream that is not used, or that waits for variables, are only
/// checked for their form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expansion<'a> {
    pub(super) environment: &'a Environment,
    pub(super) in_use: bool,
}

impl Expansion<'_> {
    /// The complete value; `None` where a variable is not set. `what` is what errors call the value.
    pub(super) fn expand(&self, what: &str, text: &str, span: Range<usize>) -> Result<Option<String>, Error> {
        let pieces = pieces(text).map_err(|malformed| {
            Error::at(span.clone(), format!("{what} {malformed}")).help_with(
                "write '$$' for a dollar, and '${NAME}' or '${NAME:-default}' for an environment variable",
            )
        })?;
        let mut whole = String::with_capacity(text.len());
        for piece in pieces {
            match piece {
                Piece::Text(text) => whole.push_str(text),
                Piece::Dollar => whole.push('$'),
                Piece::Variable { name, default } => {
                    match self.value(what, name, default, &span)? {
                        Some(value) => whole.push_str(value),
                        None => return Ok(None),
                    };
                }
            }
        }
        Ok(Some(whole))
    }

    fn value<'v>(
        &'v self,
        what: &str,
        name: &str,
        default: Option<&'v str>,
        span: &Range<usize>,
    ) -> Result<Option<&'v str>, Error> {
        // A default also stands in for an empty variable, as in a shell.
        let set = self.environment.named(name).filter(|value| default.is_none() || !value.is_empty());
        match (set, default) {
            (None, default) => Ok(default),
            (Some(value), _) => value.to_str().map(Some).ok_or_else(|| {
                let message =
                    format!("{what} needs the environment variable '{name}', which is not UTF-8 text");
                Error::at(span.clone(), message)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str, in_use: bool) -> Result<Option<String>, String> {
        let environment = Environment::new([("A", "one"), ("EMPTY", ""), ("B", "${A}$")]);
        let expansion = Expansion { environment: &environment, in_use };
        expansion.expand("it", text, 0..1).map_err(|error| error.to_string())
    }

    #[test]
    fn variables_defaults_and_dollars_are_filled_in() {
        for (text, expected) in [
            ("", ""),
            ("plain é", "plain é"),
            ("${A}", "one"),
            ("x${A}y${A}", "xoneyone"),
            ("$${A}", "${A}"),
            ("$$$${A}", "$${A}"),
            ("$$${A}", "$one"),
            ("${EMPTY}", ""),
            ("${EMPTY:-d}", "d"),
            ("${A:-d}", "one"),
            ("${NONE:-}", ""),
            ("${NONE:-a:-b {c}", "a:-b {c"),
            // What a variable holds is taken as it is.
            ("${B}", "${A}$"),
        ] {
            assert_eq!(expand(text, true), Ok(Some(expected.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_not_set_is_named_once() {
        for in_use in [true, false] {
            assert_eq!(expand("secret${NONE}", in_use), Ok(None));
        }
        let environment = Environment::new([("A", "one"), ("EMPTY", "")]);
        let mut unset = Vec::new();
        for text in ["${NONE}${A}${EMPTY}", "x${NONE}${OTHER}", "${DEFAULT:-x}$${DOLLAR}", "${LOST}$"] {
            add_unset(text, &environment, &mut unset);
        }
        assert_eq!(unset, ["NONE", "OTHER"], "what is malformed is told as that");
    }

    #[test]
    fn what_begins_nothing_is_refused_without_repeating_it() {
        for (text, why) in [
            ("pa$sword", Malformed::Lone),
            ("pass$", Malformed::Lone),
            ("pass$$$", Malformed::Lone),
            ("${word", Malformed::Open),
            ("${}", Malformed::Name),
            ("${env:pass}", Malformed::Name),
            ("${1A}", Malformed::Name),
            ("${pass word}", Malformed::Name),
            ("${naïve}", Malformed::Name),
        ] {
            for in_use in [true, false] {
                assert_eq!(expand(text, in_use), Err(format!("it {why}")), "{text}");
                assert!(!expand(text, in_use).unwrap_err().contains("word"));
            }
        }
    }
}
