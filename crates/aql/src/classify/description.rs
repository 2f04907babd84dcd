//! What a tool's description says: the verbs it opens with, and phrases that settle or raise something.

use super::{
    verbs::{self, Verb},
    words,
};
use crate::{category::Category, danger::DangerLevel};

/// How far into the first sentence its verb may stand.
const LEAD_WORDS: usize = 10;

/// Words after which there is a noun, or an aim that is not the deed: "the update", "for search".
const NOT_AFTER: &[&str] = &[
    "the", "a", "an", "this", "that", "your", "for", "of", "in", "on", "after", "before", "by", "its", "any",
];

/// Words after which even a doubtful word is a verb.
const SURELY_AFTER: &[&str] = &["to", "will", "can", "automatically", "lets", "you"];

/// The verbs that the description opens with: the first one, and those listed with it.
pub(super) fn lead(description: &str) -> Vec<Verb> {
    let words = words::of_text(words::first_sentence(description));
    let mut before = "";
    let mut start = None;
    for (place, word) in words.iter().take(LEAD_WORDS).enumerate() {
        if let Some(verb) = opening(word, place, before) {
            start = Some((place, verb));
            break;
        }
        before = word;
    }
    let Some((place, first)) = start else { return Vec::new() };
    let mut found = vec![first];
    let mut joint = false;
    for word in words.iter().skip(place + 1) {
        let joins = matches!(word.as_str(), words::JOINT | "or" | "and" | "then");
        match verbs::spoken(word).filter(|_| joint) {
            Some(verb) => found.push(verb),
            None if joins => {}
            None => break,
        }
        joint = joins;
    }
    found
}

/// The verb that a word of the opening is, where it can be one there.
fn opening(word: &str, place: usize, before: &str) -> Option<Verb> {
    if matches!(before, "for" | "by") {
        return verbs::gerund(word);
    }
    let verb = verbs::spoken(word)?;
    if place == 0 {
        // Nouns seldom open a description, and a deed that writes must not be taken for one.
        return Some(Verb { doubtful: verb.doubtful && !verb.category.is_mutating(), ..verb });
    }
    let firm = !verb.doubtful || SURELY_AFTER.contains(&before);
    (firm && !NOT_AFTER.contains(&before)).then_some(verb)
}

/// A phrase and what it means.
struct Phrase {
    words: &'static str,
    danger: DangerLevel,
}

const fn phrase(danger: DangerLevel, words: &'static str) -> Phrase {
    Phrase { words, danger }
}

/// What raises the danger of something that writes.
const RAISING: &[Phrase] = {
    use DangerLevel::Destructive;
    &[
        phrase(Destructive, "permanent"),
        phrase(Destructive, "cannot be undone"),
        phrase(Destructive, "can't be undone"),
        phrase(Destructive, "cannot be recovered"),
        phrase(Destructive, "cannot be reversed"),
        phrase(Destructive, "irreversibl"),
        phrase(Destructive, "irrevocabl"),
        phrase(Destructive, "destructive"),
        phrase(Destructive, "will be lost"),
        phrase(Destructive, "data loss"),
        phrase(Destructive, "overwrit"),
        phrase(Destructive, "replaces all"),
        phrase(Destructive, "replaces the"),
        phrase(Destructive, "replace the entire"),
        phrase(Destructive, "deletes "),
        phrase(Destructive, "wipes "),
        phrase(Destructive, "create or update"),
        phrase(Destructive, "creates or updates"),
        phrase(Destructive, "use with caution"),
        phrase(Destructive, "real money"),
    ]
};

/// Words directly before a phrase that turn it around.
const NEGATIONS: &[&str] = &["not", "non", "without", "never", "no", "n't", "don't", "doesn't", "nothing"];

/// The phrase that raises the danger most, with its level.
pub(super) fn raised(description: &str) -> Option<(DangerLevel, &'static str)> {
    let text = description.to_lowercase();
    let said = RAISING.iter().filter(|phrase| stands_in(&text, phrase.words));
    said.map(|phrase| (phrase.danger, phrase.words.trim())).next()
}

fn stands_in(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(place, _)| {
        let before = text.get(..place).unwrap_or_default();
        let mut last = before.split(|letter: char| !(letter.is_alphanumeric() || letter == '\'')).rev();
        // The nearest piece is empty where a space or hyphen stands before the phrase.
        !last.by_ref().filter(|word| !word.is_empty()).take(2).any(|word| NEGATIONS.contains(&word))
    })
}

const ONLY_READING: &[&str] = &[
    "read-only",
    "read only",
    "readonly",
    "does not modify",
    "doesn't modify",
    "does not change",
    "without modifying",
    "no side effects",
    "this only reads",
];

/// The phrase that says a tool only reads.
pub(super) fn only_reads(description: &str) -> Option<&'static str> {
    let text = description.to_lowercase();
    ONLY_READING.iter().find(|phrase| stands_in(&text, phrase)).copied()
}

/// Methods of HTTP that write, as descriptions made from an API name them.
pub(super) fn writing_method(description: &str) -> Option<&'static str> {
    const METHODS: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];
    let mut words = description.split(|letter: char| !letter.is_alphanumeric());
    words.find_map(|word| METHODS.into_iter().find(|method| *method == word))
}

/// Words of the first sentence that make a change one of something already there, or of much at once.
const OVERWRITING: &[&str] =
    &["existing", "multiple", "bulk", "all", "every", "replace", "replaces", "entire"];

pub(super) fn overwrites(description: &str) -> Option<&'static str> {
    let said = words::of_text(words::first_sentence(description));
    OVERWRITING.iter().find(|word| said.iter().any(|said| said == *word)).copied()
}

/// The category that verbs listed together speak for: whichever of them writes.
pub(super) fn heaviest(verbs: &[Verb]) -> Option<Verb> {
    let mut best: Option<Verb> = None;
    for verb in verbs {
        let heavier = |than: Verb| {
            (verb.danger, verb.category.is_mutating()) > (than.danger, than.category.is_mutating())
                || (verb.category == Category::Create
                    && than.category == Category::Update
                    && verb.danger == than.danger)
        };
        if best.is_none_or(heavier) {
            best = Some(*verb);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_opens_with_its_verbs() {
        for (text, verbs) in [
            ("Get one item", "get"),
            ("Retrieves items. Deletes none.", "retrieve"),
            ("This tool will delete an item", "delete"),
            ("Use this tool to search items", "search"),
            ("Tools for listing items", "list"),
            ("Create, change, or delete items", "create change delete"),
            ("Get or update the scale", "get update"),
            ("Get view and edit rights", "get"),
            ("Create/generate a key", "create generate"),
            ("An overview of the update", ""),
            ("", ""),
        ] {
            let found: Vec<_> = lead(text).iter().map(|verb| verb.word).collect();
            assert_eq!(found.join(" "), verbs, "{text}");
        }
    }

    #[test]
    fn phrases_count_unless_they_are_turned_around() {
        for (text, says) in [
            ("Removes it permanently", true),
            ("This cannot be undone.", true),
            ("A non-destructive change", false),
            ("It does not overwrite files", false),
            ("Changes a name", false),
        ] {
            assert_eq!(raised(text).is_some(), says, "{text}");
        }
        assert_eq!(only_reads("Runs a read-only query"), Some("read-only"));
        assert_eq!(only_reads("It is not read-only"), None);
        assert_eq!(writing_method("Wraps POST /things"), Some("POST"));
        assert_eq!(writing_method("Gets the latest post"), None);
        assert_eq!(overwrites("Update an existing item"), Some("existing"));
    }

    #[test]
    fn of_several_verbs_the_one_that_does_most_counts() {
        assert_eq!(heaviest(&lead("List, create or remove items")).unwrap().word, "remove");
        assert_eq!(heaviest(&[]), None);
    }
}
