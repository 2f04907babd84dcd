//! JSON Pointers (RFC 6901), parsed once and followed without copying.

use std::{fmt, str::FromStr};

use serde_json::Value;

/// A way to a value, `/steps/find/data/items/0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    text: String,
    tokens: Vec<String>,
}

/// Why a text is no pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Malformed {
    NoSlash,
    Escape,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSlash => "a JSON Pointer begins with '/'",
            Self::Escape => "in a JSON Pointer '~' is written '~0' and '/' inside a key '~1'",
        })
    }
}

impl FromStr for Pointer {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let rest = text.strip_prefix('/').ok_or(Malformed::NoSlash)?;
        let tokens = rest.split('/').map(unescape).collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), tokens })
    }
}

fn unescape(token: &str) -> Result<String, Malformed> {
    let mut pieces = token.split('~');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (character, rest) = match (piece.strip_prefix('0'), piece.strip_prefix('1')) {
            (Some(rest), _) => ('~', rest),
            (_, Some(rest)) => ('/', rest),
            _ => return Err(Malformed::Escape),
        };
        plain.push(character);
        plain.push_str(rest);
    }
    Ok(plain)
}

/// Where following a pointer ended early.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lost<'a> {
    /// How many tokens were followed.
    pub(super) followed: usize,
    /// The value that has no such part; none if there was nothing to begin with.
    pub(super) last: Option<&'a Value>,
}

impl Pointer {
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// The pointer to where the first `count` tokens lead, as it was written.
    pub(super) fn prefix(&self, count: usize) -> &str {
        let end = self.text.match_indices('/').nth(count).map_or(self.text.len(), |(place, _)| place);
        self.text.get(..end).unwrap_or_default()
    }

    /// Goes on from `value`, which the first `skip` tokens led to.
    pub(super) fn follow<'a>(&self, value: &'a Value, skip: usize) -> Result<&'a Value, Lost<'a>> {
        let mut value = value;
        for (followed, token) in self.tokens.iter().enumerate().skip(skip) {
            let inner = match value {
                Value::Object(object) => object.get(token),
                Value::Array(array) => index(token).and_then(|index| array.get(index)),
                _ => None,
            };
            value = inner.ok_or(Lost { followed, last: Some(value) })?;
        }
        Ok(value)
    }
}

/// Digits without a leading zero; anything else names no element.
pub(super) fn index(token: &str) -> Option<usize> {
    let canonical = token == "0" || !token.starts_with('0');
    let digits = !token.is_empty() && token.bytes().all(|b| b.is_ascii_digit());
    if canonical && digits { token.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_examples_of_rfc_6901_hold() {
        let document = json!({
            "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8
        });
        for (text, expected) in [
            ("/foo", json!(["bar", "baz"])),
            ("/foo/0", json!("bar")),
            ("/", json!(0)),
            ("/a~1b", json!(1)),
            ("/c%d", json!(2)),
            ("/e^f", json!(3)),
            ("/g|h", json!(4)),
            ("/i\\j", json!(5)),
            ("/k\"l", json!(6)),
            ("/ ", json!(7)),
            ("/m~0n", json!(8)),
        ] {
            let pointer: Pointer = text.parse().unwrap();
            assert_eq!(pointer.follow(&document, 0).unwrap(), &expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_pointer_is_refused_and_what_leads_nowhere_says_how_far_it_got() {
        for (text, expected) in [
            ("", Malformed::NoSlash),
            ("input", Malformed::NoSlash),
            ("/a~", Malformed::Escape),
            ("/a~2b", Malformed::Escape),
        ] {
            assert_eq!(text.parse::<Pointer>(), Err(expected), "{text}");
        }
        let document = json!({"a": [{"b~": 1}]});
        for (text, followed, prefix) in [
            ("/a/1/b", 1, "/a"),
            ("/a/00", 1, "/a"),
            ("/a/-", 1, "/a"),
            ("/a/0/b~0/c", 3, "/a/0/b~0"),
            ("/x", 0, ""),
            ("/a/99999999999999999999999", 1, "/a"),
        ] {
            let pointer: Pointer = text.parse().unwrap();
            let lost = pointer.follow(&document, 0).unwrap_err();
            assert_eq!((lost.followed, pointer.prefix(lost.followed)), (followed, prefix), "{text}");
        }
    }
}
