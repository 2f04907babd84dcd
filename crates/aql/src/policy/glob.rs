//! Patterns with `*` that are asked with every call. Most are told apart by how they begin.

use crate::profile::matches_pattern;

/// A pattern made ready; what it matches is what [`matches_pattern`] says.
#[derive(Debug, Clone)]
pub(super) struct Glob {
    pattern: String,
    /// How many bytes stand before the first star.
    start: usize,
    rest: Rest,
}

#[derive(Debug, Clone, Copy)]
enum Rest {
    /// There is no star.
    Nothing,
    /// The one star stands last.
    Anything,
    Pattern,
}

impl Glob {
    pub(super) fn new(pattern: &str) -> Self {
        let start = pattern.find('*').unwrap_or(pattern.len());
        let rest = match pattern.len() - start {
            0 => Rest::Nothing,
            1 => Rest::Anything,
            _ => Rest::Pattern,
        };
        Self { pattern: pattern.to_owned(), start, rest }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let start = self.pattern.as_bytes().get(..self.start).unwrap_or_default();
        text.as_bytes().starts_with(start)
            && match self.rest {
                Rest::Nothing => text.len() == self.start,
                Rest::Anything => true,
                Rest::Pattern => matches_pattern(&self.pattern, text),
            }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_matches_what_the_pattern_does(pattern in "[ab*é]{0,6}", text in "[abé]{0,8}") {
            prop_assert_eq!(Glob::new(&pattern).matches(&text), matches_pattern(&pattern, &text));
        }
    }
}
