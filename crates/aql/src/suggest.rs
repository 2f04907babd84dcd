//! "Did you mean": the nearest of the names that would have worked.

/// Below this likeness a suggestion would mislead more often than help.
const LIKENESS_MIN: f64 = 0.7;

/// The candidate most like `given`, if any is like it.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_ascii_lowercase();
    let given_words = words(&given);
    candidates
        .into_iter()
        .map(|candidate| (likeness(&given, &given_words, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, candidate)| candidate)
}

/// What the candidates that are like `given` stand for, the most like first, with how much they are.
pub(crate) fn closest<'a, T>(
    given: &str,
    candidates: impl IntoIterator<Item = (&'a str, T)>,
) -> Vec<(f64, T)> {
    let given = given.to_ascii_lowercase();
    let given_words = words(&given);
    let mut close: Vec<(f64, T)> = candidates
        .into_iter()
        .map(|(candidate, meant)| (likeness(&given, &given_words, candidate), meant))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .collect();
    close.sort_by(|a, b| b.0.total_cmp(&a.0));
    close
}

/// Typing errors count by edits, and the same words in another order or number count as nearly the same.
fn likeness(given: &str, given_words: &[&str], candidate: &str) -> f64 {
    // Most candidates differ in length by more edits than likeness allows; counting edits is what takes long.
    let (short, long) = (given.len().min(candidate.len()), given.len().max(candidate.len()));
    let ascii = given.is_ascii() && candidate.is_ascii();
    let edits = if ascii && (short as f64) < LIKENESS_MIN * long as f64 {
        0.0
    } else {
        strsim::normalized_damerau_levenshtein(given, candidate)
    };
    if words(candidate) == given_words { edits.max(0.95) } else { edits }
}

fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> =
        text.split('_').filter(|word| !word.is_empty()).map(|word| word.trim_end_matches('s')).collect();
    words.sort_unstable();
    words
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
