//! Finding entities by their words, the best match first.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::read::one_more_than;
use super::records::{entity, select_entities};
use super::words::separated;
use super::{Entity, EntityStore, Page};
use crate::store::Error;

/// Words and phrases of a query that are looked for. Further ones could only reorder what the first ones find.
const QUERY_TERMS_MAX: usize = 64;

/// A word in the name counts most, then one in the tags, the description, the metadata. SQLite's score is the
/// lower, the better.
const SEARCH: &str = select_entities!(
    "JOIN (
         WITH hits AS MATERIALIZED (
             SELECT rowid AS row, bm25(entities_text, 10.0, 4.0, 1.0, 0.5) AS score
             FROM entities_text WHERE entities_text MATCH ?1
         )
         SELECT hits.row, hits.score, found.id FROM hits JOIN entities found ON found.row = hits.row
         WHERE (?2 IS NULL OR found.entity_type = ?2)
             AND (?3 IS NULL OR (hits.score, found.id) > (?3, ?4))
         ORDER BY hits.score, found.id LIMIT ?5
     ) page ON page.row = e.row ORDER BY page.score, page.id",
    with "page.score"
);

/// Where a search result stands among the others. As text it serves as a cursor, and any text is safe to parse.
///
/// Scores shift a little when entities are written between two pages, so that an entity may then be missed or
/// seen twice; as long as nothing is written, pages joined are the whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Position {
    score: f64,
    id: String,
}

/// The text is not a [`Position`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no position in search results; start the search from its beginning")]
pub struct NotAPosition;

/// The score's bits rather than its digits, because the comparison has to be exact.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}:{}", self.score.to_bits(), self.id)
    }
}

impl FromStr for Position {
    type Err = NotAPosition;

    fn from_str(text: &str) -> Result<Self, NotAPosition> {
        let (bits, id) = text.split_once(':').ok_or(NotAPosition)?;
        let score = u64::from_str_radix(bits, 16).map(f64::from_bits).map_err(|_| NotAPosition)?;
        if score.is_finite() { Ok(Self { score, id: id.to_owned() }) } else { Err(NotAPosition) }
    }
}

impl EntityStore {
    /// The first entities after `after` that have any of the query's words in their name, tags, description or
    /// metadata values; equally good ones by id. Words between double quotes have to stand together.
    ///
    /// Any text is a query. One without a single word finds nothing.
    pub async fn search(
        &self,
        query: &str,
        entity_type: Option<&str>,
        after: Option<Position>,
        first: usize,
    ) -> Result<Page<(Entity, Position)>, Error> {
        let expression = expression(query);
        if expression.is_empty() {
            return Ok(Page { items: Vec::new(), has_next: false });
        }
        let entity_type = entity_type.map(str::to_owned);
        let (score, id) = after.map(|position| (position.score, position.id)).unzip();
        self.database
            .read(move |connection| {
                let found = connection
                    .prepare_cached(SEARCH)?
                    .query_map((expression, entity_type, score, id, one_more_than(first)), |row| {
                        let entity = entity(row)?;
                        let position = Position { score: row.get(10)?, id: entity.id.clone() };
                        Ok((entity, position))
                    })?
                    .collect::<Result<_, _>>()?;
                Ok(Page::of(found, first))
            })
            .await
    }
}

/// The query in the language of the text index: each term quoted, so that nothing in it is an operator.
fn expression(query: &str) -> String {
    quoted_terms(query).join(" OR ")
}

/// The different words and phrases of a query, each quoted for the text index.
pub(super) fn quoted_terms(query: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    terms(query)
        .filter(|term| seen.insert(*term))
        .take(QUERY_TERMS_MAX)
        // SQLite would end the expression at a NUL.
        .map(|term| format!("\"{}\"", separated(&term.replace(['\0', '"'], " "))))
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
    fn terms_are_quoted_and_joined_by_or() {
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
            ("東京", "\" 東  京 \""),
        ] {
            assert_eq!(expression(query), expected, "{query:?}");
        }
    }

    #[test]
    fn a_query_has_a_bounded_number_of_terms() {
        let many: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        assert_eq!(expression(&many.join(" ")).matches(" OR ").count(), QUERY_TERMS_MAX - 1);
    }

    #[test]
    fn positions_survive_being_text() {
        for score in [-1.5, 0.0, -0.000_001, -1.0 / 3.0, f64::MIN] {
            let position = Position { score, id: "a:b".into() };
            assert_eq!(position.to_string().parse(), Ok(position));
        }
        for text in ["", "x", ":id", "7ff0000000000000:infinite", "7ff8000000000000:nan", "-1:id"] {
            assert_eq!(text.parse::<Position>(), Err(NotAPosition), "{text}");
        }
    }
}
