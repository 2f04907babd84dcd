//! From a text to what is looked for.

use std::collections::{BTreeSet, HashSet};

use super::{Index, Stem, meaning, meaning::Deed, words};

/// More words than this are a document, and its beginning says what it is about.
const WORDS_MAX: usize = 200;

/// How well a word that is not in the index is met by one that begins like it or is a typing error away.
const GUESS_LIKENESS: f32 = 0.5;
const GUESSES_MAX: usize = 4;
/// Shorter words begin like too many.
const GUESSED_BYTES_MIN: usize = 4;
const MISTYPED_BYTES_MIN: usize = 5;

/// What two words that are written as one elsewhere count for, beside each of them.
const JOINED_SHARE: f32 = 0.5;

/// What a text asks for.
pub(super) struct Question {
    pub(super) wanted: Vec<Wanted>,
    /// Words that stand side by side.
    pub(super) pairs: Vec<(Stem, Stem)>,
    pub(super) deed: Option<Deed>,
    pub(super) many: bool,
    /// Whether a word was said that nothing in the index meets.
    pub(super) missed: bool,
    /// Documents that were asked for by their very name.
    pub(super) named: Vec<u32>,
}

/// One word, and the stems that meet it with how well they do.
pub(super) struct Wanted {
    pub(super) rarity: f32,
    pub(super) is_verb: bool,
    pub(super) stems: Vec<(Stem, f32)>,
}

impl Question {
    /// What it speaks of, beside what is to be done with it.
    pub(super) fn things(&self) -> impl Iterator<Item = &Wanted> {
        self.wanted.iter().filter(|wanted| !wanted.is_verb)
    }

    pub(super) fn read(index: &Index, text: &str) -> Self {
        let mut said = Vec::new();
        words::split(text, |word| {
            if said.len() < WORDS_MAX {
                said.push(word.to_owned());
            }
        });
        let said = one_name_once(index, said);
        let content: Vec<&str> =
            said.iter().map(String::as_str).filter(|word| !words::is_filler(word)).collect();
        let mut seen = HashSet::new();
        let mut wanted = Vec::new();
        let mut known = Vec::new();
        let mut missed = false;
        for (place, word) in content.iter().enumerate() {
            let joined =
                content.get(place + 1).and_then(|next| index.stem(&words::stem(&format!("{word}{next}"))));
            if let Some(stem) = joined.filter(|stem| index.is_used(*stem) && seen.insert(*stem)) {
                let rarity = index.rarity(stem) * JOINED_SHARE;
                wanted.push(Wanted { rarity, is_verb: false, stems: vec![(stem, 1.0)] });
            }
            let stem = words::stem(word);
            let stems = match index.stem(&stem) {
                Some(stem) => {
                    known.push(stem);
                    with_alike(index, stem)
                }
                None => guesses(index, &stem),
            };
            missed |= stems.is_empty();
            if stems.first().is_some_and(|(first, _)| seen.insert(*first)) {
                wanted.push(Wanted {
                    rarity: rarity(index, &stems),
                    is_verb: meaning::deed(word).is_some(),
                    stems,
                });
            }
        }
        let pairs = known.windows(2).filter_map(|pair| if let [a, b] = pair { Some((*a, *b)) } else { None });
        Self {
            wanted,
            pairs: pairs.collect(),
            deed: meaning::deed_of_question(&said),
            many: meaning::asks_for_many(&said),
            missed,
            named: named(index, text),
        }
    }
}

/// A proper name comes as its two parts and as a whole: the whole if the index has it, or else the parts.
fn one_name_once(index: &Index, said: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(said.len());
    for word in said {
        let whole =
            matches!(kept.as_slice(), [.., a, b] if word.strip_prefix(a.as_str()) == Some(b.as_str()));
        let known = whole && index.stem(&words::stem(&word)).is_some();
        if known {
            kept.truncate(kept.len() - 2);
        }
        if known || !whole {
            kept.push(word);
        }
    }
    kept
}

fn with_alike(index: &Index, stem: Stem) -> Vec<(Stem, f32)> {
    let mut stems = vec![(stem, 1.0)];
    stems.extend(index.alike.get(&stem).into_iter().flatten());
    stems
}

/// Words of the index that an unknown word may stand for: longer ones, shorter ones, then mistyped ones.
fn guesses(index: &Index, word: &str) -> Vec<(Stem, f32)> {
    if word.len() < GUESSED_BYTES_MIN || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Vec::new();
    }
    let from = index.sorted.partition_point(|known| known.as_str() < word);
    let longer = index.sorted.iter().skip(from).take_while(|known| known.starts_with(word));
    let mut found: Vec<&str> = longer.map(String::as_str).take(GUESSES_MAX).collect();
    if found.is_empty() {
        let cut = (GUESSED_BYTES_MIN..word.len()).rev().filter_map(|length| word.split_at_checked(length));
        if let Some((start, end)) = cut.into_iter().find(|(start, _)| index.stems.contains_key(*start)) {
            found.extend([start, end]);
        }
    }
    if found.is_empty() && word.len() >= MISTYPED_BYTES_MIN {
        let first = word.get(..1).unwrap_or_default();
        let from = index.sorted.partition_point(|known| known.as_str() < first);
        let same_letter = index.sorted.iter().skip(from).take_while(|known| known.starts_with(first));
        let near = same_letter.filter(|known| known.len().abs_diff(word.len()) <= 1);
        found = near
            .map(String::as_str)
            .filter(|known| strsim::osa_distance(known, word) == 1)
            .take(GUESSES_MAX)
            .collect();
    }
    found.into_iter().filter_map(|text| index.stem(text)).map(|stem| (stem, GUESS_LIKENESS)).collect()
}

/// A word is as rare as its own stem, or where the index lacks that, as the rarest that stands for it.
fn rarity(index: &Index, stems: &[(Stem, f32)]) -> f32 {
    let used = |(stem, _): &&(Stem, f32)| index.is_used(*stem);
    match stems.first().filter(used) {
        Some((stem, _)) => index.rarity(*stem),
        None => stems.iter().filter(used).map(|(stem, _)| index.rarity(*stem)).fold(0.0, f32::max),
    }
}

/// What is asked for by its very name, even one of words that are not looked up.
fn named(index: &Index, text: &str) -> Vec<u32> {
    let whole = text.trim();
    let tokens = whole.split(|c: char| c.is_whitespace() || "\"'`,;:()?".contains(c)).take(WORDS_MAX);
    // In a sentence, a name of one plain word may just be that word.
    let names = tokens.filter(|token| *token == whole || token.chars().any(|c| !c.is_lowercase()));
    let named = names.filter_map(|token| index.names.get(&token.to_lowercase())).flatten().copied();
    // However often it is said.
    named.collect::<BTreeSet<u32>>().into_iter().collect()
}
