//! "Did you mean": the nearest of the names that would have worked.

/// Below this likeness a suggestion would mislead more often than help.
const LIKENESS_MIN: f64 = 0.7;

/// The candidate most like `given`, if any is like it.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_ascii_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (likeness(&given, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, candidate)| candidate)
}

/// Typing errors count by edits, and the same words in another order or number count as nearly the same.
fn likeness(given: &str, candidate: &str) -> f64 {
    let edits = strsim::normalized_damerau_levenshtein(given, candidate);
    let words = |text: &str| -> Vec<String> {
        let mut words: Vec<String> =
            text.split('_').filter(|w| !w.is_empty()).map(|w| w.trim_end_matches('s').to_owned()).collect();
        words.sort();
        words
    };
    if words(given) == words(candidate) { edits.max(0.95) } else { edits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_and_reordered_words_are_recognised() {
        let names = ["create_entity", "get_entity", "list_entities", "priority", "entity_name"];
        for (given, expected) in [
            ("priorty", Some("priority")),
            ("Create_Entity", Some("create_entity")),
            ("entity_create", Some("create_entity")),
            ("name_entity", Some("entity_name")),
            ("list_entitys", Some("list_entities")),
            ("zzz", None),
        ] {
            assert_eq!(nearest(given, names), expected, "{given}");
        }
    }

    #[test]
    fn an_exact_tie_goes_to_the_first_by_name() {
        assert_eq!(nearest("ab", ["ac", "bb"]), nearest("ab", ["bb", "ac"]));
    }
}
