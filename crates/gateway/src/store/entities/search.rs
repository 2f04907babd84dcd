//! The words and phrases of a search, as the text index takes them.

use std::collections::BTreeSet;

use super::words::{BOUNDARY_WORD, separated};

/// Words and phrases of a query that are looked for. Further ones could only reorder what the first ones find.
const QUERY_TERMS_MAX: usize = 64;

/// The different words and phrases of a query, each quoted for the text index.
pub(super) fn quoted_terms(query: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    terms(query)
        .filter(|term| seen.insert(*term))
        .take(QUERY_TERMS_MAX)
        // SQLite would end the expression at a NUL.
        .map(|term| format!("\"{}\"", separated(&term.replace(['\0', '"', BOUNDARY_WORD], " "))))
        .collect()
}

/// The phrases between pairs of quotes and the words outside. An unpaired quote is no quote.
fn terms(query: &str) -> impl Iterator<Item = &str> {
    let mut rest = query;
    let mut pieces = Vec::new();
    while let Some((outside, phrase, behind)) = rest.split_once('"').and_then(|(outside, inside)| {
        inside.split_once('"').map(|(phrase, behind)| (outside, phrase, behind))
    }) {
        pieces.extend(outside.split_whitespace());
        pieces.push(phrase);
        rest = behind;
    }
    pieces.extend(rest.split_whitespace());
    pieces.into_iter().filter(|term| !term.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_quoted() {
        for (query, expected) in [
            ("", ""),
            ("   ", ""),
            ("\"\"", ""),
            ("one", "\"one\""),
            ("one two one", "\"one\" OR \"two\""),
            ("a \"b c\" d", "\"a\" OR \"b c\" OR \"d\""),
            ("NEAR(a, 2) *", "\"NEAR(a,\" OR \"2)\" OR \"*\""),
            ("a\"b", "\"a b\""),
            ("a\0b", "\"a b\""),
            ("a\u{E000}b", "\"a b\""),
            ("東京", "\" 東  京 \""),
        ] {
            assert_eq!(quoted_terms(query).join(" OR "), expected, "{query:?}");
        }
    }

    #[test]
    fn a_query_has_a_bounded_number_of_terms() {
        let many: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        assert_eq!(quoted_terms(&many.join(" ")).len(), QUERY_TERMS_MAX);
    }
}
